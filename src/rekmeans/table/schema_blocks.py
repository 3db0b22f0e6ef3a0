"""Read a scan in blocks, according to a schema."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from .._grid import Array
from ..io.scan import Scan, ScanPart
from .inference import Inference, read_modes
from .schema import TableSchema
from .source_parts import ColumnCells, RawBlock, SourcePart
from .spilled_rows import SpilledRows

if TYPE_CHECKING:
    import pyarrow as pa


class SchemaBlocks:
    """The features of a scan as numeric blocks, which can be read repeatedly, in order.

    `weight` is the name of the weight column.
    """

    def __init__(self, inference: Inference, weight: str | None = None) -> None:
        self.scan: Scan = inference.scan
        self.schema: TableSchema = inference.schema
        self.features = self.schema.features
        self.weight = weight
        self.columns = read_modes(
            self.scan, [*self.schema.feature_names, *([] if weight is None else [weight])]
        )
        names = self.schema.feature_names
        is_narrow = all(self.scan.column_types[name].is_narrow for name in names)
        self.dtype = np.dtype(np.float32 if is_narrow else np.float64)
        self.n_columns = len(names)
        self.kept: dict[int, list[RawBlock]] = {}  # keyed by the first row of a part
        self.room = 0  # bytes available for more cached blocks
        self.is_read_often = False
        self.spilled: SpilledRows | None = None  # all rows, after the first pass
        self.lock = Lock()

    @property
    def names(self) -> list[str]:
        return self.schema.feature_names

    @property
    def n_rows(self) -> int | None:
        if self.spilled is not None:
            return self.spilled.n_rows
        return self.scan.n_rows

    def first_row(self) -> object:
        """Return a one-row table with the column names, in a type that scikit-learn supports."""
        from ..io._pyarrow import pa

        if not self.schema.has_names:
            return np.zeros((1, self.n_columns))
        return pa.table({name: [0.0] for name in self.names})

    def blocks(self, size: int) -> Iterator[RawBlock]:
        for part in self.parts(size):
            yield from part.read()

    def parts(self, size: int) -> list[SourcePart]:
        if self.spilled is not None:
            return self.spilled.parts(size)
        return [
            SourcePart(part.start, partial(self._read_part, part, size))
            for part in self.scan.parts(self.columns, size)
        ]

    def keep_blocks(self, room: int) -> None:
        """Cache decoded blocks for later reads, up to `room` bytes.

        Rows that are slow to decode and do not fit are written to a temporary file.
        """
        self.room = room
        self.is_read_often = True

    def take(self, rows: Array) -> Array | None:
        return None if self.spilled is None else self.spilled.take(rows)

    def row_place(self, row: int) -> str:
        """Return the location of a row in the source, for error messages."""
        return self.scan.row_place(row)

    def _read_part(self, part: ScanPart, size: int) -> Iterator[RawBlock]:
        """Yield the blocks of a part, from the cache if possible."""
        if (kept := self.kept.get(part.start)) is not None:
            yield from kept
            return
        if part.n_rows is None:
            yield from self._decode_growing(part, size)
            return
        needed = part.n_rows * len(self.columns) * 8
        with self.lock:
            is_room = needed <= self.room
            self.room -= needed if is_room else 0
        blocks = []
        try:
            for block in self._decode(part, size):
                yield block
                if is_room:
                    blocks.append(block)
            if is_room:
                self.kept[part.start] = blocks
        finally:
            if is_room and part.start not in self.kept:  # not cached if the reader stopped early
                with self.lock:
                    self.room += needed

    def _decode_growing(self, part: ScanPart, size: int) -> Iterator[RawBlock]:
        """Yield the blocks of a part of unknown length, and cache them in memory or in a file."""
        blocks: list[RawBlock] = []
        needed = 0
        is_room = self.room > 0
        spilled = None
        if self.is_read_often and self.scan.is_slow:
            spilled = SpilledRows(self.n_columns, self.dtype, self.weight is not None)
        for block in self._decode(part, size):
            yield block
            needed += len(block.X) * len(self.columns) * 8
            if is_room and needed <= self.room:
                blocks.append(block)
                continue
            is_room = False
            spilled = _spill([*blocks, block], spilled)
            blocks.clear()
        if is_room:
            with self.lock:
                self.room -= needed
            self.kept[part.start] = blocks
        elif spilled is not None:
            spilled.finish()
            self.spilled = spilled

    def _decode(self, part: ScanPart, size: int) -> Iterator[RawBlock]:
        """Yield the decoded blocks of a part, of at most `size` rows."""
        for batch in part.read():
            for at in range(0, batch.num_rows, size):
                block = self._block(batch.slice(at, size))
                if len(block.X):
                    yield block

    def _block(self, batch: pa.RecordBatch) -> RawBlock:
        from ..io.arrow import column_numbers

        cells = [
            encoded
            for j, column in enumerate(self.features)
            for encoded in column.encode(batch.column(j), self.dtype)
        ]
        weights = (
            None
            if self.weight is None
            else column_numbers(batch.column(len(self.features)), np.float64)
        )
        return RawBlock(ColumnCells.of_columns(cells, self.dtype), weights)


def _spill(blocks: list[RawBlock], spilled: SpilledRows | None) -> SpilledRows | None:
    """Append blocks to a file. Return None if the disk is full; rows are then decoded again."""
    if spilled is None:
        return None
    try:
        for block in blocks:
            spilled.append(block)
    except OSError:
        return None
    return spilled
