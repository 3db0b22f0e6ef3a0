"""Blocks of arrays on disk: NumPy memmaps and .npy files, zarr arrays."""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from io import FileIO
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from .._grid import Array
from ..machine_memory import machine_memory
from .source_parts import RawBlock, SourcePart
from .validation import number_rows

PLAIN_KINDS = "fiub"  # supported dtype kinds of arrays on disk
# pages of a memmap stay mapped if they take at most 1/PAGES_SHARE of the machine's memory
PAGES_SHARE = 2
BLOCKS_AT_ONCE = 4  # blocks of a memmap that one thread reads
BLOCKS_OF_PART = 8  # blocks of a .npy file that one thread reads into the same array


class DiskArray(Protocol):
    """An array that is read in slices, such as a NumPy memmap or a zarr array."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def ndim(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[np.generic]: ...

    def __getitem__(self, rows: slice, /) -> ArrayLike: ...


@dataclass(frozen=True)
class ArrayBlocks:
    """Rows of an array that is read in slices."""

    array: DiskArray

    @property
    def n_columns(self) -> int:
        return int(self.array.shape[1])

    @property
    def n_rows(self) -> int:
        return int(self.array.shape[0])

    def first_row(self) -> Array:
        return number_rows(np.asarray(self.array[:1]))

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """Yield blocks. Blocks of a memmap are views, so only cells that are accessed are read."""
        for at in range(0, self.n_rows, size):
            self._advise(slice(at, at + size), "MADV_WILLNEED")
            if at >= 2 * size:  # the previous block is still in use
                self._drop(slice(at - 2 * size, at - size))
            yield self._block(slice(at, at + size))

    def parts(self, size: int) -> list[SourcePart]:
        """Split a memmap into parts of several blocks. A zarr array is a single part.

        Zarr decodes in its own threads.
        """
        if not isinstance(self.array, np.ndarray):
            return [SourcePart(0, partial(self.blocks, size))]
        step = size * BLOCKS_AT_ONCE
        return [
            SourcePart(at, partial(self._read_part, slice(at, at + step)))
            for at in range(0, self.n_rows, step)
        ]

    def _read_part(self, rows: slice) -> Iterator[RawBlock]:
        yield self._block(rows)
        self._drop(rows)

    def _block(self, rows: slice) -> RawBlock:
        return RawBlock(number_rows(np.asarray(self.array[rows])), None)

    def keep_blocks(self, room: int) -> None:
        """Do nothing: the operating system caches files."""

    def take(self, rows: Array) -> Array | None:
        return (
            number_rows(np.array(self.array[rows])) if isinstance(self.array, np.ndarray) else None
        )

    @cached_property
    def _fits_beside(self) -> bool:
        """Whether the pages of a memmap may stay mapped. The system can reclaim them."""
        n_bytes = math.prod(self.array.shape) * self.array.dtype.itemsize
        return n_bytes * PAGES_SHARE <= machine_memory()

    def _drop(self, rows: slice) -> None:
        """Advise the operating system that the pages of some rows are no longer needed."""
        if isinstance(self.array, np.memmap) and not self._fits_beside:
            self._advise(rows, "MADV_DONTNEED")

    def _advise(self, rows: slice, advice: str) -> None:
        """Call madvise for some rows of a memmap, unless it may have been modified in memory."""
        array = self.array
        if not isinstance(array, np.memmap) or array.mode == "c" or not array.flags.c_contiguous:
            return
        pages = getattr(array, "_mmap", None)
        if pages is None or not hasattr(mmap, advice):
            return
        block = array[rows]
        first = block.ctypes.data - np.frombuffer(pages, np.uint8).ctypes.data
        start = first // mmap.PAGESIZE * mmap.PAGESIZE
        pages.madvise(getattr(mmap, advice), start, first + block.nbytes - start)


@dataclass(frozen=True)
class NpyBlocks:
    """Rows of a .npy file that is read instead of mapped, so that only one block is in memory."""

    path: Path
    array: ArrayBlocks  # the mapped file, used to read single rows
    offset: int  # position of the first cell in the file, in bytes

    @classmethod
    def of_path(cls, path: Path) -> Self | ArrayBlocks:
        """Open a .npy file. It is mapped if it is stored in column-major order."""
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            reason = (
                "it is truncated"
                if "mmap length" in str(error)
                else str(error).split(". ")[0].rstrip(".")
            )
            raise ValueError(
                f"{path} must be a .npy file of numbers ({reason}). Write it again with np.save."
            ) from error
        if not isinstance(array, np.memmap):
            raise ValueError(
                f"{path} must contain a single array, not several. Save each array to its own "
                f".npy file."
            )
        is_by_rows = array.ndim == 2 and array.flags.c_contiguous
        rows = ArrayBlocks(array)
        return cls(path, rows, array.offset) if is_by_rows else rows

    @property
    def n_columns(self) -> int:
        return self.array.n_columns

    @property
    def n_rows(self) -> int:
        return self.array.n_rows

    def first_row(self) -> Array:
        return self.array.first_row()

    def blocks(self, size: int) -> Iterator[RawBlock]:
        for at in range(0, self.n_rows, size):  # a new buffer, because the previous one is in use
            yield from self._read(slice(at, at + size), size)

    def parts(self, size: int) -> list[SourcePart]:
        step = size * BLOCKS_OF_PART
        return [
            SourcePart(at, partial(self._read, slice(at, at + step), size))
            for at in range(0, self.n_rows, step)
        ]

    def _read(self, rows: slice, size: int) -> Iterator[RawBlock]:
        """Yield these rows in blocks that reuse the same buffer."""
        dtype = self.array.array.dtype
        d = self.n_columns
        stop = min(rows.stop, self.n_rows)
        cells = np.empty((min(size, stop - rows.start), d), dtype)
        with self.path.open("rb", buffering=0) as file:
            file.seek(self.offset + rows.start * d * cells.itemsize)
            for at in range(rows.start, stop, size):
                block = cells[: min(size, stop - at)]
                if not _fill(file, memoryview(block.view(np.uint8).data).cast("B")):
                    raise ValueError(
                        f"{self.path.name} was truncated while it was being read. Restore it and "
                        f"try again."
                    )
                yield RawBlock(number_rows(block), None)

    def keep_blocks(self, room: int) -> None:
        """Do nothing: the operating system caches files."""

    def take(self, rows: Array) -> Array | None:
        return self.array.take(rows)


def _fill(file: FileIO, room: memoryview) -> bool:
    """Read until the buffer is full. Return False at the end of the file."""
    while len(room):
        if not (n := file.readinto(room)):
            return False
        room = room[n:]
    return True
