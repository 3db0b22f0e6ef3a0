"""Rows of parquet files, a row group at a time, by pyarrow's datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from threading import Lock
from typing import Any

import numpy as np

from .._grid import Array
from .block_source import columns_by_name
from .column_cells import ColumnCells
from .parquet_files import is_number_type, open_dataset
from .source_parts import RawBlock, SourcePart

try:
    import pyarrow as pa
    from pyarrow import dataset, types
    from pyarrow.parquet import ParquetFile
except ImportError:
    raise ImportError("parquet files need pyarrow: pip install 'rekmeans[stream]'.") from None

BATCHES_AHEAD = 2  # decoded before they are asked for; more only take memory
# of row groups that are read together: opening a file for each would take longer
MOST_CELLS_TOGETHER = 1 << 20
PAGE_BUFFER = 1 << 16  # bytes of a column that are read from a file at a time
# Exact in float32; a table of other numbers is one of float64.
NARROW_TYPES = (
    pa.float32(),
    pa.float16(),
    pa.int16(),
    pa.int8(),
    pa.uint16(),
    pa.uint8(),
    pa.bool_(),
)


@dataclass(frozen=True, eq=False)
class FileRowGroups:
    """Row groups of a parquet file that are read one after the other."""

    fragment: Any  # pyarrow's, of the file
    numbers: tuple[int, ...]
    n_rows: int


def find_row_groups(data: Any, columns: list[str], n_rows: int) -> list[FileRowGroups] | None:
    """The row groups of a dataset, small ones together;

    None where its rows are not simply those of parquet files.
    """
    found: list[FileRowGroups] = []
    try:
        fragments = list(data.get_fragments())
    except ValueError:  # some rows are filtered out
        return None
    for fragment in fragments:
        if not isinstance(fragment, dataset.ParquetFileFragment):
            return None
        kinds = {field.name: field.type for field in fragment.physical_schema}
        if not all(name in kinds and is_number_type(kinds[name]) for name in columns):
            return None
        numbers: list[int] = []
        m = 0
        for group in fragment.row_groups:
            if m and m + group.num_rows > MOST_CELLS_TOGETHER // len(columns):
                found.append(FileRowGroups(fragment, tuple(numbers), m))
                numbers = []
                m = 0
            numbers.append(group.id)
            m += group.num_rows
        found += [FileRowGroups(fragment, tuple(numbers), m)] if m else []
    return found if sum(group.n_rows for group in found) == n_rows else None


class DatasetBlocks:
    """Rows of a pyarrow dataset; `weight` names the column of the weights, `only` those of the
    features.
    """

    def __init__(
        self,
        data: Any,
        weight: str | None = None,
        only: Sequence[str] | None = None,
        has_own_schema: bool = True,
    ) -> None:
        if not isinstance(data, dataset.Dataset):
            kind = type(data).__name__
            raise TypeError(
                f"X must be a pyarrow dataset, or the path of one; got a {kind}: pass what it was "
                f"made of."
            )
        self.data = data
        self.weight = weight
        self.has_own_schema = has_own_schema
        names = data.schema.names
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(
                f"X must have different column names, got {twice[0]!r} twice: rename one."
            )
        kinds = {field.name: field.type for field in data.schema}
        if weight is not None and weight not in kinds:
            raise ValueError(
                f"sample_weight={weight!r} must name a column of X; it has {', '.join(kinds):.80}."
            )
        self.names = [name for name in columns_by_name(names, only) if name != weight]
        if not self.names:
            raise ValueError("X has 0 feature(s) while a minimum of 1 is required: pass a column.")
        for name in [*self.names, *([] if weight is None else [weight])]:
            if not is_number_type(kinds[name]):
                raise ValueError(
                    f"X must be numeric, column {name!r} is not: found {kinds[name]}; drop or "
                    f"encode it."
                )
        self.types = {name: kinds[name] for name in self._columns}
        is_narrow = all(kinds[name] in NARROW_TYPES for name in self.names)
        self.dtype = np.dtype(np.float32 if is_narrow else np.float64)
        self.n_columns = len(self.names)
        self.n_rows = int(data.count_rows())
        self.row_groups = find_row_groups(data, self._columns, self.n_rows)
        self.kept: dict[FileRowGroups, list[RawBlock]] = {}
        # bytes for more of them
        self.room = 0
        self.lock = Lock()

    def first_row(self) -> Any:
        return pa.table({name: [0.0] for name in self.names})

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """Batches of at most so many rows, small ones put together."""
        if self.row_groups is not None:
            yield from chain.from_iterable(
                self._read_group(group, size) for group in self.row_groups
            )
            return
        waiting: list[Any] = []
        m = 0
        for batch in self._scan(size):
            if m and m + batch.num_rows > size:
                yield self._block(waiting)
                waiting = []
                m = 0
            waiting.append(batch)
            m += batch.num_rows
        if m:
            yield self._block(waiting)

    def parts(self, size: int) -> list[SourcePart]:
        if self.row_groups is None:
            return [SourcePart(0, partial(self.blocks, size))]
        ends = accumulate(group.n_rows for group in self.row_groups)
        pairs = zip(ends, self.row_groups, strict=True)
        return [
            SourcePart(end - group.n_rows, partial(self._read_group, group, size))
            for end, group in pairs
        ]

    def keep_blocks(self, room: int) -> None:
        """Keep what is decoded, up to so many bytes, for the reads that follow."""
        self.room = room

    def _read_group(self, group: FileRowGroups, size: int) -> Iterator[RawBlock]:
        """As it is kept, else decoded."""
        if (kept := self.kept.get(group)) is not None:
            yield from kept
            return
        needed = group.n_rows * len(self._columns) * 8
        with self.lock:
            is_room = needed <= self.room
            self.room -= needed if is_room else 0
        blocks = []
        try:
            for block in self._decode_group(group, size):
                yield block
                if is_room:
                    blocks.append(block)
            if is_room:
                self.kept[group] = blocks
        finally:
            if is_room and group not in self.kept:  # the reader went before the end
                with self.lock:
                    self.room += needed

    def _decode_group(self, group: FileRowGroups, size: int) -> Iterator[RawBlock]:
        """A block at a time, so that no more is in memory; on one thread, as many read at once."""
        with group.fragment.open() as file:
            reader = ParquetFile(
                file, metadata=group.fragment.metadata, buffer_size=PAGE_BUFFER, pre_buffer=False
            )
            for batch in reader.iter_batches(
                size, list(group.numbers), self._columns, use_threads=False
            ):
                if batch.num_rows:
                    yield self._block([self._cast(batch)])

    def _cast(self, batch: Any) -> Any:
        """Return a batch of a file with the column types of the dataset's schema.

        A schema of the user is cast to without loss, or pyarrow raises. The common schema of
        several files rounds large integers.
        """
        columns = [
            batch.column(name).cast(self.types[name], safe=self.has_own_schema)
            for name in self._columns
        ]
        return pa.record_batch(columns, self._columns)

    def _block(self, batches: list[Any]) -> RawBlock:
        batch = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        columns = [column_numbers(batch.column(name), self.dtype) for name in self.names]
        weights = (
            None if self.weight is None else column_numbers(batch.column(self.weight), np.float64)
        )
        return RawBlock(ColumnCells.of_columns(columns, self.dtype), weights)

    @property
    def _columns(self) -> list[str]:
        return [*self.names, *([] if self.weight is None else [self.weight])]

    def _scan(self, size: int) -> Iterator[Any]:
        """Record batches in the order of the rows, by pyarrow's scanner, which decodes whole row
        groups ahead.
        """
        yield from self.data.to_batches(
            columns=self._columns,
            batch_size=size,
            batch_readahead=BATCHES_AHEAD,
            fragment_readahead=1,
        )

    def take(self, rows: Array) -> Array | None:
        return None


def open_parquet(
    name: str, weight: str | None = None, only: Sequence[str] | None = None
) -> DatasetBlocks:
    """The rows of a parquet file, of the files in a folder, or of those that a pattern names, in
    the order of names.
    """
    compared = None if only is None else [*only, *([] if weight is None else [weight])]
    return DatasetBlocks(open_dataset(name, only=compared), weight, only, has_own_schema=False)


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
