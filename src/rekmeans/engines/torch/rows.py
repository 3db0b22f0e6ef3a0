"""Rows on circles on a device: mapped once to the grid, then labels, sums and draws where they are,
exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from typing import Any

import numpy as np
import torch

from ..._grid import TURN, Array, integer_weight_bits
from ...kernels.base import rectified_update
from ...kernels.euler import CircleSums, OnCircles
from ...model import FarthestRow, Model
from ...table.torch import scaled_weights
from .backends import choose_run, choose_store, place_few_rows
from .device_rows import DeviceRows
from .distances import exact_distances, observed_mask
from .integers import ExactSummation, ShiftedSums, add_shifted, fetch_integers
from .plain_run import COUNT_BITS, block_sums, circle_sums
from .seeding import TorchSeeding

# beyond it phases are added as if they were this: the mean of so many turns says nothing
MOST_HALF_TURNS = 2.0**46
PHASE_BITS = 63  # of a phase on the TURN grid


class TorchRows(DeviceRows):
    """Mapped rows in a store on the device, and their integer weights."""

    def __init__(self, kernel: Any, table: Any, device: torch.device) -> None:
        super().__init__(kernel, table, device)
        # buffers of ended runs, for the next ones; they refer to the store
        self.spare_passes: dict[Any, Any] = {}
        self._informative = (
            torch.ones(self.n, dtype=torch.bool, device=device)
            if kernel.beyond == "ignore"
            else None
        )
        self._any_missing = torch.zeros((), dtype=torch.bool, device=device)
        make_store = choose_store(device, self.n, self.d)
        self.store = make_store(
            self.n, self.d, device, self._map_blocks_of_cells, self._map_spread_rows
        )
        self.is_complete = not bool(self._any_missing)
        self.w, self.weight_bits = self._integer_weights()
        largest = 1 if self.w is None else int(self.w.max())
        self.summation = ExactSummation(self.n, largest.bit_length())

    def _map_blocks_of_cells(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Grid integers (m, 2d), block by block; which rows count and whether a cell is missing is
        noted.
        """
        for at, cells in self.cell_blocks():
            F, informative = self.phases.embed(cells)
            if self._informative is not None:
                self._informative[at] = informative
            self._any_missing |= ~observed_mask(F).all()
            yield at, F

    def _map_spread_rows(self, count: int) -> torch.Tensor:
        """Grid integers (m, 2d) of about so many rows, spread over the table."""
        cells = self.read_cells(slice(0, self.n, max(1, self.n // count)))
        return self.phases.embed(cells.to(self.device))[0]

    def _integer_weights(self) -> tuple[torch.Tensor | None, int]:
        """Weights of the rows times 2^b, 0 for those that take no part, and b; None for all 1."""
        given = self.table_weights()
        informative = (
            None
            if self._informative is None or bool(self._informative.all())
            else self._informative
        )
        if given is None:
            return (None, 0) if informative is None else (informative.to(torch.int64), 0)
        largest = (
            float(given.max()) if self.table.largest_weight is None else self.table.largest_weight
        )
        bits = integer_weight_bits(largest)
        w = scaled_weights(given, bits)
        return (w if informative is None else w * informative), bits

    def in_memory(self) -> Any:
        return place_few_rows(self.kernel, self.table, self.device) or self

    def place(self, table: Any) -> Any:
        """Rows of a sample where starts are found soonest."""
        return place_few_rows(self.kernel, table, self.device) or type(self)(
            self.kernel, table, self.device
        )

    def start_run(self, model: Model) -> Any:
        return choose_run(self, model)

    def start_seeding(self) -> TorchSeeding:
        return TorchSeeding(self)

    def rows_as_centroids(self, numbers: Array) -> OnCircles:
        return OnCircles(self.filled_rows(self.labels_on_device(numbers)).cpu().numpy())

    def filled_rows(self, numbers: torch.Tensor) -> torch.Tensor:
        """Grid integers (m, 2d) of these rows, missing cells from the table's overall centroid."""
        F = self.store.grid(numbers)
        if self.is_complete:
            return F
        return torch.where(observed_mask(F).repeat(1, 2), F, self._overall)

    @cached_property
    def _overall(self) -> torch.Tensor:
        """The rectified centroid of all rows, (1, 2d)."""
        start = self.kernel.from_points(self.kernel.scale.middle[None])
        return self.upload(rectified_update(self.kernel, self.overall_sums(), start).f)

    def overall_sums(self) -> CircleSums:
        """The sums of all rows as of one cluster."""
        sums: list[ShiftedSums] = [[], [], []]
        for at in self.blocks():
            F = self.store.grid(at)
            zeros = torch.zeros(len(F), dtype=torch.int64, device=self.device)
            sums = [
                add_shifted(*pair)
                for pair in zip(sums, block_sums(self, F, at, zeros, 1), strict=True)
            ]
        return circle_sums(self, fetch_integers(*sums))

    def nearest_losses(self, C: OnCircles) -> Array:
        return self._least_distances(C).cpu().numpy()

    def _least_distances(self, C: OnCircles) -> torch.Tensor:
        """Distance of each row to the nearest of these centroids, (n,)."""
        centroids = self.upload(C.f)
        least = torch.empty(self.n, dtype=torch.int64, device=self.device)
        for at in self.blocks(len(C)):
            least[at] = (
                exact_distances(self.store.grid(at), centroids, self.is_complete).min(1).values
            )
        return least

    def farthest(self, C: OnCircles) -> FarthestRow:
        least = self._least_distances(C)
        if self.w is not None:
            least.masked_fill_(self.w <= 0, -1)
        loss, row = least.max(0)  # the first of several
        return FarthestRow(int(loss), int(row), self.store.grid(row[None])[0].cpu().numpy())

    def map_blocks(self, answer: Callable[[Array], Array]) -> Array:
        return np.concatenate([answer(self.store.grid(at).cpu().numpy()) for at in self.blocks()])

    def phase_sums(self, labels: Any, k: int) -> tuple[Array, Array]:
        labels = self.labels_on_device(labels)
        parts = (self._phase_sums_of(at, cells, labels[at], k) for at, cells in self.cell_blocks())
        sums = reduce(
            lambda one, two: [add_shifted(*pair) for pair in zip(one, two, strict=True)], parts
        )
        turns, observed = fetch_integers(*sums)
        return turns, observed

    def _phase_sums_of(
        self, at: slice, cells: torch.Tensor, labels: torch.Tensor, k: int
    ) -> list[ShiftedSums]:
        """Sums of phases on the TURN grid, and of observed weights, (k, d) each, of some rows."""
        phases, _ = self.phases.coordinates(cells)
        missing = torch.isnan(phases)
        phases = phases.masked_fill_(missing, 0.0).clamp_(-MOST_HALF_TURNS, MOST_HALF_TURNS)
        turns = torch.round(phases * TURN).to(torch.int64)
        w = self.weights_at(at)
        by_label = self.summation.by_label
        return [
            by_label(turns, w, labels, k, PHASE_BITS),
            by_label((~missing).to(torch.int64), w, labels, k, COUNT_BITS),
        ]
