"""Rows on circles on a device and their plain runs, bit-identical to the reference engine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np
import torch

from ..._grid import TURN, Array
from ...kernels.base import Kernel
from ...kernels.euler import CircleSums, OnCircles
from ...model import Assignment, Centroids, FarthestRow, Model
from ...table import Table
from ..base import MAX_HALF_TURNS, BaseRows, Run
from .cells import cells_on_device, count_uninformative
from .exact import (
    COUNT_BITS,
    LOSS_BITS,
    ShiftedSums,
    add_sums,
    count_changed,
    exact_distances,
    fetch_integers,
)
from .mapped_rows import MappedRows
from .placement import place_few_rows
from .seeding import TorchSeeding

PHASE_BITS = 63  # bits of a phase on the TURN grid


class TorchRows(BaseRows):
    """Rows mapped to the grid on a device. The table may be on the host."""

    def __init__(self, kernel: Kernel, table: Table, device: torch.device) -> None:
        super().__init__(kernel, table)
        self.device = device
        self.cells = cells_on_device(kernel, table, device)
        self.mapped = MappedRows(kernel, self.cells, table.largest_weight)
        self.weight_bits = self.mapped.weight_bits

    def place(self, table: Table) -> BaseRows:
        """Map the rows of a sample where seeding is fastest: on this device or in the core."""
        return place_few_rows(self.kernel, table, self.device) or TorchRows(
            self.kernel, table, self.device
        )

    def in_memory(self) -> BaseRows:
        return place_few_rows(self.kernel, self.table, self.device) or self

    def weights(self) -> Array:
        w = self.mapped.w
        return np.ones(len(self), np.int64) if w is None else w.cpu().numpy()

    def has_weight(self) -> bool:
        return self.mapped.w is None or bool(self.mapped.w.any())

    def n_uninformative(self) -> int:
        w = self.mapped.w
        return 0 if w is None else count_uninformative(w, self.cells.weights())

    def start_run(self, model: Model) -> Run:
        if not self.mapped.store.is_packed:
            return PlainRun(self.mapped, model)
        from .certified_run import CertifiedRun  # imports Triton, which only packed rows need

        return CertifiedRun(self.mapped, model, self.table)

    def start_seeding(self) -> TorchSeeding:
        return TorchSeeding(self.mapped)

    def blocks(self) -> Iterator[slice]:
        return self.cells.slices()

    def mapped_blocks(self) -> Iterator[tuple[slice, Array]]:
        return ((at, self.mapped.store.grid(at).cpu().numpy()) for at in self.blocks())

    def rows_as_centroids(self, numbers: Array) -> OnCircles:
        on_device = self.cells.upload_numbers(numbers)
        return OnCircles(self.mapped.filled_rows(on_device).cpu().numpy())

    def overall_sums(self) -> CircleSums:
        return self.mapped.overall_sums()

    def nearest_losses(self, C: Centroids) -> Array:
        return self.mapped.least_distances(C).cpu().numpy()

    def farthest(self, C: Centroids) -> FarthestRow:
        return self.mapped.farthest(C)

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        on_device = self.cells.upload_numbers(labels)
        parts = (
            self._phase_sums_of(at, cells, on_device[at], k) for at, cells in self.cells.blocks()
        )
        turns, observed = fetch_integers(*reduce(add_sums, parts))
        return turns, observed

    def _phase_sums_of(
        self, at: slice, cells: torch.Tensor, labels: torch.Tensor, k: int
    ) -> list[ShiftedSums]:
        """Return the sums of phases on the TURN grid and of observed weights of these rows.

        Both have shape (k, d).
        """
        phases, _ = self.cells.map.coordinates(cells)
        missing = torch.isnan(phases)
        phases = phases.masked_fill_(missing, 0.0).clamp_(-MAX_HALF_TURNS, MAX_HALF_TURNS)
        turns = torch.round(phases * TURN).to(torch.int64)
        w = self.mapped.weights_at(at)
        by_label = self.mapped.summation.by_label
        return [
            by_label(turns, w, labels, k, PHASE_BITS),
            by_label((~missing).to(torch.int64), w, labels, k, COUNT_BITS),
        ]


class PlainRun(Run):
    """A run in plain torch operations on any device, with exact scores and integer sums.

    Each pass processes all rows in blocks and copies its sums to the host. Only the labels are kept
    between passes.
    """

    def __init__(self, rows: MappedRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.n_passes = 0
        self.last: torch.Tensor | None = None  # labels (n,) of the last pass, int32

    def assign(self, C: Centroids) -> Assignment:
        rows = self.rows
        centroids = rows.upload(C)
        labels = torch.empty(rows.n, dtype=torch.int32, device=rows.device)
        total: list[ShiftedSums] = [[], [], [], []]
        for at in rows.cells.slices(len(C)):
            F = rows.store.grid(at)
            losses, nearest = exact_distances(F, centroids, rows.is_complete).min(1)
            labels[at] = nearest.to(torch.int32)
            loss = rows.summation.total(losses, rows.weights_at(at), LOSS_BITS)
            total = add_sums(total, [loss, *rows.block_sums(F, at, nearest, len(C))])
        changed = [(0, count_changed(labels, self.last))]
        self.last = labels
        self.n_passes = self.n_passes + 1
        total_loss, *sums, n_changed = fetch_integers(*total, changed)
        return Assignment(int(n_changed), rows.circle_sums(sums, int(total_loss)))

    def labels(self) -> Array:
        return self.rows.cells.to_input_type(self.last)
