"""Seeding on a device: the two nearest centroids of each row, and exact draws.

Each step copies one array to the host.
"""

from __future__ import annotations

import numpy as np
import torch

from ..._grid import Array
from ...kernels.euler import OnCircles
from ...seeding import Seeding
from ...table import draw_goals
from .exact import (
    COUNT_BITS,
    LOSS_BITS,
    RunningSums,
    add_shifted,
    exact_distances,
    fetch_integers,
)
from .mapped_rows import MappedRows

INFINITE_LOSS = (1 << 63) - 1  # larger than every distance


class TorchSeeding(Seeding):
    """Seeding that keeps the nearest and the second nearest centroid of each row."""

    def __init__(self, rows: MappedRows) -> None:
        self.rows = rows
        self.near, self.next = (
            torch.full((rows.n,), INFINITE_LOSS, dtype=torch.int64, device=rows.device)
            for _ in range(2)
        )
        self.owner, self.second = (torch.full_like(self.near, -1) for _ in range(2))
        # the centroids chosen so far, (k, 2d)
        self.grid = torch.empty((0, 2 * rows.d), dtype=torch.int32, device=rows.device)
        self.total = 0  # the sum of weight times loss at the nearest centroid

    @property
    def centroids(self) -> OnCircles:
        return OnCircles(self.grid.cpu().numpy())

    def sample(self, words: Array) -> Array:
        return self._draw(words).cpu().numpy()

    def _draw(self, words: Array) -> torch.Tensor:
        """Return a row number for each random word, on the device."""
        if len(self.grid) and self.total:
            goals = [(word * self.total) >> 64 for word in words.tolist()]
            return RunningSums(self.near, self.rows.w).first_above(goals)
        if self.rows.w is None:
            return self.rows.cells.upload_numbers(draw_goals(self.rows.n, words))
        ends = self.rows.w.cumsum(0)
        goals = self.rows.cells.upload_numbers(draw_goals(int(ends[-1]), words))
        return torch.searchsorted(ends, goals, right=True).clamp(max=self.rows.n - 1)

    def add_rows(self, words: Array) -> None:
        for step in words:
            self._add_best(self._draw(step))

    def add_best(self, numbers: Array) -> None:
        self._add_best(self.rows.cells.upload_numbers(numbers))

    def _add_best(self, numbers: torch.Tensor) -> None:
        P = self.rows.filled_rows(numbers)
        D = self._losses(P)  # (n, candidates)
        kept = torch.minimum(D, self.near[:, None])
        (left,) = fetch_integers(self.rows.summation.total(kept, self.rows.w, LOSS_BITS))
        best = int(np.argmin(left))
        self.total = int(left[best])
        self.grid = torch.cat([self.grid, P[best : best + 1]])
        self._insert(D[:, best], len(self.grid) - 1)

    def _losses(self, P: torch.Tensor) -> torch.Tensor:
        """Return |f - m|^2 for each row and candidate, (n, candidates)."""
        rows = self.rows
        parts = [
            exact_distances(rows.store.grid(at), P, rows.is_complete)
            for at in rows.cells.slices(len(P))
        ]
        return torch.cat(parts)

    def _insert(self, D: torch.Tensor, c: int) -> None:
        """Update the two nearest centroids of every row with centroid c, at losses D (n,)."""
        closer, close = D < self.near, D < self.next
        self.next = torch.where(closer, self.near, torch.where(close, D, self.next))
        self.second = torch.where(closer, self.owner, torch.where(close, c, self.second))
        self.near, self.owner = (
            torch.where(closer, D, self.near),
            torch.where(closer, c, self.owner),
        )

    def add_all(self, numbers: Array) -> None:
        rows = self.rows
        first = len(self.grid)
        P = rows.filled_rows(rows.cells.upload_numbers(numbers))
        for at in rows.cells.slices(len(P)):
            D, least = exact_distances(rows.store.grid(at), P, rows.is_complete).min(1)
            closer = D < self.near[at]
            self.near[at] = torch.where(closer, D, self.near[at])
            self.owner[at] = torch.where(closer, first + least, self.owner[at])
        self.grid = torch.cat([self.grid, P])
        (total,) = fetch_integers(rows.summation.total(self.near, rows.w, LOSS_BITS))
        self.total = int(total)

    def nearest_masses(self) -> Array:
        rows = self.rows
        ones = torch.ones_like(self.owner)
        (masses,) = fetch_integers(
            rows.summation.by_label(ones, rows.w, self.owner, len(self.grid), COUNT_BITS)
        )
        return masses.astype(np.float64)  # masses above 2^63 are Python integers

    def swap_rows(self, words: Array, patience: int) -> None:
        n_failed = 0
        for step in words:
            n_failed = 0 if self._swap_best(self._draw(step)) else n_failed + 1
            if n_failed == patience:
                break

    def swap_best(self, numbers: Array) -> bool:
        return self._swap_best(self.rows.cells.upload_numbers(numbers))

    def _swap_best(self, numbers: torch.Tensor) -> bool:
        P = self.rows.filled_rows(numbers)
        D = self._losses(P)
        k = len(self.grid)
        left = self._loss_left(D, k)
        q, p = divmod(int(np.argmin(left)), len(P))
        if left[q, p] >= self.total:
            return False
        self.total = int(left[q, p])
        self.grid[q] = P[p]
        hit = (self.owner == q) | (self.second == q)
        self._insert(torch.where(hit, INFINITE_LOSS, D[:, p]), q)
        self._recount(torch.nonzero(hit)[:, 0])
        return True

    def _loss_left(self, D: torch.Tensor, k: int) -> Array:
        """Return the loss after candidate p replaces centroid q, (k, candidates).

        It is the sum of min(D_p, near) over the rows. A row of q takes min(D_p, next) instead.
        """
        rows = self.rows
        kept = torch.minimum(D, self.near[:, None])
        rest = torch.minimum(D, self.next[:, None]) - kept
        totals = rows.summation.total(kept, rows.w, LOSS_BITS)
        more = rows.summation.by_label(rest, rows.w, self.owner, k, LOSS_BITS)
        (left,) = fetch_integers(add_shifted(totals, more))
        return left

    def _recount(self, hit: torch.Tensor) -> None:
        """Find the two nearest centroids of these rows again."""
        rows = self.rows
        k = len(self.grid)
        for numbers in hit.split(max(1, rows.cells.max_cells // max(2 * rows.d, k))):
            D = exact_distances(rows.store.grid(numbers), self.grid, rows.is_complete)
            self.near[numbers], self.owner[numbers] = D.min(1)
            if k > 1:
                D = D.scatter_(1, self.owner[numbers][:, None], INFINITE_LOSS)
                self.next[numbers], self.second[numbers] = D.min(1)
