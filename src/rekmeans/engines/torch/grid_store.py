"""Mapped rows on a device as plain grid integers: F (n, 2d) int32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

# rows and their grid integers (m, 2d) int32, in order
GridBlocks = Callable[[], Iterator[tuple[slice, torch.Tensor]]]


class GridStore:
    """8 bytes a cell; any device."""

    def __init__(
        self, n: int, d: int, device: torch.device, blocks: GridBlocks, spread_rows: Any = None
    ) -> None:
        self.n = n
        self.d = d
        self.device = device
        self.F = torch.empty((n, 2 * d), dtype=torch.int32, device=device)
        for at, F in blocks():
            self.F[at] = F

    def grid(self, numbers: torch.Tensor | slice) -> torch.Tensor:
        """Grid integers (m, 2d) int32 of the rows of these numbers."""
        return self.F[numbers]
