"""Where the blocks of a table that is not in memory come from: arrays on disk, and functions that give blocks."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from .._grid import Array
from ..machine_memory import machine_memory
from .refusals import number_rows
from .source_parts import RawBlock, SourcePart

PLAIN_KINDS = "fiub"  # of numbers that an array on disk may hold
PAGES_SHARE = 2  # the pages of a memmap stay mapped where they take at most this part of the machine's memory
BLOCKS_AT_ONCE = 4  # of a memmap, where a thread works on what it reads
BLOCKS_OF_PART = 8  # that a thread reads into one array


@runtime_checkable
class BlockSource(Protocol):
    """Rows that can be read from the first to the last, as often as is asked for."""

    @property
    def n_columns(self) -> int: ...

    @property
    def n_rows(self) -> int | None:
        """None where only reading them all tells."""

    def first_row(self) -> Any:
        """A table of one row with the column names, as scikit-learn reads them."""

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """All rows in order; about `size` at a time, or as the source has them."""

    def parts(self, size: int) -> list[SourcePart]:
        """The same rows as parts that can be read side by side; one where they must be read in order."""

    def keep_blocks(self, room: int) -> None:
        """Many reads follow: keep decoded blocks, up to so many bytes, where decoding is most of a read."""

    def take(self, rows: Array) -> Array | None:
        """Rows of ascending numbers; None where that means reading all."""


@dataclass(frozen=True)
class ArrayBlocks:
    """Rows of an array that is read by slices: a NumPy memmap, a zarr array."""

    array: Any

    @property
    def n_columns(self) -> int:
        return int(self.array.shape[1])

    @property
    def n_rows(self) -> int:
        return int(self.array.shape[0])

    def first_row(self) -> Array:
        return number_rows(np.asarray(self.array[:1]))

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """Blocks of a memmap are not copied: only what is read of them comes into memory."""
        for at in range(0, self.n_rows, size):
            self._advise(slice(at, at + size), "MADV_WILLNEED")
            if at >= 2 * size:  # the block before this one is being worked on
                self._drop(slice(at - 2 * size, at - size))
            yield self._block(slice(at, at + size))

    def parts(self, size: int) -> list[SourcePart]:
        """Of a memmap some blocks at once, as they are not copied; zarr decodes in threads of its own."""
        if not isinstance(self.array, np.ndarray):
            return [SourcePart(0, partial(self.blocks, size))]
        step = size * BLOCKS_AT_ONCE
        return [SourcePart(at, partial(self._read_part, slice(at, at + step))) for at in range(0, self.n_rows, step)]

    def _read_part(self, rows: slice) -> Iterator[RawBlock]:
        yield self._block(rows)
        self._drop(rows)

    def _block(self, rows: slice) -> RawBlock:
        return RawBlock(number_rows(np.asarray(self.array[rows])), None)

    def keep_blocks(self, room: int) -> None:
        """Nothing is kept: the system keeps files."""

    def take(self, rows: Array) -> Array | None:
        return number_rows(np.array(self.array[rows])) if isinstance(self.array, np.ndarray) else None

    @cached_property
    def _fits_beside(self) -> bool:
        """Whether the pages of a memmap may stay: the system has room, and takes them back where it needs it."""
        return bool(self.array.nbytes * PAGES_SHARE <= machine_memory())

    def _drop(self, rows: slice) -> None:
        """Pages of some rows are no longer needed."""
        if isinstance(self.array, np.memmap) and not self._fits_beside:
            self._advise(rows, "MADV_DONTNEED")

    def _advise(self, rows: slice, advice: str) -> None:
        """Tell the system what becomes of the pages of some rows of a memmap, unless they hold changes of their own."""
        array = self.array
        is_file = isinstance(array, np.memmap) and array.mode != "c" and array.flags.c_contiguous
        if not is_file or not hasattr(mmap, advice):
            return
        block, pages = array[rows], array._mmap
        first = block.ctypes.data - np.frombuffer(pages, np.uint8).ctypes.data
        start = first // mmap.PAGESIZE * mmap.PAGESIZE
        pages.madvise(getattr(mmap, advice), start, first + block.nbytes - start)


@dataclass(frozen=True)
class NpyBlocks:
    """Rows of a .npy file, read and not mapped, so that no more of it is in memory than a block."""

    path: Path
    array: ArrayBlocks  # the file, mapped; few rows are taken of it

    @classmethod
    def of_path(cls, path: Path) -> Self | ArrayBlocks:
        """The rows of the file; mapped where it has columns one after the other."""
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        is_by_rows = array.ndim == 2 and array.flags.c_contiguous
        return cls(path, ArrayBlocks(array)) if is_by_rows else ArrayBlocks(array)

    @property
    def n_columns(self) -> int:
        return self.array.n_columns

    @property
    def n_rows(self) -> int:
        return self.array.n_rows

    def first_row(self) -> Array:
        return self.array.first_row()

    def blocks(self, size: int) -> Iterator[RawBlock]:
        for at in range(0, self.n_rows, size):  # an array each: the one before is being worked on
            yield from self._read(slice(at, at + size), size)

    def parts(self, size: int) -> list[SourcePart]:
        step = size * BLOCKS_OF_PART
        return [SourcePart(at, partial(self._read, slice(at, at + step), size)) for at in range(0, self.n_rows, step)]

    def _read(self, rows: slice, size: int) -> Iterator[RawBlock]:
        """These rows, block by block into one array."""
        array, d = self.array.array, self.n_columns
        stop = min(rows.stop, self.n_rows)
        cells = np.empty((min(size, stop - rows.start), d), array.dtype)
        with self.path.open("rb", buffering=0) as file:
            file.seek(array.offset + rows.start * d * array.itemsize)
            for at in range(rows.start, stop, size):
                block = cells[: min(size, stop - at)]
                if not _fill(file, memoryview(block.view(np.uint8).data).cast("B")):
                    raise ValueError(f"{self.path.name} became shorter while it was read: write it anew, and fit then.")
                yield RawBlock(number_rows(block), None)

    def keep_blocks(self, room: int) -> None:
        """Nothing is kept: the system keeps files."""

    def take(self, rows: Array) -> Array | None:
        return self.array.take(rows)


def _fill(file: Any, room: memoryview) -> bool:
    """Read until the room is full; False where the file ends before."""
    while len(room):
        if not (n := file.readinto(room)):
            return False
        room = room[n:]
    return True


class CalledBlocks:
    """Rows from a function that gives a new iterator over blocks each time: arrays, or data frames with column names.

    `weight` names the column of the frames that holds the weights.
    """

    def __init__(self, function: Callable[[], Iterable[Any]], weight: str | None = None) -> None:
        self.function, self.weight = function, weight
        self.n_rows: int | None = None
        first = next((block for block in self._open() if block.shape[0]), None)
        if first is None:
            raise ValueError("X must give at least one row, got a function whose iterator gives none.")
        if sparse.issparse(first):
            raise TypeError("X must give dense blocks, got a sparse one: pass a sparse table in memory.")
        self.first = self._features(first)[:1]
        self.n_columns = number_rows(self.first).shape[1]

    def _open(self) -> Iterator[Any]:
        blocks = self.function()
        if not isinstance(blocks, Iterator):
            raise TypeError(
                f"X must give a new iterator over blocks of rows each time it is called; got {type(blocks).__name__}."
            )
        return blocks

    def _features(self, block: Any) -> Any:
        """The block without its weights."""
        if self.weight is None:
            return block
        frame = nw.from_native(block, pass_through=True)
        names = frame.columns if isinstance(frame, nw.DataFrame) else []
        if self.weight not in names:
            raise ValueError(f"sample_weight={self.weight!r} must name a column of every block; one has {names!r:.80}.")
        return frame.drop(self.weight).to_native()

    def first_row(self) -> Any:
        return self.first

    def blocks(self, size: int) -> Iterator[RawBlock]:
        for block in self._open():
            if not block.shape[0]:
                continue
            X = number_rows(self._features(block))
            if X.shape[1] != self.n_columns:
                raise ValueError(f"X must have blocks of {self.n_columns} columns as the first; got {X.shape[1]}.")
            weights = (
                None
                if self.weight is None
                else number_rows(nw.from_native(block).select(self.weight).to_native())[:, 0]
            )
            for at in range(0, len(X), size):
                yield RawBlock(X[at : at + size], None if weights is None else weights[at : at + size])

    def parts(self, size: int) -> list[SourcePart]:
        return [SourcePart(0, partial(self.blocks, size))]

    def keep_blocks(self, room: int) -> None:
        """Nothing is kept, as blocks may be the caller's to change."""

    def take(self, rows: Array) -> Array | None:
        return None


@dataclass(frozen=True)
class WeightedBlocks:
    """A source and the weights (n,) of its rows."""

    source: BlockSource
    weights: Array

    @property
    def n_columns(self) -> int:
        return self.source.n_columns

    @property
    def n_rows(self) -> int:
        return len(self.weights)

    def first_row(self) -> Any:
        return self.source.first_row()

    def blocks(self, size: int) -> Iterator[RawBlock]:
        at = 0
        for X, _ in self.source.blocks(size):
            if at + len(X) > self.n_rows:
                raise ValueError(f"sample_weight has {self.n_rows} weights, X more rows: pass a weight for each row.")
            yield RawBlock(X, self.weights[at : at + len(X)])
            at += len(X)
        if at < self.n_rows:
            raise ValueError(f"sample_weight has {self.n_rows} weights, X {at} rows: pass a weight for each row.")

    def parts(self, size: int) -> list[SourcePart]:
        if self.source.n_rows != self.n_rows:  # only reading them all tells
            return [SourcePart(0, partial(self.blocks, size))]
        return [SourcePart(part.start, partial(self._weigh, part)) for part in self.source.parts(size)]

    def _weigh(self, part: SourcePart) -> Iterator[RawBlock]:
        at = part.start
        for X, _ in part.read():
            yield RawBlock(X, self.weights[at : at + len(X)])
            at += len(X)

    def keep_blocks(self, room: int) -> None:
        self.source.keep_blocks(room)

    def take(self, rows: Array) -> Array | None:
        return self.source.take(rows)
