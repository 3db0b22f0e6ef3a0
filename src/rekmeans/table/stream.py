"""Tables that are read block by block, prefetching one block; progress and errors of a read."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add, itemgetter
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike

from .._grid import Array, integer_weights
from ..threads import count_threads
from .base import (
    EXACT_ROWS,
    SUMMARY_ROWS,
    Cells,
    ColumnAttributes,
    ColumnSummary,
    SummaryRows,
    draw_goals,
    numbers_of_rows,
)
from .block_source import BlockSource
from .empty_rows import count_labels, mark_rows, weights_without_rows
from .memory import SUMMARY_SEED, MemoryTable
from .source_parts import BlockCells, Item, RawBlock, map_parts, prefetch
from .survey import Survey

COUNTED_LABELS = 1 << 20  # labels counted at a time; they may be memory-mapped
# maximum float64 cells of a block; for larger ones, the allocator calls the system each time
STREAM_BLOCK_BYTES = 1 << 23
MIN_BLOCK_ROWS = 256
# copies of a block in memory: two prefetched, and one in use with mapped rows of twice its size
COPIES = 6
COPIES_OF_READER = 2  # per thread, if each thread reads its own blocks
STATE_BYTES = 64  # per row, in addition to its cells
FILE_SHARE = 4  # an array larger than memory_limit / FILE_SHARE is kept in an unnamed file
ROWS_READ = "rows read"
PARTITIONS_DONE = "partitions done"
# arguments: number done, total or None, unit
ReadingCallback = Callable[[int, int | None, str], object]
_CALLBACK: ContextVar[ReadingCallback | None] = ContextVar(
    "rekmeans_reading_callback", default=None
)


@dataclass(frozen=True)
class Block:
    """A block of rows that starts at row `start`."""

    start: int
    X: BlockCells  # as read from the source
    weights: Array | None
    columns: ColumnAttributes
    largest_weight: float | None  # over the whole table

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + len(self.X))

    @cached_property
    def table(self) -> MemoryTable:
        return MemoryTable(np.asarray(self.X), self.weights, self.columns, self.largest_weight)

    def take(self, numbers: Array) -> MemoryTable:
        """Return the rows at these positions of the block."""
        weights = None if self.weights is None else self.weights[numbers]
        return MemoryTable(self.X[numbers], weights, self.columns, self.largest_weight)


@dataclass(frozen=True)
class StreamTable:
    """Rows of a source that is read block by block, with NaN for missing cells."""

    source: BlockSource
    survey: Survey
    columns: ColumnAttributes = field(default_factory=ColumnAttributes)
    memory_limit: int | None = None  # bytes
    n_threads: int | None = None  # maximum threads that read the source

    is_in_memory: ClassVar[bool] = False
    is_partitioned: ClassVar[bool] = False
    is_on_host: ClassVar[bool] = True

    @property
    def n_rows(self) -> int:
        return self.survey.n_rows

    @property
    def n_columns(self) -> int:
        return self.source.n_columns

    @property
    def largest_weight(self) -> float | None:
        return self.survey.largest_row_weight

    @property
    def empty_rows(self) -> Array:
        return self.survey.empty_rows

    @property
    def weights(self) -> Array | None:
        """The weights of all rows, (n,). Computing them reads all blocks."""
        if self.largest_weight is None:
            return None
        return np.concatenate([block.table.weights for block in self.read_blocks()])

    def to_input_type(self, values: Array) -> Array:
        return self.mark_empty_rows(values)

    def mark_empty_rows(self, values: Array) -> Array:
        if not len(self.empty_rows):
            return values
        marked = allocate_rows(values.shape, values.dtype, self.memory_limit)
        for at in self.blocks(COUNTED_LABELS):
            marked[at] = mark_rows(values[at], self._empty_rows_of(at))
        return marked

    def _empty_rows_of(self, at: slice) -> Array:
        """Return the numbers of the rows without an observed value within these rows."""
        here = slice(*np.searchsorted(self.empty_rows, [at.start, at.stop]))
        return self.empty_rows[here] - at.start

    def has_missing(self) -> bool:
        return self.survey.has_missing

    def digest(self) -> int:
        if self.survey.digest is None:
            raise ValueError("The survey of this table has no digest. Request it from survey_rows.")
        return self.survey.digest

    def blocks(self, size: int) -> Iterator[slice]:
        return (slice(at, min(at + size, self.n_rows)) for at in range(0, self.n_rows, size))

    def read_blocks(self) -> Iterator[Block]:
        """Yield the blocks in order, prefetching the next one."""
        at = 0
        with explain_reading():
            for raw in prefetch(self.source.blocks(block_rows(self.n_columns, self.memory_limit))):
                yield self._block(at, raw)
                at += len(raw.X)
                report_reading(at, self.n_rows)
        self._reject_other_length(at)

    def dense_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the slice and the dense cells of each block of rows, in order."""
        for block in self.read_blocks():
            for rows, X in block.table.dense_blocks():
                yield slice(block.start + rows.start, block.start + rows.stop), X

    def map_blocks(self, work: Callable[[Block, int], Item], n_threads: int) -> Iterator[Item]:
        """Yield `work(block, threads)` for each block, in any order.

        If the source has several parts, several threads read them.
        """
        size = block_rows(self.n_columns, self.memory_limit, n_threads)
        parts = self.source.parts(size)
        n_readers = min(n_threads, len(parts))
        if n_readers == 1:
            yield from (work(block, n_threads) for block in self.read_blocks())
            return

        def work_on_block(start: int, raw: RawBlock) -> Item:
            return work(self._block(start, raw), n_threads // n_readers)

        done = 0
        with explain_reading():
            for n, item in map_parts(parts, work_on_block, n_readers):
                done += n
                report_reading(done, self.n_rows)
                yield item
        self._reject_other_length(done)

    def _block(self, start: int, raw: RawBlock) -> Block:
        w = None if raw.weights is None else np.asarray(raw.weights, np.float64)
        n = len(raw.X)
        if len(self.empty_rows):
            w = weights_without_rows(w, n, self._empty_rows_of(slice(start, start + n)))
        return Block(start, raw.X, w, self.columns, self.largest_weight)

    def _reject_other_length(self, n: int) -> None:
        if n != self.n_rows:
            raise ValueError(
                f"X must not change while it is being read: it had {self.n_rows:,} rows "
                f"and now has {n:,}. Try again."
            )

    def dense(self, rows: slice | Array = slice(None)) -> Array:
        """Return the selected rows. All rows are read unless the source supports random access."""
        ascending, places = np.unique(numbers_of_rows(rows, self.n_rows), return_inverse=True)
        return self._rows_at(ascending)[0][places]

    def sample(self, count: int, seed: int) -> MemoryTable:
        if self.survey.n_counting <= count:
            return self._counting_rows()
        words = np.random.PCG64(seed).random_raw(count)
        X, times = self._rows_at(draw_goals(self._total_weight, words), by_weight=True)
        return MemoryTable(X, times, self.columns)

    def take(self, rows: Array, weights: Array) -> MemoryTable:
        return MemoryTable(self.dense(rows), weights, self.columns)

    def in_memory(self) -> MemoryTable:
        """Load all rows of a small table into memory, to choose initial centroids from them."""
        blocks = [block.table for block in self.read_blocks()]
        weights = (
            None
            if self.largest_weight is None
            else np.concatenate([block.weights for block in blocks])
        )
        return MemoryTable(stack_blocks([block.X for block in blocks]), weights, self.columns)

    def count_labels(self, labels: Array, k: int) -> Array:
        """Return the number of rows with each label. Labels in a file are read in blocks."""
        blocks = (
            count_labels(mark_rows(labels[at], self._empty_rows_of(at)), k)
            for at in self.blocks(COUNTED_LABELS)
        )
        return reduce(add, blocks)

    def column_summary(self, n_threads: int | None = None) -> ColumnSummary:
        threads = count_threads(n_threads)
        ends = (self.survey.low, self.survey.high)

        def summary_rows() -> SummaryRows:
            return self._summary_table.column_summary(threads).rows

        return ColumnSummary(self.n_columns, lambda: ends, summary_rows, threads)

    @cached_property
    def _summary_table(self) -> MemoryTable:
        """The rows from which column statistics are computed."""
        if self.survey.n_counting <= EXACT_ROWS:
            return self._counting_rows()
        return self.sample(SUMMARY_ROWS, SUMMARY_SEED).repeat_rows()

    def _counting_rows(self) -> MemoryTable:
        """Return all rows with nonzero weight, in memory."""
        table = self.in_memory()
        if table.weights is None:
            return table
        counting = np.flatnonzero(table.weights > 0)
        return MemoryTable(table.X[counting], table.weights[counting], self.columns)

    @cached_property
    def _total_weight(self) -> int:
        """The sum of the integer weights."""
        if self.largest_weight is None:
            return self.n_rows
        return sum(int(running_weights(block.table)[-1]) for block in self.read_blocks())

    def _rows_at(self, goals: Array, by_weight: bool = False) -> tuple[Array, Array]:
        """Return the rows whose cumulative weight, or count, first exceeds each goal.

        The second array is the number of times each row was drawn.
        """
        goals, times = np.unique(goals, return_counts=True)
        is_weighted = by_weight and self.largest_weight is not None
        found = None if is_weighted else self.source.take(goals)
        if found is not None:
            return found, times.astype(np.float64)
        if not is_weighted:

            def take(block: Block, _: int) -> tuple[int, Array]:
                here = slice(*np.searchsorted(goals, [block.start, block.rows.stop]))
                return block.start, block.X[goals[here] - block.start]

            found_in_blocks = sorted(
                self.map_blocks(take, count_threads(self.n_threads)), key=itemgetter(0)
            )
            return stack_blocks([X for _, X in found_in_blocks]), times.astype(np.float64)
        drawn = []
        before = 0
        for block in self.read_blocks():
            ends = running_weights(block.table)
            here = slice(*np.searchsorted(goals, [before, before + ends[-1]]))
            if len(goals[here]):
                drawn.append(rows_at_goals(block.table.X, ends, goals[here] - before, times[here]))
            before += int(ends[-1])
        hits = np.concatenate([times_of_block for _, times_of_block in drawn])
        return stack_blocks([X for X, _ in drawn]), hits.astype(np.float64)


def block_rows(n_columns: int, memory_limit: int | None = None, n_readers: int = 1) -> int:
    """Return the number of rows per block such that all copies fit into half of the limit."""
    size = STREAM_BLOCK_BYTES // (8 * n_columns)
    if memory_limit is not None:
        copies = max(COPIES, COPIES_OF_READER * n_readers)
        size = min(size, memory_limit // 2 // (copies * 8 * n_columns + STATE_BYTES))
    return max(MIN_BLOCK_ROWS, size)


def allocate_rows(
    shape: tuple[int, ...], dtype: DTypeLike, memory_limit: int | None = None
) -> Array:
    """Return an uninitialized array. It is in an unnamed file if it is large."""
    kind = np.dtype(dtype)
    size = kind.itemsize * math.prod(shape)
    if memory_limit is None or size * FILE_SHARE <= memory_limit or kind.hasobject:
        return np.empty(shape, kind)
    with tempfile.TemporaryFile(prefix="rekmeans-labels-") as file:
        # If the disk is full, this raises an error. A later write to the mapping would crash.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        # np.memmap would leave a file with a name that other processes can open.
        return np.frombuffer(mmap.mmap(file.fileno(), size), kind).reshape(shape)


def rows_at_goals(X: Cells, ends: Array, goals: Array, times: Array) -> tuple[Array, Array]:
    """Return the rows of a block at which the cumulative sums `ends` first exceed the sorted goals.

    The second array is the sum of `times` for each row.
    """
    rows, first = np.unique(np.searchsorted(ends, goals, side="right"), return_index=True)
    return X[rows], np.add.reduceat(times, first)


def stack_blocks(blocks: Sequence[Cells]) -> Array:
    """Stack blocks vertically in row-major order.

    The memory order affects the last bit of sums over columns.
    """
    return np.ascontiguousarray(np.concatenate(blocks))


def running_weights(block: MemoryTable) -> Array:
    """Return the cumulative integer weights of a block, (m,)."""
    w, _ = integer_weights(np.asarray(block.weights), block.largest_weight)
    return np.cumsum(w)


@contextmanager
def watch_reading(callback: ReadingCallback) -> Iterator[None]:
    """Call `callback` after each block and each Dask partition in this context."""
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


def report_reading(n_done: int, n_all: int | None, what: str = ROWS_READ) -> None:
    """Report progress to the callback, if one is set."""
    if (callback := _CALLBACK.get()) is not None:
        callback(n_done, n_all, what)


@contextmanager
def explain_reading() -> Iterator[None]:
    """Convert pyarrow and missing-file errors to errors that state the problem and the fix."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"X must not change while it is being read, but a file is missing: {_reason(error)}."
        ) from error
    except Exception as error:
        if not type(error).__module__.startswith("pyarrow"):
            raise
        raise ValueError(
            f"X cannot be read ({_reason(error)}). Use the same column types in all files."
        ) from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split(". ")[0].split())[:160].rstrip(".")
