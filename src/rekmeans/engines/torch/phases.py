"""The map on a device: t = fmod((x - shift) rate, 2) in float64, then cos(pi t), sin(pi t)
correctly rounded to 2^-23.

Every operation is one of torch's own and rounds by itself, so that no multiplication and addition
are fused. The few values near a rounding tie are decided on the host, by the integers that decide
them for the reference engine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..._grid import DOUBT, GRID, round_correctly
from ...kernels.euler import Euler
from ...scales import Scale


class PhaseMap:
    """The columns of a kernel's scale on a device."""

    def __init__(self, kernel: Any, device: torch.device) -> None:
        scale: Scale = kernel.scale
        self.beyond = kernel.beyond
        self.is_euler = kernel.formula == Euler.formula

        def upload(values: Any) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(values, np.float64)).to(device)

        # (m, d)
        self.low, self.high, self.shift = (
            upload(ends.T) for ends in (scale.low, scale.high, scale.shift)
        )
        self.factor = upload(kernel.rates if self.is_euler else scale.unit)
        self.periodic = torch.from_numpy(np.flatnonzero(scale.period > 0)).to(device)
        self.period = upload(scale.period[scale.period > 0])

    def coordinates(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Coordinates (m, d) of cells (m, d) as the kernel has them, NaN where missing; and which
        rows take part.

        None for all rows.
        """
        X = X.to(torch.float64)
        steps, informative = self._steps(X)
        if len(self.periodic):
            steps[:, self.periodic] = torch.fmod(steps[:, self.periodic], self.period)
        return (steps * self.factor if self.is_euler else steps / self.factor), informative

    def _steps(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """x - shift of the interval that holds x, by the rule for values out of range."""
        if self.beyond == "wrap":
            return X - self.shift[0], None
        values, shift = self._nearest_ends(X)
        steps = values - shift
        if self.beyond == "clip":
            return steps, None
        inside = torch.zeros_like(X, dtype=torch.bool)
        for low, high in zip(self.low, self.high, strict=True):
            inside |= (X >= low) & (X <= high)
        informative = inside.any(1)
        return steps.masked_fill_(~(inside | ~informative[:, None]), torch.nan), informative

    def _nearest_ends(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Each cell moved to the nearest end of the nearest kept interval, the first of several,
        and its shift.
        """
        values = _clip_cells(X, self.low[0], self.high[0])
        shift = self.shift[0]
        if len(self.low) == 1:
            return values, shift
        shift = shift.expand_as(X)
        gap = (values - X).abs()
        for low, high, other in zip(self.low[1:], self.high[1:], self.shift[1:], strict=True):
            ends = _clip_cells(X, low, high)
            distance = (ends - X).abs()
            closer = distance < gap  # never where a column has no such interval
            values, gap = torch.where(closer, ends, values), torch.where(closer, distance, gap)
            shift = torch.where(closer, other, shift)
        return values, shift

    def embed(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Mapped rows of cells (m, d): grid integers (m, 2d), or coordinates (m, d); and which take
        part.
        """
        coordinates, informative = self.coordinates(X)
        return (grid_of_phases(coordinates) if self.is_euler else coordinates), informative


def grid_of_phases(phases: torch.Tensor) -> torch.Tensor:
    """[cos | sin] of phases (m, d) in half-turns on the grid, (m, 2d) int32; (0, 0) where
    missing.
    """
    t = torch.fmod(phases, 2.0)
    missing = torch.isnan(t)
    t = t.masked_fill_(missing, 0.0)
    quarter = torch.round(2 * t)
    r = t - quarter / 2  # exact, |r| <= 1/4
    angle = torch.pi * r
    c, s = _nearest_grid_integers(torch.stack([torch.cos(angle), torch.sin(angle)]), r)
    turn = quarter.to(torch.int32) & 3
    odd = (turn & 1) == 1
    cos, sin = torch.where(odd, s, c), torch.where(odd, c, s)
    cos = torch.where((turn == 1) | (turn == 2), -cos, cos).masked_fill_(missing, 0)
    return torch.cat([cos, torch.where(turn >= 2, -sin, sin)], dim=1)


def _nearest_grid_integers(values: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """Grid integers nearest to cosines and sines (2, m, d) of pi r."""
    scaled = values * GRID
    near = torch.round(scaled)
    doubtful = torch.nonzero((scaled - near).abs_() > 0.5 - DOUBT)  # (few, 3)
    out = near.to(torch.int32)
    if len(doubtful):
        at = doubtful.T
        pairs = torch.stack([at[0].to(torch.float64), r[at[1], at[2]]], dim=1).cpu()
        different, places = torch.unique(pairs, dim=0, return_inverse=True)
        exact = [
            round_correctly(angle, cosine=not is_sine) for is_sine, angle in different.tolist()
        ]
        out[at[0], at[1], at[2]] = torch.tensor(exact, dtype=torch.int32)[places].to(out.device)
    return out


def _clip_cells(X: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Cells (m, d) moved inside [low, high] (d,);

    NaN stays, and comes where there is no interval.
    """
    return torch.minimum(torch.maximum(X, low), high)
