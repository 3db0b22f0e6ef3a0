"""csv, tsv, parquet and feather files as sheets, by pyarrow: column types first, then only the columns that count."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from csv import reader as cells_of
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ._files import PACKED, Sheet, Unreadable, Wish, by_place, listed
from ._grid import Array

try:
    import pyarrow as pa
    from pyarrow import compute, csv, ipc, types
    from pyarrow import parquet as pq
except ImportError:
    raise ImportError("csv, tsv, parquet and feather files need pyarrow: pip install 'rekmeans[tables]'.") from None

PEEK = 1 << 16  # bytes looked at for separator and header, more where lines are long
BLOCK = 1 << 20  # bytes read at a time
MISSING = ["?", "None", "none", "-", "NONE"]  # besides pyarrow's own: empty, NA, NaN, null, ...
NULLS = csv.ConvertOptions().null_values + MISSING
UNNAMED = ("", "Unnamed: 0")  # the second once pandas has read and written the first
SMALL = (pa.float32(), pa.float16(), pa.int16(), pa.int8(), pa.uint16(), pa.uint8(), pa.bool_())  # exact in float32


@dataclass(frozen=True)
class Source:
    """A file's column types as its beginning tells them, and a way to read some of the columns batch by batch."""

    types: dict[str, Any]
    batches: Callable[[dict[str, Any]], Iterator[Any]]  # {name: type} -> record batches
    rows: int  # about how many there are
    named: bool = True
    index: list[str] = field(default_factory=list)  # the columns of row names


@dataclass(frozen=True)
class Head:
    """What the beginning of a csv or tsv file tells."""

    separator: str
    decimal: str
    names: list[str] | None  # None: they are in the first line
    quoted: bool
    rows: int  # about how many there are


class LaterText(Exception):  # noqa: N818 - it is caught in this file
    """A column that began as numbers turns into text."""


def delimited(path: Path, wish: Wish) -> Sheet:
    """csv and tsv. A first line of numbers is no header; a first column without a name holds row names."""

    def opened(columns: dict[str, Any]) -> Any:
        convert = csv.ConvertOptions(
            null_values=NULLS,
            strings_can_be_null=True,
            decimal_point=head.decimal,
            include_columns=list(columns),
            column_types=columns,
        )
        stream = pa.input_stream(str(path), compression=PACKED.get(path.suffix.lower()))
        return csv.open_csv(stream, read, parse, convert)

    def batches(kinds: dict[str, Any]) -> Iterator[Any]:
        try:
            with opened({written[name]: kind for name, kind in kinds.items()}) as reader:
                yield from (batch.rename_columns(list(kinds)) for batch in reader)
        except pa.ArrowInvalid as error:
            column = re.search(r"column #(\d+): CSV conversion error", str(error))
            if column is None:
                raise
            name = schema.names[int(column[1])].strip()
            if kinds[name] == pa.string():
                raise Unreadable(f"{path.name} is no UTF-8 text (in column {name!r}): save it so.") from None
            raise LaterText(name) from None

    head = _head(path)
    read = csv.ReadOptions(block_size=BLOCK, column_names=head.names)
    parse = csv.ParseOptions(delimiter=head.separator, newlines_in_values=head.quoted)
    with opened({}) as reader:
        schema = reader.schema
    del reader  # with the blocks it has read ahead
    written = _written(path, schema)
    first = next(iter(written))
    index = [first] if head.names is None and first in UNNAMED and first not in (wish.label, *(wish.only or ())) else []
    kind_of = dict(zip(reversed(schema.names), reversed(schema.types), strict=True))  # of the first, where two are ""
    kinds = {name: kind_of[raw] for name, raw in written.items()}
    types_of = {name: _exact(kind) if name in (*index, wish.label) else _loose(kind) for name, kind in kinds.items()}
    return _sheet(path, Source(types_of, batches, head.rows, head.names is None, index), wish)


def _written(path: Path, schema: Any) -> dict[str, str]:
    """Column names without blanks round them, each with the name as written; empty columns without one are gone."""
    names, kinds = schema.names, schema.types
    tidy = [name.strip() for name in names]
    bare = [j for j, name in enumerate(tidy) if j and not name]
    if used := sum(not types.is_null(kinds[j]) for j in bare):
        raise Unreadable(f"{path.name} must name its columns: {used} with values have no name; name or empty them.")
    kept = [j for j, name in enumerate(tidy) if name or not j]
    _distinct(path, pa.schema([(tidy[j], kinds[j]) for j in kept]))
    return {tidy[j]: names[j] for j in kept}


def _head(path: Path) -> Head:
    """What the first bytes of a csv or tsv file tell."""
    with pa.input_stream(str(path), compression=PACKED.get(path.suffix.lower())) as stream:
        start = stream.read(PEEK)
        while start.count(b"\n") < 3 and len(start) < BLOCK and (more := stream.read(PEEK)):  # lines may be long
            start += more
        cut = bool(stream.read(1))
    lines = _lines(path, start, cut)
    separator = "\t" if ".tsv" in (ending.lower() for ending in path.suffixes[-2:]) else _separator(lines)
    rows = [row for row in cells_of(lines[:-1] if cut and len(lines) > 1 else lines, delimiter=separator) if row]
    headed = _is_headed(path, rows)
    if headed and len(lines) == 1:
        raise Unreadable(f"{path.name} has no rows: below its header a table needs at least one.")
    commas, points = (
        sum(bool(re.fullmatch(rf"\s*[+-]?\d*{mark}\d+\s*", cell)) for row in rows for cell in row)
        for mark in (",", r"\.")
    )
    return Head(
        separator,
        decimal="," if separator == ";" and commas > points else ".",
        names=None if headed else [f"x{j}" for j in range(len(rows[0]))],
        quoted=b'"' in start,
        rows=int(path.stat().st_size / len(start) * len(lines) * 1.05) if cut else len(lines),
    )


def _separator(lines: list[str]) -> str:
    """The mark that comes most often in the first line outside of quotes."""
    bare = re.sub(r'(?<![^,;\t|\n])"[^"]*("|$)', "", "\n".join(lines)).partition("\n")[0]
    decimals = re.sub(r"(?<=\d),(?=\d)", "", bare) if ";" in bare else bare  # 1,5;2,5
    return max(",;\t|", key=decimals.count)


def _is_headed(path: Path, rows: list[list[str]]) -> bool:
    """Whether the first line is a header: no number in it, or text above numbers, or names that count up."""
    first, *below = [[_kind(cell) for cell in row] for row in rows]
    if "number" not in first or set(first) == {"number"}:
        return "number" not in first
    under = [next((row[j] for row in below if j < len(row) and row[j]), "") for j in range(len(first))]
    counted = [
        _counts_up([cell for cell, kind in zip(row, first, strict=False) if kind == "number"]) for row in rows[:2]
    ]
    headed = ("text", "number") in zip(first, under, strict=True) or (counted[0] and (not first[0] or not counted[-1]))
    what = "header" if headed else "a row"
    warnings.warn(f"first line of {path.name} taken as {what}: {listed(rows[0])}", stacklevel=2)
    return headed


def _kind(cell: str) -> str:
    """What a cell holds: number, text or, for a missing one, ''."""
    return "number" if _is_number(cell) else "" if cell.strip() in NULLS else "text"


def _counts_up(cells: list[str]) -> bool:
    """Whether cells are 0, 1, 2, ... or 2019, 2020, ...: names that pandas or a calendar gave, not values."""
    if not all(cell.strip().isdecimal() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == [0] or (len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers))))


def _lines(path: Path, head: bytes, cut: bool) -> list[str]:
    """The first lines of a text file."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Unreadable(f"{path.name} is UTF-16 text: save it as UTF-8.")
    if b"\0" in head:
        raise Unreadable(f"{path.name} is no text: a csv file is UTF-8 text; was it renamed?")
    try:
        lines = head.decode("utf-8-sig", errors="ignore" if cut else "strict").strip("\r\n").splitlines()
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path.name} is no UTF-8 text ({error.reason} at byte {error.start}): save it so.") from None
    if not lines:
        raise Unreadable(f"{path.name} is empty: a table needs at least one row.")
    return lines


def _loose(kind: Any) -> Any:
    """The type to read a csv column as, of which the first block has this type: every number is a float."""
    return pa.float64() if types.is_integer(kind) or types.is_null(kind) else kind


def _exact(kind: Any) -> Any:
    """The type to read a csv column of row names or classes as: whole numbers stay so, all else stays as written."""
    return kind if types.is_integer(kind) or types.is_boolean(kind) else pa.string()


def parquet(path: Path, wish: Wish) -> Sheet:
    with pq.ParquetFile(str(path)) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows

    def batches(kinds: dict[str, Any]) -> Iterator[Any]:
        with pq.ParquetFile(str(path)) as file:
            yield from file.iter_batches(columns=list(kinds))

    return _sheet(path, Source(_distinct(path, schema), batches, rows, index=_pandas_index(schema)), wish)


def feather(path: Path, wish: Wish) -> Sheet:
    with pa.memory_map(str(path)) as file:
        schema = ipc.open_file(file).schema

    def batches(kinds: dict[str, Any]) -> Iterator[Any]:
        options = ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in kinds])
        with pa.memory_map(str(path)) as file:
            reader = ipc.open_file(file, options=options)
            yield from (reader.get_batch(i) for i in range(reader.num_record_batches))

    return _sheet(path, Source(_distinct(path, schema), batches, 0, index=_pandas_index(schema)), wish)


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
    if wish.only and (bad := [f"{name} ({skipped[name]})" for name in takers if name in skipped]):
        raise Unreadable(f"{path.name} must have numbers in the columns of the model, got {listed(bad)}.")
    names = [name for name in takers if name not in skipped]
    if not names:
        return Sheet(np.empty((0, 0)), names, source.named, skipped)
    try:
        X, beside = _gathered(source, names, [*source.index, *([] if wish.label is None else [wish.label])])
    except LaterText as column:
        return _sheet(path, replace(source, types=source.types | {str(column): pa.string()}), wish)
    pa.default_memory_pool().release_unused()
    y, classes = (None, []) if wish.label is None or not len(X) else _classes(beside[wish.label])
    ids = _ids(beside[source.index[0]]) if source.index and len(X) else None
    return Sheet(X, names, source.named, skipped, y, classes, ids)


def _gathered(source: Source, names: list[str], beside: list[str]) -> tuple[Array, dict[str, Any]]:
    """The columns `names` as rows (n, d), batch by batch so that the table is not in memory twice, and the others."""
    narrow = np.float32 if all(source.types[name] in SMALL for name in names) else np.float64
    number, n, X = pa.from_numpy_dtype(narrow), 0, np.empty((source.rows, len(names)), narrow)
    others: dict[str, list[Any]] = {name: [] for name in beside}
    for batch in source.batches({name: source.types[name] for name in dict.fromkeys([*names, *beside])}):
        m = batch.num_rows
        if n + m > len(X):
            X.resize((max(n + m, len(X) * 5 // 4), len(names)), refcheck=False)
        for j, name in enumerate(names):
            column = batch.column(name)
            cells = column.cast(pa.uint8()) if types.is_boolean(column.type) else column
            X[n : n + m, j] = cells.cast(number, safe=False).to_numpy(zero_copy_only=False)
        for name, parts in others.items():
            parts.append(batch.column(name))
        n += m
    X.resize((n, len(names)), refcheck=False)
    return X, {name: pa.chunked_array(parts) for name, parts in others.items() if parts}


def _ids(column: Any) -> Array:
    """Row names, of which none turns into a float because another is missing."""
    whole_numbers = types.is_integer(column.type) and column.null_count
    ids: Array = (column.cast(pa.string()) if whole_numbers else column).to_numpy()
    return ids


def _classes(column: Any) -> tuple[Array, list[str]]:
    """Number of each row's class, -1 where it is missing, and the names of the classes."""
    plain = column.cast(column.type.value_type) if types.is_dictionary(column.type) else column
    if types.is_floating(plain.type):
        plain = compute.if_else(compute.is_nan(plain), None, plain)
    coded = pa.concat_arrays(plain.chunks).dictionary_encode()
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
    if twice := [name for name, count in Counter(schema.names).items() if count > 1]:
        raise Unreadable(f"{path.name} must have different column names: {listed(sorted(twice))} comes more than once.")
    return dict(zip(schema.names, schema.types, strict=True))


def _pandas_index(schema: Any) -> list[str]:
    """The columns in which pandas keeps its row names."""
    stored = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    return [name for name in stored if name in schema.names]  # a column may have been taken out since


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
