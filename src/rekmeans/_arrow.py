"""csv, tsv, parquet and feather files as sheets, by pyarrow: column types first, then only the columns that count."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ._files import Sheet, Unreadable, Wish, by_place, listed
from ._grid import Array

try:
    import pyarrow as pa
    from pyarrow import csv, ipc, types
    from pyarrow import parquet as pq
except ImportError:
    raise ImportError("csv, tsv, parquet and feather files need pyarrow: pip install 'rekmeans[tables]'.") from None

PEEK = 1 << 16  # bytes looked at for separator and header
BLOCK = 1 << 20  # bytes read at a time
MISSING = ["?", "None", "none", "-", "NONE"]  # besides pyarrow's own: empty, NA, NaN, null, ...
SMALL = (pa.float32(), pa.float16(), pa.int16(), pa.int8(), pa.uint16(), pa.uint8(), pa.bool_())  # exact in float32


@dataclass(frozen=True)
class Source:
    """A file's column types as far as they are known without reading it, and how columns are read."""

    types: dict[str, Any]
    load: Callable[[list[str]], Any]
    named: bool = True
    index: list[str] = field(default_factory=list)  # the columns of row names


def delimited(path: Path, wish: Wish) -> Sheet:
    """csv and tsv. A first line of numbers is no header; a first column without a name holds row names."""
    with pa.input_stream(str(path)) as stream:
        head = stream.read(PEEK)
    if b"\0" in head:
        raise Unreadable(f"{path.name} is no text: a csv file is UTF-8 text; was it renamed?")
    try:
        lines = head.decode("utf-8-sig", errors="ignore" if len(head) == PEEK else "strict").strip("\r\n").splitlines()
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path.name} is no UTF-8 text ({error.reason} at byte {error.start}): save it as UTF-8.") from None
    if not lines:
        raise Unreadable(f"{path.name} is empty: a table needs at least one row.")
    first = lines[0]
    separator = max(",;\t|", key=first.count) if path.suffix.lower() != ".tsv" else "\t"
    fields = [name.strip().strip('"') for name in first.split(separator)]
    headed = not all(_is_number(name) for name in fields)
    if headed and len(lines) == 1:
        raise Unreadable(f"{path.name} has no rows: below its header a table needs at least one.")
    mark = "," if separator == ";" and re.search(rb"\d,\d", head) else "."
    names = None if headed else [f"x{j}" for j in range(len(fields))]
    options = {
        "read_options": csv.ReadOptions(block_size=BLOCK, column_names=names),
        "parse_options": csv.ParseOptions(delimiter=separator, newlines_in_values=b'"' in head),
    }
    nulls = csv.ConvertOptions().null_values + MISSING

    def read_columns(columns: list[str]) -> Any:
        convert = csv.ConvertOptions(null_values=nulls, decimal_point=mark, include_columns=columns)
        return csv.read_csv(str(path), convert_options=convert, **options)

    convert = csv.ConvertOptions(null_values=nulls, decimal_point=mark)
    with csv.open_csv(str(path), convert_options=convert, **options) as reader:
        schema = reader.schema  # of the first block; a later one may turn a number into text, never text into a number
    index = [""] if headed and schema.names[0] == "" else []
    return _sheet(path, Source(_distinct(path, schema), read_columns, headed, index), wish)


def parquet(path: Path, wish: Wish) -> Sheet:
    with pq.ParquetFile(str(path)) as file:
        schema = file.schema_arrow
    source = Source(
        _distinct(path, schema),
        lambda columns: pq.read_table(str(path), columns=columns),
        index=_pandas_index(schema),
    )
    return _sheet(path, source, wish)


def feather(path: Path, wish: Wish) -> Sheet:
    with pa.memory_map(str(path)) as file:
        schema = ipc.open_file(file).schema

    def read_columns(columns: list[str]) -> Any:
        numbers = [schema.get_field_index(name) for name in columns]
        with pa.memory_map(str(path)) as file:
            return ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=numbers)).read_all().select(columns)

    return _sheet(path, Source(_distinct(path, schema), read_columns, index=_pandas_index(schema)), wish)


def save(path: Path, columns: dict[str, Array]) -> None:
    """Write named columns as parquet."""
    pq.write_table(pa.table(columns), str(path))


def _sheet(path: Path, source: Source, wish: Wish) -> Sheet:
    """The sheet of a source: numeric columns, what was skipped and why, classes, row names."""
    wish = wish if source.named else by_place(wish, list(source.types))
    wish.refuse_absent(path, list(source.types))
    skipped = dict.fromkeys(wish.drop, "asked to drop") | dict.fromkeys(source.index, "row names")
    takers = [name for name in (wish.only or source.types) if name not in skipped and name != wish.label]
    skipped |= {name: why for name in takers if (why := _why_not(source.types[name]))}
    names = [name for name in takers if name not in skipped]
    beside = ([] if wish.label is None else [wish.label]) + source.index
    table = source.load([*names, *beside]) if names or beside else pa.table({})
    skipped |= {name: why for name in names if (why := _why_not(table.column(name).type))}
    if wish.only and (bad := [f"{name} ({skipped[name]})" for name in takers if name in skipped]):
        raise Unreadable(f"{path.name} must have numbers in the columns of the model, got {listed(bad)}.")
    names = [name for name in names if name not in skipped]
    y, classes = (None, []) if wish.label is None else _classes(table.column(wish.label))
    ids = table.column(source.index[0]).to_numpy() if source.index else None
    n, table = table.num_rows, table.select(names)
    narrow = np.float32 if names and all(kind in SMALL for kind in table.schema.types) else np.float64
    batches = table.to_batches()
    del table
    return Sheet(_matrix(batches, n, len(names), narrow), names, source.named, skipped, y, classes, ids)


def _matrix(batches: list[Any], n: int, d: int, dtype: Any) -> Array:
    """The batches as rows (n, d); each is let go as soon as it is copied, so that the table is not in memory twice."""
    X, number, at = np.empty((n, d), dtype), pa.from_numpy_dtype(dtype), n
    while batches:
        batch = batches.pop()
        at -= batch.num_rows
        for j, column in enumerate(batch.columns):
            cells = column.cast(pa.uint8()) if types.is_boolean(column.type) else column
            X[at : at + batch.num_rows, j] = cells.cast(number, safe=False).to_numpy(zero_copy_only=False)
    return X


def _classes(column: Any) -> tuple[Array, list[str]]:
    """Number of each row's class, -1 where it is missing, and the names of the classes."""
    plain = column.cast(column.type.value_type) if types.is_dictionary(column.type) else column
    coded = pa.chunked_array([plain.combine_chunks()]).dictionary_encode().combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    numbers = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return numbers, [str(value) for value in coded.dictionary.to_pylist()]


def _why_not(kind: Any) -> str:
    """Why a column of this type is no feature, or ''. A type nobody has seen a value of may still be a number."""
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return ""
    if types.is_null(kind):
        return ""
    if types.is_temporal(kind):
        return "dates or times"
    if types.is_nested(kind):
        return f"{kind}"
    return "text"


def _distinct(path: Path, schema: Any) -> dict[str, Any]:
    """Column types by name."""
    if twice := {name for name in schema.names if schema.names.count(name) > 1}:
        raise Unreadable(f"{path.name} must have different column names: {listed(sorted(twice))} comes more than once.")
    return dict(zip(schema.names, schema.types, strict=True))


def _pandas_index(schema: Any) -> list[str]:
    """The columns in which pandas keeps its row names."""
    stored = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    return [name for name in stored if isinstance(name, str)]


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
