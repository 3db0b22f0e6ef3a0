"""What rows on a device have in common: cells brought there a block at a time, weights, answers
where the table is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..._grid import Array
from ...table.torch import TorchTable
from ..base import BaseRows
from .host_blocks import upload_blocks
from .phases import PhaseMap

# cells of a block in float64: on the host near the cache, 256 MB elsewhere
HOST_CELLS = 1 << 21
DEVICE_CELLS = 1 << 25
# running sums of 32 bits of each row and of weights up to 2^31 stay inside 64 bits
MOST_DEVICE_ROWS = (1 << 31) - 1
KEPT_CELLS_SHARE = 0.1  # of a card's free memory that cells may take beside the mapped rows


class DeviceRows(BaseRows):
    """Rows of a table whose mapped copy is on a device; the table itself may be on the host."""

    w: torch.Tensor | None  # (n,) weight of each row in the sums; None for all 1
    weight_bits: int

    def __init__(self, kernel: Any, table: Any, device: torch.device) -> None:
        if table.n_rows > MOST_DEVICE_ROWS:
            raise ValueError(
                f"X has {table.n_rows:,} rows, and engine='torch' supports at most "
                f"{MOST_DEVICE_ROWS:,} on one device. "
                "Pass fewer rows."
            )
        super().__init__(kernel, table)
        self.device = device
        self.n = table.n_rows
        self.d = table.n_columns
        self.phases = PhaseMap(kernel, device)
        self._kept_cells: list[tuple[slice, torch.Tensor]] = []
        self.cells_at_once = HOST_CELLS if device.type == "cpu" else DEVICE_CELLS

    def blocks(self, k: int = 1) -> Iterator[slice]:
        """All rows in order, so many at a time that a block has a bounded number of cells and of
        distances to k.
        """
        size = max(1, self.cells_at_once // max(2 * self.d, k))
        return (slice(at, min(at + size, self.n)) for at in range(0, self.n, size))

    def cell_blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """All rows in order, and their cells (m, d) on the device."""
        if isinstance(self.table, TorchTable):
            return ((at, self.read_cells(at).to(self.device)) for at in self.blocks())
        if self._kept_cells:
            return iter(self._kept_cells)
        return self._upload_cells()

    def _upload_cells(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Cells copied to the device, and kept there for the pre-images where they take little of
        its memory.
        """
        kept = []
        room = (
            KEPT_CELLS_SHARE * torch.cuda.mem_get_info(self.device)[0]
            if self.device.type == "cuda"
            else 0
        )
        for at, cells in upload_blocks(self.read_cells, self.blocks(), self.device):
            if self.n * self.d * cells.element_size() <= room:
                kept.append((at, cells))
            yield at, cells
        self._kept_cells = kept

    def read_cells(self, at: slice) -> torch.Tensor:
        """Cells (m, d) of some rows, where the table is."""
        if isinstance(self.table, TorchTable):
            return self.table.cells[at]
        return torch.from_numpy(_writeable(self.table.dense(at)))

    def upload(self, values: Array) -> torch.Tensor:
        """An array of the host on the device."""
        return torch.from_numpy(_writeable(values)).to(self.device)

    def weights_at(self, at: slice) -> torch.Tensor | None:
        """Weights of some rows, (m,); None for all 1."""
        return None if self.w is None else self.w[at]

    def weights(self) -> Array:
        return np.ones(self.n, np.int64) if self.w is None else self.w.cpu().numpy()

    def has_weight(self) -> bool:
        return self.w is None or bool(self.w.any())

    def n_uninformative(self) -> int:
        if self.w is None:
            return 0
        given = self.table_weights()
        counts = self.w == 0 if given is None else (self.w == 0) & (given > 0)
        return int(counts.sum())

    def table_weights(self) -> torch.Tensor | None:
        """Weights of the table, float64 (n,), on the device."""
        if isinstance(self.table, TorchTable):
            return (
                None if self.table.cell_weights is None else self.table.cell_weights.to(self.device)
            )
        return (
            None
            if self.table.weights is None
            else self.upload(self.table.weights).to(torch.float64)
        )

    def labels_on_device(self, labels: Any) -> torch.Tensor:
        """Labels (n,) int64 on the device."""
        return torch.as_tensor(labels, device=self.device).to(torch.int64)

    def answer_labels(self, labels: torch.Tensor) -> Any:
        """Labels where the table is: a tensor for a tensor, else a NumPy array."""
        return (
            labels.to(self.table.device)
            if isinstance(self.table, TorchTable)
            else labels.cpu().numpy()
        )


def _writeable(values: Array) -> Array:
    """An array that torch takes without a copy where it can."""
    is_plain = (
        values.flags.writeable
        and values.dtype.isnative
        and all(step >= 0 for step in values.strides)
    )
    return values if is_plain else np.array(values, values.dtype.newbyteorder("="))
