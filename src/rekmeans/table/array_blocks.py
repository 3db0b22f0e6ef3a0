"""Blocks of arrays on disk: NumPy memmaps and .npy files, zarr arrays."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from .._grid import Array
from ..machine_memory import machine_memory
from .refusals import number_rows
from .source_parts import RawBlock, SourcePart

PLAIN_KINDS = "fiub"  # of numbers that an array on disk may hold
# the pages of a memmap stay mapped where they take at most this part of the machine's memory
PAGES_SHARE = 2
BLOCKS_AT_ONCE = 4  # of a memmap, where a thread works on what it reads
BLOCKS_OF_PART = 8  # that a thread reads into one array


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
        """Of a memmap some blocks at once, as they are not copied; zarr decodes in threads of its
        own.
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
        """Nothing is kept: the system keeps files."""

    def take(self, rows: Array) -> Array | None:
        return (
            number_rows(np.array(self.array[rows])) if isinstance(self.array, np.ndarray) else None
        )

    @cached_property
    def _fits_beside(self) -> bool:
        """Whether the pages of a memmap may stay: the system has room, and takes them back where it
        needs it.
        """
        return bool(self.array.nbytes * PAGES_SHARE <= machine_memory())

    def _drop(self, rows: slice) -> None:
        """Pages of some rows are no longer needed."""
        if isinstance(self.array, np.memmap) and not self._fits_beside:
            self._advise(rows, "MADV_DONTNEED")

    def _advise(self, rows: slice, advice: str) -> None:
        """Tell the system what becomes of the pages of some rows of a memmap, unless they hold
        changes of their own.
        """
        array = self.array
        is_file = isinstance(array, np.memmap) and array.mode != "c" and array.flags.c_contiguous
        if not is_file or not hasattr(mmap, advice):
            return
        block = array[rows]
        pages = array._mmap
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
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            reason = (
                "it is cut off"
                if "mmap length" in str(error)
                else str(error).split(". ")[0].rstrip(".")
            )
            raise ValueError(
                f"{path} must be a .npy file of numbers ({reason}): write it anew by np.save."
            ) from error
        if not isinstance(array, np.ndarray):
            raise ValueError(
                f"{path} must be a .npy file of one array, it has several: save each by np.save."
            )
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
        return [
            SourcePart(at, partial(self._read, slice(at, at + step), size))
            for at in range(0, self.n_rows, step)
        ]

    def _read(self, rows: slice, size: int) -> Iterator[RawBlock]:
        """These rows, block by block into one array."""
        array = self.array.array
        d = self.n_columns
        stop = min(rows.stop, self.n_rows)
        cells = np.empty((min(size, stop - rows.start), d), array.dtype)
        with self.path.open("rb", buffering=0) as file:
            file.seek(array.offset + rows.start * d * array.itemsize)
            for at in range(rows.start, stop, size):
                block = cells[: min(size, stop - at)]
                if not _fill(file, memoryview(block.view(np.uint8).data).cast("B")):
                    raise ValueError(
                        f"{self.path.name} became shorter while it was read: write it anew, and "
                        f"fit then."
                    )
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
