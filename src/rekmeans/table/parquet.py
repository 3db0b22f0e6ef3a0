"""Rows of parquet files, a row group at a time, by pyarrow's datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._grid import Array
from .block_source import RawBlock, columns_by_name
from .column_cells import ColumnCells
from .parquet_files import is_number_type, open_dataset

try:
    import pyarrow as pa
    from pyarrow import dataset, types
except ImportError:
    raise ImportError("parquet files need pyarrow: pip install 'rekmeans[stream]'.") from None

BATCHES_AHEAD = 2  # decoded before they are asked for; more only take memory
SCAN_OPTIONS = dataset.ParquetFragmentScanOptions(
    pre_buffer=False, use_buffered_stream=True
)  # whole row groups are not held
# Exact in float32; a table of other numbers is one of float64.
NARROW_TYPES = (pa.float32(), pa.float16(), pa.int16(), pa.int8(), pa.uint16(), pa.uint8(), pa.bool_())


class DatasetBlocks:
    """Rows of a pyarrow dataset; `weight` names the column of the weights, `only` those of the features."""

    def __init__(self, data: Any, weight: str | None = None, only: Sequence[str] | None = None) -> None:
        if not isinstance(data, dataset.Dataset):
            kind = type(data).__name__
            raise TypeError(f"X must be a pyarrow dataset, or the path of one; got a {kind}: pass what it was made of.")
        self.data, self.weight = data, weight
        names = data.schema.names
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"X must have different column names, got {twice[0]!r} twice: rename one.")
        kinds = {field.name: field.type for field in data.schema}
        if weight is not None and weight not in kinds:
            raise ValueError(f"sample_weight={weight!r} must name a column of X; it has {', '.join(kinds):.80}.")
        self.names = [name for name in columns_by_name(names, only) if name != weight]
        if not self.names:
            raise ValueError("X has 0 feature(s) while a minimum of 1 is required: pass a column.")
        for name in [*self.names, *([] if weight is None else [weight])]:
            if not is_number_type(kinds[name]):
                raise ValueError(f"X must be numeric, column {name!r} is not: found {kinds[name]}; drop or encode it.")
        is_narrow = all(kinds[name] in NARROW_TYPES for name in self.names)
        self.dtype = np.dtype(np.float32 if is_narrow else np.float64)
        self.n_columns, self.n_rows = len(self.names), int(data.count_rows())

    def first_row(self) -> Any:
        return pa.table({name: [0.0] for name in self.names})

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """Batches of at most so many rows, small ones put together."""
        waiting: list[Any] = []
        m = 0
        for batch in self._batches(size):
            if m and m + batch.num_rows > size:
                yield self._block(waiting)
                waiting, m = [], 0
            waiting.append(batch)
            m += batch.num_rows
        if m:
            yield self._block(waiting)

    def _block(self, batches: list[Any]) -> RawBlock:
        batch = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        columns = [column_numbers(batch.column(name), self.dtype) for name in self.names]
        weights = None if self.weight is None else column_numbers(batch.column(self.weight), np.float64)
        return RawBlock(ColumnCells.of_columns(columns, self.dtype), weights)

    def _batches(self, size: int) -> Iterator[Any]:
        """Record batches in the order of the rows."""
        is_parquet = isinstance(getattr(self.data, "format", None), dataset.ParquetFileFormat)
        columns = [*self.names, *([] if self.weight is None else [self.weight])]
        yield from self.data.to_batches(
            columns=columns,
            batch_size=size,
            batch_readahead=BATCHES_AHEAD,
            fragment_readahead=1,
            fragment_scan_options=SCAN_OPTIONS if is_parquet else None,
        )

    def take(self, rows: Array) -> Array | None:
        return None


def open_parquet(name: str, weight: str | None = None, only: Sequence[str] | None = None) -> DatasetBlocks:
    """The rows of a parquet file, of the files in a folder, or of those that a pattern names, in the order of names."""
    compared = None if only is None else [*only, *([] if weight is None else [weight])]
    return DatasetBlocks(open_dataset(name, only=compared), weight, only)


def split_columns(data: Any, drop: Sequence[str] = ()) -> tuple[list[str], dict[str, str]]:
    """The columns of numbers, and the others with the reason why they are skipped."""
    kinds = {field.name: field.type for field in data.schema}
    skipped = {name: "dropped" if name in drop else str(kind) for name, kind in kinds.items()}
    kept = [name for name, kind in kinds.items() if name not in drop and is_number_type(kind)]
    return kept, {name: why for name, why in skipped.items() if name not in kept}


def column_numbers(column: Any, dtype: Any) -> Array:
    """The cells of a column as numbers, NaN where they are missing; uncopied where none is."""
    if not column.null_count and (types.is_integer(column.type) or types.is_floating(column.type)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    plain = column.cast(pa.uint8()) if types.is_boolean(column.type) else column
    cells: Array = plain.cast(pa.from_numpy_dtype(dtype), safe=False).to_numpy(zero_copy_only=False)
    return cells
