"""Convert Arrow columns to numbers, scan feather files and Arrow tables, write parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._grid import Array
from ._pyarrow import compute, ipc, pa, parquet, types
from .scan import ReadAs, Scan, reject_repeated_names
from .selection import ColumnSelection


def column_numbers(column: pa.Array, dtype: DTypeLike) -> Array:
    """Return a column as numbers, with NaN for missing cells.

    Integer and float columns without missing cells are not copied.
    """
    if not column.null_count and (types.is_integer(column.type) or types.is_floating(column.type)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    plain = column.cast(pa.uint8()) if types.is_boolean(column.type) else column
    cells: Array = plain.cast(pa.from_numpy_dtype(dtype), safe=False).to_numpy(zero_copy_only=False)
    return cells


def row_names(column: pa.ChunkedArray) -> Array:
    """Return the row names. Integers with missing values become strings, not floats."""
    has_gaps = types.is_integer(column.type) and column.null_count
    names: Array = (column.cast(pa.string()) if has_gaps else column).to_numpy()
    return names


def encode_classes(column: pa.ChunkedArray) -> tuple[Array, list[str]]:
    """Return the class code of each row (-1 if missing) and the class names."""
    plain = column.cast(column.type.value_type) if types.is_dictionary(column.type) else column
    if types.is_floating(plain.type):
        plain = compute.if_else(compute.is_nan(plain), None, plain)
    coded = pa.concat_arrays(plain.chunks).dictionary_encode()
    numbers = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return numbers, [str(value) for value in coded.dictionary.to_pylist()]


def pandas_index(schema: pa.Schema) -> tuple[str, ...]:
    """Return the columns that store the pandas index."""
    stored = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    columns = stored.get("index_columns", []) if isinstance(stored, dict) else []
    # the index column may have been removed later
    return tuple(name for name in columns if isinstance(name, str) and name in schema.names)


class FeatherScan(Scan):
    """The scan of a feather file."""

    def __init__(self, path: Path) -> None:
        with pa.memory_map(str(path)) as file:
            self.schema = ipc.open_file(file).schema
        reject_repeated_names(path.name, self.schema.names)
        kinds = dict(zip(self.schema.names, self.schema.types, strict=True))
        super().__init__(path.name, kinds, index=pandas_index(self.schema))
        self.path = path

    def batches(
        self, columns: Mapping[str, ReadAs], size: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        options = ipc.IpcReadOptions(
            included_fields=[self.schema.get_field_index(name) for name in columns]
        )
        with pa.memory_map(str(self.path)) as file:
            reader = ipc.open_file(file, options=options)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                batch.validate(full=True)  # offsets in a corrupt file may be out of bounds
                yield batch.select(list(columns))


def scan_feather(path: Path, selection: ColumnSelection) -> FeatherScan:
    """Scan a feather file."""
    return FeatherScan(path)


class TableScan(Scan):
    """The scan of an Arrow table in memory."""

    def __init__(self, name: str, table: pa.Table) -> None:
        kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
        super().__init__(name, kinds, table.num_rows)
        self.table = table

    def batches(
        self, columns: Mapping[str, ReadAs], size: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        yield from self.table.select(list(columns)).to_batches(max_chunksize=size)


def write_parquet(path: Path, columns: dict[str, Array]) -> None:
    """Write named columns to a parquet file, with null for masked cells."""
    arrays = {
        name: pa.array(np.ma.getdata(cells), mask=_mask(cells)) for name, cells in columns.items()
    }
    parquet.write_table(pa.table(arrays), str(path))


def write_parquet_blocks(path: Path, blocks: Iterable[dict[str, Array]]) -> None:
    """Write named columns to a parquet file, one block at a time."""
    writer = None
    try:
        for columns in blocks:
            block = pa.table(
                {
                    name: pa.array(np.ma.getdata(cells), mask=_mask(cells))
                    for name, cells in columns.items()
                }
            )
            writer = writer or parquet.ParquetWriter(str(path), block.schema)
            writer.write_table(block)
    finally:
        if writer is not None:
            writer.close()


def _mask(cells: Array) -> Any:
    """Return the mask of a column, or None if it has no mask."""
    return np.ma.getmaskarray(cells) if isinstance(cells, np.ma.MaskedArray) else None
