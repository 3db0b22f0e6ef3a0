"""Mapped rows in four bytes a value, exactly: f = mean + hi + lo, hi fp16 for tensor cores, lo
int16 for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..._grid import GRID
from .distances import observed_mask
from .grid_store import GridBlocks
from .integers import ExactSummation, ShiftedSums, add_shifted, fetch_integers

CELLS_PACKED_AT_ONCE = 1 << 24  # cells packed at a time: some float64 copies of them
MEAN_ROWS = 1 << 14  # rows that the mean is of; any point near the rows will do
NARROW_COLUMNS = 128  # up to which all columns are one tile
SQUARES_AT_ONCE = 1 << 22  # squared lengths added up at a time, in some copies
LENGTH_BITS = 63  # |g|^2 < 2^63 up to MOST_PACKED_COLUMNS columns
ROW_WEIGHT_BITS = 32  # a weight is at most 2^31


def stored_columns(count: int) -> int:
    """Columns with padding: a multiple of 16 where one tile holds them all, else of 64."""
    step = 16 if count <= NARROW_COLUMNS else 64
    return -(-count // step) * step


class PackedRows:
    """hi fp16 (n, P): cosines, sines and, where cells are missing, a column of gaps for each; lo
    int16 (n, LP).
    """

    def __init__(
        self,
        n: int,
        d: int,
        device: torch.device,
        blocks: GridBlocks,
        spread_rows: Callable[[int], Tensor],
    ) -> None:
        self.n = n
        self.d = d
        self.device = device
        sample = spread_rows(MEAN_ROWS)  # (m, 2d) int32
        seen = observed_mask(sample).sum(0).clamp(min=1).repeat(2)
        self.mean = (sample.sum(0, dtype=torch.int64) / seen).round().to(torch.int32)  # (2d,)
        self.has_missing = not bool(observed_mask(sample).all())
        while not self._pack(blocks):  # a gap where the sample had none
            self.has_missing = True

    def _pack(self, blocks: GridBlocks) -> bool:
        """Whether all rows were packed; not where a cell is missing and there is no column for
        it.
        """
        n, d, device = self.n, self.d, self.device
        self.P = stored_columns((3 if self.has_missing else 2) * d)
        self.LP = stored_columns(2 * d)
        self.hi = torch.zeros(n, self.P, dtype=torch.float16, device=device)
        self.lo = torch.zeros(n, self.LP, dtype=torch.int16, device=device)
        self.squares = torch.empty(n, dtype=torch.int64, device=device)  # |g|^2
        # |g| in units of 1, rounded up; -1: no cells
        self.lengths = torch.empty(n, dtype=torch.float32, device=device)
        rho = torch.zeros((), dtype=torch.float64, device=device)
        for at, F in blocks():
            size = max(1, CELLS_PACKED_AT_ONCE // (2 * d))
            for start in range(at.start, at.stop, size):
                part = slice(start, min(start + size, at.stop))
                f = F[start - at.start : part.stop - at.start]
                observed = observed_mask(f)
                if not self.has_missing and not bool(observed.all()):
                    return False
                rho = torch.maximum(rho, self._pack_block(part, f, observed))
        self.rho = float(rho) * (1 + 1e-9)
        return True

    def _pack_block(self, at: slice, f: Tensor, observed: Tensor) -> Tensor:
        """Some rows; the largest |g - hi|/|g| of them."""
        d = self.d
        g = (f - self.mean).where(observed.repeat(1, 2), 0) if self.has_missing else f - self.mean
        hi = (g.double() / GRID).half()
        lo = g - (hi.double() * GRID).to(torch.int32)
        self.hi[at, : 2 * d] = hi
        self.lo[at, : 2 * d] = lo.to(torch.int16)
        if self.has_missing:
            self.hi[at, 2 * d : 3 * d] = (~observed).half()
        self.squares[at] = (g.long() ** 2).sum(1)
        length = self.squares[at].double().sqrt()
        self.lengths[at] = (length / GRID * (1 + 2.0**-22)).float().where(observed.any(1), -1.0)
        return ((lo.double() ** 2).sum(1).sqrt() / length.clamp(min=1.0)).max()

    def total_square(self, w: Tensor | None) -> int:
        """Return the sum of w |g|^2 over the rows, exact for any number of rows."""
        summation = ExactSummation(self.n, ROW_WEIGHT_BITS)
        total: ShiftedSums = []
        for start in range(0, self.n, SQUARES_AT_ONCE):
            part = slice(start, start + SQUARES_AT_ONCE)
            sums = summation.total(self.squares[part], None if w is None else w[part], LENGTH_BITS)
            total = add_shifted(total, sums)
        return int(fetch_integers(total)[0])

    def grid(self, numbers: Any) -> Tensor:
        """Mapped rows of these numbers on the grid, (m, 2d) int32; (0, 0) where missing."""
        d = self.d
        hi = self.hi[numbers]
        g = (hi[:, : 2 * d].float() * GRID).to(torch.int32) + self.lo[numbers][:, : 2 * d]
        f = g + self.mean
        return f.where(hi[:, 2 * d : 3 * d].repeat(1, 2) == 0, 0) if self.has_missing else f
