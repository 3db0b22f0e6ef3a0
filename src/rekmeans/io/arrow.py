"""parquet and feather files by pyarrow; columns of any source of record batches as a file table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._grid import Array
from ..table.parquet import NARROW_TYPES
from ._pyarrow import compute, ipc, pa, parquet, types
from .file_table import ColumnSelection, FileTable, UnreadableFileError, name_list, refuse_oversize
from .text_columns import NumberColumn, find_late_text, find_number_columns, is_text, number_notes
from .tidy_table import without_ids


@dataclass(frozen=True)
class ColumnSource:
    """A file's column types, as its beginning shows them, and a way to read some of the columns
    batch by batch.
    """

    types: dict[str, Any]
    batches: Callable[[dict[str, Any]], Iterator[Any]]  # {name: type} -> record batches
    n_rows: int  # about how many there are
    has_names: bool = True
    index: list[str] = field(default_factory=list)  # the columns of row names
    integers: frozenset[str] = frozenset()  # the columns of integers, as the beginning shows them
    decimal: str = "."
    # the columns of text that are read as numbers
    numbers: dict[str, NumberColumn] = field(default_factory=dict)
    line_of_row: Callable[[int], int] | None = None

    def text_batches(self, names: list[str]) -> Iterator[Any]:
        """Record batches of columns as they are written."""
        return self.valid_batches(dict.fromkeys(names, pa.binary()))

    def valid_batches(self, columns: dict[str, Any]) -> Iterator[Any]:
        """Record batches of `columns`, {name: type}; a damaged file may point outside of its own
        bytes.
        """
        for batch in self.batches(columns):
            batch.validate(full=True)
            yield batch


class LateTextError(Exception):
    """A column that began as numbers turns into text; it is read again."""


def read_parquet(path: Path, selection: ColumnSelection) -> FileTable:
    with parquet.ParquetFile(str(path)) as file:
        schema = file.schema_arrow
        n = file.metadata.num_rows

    def batches(columns: dict[str, Any]) -> Iterator[Any]:
        with parquet.ParquetFile(str(path)) as file:
            yield from file.iter_batches(columns=list(columns))

    kinds = distinct_types(path, schema)
    source = ColumnSource(
        kinds, batches, n, index=_pandas_index(schema), integers=integer_names(kinds)
    )
    return table_of_source(path, source, selection)


def read_feather(path: Path, selection: ColumnSelection) -> FileTable:
    with pa.memory_map(str(path)) as file:
        schema = ipc.open_file(file).schema

    def batches(columns: dict[str, Any]) -> Iterator[Any]:
        options = ipc.IpcReadOptions(
            included_fields=[schema.get_field_index(name) for name in columns]
        )
        with pa.memory_map(str(path)) as file:
            reader = ipc.open_file(file, options=options)
            yield from (reader.get_batch(i) for i in range(reader.num_record_batches))

    kinds = distinct_types(path, schema)
    source = ColumnSource(
        kinds, batches, 0, index=_pandas_index(schema), integers=integer_names(kinds)
    )
    return table_of_source(path, source, selection)


def write_parquet(path: Path, columns: dict[str, Array]) -> None:
    """Write named columns as parquet; what is masked is null."""
    arrays = {
        name: pa.array(np.ma.getdata(cells), mask=_mask(cells)) for name, cells in columns.items()
    }
    parquet.write_table(pa.table(arrays), str(path))


def write_parquet_blocks(path: Path, blocks: Iterable[dict[str, Array]]) -> None:
    """Write named columns as parquet, a block at a time."""
    writer = None
    try:
        for columns in blocks:
            block = pa.table({name: pa.array(cells) for name, cells in columns.items()})
            writer = writer or parquet.ParquetWriter(str(path), block.schema)
            writer.write_table(block)
    finally:
        if writer is not None:
            writer.close()


def _mask(cells: Array) -> Array | None:
    """Which cells are masked; None where none can be."""
    return np.ma.getmaskarray(cells) if isinstance(cells, np.ma.MaskedArray) else None


def table_of_source(path: Path, source: ColumnSource, selection: ColumnSelection) -> FileTable:
    """The table of a source: numeric columns, what was skipped and why, classes, row names."""
    selection = selection if source.has_names else selection.by_position(list(source.types))
    selection.refuse_many_columns(path, len(source.types))
    selection.refuse_missing_columns(path, list(source.types))
    label = selection.label
    skipped = dict.fromkeys(selection.drop, "dropped") | dict.fromkeys(source.index, "row names")
    candidates = [
        name for name in (selection.only or source.types) if name not in skipped and name != label
    ]
    source = _with_number_columns(source, candidates)
    skipped |= {
        name: why
        for name in candidates
        if name not in source.numbers and (why := _skip_reason(source.types[name]))
    }
    if selection.only and (
        bad := [f"{name} ({skipped[name]})" for name in candidates if name in skipped]
    ):
        what = f"{path.name} must have numbers in the columns of the model, got {name_list(bad)}."
        raise UnreadableFileError(what)
    names = [name for name in candidates if name not in skipped]
    if not names:
        return FileTable(np.empty((0, 0)), names, source.has_names, skipped)
    try:
        X, others = _gather_columns(
            path, source, names, [*source.index, *([] if label is None else [label])]
        )
    except LateTextError as column:
        return table_of_source(path, _with_late_text(source, names, str(column)), selection)
    pa.default_memory_pool().release_unused()
    y, classes = (None, []) if label is None or not len(X) else _encode_arrow_classes(others[label])
    ids = _row_names(others[source.index[0]]) if source.index and len(X) else None
    notes = number_notes(source.numbers)
    table = FileTable(
        X, names, source.has_names, skipped, y, classes, ids, notes, line_of_row=source.line_of_row
    )
    return without_ids(table, _integer_columns(source), selection) if len(X) else table


def _with_number_columns(source: ColumnSource, names: list[str]) -> ColumnSource:
    """The source with those of the columns of text that are to be read as numbers."""
    texts = [name for name in names if is_text(source.types[name])]
    if not texts:
        return source
    return replace(
        source, numbers=find_number_columns(source.text_batches(texts), texts, source.decimal)
    )


def _with_late_text(source: ColumnSource, names: list[str], late: str) -> ColumnSource:
    """The source whose columns that turn into text, of which one was met, are columns of text."""
    floats = [name for name in names if source.types[name] == pa.float64()]
    found = (
        find_late_text(source.text_batches(floats), floats, source.decimal)
        if late in names
        else set()
    )
    return replace(source, types=source.types | dict.fromkeys({late, *found}, pa.string()))


def _integer_columns(source: ColumnSource) -> dict[str, int]:
    """The columns of integers, with the number of texts in each; formatted numbers are not ids."""
    counts = {
        name: column.count
        for name, column in source.numbers.items()
        if not column.count.n_formatted
    }
    return dict.fromkeys(source.integers, 0) | {
        name: one.n_cells - one.n_numbers for name, one in counts.items()
    }


def _gather_columns(
    path: Path, source: ColumnSource, names: list[str], others: list[str]
) -> tuple[Array, dict[str, Any]]:
    """The columns `names` as rows (n, d), batch by batch so that the table is not in memory twice,
    and the others.
    """
    dtype = np.float32 if all(source.types[name] in NARROW_TYPES for name in names) else np.float64
    refuse_oversize(path, source.n_rows, len(names), np.dtype(dtype).itemsize)
    number = pa.from_numpy_dtype(dtype)
    n = 0
    X = np.empty((source.n_rows, len(names)), dtype)
    chunks: dict[str, list[Any]] = {name: [] for name in others}
    kinds = {name: source.types[name] for name in [*names, *others]} | dict.fromkeys(
        source.numbers, pa.binary()
    )
    for batch in source.valid_batches(kinds):
        m = batch.num_rows
        if n + m > len(X):
            refuse_oversize(path, n + m, len(names), X.itemsize)
            X.resize((max(n + m, len(X) * 5 // 4), len(names)), refcheck=False)
        for j, name in enumerate(names):
            X[n : n + m, j] = _number_cells(source, name, batch.column(name), number)
        for name, parts in chunks.items():
            parts.append(batch.column(name))
        n += m
    X.resize((n, len(names)), refcheck=False)
    return X, {name: pa.chunked_array(parts) for name, parts in chunks.items() if parts}


def _number_cells(source: ColumnSource, name: str, column: Any, number: Any) -> Array:
    """The cells of a column as numbers of the type `number`, NaN where they are missing."""
    if name in source.numbers:
        column = source.numbers[name].numbers(column)
    plain = column.cast(pa.uint8()) if types.is_boolean(column.type) else column
    cells: Array = plain.cast(number, safe=False).to_numpy(zero_copy_only=False)
    return cells


def _row_names(column: Any) -> Array:
    """Row names, of which none turns into a float because another is missing."""
    has_gaps = types.is_integer(column.type) and column.null_count
    names: Array = (column.cast(pa.string()) if has_gaps else column).to_numpy()
    return names


def _encode_arrow_classes(column: Any) -> tuple[Array, list[str]]:
    """Number of each row's class, -1 where it is missing, and the names of the classes."""
    plain = column.cast(column.type.value_type) if types.is_dictionary(column.type) else column
    if types.is_floating(plain.type):
        plain = compute.if_else(compute.is_nan(plain), None, plain)
    coded = pa.concat_arrays(plain.chunks).dictionary_encode()
    numbers = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return numbers, [str(value) for value in coded.dictionary.to_pylist()]


def _skip_reason(kind: Any) -> str:
    """Why a column of this type is not a feature, or ''.

    A column without any value yet may still be numbers.
    """
    if (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    ):
        return ""
    if types.is_null(kind):
        return ""
    if types.is_temporal(kind):
        return "dates or times"
    if types.is_nested(kind):
        return f"{kind}"
    return "text"


def distinct_types(path: Path, schema: Any) -> dict[str, Any]:
    """Column types by name; a name that comes twice is refused."""
    if twice := [name for name, count in Counter(schema.names).items() if count > 1]:
        raise UnreadableFileError(
            f"{path.name} must have different column names: {name_list(sorted(twice))} comes more "
            f"than once."
        )
    return dict(zip(schema.names, schema.types, strict=True))


def integer_names(kinds: dict[str, Any]) -> frozenset[str]:
    """The columns of integers."""
    return frozenset(name for name, kind in kinds.items() if types.is_integer(kind))


def _pandas_index(schema: Any) -> list[str]:
    """The columns in which pandas keeps its row names."""
    stored = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    columns = stored.get("index_columns", []) if isinstance(stored, dict) else []
    # a column may have been taken out since
    return [name for name in columns if name in schema.names]
