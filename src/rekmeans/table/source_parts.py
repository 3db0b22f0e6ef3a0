"""Raw blocks, and parts of a source that can be read in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from .._grid import Array

Item = TypeVar("Item")
COLUMN_TYPES = set(map(np.dtype, "bhilBHILfd"))  # dtypes that every engine supports
TILE_BYTES = 1 << 17  # bytes written at a time, so that they stay in the cache


@dataclass(frozen=True)
class ColumnCells:
    """The cells of a block, stored column by column and indexed by row.

    `cells[numbers]` copies some rows into an array, `np.asarray(cells)` copies all rows.
    """

    columns: tuple[Array, ...]  # (m,) each, all with the same dtype
    dtype: np.dtype[np.generic]  # of the rows

    @classmethod
    def of_columns(cls, columns: Sequence[Array], dtype: np.dtype[np.generic]) -> Self:
        """Return the cells of these columns without a copy if they share one plain dtype."""
        kinds = {column.dtype for column in columns}
        if len(kinds) > 1 or not kinds <= COLUMN_TYPES:
            columns = [column.astype(dtype, copy=False) for column in columns]
        return cls(tuple(columns), dtype)

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    def __getitem__(self, rows: Array | slice) -> Array:
        columns = [column[rows] for column in self.columns]
        found = np.empty((len(columns[0]), len(columns)), self.dtype)
        tile = max(1, TILE_BYTES // (self.dtype.itemsize * len(columns)))
        for at in range(0, len(found), tile):
            for j, column in enumerate(columns):
                found[at : at + tile, j] = column[at : at + tile]
        return found

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self[:].astype(dtype or self.dtype, copy=False)


BlockCells: TypeAlias = Array | ColumnCells  # (m, d), in row-major or column-major order


class RawBlock(NamedTuple):
    """Consecutive rows of a table, as read from the source."""

    X: BlockCells
    weights: Array | None  # (m,) as in the source, None if all are equal


class SourcePart(NamedTuple):
    """Rows of a source that start at row `start` and are read block by block.

    A block is valid until the next one is read.
    """

    start: int
    read: Callable[[], Iterator[RawBlock]]


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items of an iterator, and prefetch the next one in a thread."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item


def map_parts(
    parts: Sequence[SourcePart], work: Callable[[int, RawBlock], Item], n_threads: int
) -> Iterator[tuple[int, Item]]:
    """Yield the number of rows and `work(start, block)` of each block, in the order of completion.

    The thread that reads a block also processes it.
    """
    # None marks the end of a part
    found: SimpleQueue[tuple[int, Item] | BaseException | None] = SimpleQueue()
    is_stopped = Event()

    def work_on_part(part: SourcePart) -> None:
        start = part.start
        try:
            for block in part.read():
                if is_stopped.is_set():
                    return
                found.put((len(block.X), work(start, block)))
                start += len(block.X)
            found.put(None)
        except BaseException as error:
            found.put(error)

    n_left = len(parts)
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for part in parts:
                pool.submit(work_on_part, part)
            while n_left:
                item = found.get()
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    n_left -= 1
                else:
                    yield item
        finally:
            is_stopped.set()
            pool.shutdown(cancel_futures=True)
