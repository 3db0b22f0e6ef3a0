"""Rows whose centroids are points, on a device: distances and sums in float64, in a fixed order of
blocks.

Starts are chosen on the host, from the sample of rows that the kernel asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ..._grid import Array, small_weight_bits
from ...kernels.base import rectified_update
from ...kernels.linear import Linear
from ...kernels.points import PointSums
from ...kernels.rbf import RBF
from ...model import Assignment, FarthestRow, Model, Points
from ...table import MemoryTable
from ...table.torch import times_power_of_two
from ..base import Run
from ..reference import ReferenceRows
from ..row_seeding import DrawSeeding
from .device_rows import DeviceRows

# The loss of a row at distance D from its centroid, and how hard it pulls: the kernels' own
# formulas in torch's words.
LOSSES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    Linear.formula: lambda D: D,
    RBF.formula: lambda D: -2 * torch.expm1(-D),
}
PULLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    Linear.formula: torch.ones_like,
    RBF.formula: lambda D: torch.exp(-D),
}


class TorchPoints(DeviceRows):
    """Scaled rows F (n, d) float64 on the device, NaN in missing cells, and their weights (n,)
    float64.
    """

    w: torch.Tensor

    def __init__(self, kernel: Any, table: Any, device: torch.device) -> None:
        super().__init__(kernel, table, device)
        self.F = torch.empty((self.n, self.d), dtype=torch.float64, device=device)
        self.w = torch.ones(self.n, dtype=torch.float64, device=device)
        self.weight_bits = 0
        given = self.table_weights()
        if given is not None:
            self.weight_bits = small_weight_bits(self.table.largest_weight or float(given.max()))
            self.w = times_power_of_two(given, self.weight_bits)
        for at, cells in self.cell_blocks():
            self.F[at], informative = self.phases.embed(cells)
            if informative is not None:
                self.w[at] = self.w[at] * informative

    def start_run(self, model: Model) -> PointsRun:
        return PointsRun(self, model)

    def in_memory(self) -> ReferenceRows:
        """All rows on the host: those of a small table, which starts are chosen from."""
        return ReferenceRows(
            self.kernel, MemoryTable(self.table.dense(slice(None)), self.table.weights)
        )

    def place(self, table: Any) -> ReferenceRows:
        """The rows of a sample on the host."""
        return ReferenceRows(self.kernel, MemoryTable(table.dense(slice(None)), table.weights))

    def start_seeding(self) -> DrawSeeding:
        return DrawSeeding(self)

    def nearest_losses(self, C: Points) -> Array:
        return LOSSES[self.kernel.formula](self._least_distances(C)).cpu().numpy()

    def _least_distances(self, C: Points) -> torch.Tensor:
        """Distance of each row to the nearest of these centroids, (n,)."""
        centroids, least = self.upload(C.x), torch.empty_like(self.w)
        for at in self.blocks(len(C)):
            least[at] = self.distances(self.F[at], centroids).amin(1)
        return least

    def distances(self, F: torch.Tensor, C: torch.Tensor) -> torch.Tensor:
        """What rows (m, d) are assigned by, (m, k): |x - c|^2 over the coordinates each row has,
        times gamma.

        Both sides are centred, so that a table far from the origin loses no digits.
        """
        middle = C.mean(0)
        x, c = F - middle, C - middle
        observed = ~torch.isnan(x)
        x = torch.where(observed, x, 0.0)
        D = (x * x).sum(1, keepdim=True) - 2 * (x @ c.T) + observed.to(torch.float64) @ (c * c).T
        return getattr(self.kernel, "gamma", 1.0) * D.clamp_(min=0.0)

    def sums(
        self, F: torch.Tensor, w: torch.Tensor, pull: torch.Tensor, labels: torch.Tensor, k: int
    ) -> list[Any]:
        """Mass (k,), totals (k, d) and pull (k, d) of some rows: products with one column a label,
        in a fixed order.
        """
        at = labels[:, None]
        observed = ~torch.isnan(F)
        W = torch.zeros((len(F), k), dtype=torch.float64, device=self.device)
        mass = W.scatter(1, at, w[:, None]).sum(0)
        V = W.scatter_(1, at, (w * pull)[:, None])
        return [mass, V.T @ torch.where(observed, F, 0.0), V.T @ observed.to(torch.float64)]

    def rows_as_centroids(self, numbers: Array) -> Points:
        F = self.F[self.labels_on_device(numbers)].cpu().numpy()
        return self.kernel.from_rows(F, self._overall if np.isnan(F).any() else None)

    @cached_property
    def _overall(self) -> Points:
        """The centroid of all rows."""
        start = self.kernel.from_points(self.kernel.scale.middle[None])
        total: list[Any] = [0, 0, 0]
        for at in self.blocks():
            zeros = torch.zeros(len(self.w[at]), dtype=torch.int64, device=self.device)
            left = self.sums(self.F[at], self.w[at], torch.ones_like(self.w[at]), zeros, 1)
            total = [one + two for one, two in zip(total, left, strict=True)]
        return rectified_update(self.kernel, point_sums_on_host(total), start)

    def farthest(self, C: Points) -> FarthestRow:
        loss, row = self._least_distances(C).masked_fill_(self.w <= 0, -1.0).max(0)
        return FarthestRow(float(loss), int(row), self.F[int(row)].cpu().numpy())

    def map_blocks(self, answer: Callable[[Array], Array]) -> Array:
        return np.concatenate([answer(self.F[at].cpu().numpy()) for at in self.blocks()])


class PointsRun(Run):
    """Every pass goes over every row, a block at a time; only the labels are remembered."""

    def __init__(self, rows: TorchPoints, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.n_passes = 0
        self.last = torch.full((rows.n,), -1, dtype=torch.int32, device=rows.device)

    def assign(self, C: Points) -> Assignment:
        rows = self.rows
        centroids = self.rows.upload(np.asarray(C.x, np.float64))
        formula = self.model.kernel.formula
        labels = torch.empty_like(self.last)
        total = [0, 0, 0, 0]
        for at in rows.blocks(len(C)):
            D, nearest = rows.distances(rows.F[at], centroids).min(1)
            labels[at] = nearest.to(torch.int32)
            left = rows.sums(rows.F[at], rows.w[at], PULLS[formula](D), nearest, len(C))
            loss = (rows.w[at] * LOSSES[formula](D)).sum()
            total = [one + two for one, two in zip(total, [*left, loss], strict=True)]
        n_changed = int((labels != self.last).sum())
        self.last = labels
        self.n_passes += 1
        return Assignment(n_changed, point_sums_on_host(total))

    def labels(self) -> Any:
        return self.rows.answer_labels(self.last)


def point_sums_on_host(parts: list[Any]) -> PointSums:
    """The sums of a pass as the kernel has them: mass, totals, pull, and the loss where it is
    known.
    """
    mass, totals, pull = (part.cpu().numpy() for part in parts[:3])
    return PointSums(
        mass=mass, loss=float(parts[3]) if len(parts) > 3 else 0.0, totals=totals, pull=pull
    )
