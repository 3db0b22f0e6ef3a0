"""A run in plain torch operations on any device: exact scores, integer sums; only the labels are
remembered.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..._grid import Array
from ...kernels.euler import CircleSums, OnCircles
from ...model import Assignment, Model
from ..base import Run
from .distances import exact_distances, observed_mask
from .integers import ShiftedSums, add_shifted, fetch_integers

# of a grid value, of |f - m|^2, of an observed cell
GRID_BITS = 24
LOSS_BITS = 63
COUNT_BITS = 1


class PlainRun(Run):
    """Every pass goes over every row, a block at a time; sums are brought to the host once a
    pass.
    """

    def __init__(self, rows: Any, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.n_passes = 0
        self.last: torch.Tensor | None = None  # labels (n,) of the last pass, int32

    def assign(self, C: OnCircles) -> Assignment:
        rows = self.rows
        centroids = self.rows.upload(C.f)
        labels = torch.empty(rows.n, dtype=torch.int32, device=rows.device)
        groups: list[ShiftedSums] = [[], [], [], []]
        for at in rows.blocks(len(C)):
            F = rows.store.grid(at)
            losses, nearest = exact_distances(F, centroids, rows.is_complete).min(1)
            labels[at] = nearest.to(torch.int32)
            loss = rows.summation.total(losses, rows.weights_at(at), LOSS_BITS)
            left = [loss, *block_sums(rows, F, at, nearest, len(C))]
            groups = [add_shifted(*pair) for pair in zip(groups, left, strict=True)]
        changed = [(0, count_changed(labels, self.last))]
        self.last = labels
        self.n_passes = self.n_passes + 1
        loss, *sums, n_changed = fetch_integers(*groups, changed)
        return Assignment(int(n_changed), circle_sums(rows, sums, int(loss)))

    def labels(self) -> Any:
        return self.rows.answer_labels(self.last)


def count_changed(labels: torch.Tensor, last: torch.Tensor | None) -> torch.Tensor:
    """Return how many labels changed since the last pass: all of them if there was none."""
    if last is None:
        return torch.tensor(len(labels), device=labels.device)
    return (labels != last).sum()


def block_sums(
    rows: Any, F: torch.Tensor, at: slice, labels: torch.Tensor, k: int
) -> list[ShiftedSums]:
    """Mass (k,), totals (k, 2d) and observed weights (k, d) of a block; (k, 0) where no cell is
    missing.
    """
    w = rows.weights_at(at)
    by_label = rows.summation.by_label
    ones = torch.ones(len(F), dtype=torch.int64, device=F.device)
    observed = ones[:, None][:, :0] if rows.is_complete else observed_mask(F).to(torch.int64)
    return [
        by_label(ones, w, labels, k, COUNT_BITS),
        by_label(F.to(torch.int64), w, labels, k, GRID_BITS),
        by_label(observed, w, labels, k, COUNT_BITS),
    ]


def circle_sums(rows: Any, fetched: list[Array], loss: int = 0) -> CircleSums:
    """The sums of a pass as the kernel has them, from arrays on the host."""
    mass, totals, observed = fetched
    if rows.is_complete:
        observed = np.repeat(mass[:, None], rows.d, axis=1)
    return CircleSums(mass=mass, loss=loss, totals=totals, observed=observed)
