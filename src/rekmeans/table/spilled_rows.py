"""Decoded rows in a temporary file, for sources that are slow to decode again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from tempfile import TemporaryFile
from threading import Lock

import numpy as np

from .._grid import Array
from .source_parts import RawBlock, SourcePart

BLOCKS_OF_PART = 8  # consecutive blocks that one thread reads


class SpilledRows:
    """Rows (n, d) and their weights in an anonymous temporary file."""

    def __init__(self, n_columns: int, dtype: np.dtype[np.generic], has_weights: bool) -> None:
        self.n_columns = n_columns
        self.has_weights = has_weights
        # a weight column requires float64
        self.dtype = np.dtype(np.float64) if has_weights else dtype
        self.cells_dtype = dtype
        self.width = n_columns + has_weights
        self.n_rows = 0
        self.file = TemporaryFile()  # noqa: SIM115 - open as long as the record
        self.lock = Lock()

    def append(self, block: RawBlock) -> None:
        """Append the rows of a block."""
        rows = np.asarray(block.X)
        if block.weights is not None:
            rows = np.column_stack([rows, block.weights])
        self.file.write(np.ascontiguousarray(rows, self.dtype).data)
        self.n_rows += len(rows)

    def finish(self) -> None:
        """Flush the buffer, so that rows can be read."""
        self.file.flush()

    def parts(self, size: int) -> list[SourcePart]:
        """Return parts of several blocks, which can be read in parallel."""
        step = size * BLOCKS_OF_PART
        return [
            SourcePart(at, partial(self._read, at, min(at + step, self.n_rows), size))
            for at in range(0, self.n_rows, step)
        ]

    def take(self, rows: Array) -> Array:
        """Return the rows with these sorted row numbers."""
        found = [self._rows(int(row), int(row) + 1)[0][0] for row in rows]
        return np.array(found, self.cells_dtype).reshape(len(rows), self.n_columns)

    def _read(self, start: int, stop: int, size: int) -> Iterator[RawBlock]:
        for at in range(start, stop, size):
            X, weights = self._rows(at, min(at + size, stop))
            yield RawBlock(X, weights)

    def _rows(self, start: int, stop: int) -> tuple[Array, Array | None]:
        row_bytes = self.width * self.dtype.itemsize
        raw = self._read_bytes((stop - start) * row_bytes, start * row_bytes)
        rows = np.frombuffer(raw, self.dtype).reshape(stop - start, self.width)
        if not self.has_weights:
            return rows, None
        cells = np.ascontiguousarray(rows[:, :-1], self.cells_dtype)
        return cells, rows[:, -1]

    def _read_bytes(self, count: int, offset: int) -> bytes:
        """Read from the file. Several threads may call this at once."""
        if hasattr(os, "pread"):
            return os.pread(self.file.fileno(), count, offset)
        with self.lock:  # Windows
            self.file.seek(offset)
            return self.file.read(count)
