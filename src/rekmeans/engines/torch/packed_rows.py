"""Mapped rows in four bytes a cell, exactly: f = mean + hi + lo, hi fp16 for the tensor cores, lo int16 for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..._grid import GRID

Tensor = torch.Tensor

BLOCK_CELLS = 1 << 24  # cells packed at a time: some float64 copies of them
MEAN_ROWS = 1 << 14  # rows that the mean is of; any point near the rows will do
NARROW_COLUMNS = 128  # up to which all columns are one tile


def stored_columns(count: int) -> int:
    """Columns with padding: a multiple of 16 where one tile holds them all, else of 64."""
    step = 16 if count <= NARROW_COLUMNS else 64
    return -(-count // step) * step


class PackedRows:
    """hi fp16 (n, P): cosines, sines and, where cells are missing, a column of gaps for each; lo int16 (n, LP)."""

    def __init__(self, map_rows: Callable[[Any], Tensor], n: int, d: int, w: Tensor | None, device: torch.device) -> None:
        self.n, self.d, self.w, self.device = n, d, w, device
        step = max(1, n // MEAN_ROWS)
        sample = map_rows(torch.arange(0, n, step, device=device))  # (m, 2d) int32
        seen = _observed(sample, d).sum(0).clamp(min=1).repeat(2)
        self.mean = (sample.sum(0, dtype=torch.int64) / seen).round().to(torch.int32)  # (2d,)
        self.has_missing = not bool(_observed(sample, d).all())
        while not self._pack(map_rows):  # a gap where the sample had none
            self.has_missing = True

    def _pack(self, map_rows: Callable[[Any], Tensor]) -> bool:
        """Whether all rows were packed; not where a cell is missing and there is no column for it."""
        n, d, device = self.n, self.d, self.device
        self.P = stored_columns((3 if self.has_missing else 2) * d)
        self.LP = stored_columns(2 * d)
        self.hi = torch.zeros(n, self.P, dtype=torch.float16, device=device)
        self.lo = torch.zeros(n, self.LP, dtype=torch.int16, device=device)
        self.lengths = torch.empty(n, dtype=torch.float32, device=device)  # |g|, rounded up; -1 where nothing is observed
        rho = torch.zeros((), dtype=torch.float64, device=device)
        squares: list[Tensor] = []
        size = max(1, BLOCK_CELLS // (2 * d))
        for start in range(0, n, size):
            at = slice(start, min(start + size, n))
            f = map_rows(at)
            observed = _observed(f, d)
            if not self.has_missing and not bool(observed.all()):
                return False
            g = (f - self.mean).where(observed.repeat(1, 2), 0) if self.has_missing else f - self.mean
            hi = (g.double() / GRID).half()
            rest = g - (hi.double() * GRID).to(torch.int32)
            self.hi[at, : 2 * d], self.lo[at, : 2 * d] = hi, rest.to(torch.int16)
            if self.has_missing:
                self.hi[at, 2 * d : 3 * d] = (~observed).half()
            square = (g.long() ** 2).sum(1)
            length = square.double().sqrt()
            self.lengths[at] = (length / GRID * (1 + 2.0**-22)).float().where(observed.any(1), -1.0)
            error = (rest.double() ** 2).sum(1).sqrt()
            rho = torch.maximum(rho, (error / length.clamp(min=1.0)).max())
            squares.append(_limb_sums(square, None if self.w is None else self.w[at]))
        self.rho = float(rho) * (1 + 1e-9)
        self.total_square = _join_limbs(torch.stack(squares).sum(0).tolist())  # of w |g|^2 over the rows
        return True

    def grid(self, numbers: Any) -> Tensor:
        """Mapped rows of these numbers on the grid, (m, 2d) int32; (0, 0) where missing."""
        d = self.d
        hi = self.hi[numbers]
        g = (hi[:, : 2 * d].float() * GRID).to(torch.int32) + self.lo[numbers][:, : 2 * d]
        f = g + self.mean
        return f.where(hi[:, 2 * d : 3 * d].repeat(1, 2) == 0, 0) if self.has_missing else f


def _observed(f: Tensor, d: int) -> Tensor:
    """Cells that are not missing, (m, d)."""
    return (f[:, :d] | f[:, d:]) != 0


def _limb_sums(square: Tensor, w: Tensor | None) -> Tensor:
    """Sums of w times limbs of 21 bits of squares, w in limbs of 16: six int64 numbers, each far from overflow."""
    limbs = [(square >> shift) & ((1 << 21) - 1) for shift in (0, 21, 42)]
    weights = [torch.ones_like(square)] if w is None else [w & 0xFFFF, w >> 16]
    sums = [(limb * weight).sum() for weight in weights for limb in limbs]
    return torch.stack(sums + [torch.zeros_like(sums[0])] * (6 - len(sums)))


def _join_limbs(sums: list[int]) -> int:
    return sum(value << shift for value, shift in zip(sums, (0, 21, 42, 16, 37, 58), strict=True))
