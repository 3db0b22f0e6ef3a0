"""parquet and feather files by pyarrow; columns of any source of record batches as a file table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._grid import Array
from ._pyarrow import compute, ipc, pa, parquet, types
from .file_table import ColumnSelection, FileTable, UnreadableFileError, name_list
from .size_limits import refuse_oversize

FLOAT32_TYPES = (
    pa.float32(),
    pa.float16(),
    pa.int16(),
    pa.int8(),
    pa.uint16(),
    pa.uint8(),
    pa.bool_(),
)  # exact in float32


@dataclass(frozen=True)
class ColumnSource:
    """A file's column types, as its beginning shows them, and a way to read some of the columns batch by batch."""

    types: dict[str, Any]
    batches: Callable[[dict[str, Any]], Iterator[Any]]  # {name: type} -> record batches
    n_rows: int  # about how many there are
    has_names: bool = True
    index: list[str] = field(default_factory=list)  # the columns of row names


class LateTextError(Exception):
    """A column that began as numbers turns into text; it is read again."""


def read_parquet(path: Path, selection: ColumnSelection) -> FileTable:
    with parquet.ParquetFile(str(path)) as file:
        schema, n = file.schema_arrow, file.metadata.num_rows

    def batches(columns: dict[str, Any]) -> Iterator[Any]:
        with parquet.ParquetFile(str(path)) as file:
            yield from file.iter_batches(columns=list(columns))

    source = ColumnSource(distinct_types(path, schema), batches, n, index=_pandas_index(schema))
    return table_of_source(path, source, selection)


def read_feather(path: Path, selection: ColumnSelection) -> FileTable:
    with pa.memory_map(str(path)) as file:
        schema = ipc.open_file(file).schema

    def batches(columns: dict[str, Any]) -> Iterator[Any]:
        options = ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in columns])
        with pa.memory_map(str(path)) as file:
            reader = ipc.open_file(file, options=options)
            yield from (reader.get_batch(i) for i in range(reader.num_record_batches))

    source = ColumnSource(distinct_types(path, schema), batches, 0, index=_pandas_index(schema))
    return table_of_source(path, source, selection)


def write_parquet(path: Path, columns: dict[str, Array]) -> None:
    """Write named columns as parquet."""
    parquet.write_table(pa.table(columns), str(path))


def table_of_source(path: Path, source: ColumnSource, selection: ColumnSelection) -> FileTable:
    """The table of a source: numeric columns, what was skipped and why, classes, row names."""
    selection = selection if source.has_names else selection.by_position(list(source.types))
    selection.refuse_many_columns(path, len(source.types))
    selection.refuse_missing_columns(path, list(source.types))
    label = selection.label
    skipped = dict.fromkeys(selection.drop, "dropped") | dict.fromkeys(source.index, "row names")
    candidates = [name for name in (selection.only or source.types) if name not in skipped and name != label]
    skipped |= {name: why for name in candidates if (why := _skip_reason(source.types[name]))}
    if selection.only and (bad := [f"{name} ({skipped[name]})" for name in candidates if name in skipped]):
        what = f"{path.name} must have numbers in the columns of the model, got {name_list(bad)}."
        raise UnreadableFileError(what)
    names = [name for name in candidates if name not in skipped]
    if not names:
        return FileTable(np.empty((0, 0)), names, source.has_names, skipped)
    try:
        X, others = _gather_columns(path, source, names, [*source.index, *([] if label is None else [label])])
    except LateTextError as column:
        return table_of_source(path, replace(source, types=source.types | {str(column): pa.string()}), selection)
    pa.default_memory_pool().release_unused()
    y, classes = (None, []) if label is None or not len(X) else _encode_arrow_classes(others[label])
    ids = _row_names(others[source.index[0]]) if source.index and len(X) else None
    return FileTable(X, names, source.has_names, skipped, y, classes, ids)


def _gather_columns(
    path: Path, source: ColumnSource, names: list[str], others: list[str]
) -> tuple[Array, dict[str, Any]]:
    """The columns `names` as rows (n, d), batch by batch so that the table is not in memory twice, and the others."""
    dtype = np.float32 if all(source.types[name] in FLOAT32_TYPES for name in names) else np.float64
    refuse_oversize(path, source.n_rows, len(names), np.dtype(dtype).itemsize)
    number, n, X = pa.from_numpy_dtype(dtype), 0, np.empty((source.n_rows, len(names)), dtype)
    chunks: dict[str, list[Any]] = {name: [] for name in others}
    for batch in source.batches({name: source.types[name] for name in dict.fromkeys([*names, *others])}):
        batch.validate(full=True)  # a damaged file may point outside of its own bytes
        m = batch.num_rows
        if n + m > len(X):
            refuse_oversize(path, n + m, len(names), X.itemsize)
            X.resize((max(n + m, len(X) * 5 // 4), len(names)), refcheck=False)
        for j, name in enumerate(names):
            column = batch.column(name)
            cells = column.cast(pa.uint8()) if types.is_boolean(column.type) else column
            X[n : n + m, j] = cells.cast(number, safe=False).to_numpy(zero_copy_only=False)
        for name, parts in chunks.items():
            parts.append(batch.column(name))
        n += m
    X.resize((n, len(names)), refcheck=False)
    return X, {name: pa.chunked_array(parts) for name, parts in chunks.items() if parts}


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
    """Why a column of this type is not a feature, or ''. A column without any value yet may still be numbers."""
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
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
            f"{path.name} must have different column names: {name_list(sorted(twice))} comes more than once."
        )
    return dict(zip(schema.names, schema.types, strict=True))


def _pandas_index(schema: Any) -> list[str]:
    """The columns in which pandas keeps its row names."""
    stored = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    columns = stored.get("index_columns", []) if isinstance(stored, dict) else []
    return [name for name in columns if name in schema.names]  # a column may have been taken out since
