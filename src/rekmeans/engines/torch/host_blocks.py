"""A table on the host whose mapped rows are too many for a device: gone through block by block in
every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ..._grid import Array
from ...table import MemoryTable
from ...table.source_parts import prefetch
from ...table.stream import Block
from .launches import current_device

ROW_BYTES = 128  # of a row on a device beside its cells: labels, losses, bounds
CELL_BYTES = 8  # of a mapped cell


@dataclass(frozen=True)
class BlockedTable:
    """A table in memory that answers like one that is read block by block."""

    table: MemoryTable
    block_rows: int
    memory_limit: int | None = None  # labels stay in memory, whatever a device may hold

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @property
    def n_columns(self) -> int:
        return self.table.n_columns

    @property
    def largest_weight(self) -> float | None:
        return None if self.table.weights is None else float(self.table.weights.max())

    def in_memory(self) -> MemoryTable:
        return self.table

    def dense(self, rows: Any) -> Array:
        return self.table.dense(rows)

    def sample(self, count: int, seed: int) -> MemoryTable:
        return self.table.sample(count, seed)

    def take(self, rows: Array, weights: Array) -> MemoryTable:
        return self.table.take(rows, weights)

    def count_labels(self, labels: Array, k: int) -> Array:
        return self.table.count_labels(labels, k)

    def blocks(self, size: int) -> Iterator[slice]:
        return self.table.blocks(size)

    def read_blocks(self) -> Iterator[Block]:
        """All rows in order, a block at a time."""
        w, columns = self.table.weights, self.table.columns
        return (
            Block(
                at.start,
                self.table.dense(at),
                None if w is None else w[at],
                columns,
                self.largest_weight,
            )
            for at in self.blocks(self.block_rows)
        )

    def rows_at(self, at: slice) -> MemoryTable:
        """Some rows as a table of their own, with the weights that they have in the whole."""
        weights = None if self.table.weights is None else self.table.weights[at]
        return MemoryTable(self.table.X[at], weights, self.table.columns, self.largest_weight)


def rows_that_fit(d: int, n_bytes: int) -> int:
    """How many mapped rows of d columns take so many bytes on a device."""
    return n_bytes // (CELL_BYTES * d + ROW_BYTES)


def upload_blocks(
    read: Callable[[slice], torch.Tensor], blocks: Iterator[slice], device: torch.device
) -> Iterator[tuple[slice, torch.Tensor]]:
    """Blocks of cells of the host on a device; to a card the next one is copied while the last is
    worked on.
    """
    if device.type != "cuda":
        yield from ((at, read(at).to(device)) for at in blocks)
        return
    stream = torch.cuda.Stream(device)

    def send() -> Iterator[tuple[slice, torch.Tensor, Any]]:
        for at in blocks:
            with current_device(device):  # this thread has a current device of its own
                # its memory is used again once the copy has ended
                pinned = read(at).contiguous().pin_memory()
                with torch.cuda.stream(stream):
                    cells = pinned.to(device, non_blocking=True)
                copied = stream.record_event()
            yield at, cells, copied

    for at, cells, copied in prefetch(send()):
        with current_device(device):
            current = torch.cuda.current_stream(device)
            current.wait_event(copied)
            cells.record_stream(current)
        yield at, cells
