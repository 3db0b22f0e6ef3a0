"""Rows whose centroids are points, on a device, with distances and sums in float64.

The sums of blocks are added in a fixed order. Seeding runs on the host, on a sample of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import torch

from ..._grid import Array, small_weight_bits
from ...kernels.base import Kernel, rectified_update
from ...kernels.points import RBF, Linear, PointSums
from ...model import Assignment, Centroids, FarthestRow, Model, Points
from ...table import MemoryTable, Table
from ...threads import lazy_property
from ..base import BaseRows, Run, middle_centroid
from ..reference import ReferenceRows
from ..row_seeding import DrawSeeding
from .cells import cells_on_device, count_uninformative
from .exact import count_changed
from .table import times_power_of_two

# The loss of a row at distance D from its centroid, and its pull on the centroid, by formula.
LOSSES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    Linear.formula: lambda D: D,
    RBF.formula: lambda D: -2 * torch.expm1(-D),
}
PULLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    Linear.formula: torch.ones_like,
    RBF.formula: lambda D: torch.exp(-D),
}


class TorchPoints(BaseRows):
    """Scaled rows F (n, d) and weights w (n,) on a device, both float64. Missing cells are NaN."""

    def __init__(self, kernel: Kernel, table: Table, device: torch.device) -> None:
        super().__init__(kernel, table)
        self.cells = cells_on_device(kernel, table, device)
        n = table.n_rows
        self.F = torch.empty((n, table.n_columns), dtype=torch.float64, device=device)
        self.w = torch.ones(n, dtype=torch.float64, device=device)
        given = self.cells.weights()
        if given is not None:
            self.weight_bits = small_weight_bits(table.largest_weight or float(given.max()))
            self.w = times_power_of_two(given, self.weight_bits)
        for at, cells in self.cells.blocks():
            self.F[at], informative = self.cells.map.embed(cells)
            if informative is not None:
                self.w[at] = self.w[at] * informative

    def place(self, table: Table) -> ReferenceRows:
        """Map the rows of a sample on the host."""
        return ReferenceRows(self.kernel, MemoryTable(table.dense(slice(None)), table.weights))

    def in_memory(self) -> ReferenceRows:
        """Map all rows on the host, for the seeding on a small table."""
        return self.place(self.table)

    def weights(self) -> Array:
        return self.w.cpu().numpy()

    def has_weight(self) -> bool:
        return bool(self.w.any())

    def n_uninformative(self) -> int:
        return count_uninformative(self.w, self.cells.weights())

    def start_run(self, model: Model) -> PointsRun:
        return PointsRun(self, model)

    def start_seeding(self) -> DrawSeeding:
        return DrawSeeding(self)

    def blocks(self) -> Iterator[slice]:
        return self.cells.slices()

    def mapped_blocks(self) -> Iterator[tuple[slice, Array]]:
        return ((at, self.F[at].cpu().numpy()) for at in self.blocks())

    def nearest_losses(self, C: Centroids) -> Array:
        return LOSSES[self.kernel.formula](self._least_distances(C)).cpu().numpy()

    def _least_distances(self, C: Centroids) -> torch.Tensor:
        """Return the distance of each row to its nearest centroid, (n,)."""
        centroids = self.upload(C)
        least = torch.empty_like(self.w)
        for at in self.cells.slices(len(C)):
            least[at] = self.distances(self.F[at], centroids).amin(1)
        return least

    def upload(self, C: Centroids) -> torch.Tensor:
        """Copy the coordinates of centroids to the device, (k, d) float64."""
        return self.cells.upload(np.asarray(cast(Points, C).x, np.float64))

    def distances(self, F: torch.Tensor, C: torch.Tensor) -> torch.Tensor:
        """Return |x - c|^2 over the observed coordinates (m, k), times gamma if the kernel has one.

        F are rows (m, d), C centroids (k, d). Both are centred first, so that tables far from the
        origin do not lose digits.
        """
        middle = C.mean(0)
        x = F - middle
        c = C - middle
        observed = ~torch.isnan(x)
        x = torch.where(observed, x, 0.0)
        D = (x * x).sum(1, keepdim=True) - 2 * (x @ c.T) + observed.to(torch.float64) @ (c * c).T
        return getattr(self.kernel, "gamma", 1.0) * D.clamp_(min=0.0)

    def sums(
        self, F: torch.Tensor, w: torch.Tensor, pull: torch.Tensor, labels: torch.Tensor, k: int
    ) -> list[torch.Tensor]:
        """Return mass (k,), totals (k, d) and pull (k, d) of these rows.

        They are products with one-hot labels, which are added in a fixed order.
        """
        at = labels[:, None]
        observed = ~torch.isnan(F)
        W = torch.zeros((len(F), k), dtype=torch.float64, device=F.device)
        mass = W.scatter(1, at, w[:, None]).sum(0)
        V = W.scatter_(1, at, (w * pull)[:, None])
        return [mass, V.T @ torch.where(observed, F, 0.0), V.T @ observed.to(torch.float64)]

    def rows_as_centroids(self, numbers: Array) -> Centroids:
        F = self.F[self.cells.upload_numbers(numbers)].cpu().numpy()
        return self.kernel.from_rows(F, self._overall if np.isnan(F).any() else None)

    @lazy_property
    def _overall(self) -> Centroids:
        """The rectified centroid of all rows."""
        total: list[Any] = [0, 0, 0]
        for at in self.blocks():
            w = self.w[at]
            zeros = torch.zeros(len(w), dtype=torch.int64, device=w.device)
            left = self.sums(self.F[at], w, torch.ones_like(w), zeros, 1)
            total = [one + two for one, two in zip(total, left, strict=True)]
        return rectified_update(self.kernel, point_sums(total), middle_centroid(self.kernel))

    def farthest(self, C: Centroids) -> FarthestRow:
        loss, row = self._least_distances(C).masked_fill_(self.w <= 0, -1.0).max(0)
        return FarthestRow(float(loss), int(row), self.F[int(row)].cpu().numpy())


class PointsRun(Run):
    """A run whose passes process all rows in blocks. Only the labels are kept between passes."""

    def __init__(self, rows: TorchPoints, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.n_passes = 0
        self.last: torch.Tensor | None = None  # labels (n,) of the last pass, int32

    def assign(self, C: Centroids) -> Assignment:
        rows = self.rows
        centroids = rows.upload(C)
        formula = self.model.kernel.formula
        labels = torch.empty(len(rows), dtype=torch.int32, device=rows.w.device)
        total: list[Any] = [0, 0, 0, 0]
        for at in rows.cells.slices(len(C)):
            D, nearest = rows.distances(rows.F[at], centroids).min(1)
            labels[at] = nearest.to(torch.int32)
            left = rows.sums(rows.F[at], rows.w[at], PULLS[formula](D), nearest, len(C))
            loss = (rows.w[at] * LOSSES[formula](D)).sum()
            total = [one + two for one, two in zip(total, [*left, loss], strict=True)]
        n_changed = int(count_changed(labels, self.last))
        self.last = labels
        self.n_passes += 1
        return Assignment(n_changed, point_sums(total[:3], float(total[3])))

    def labels(self) -> Array:
        return self.rows.cells.to_input_type(self.last)


def point_sums(parts: list[torch.Tensor], loss: float = 0.0) -> PointSums:
    """Return the kernel's sums for mass, totals and pull on a device."""
    mass, totals, pull = (part.cpu().numpy() for part in parts)
    return PointSums(mass=mass, loss=loss, totals=totals, pull=pull)
