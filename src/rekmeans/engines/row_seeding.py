"""Seeding on mapped rows in memory, and draws by weight times loss for all engines.

A random word r of 64 bits draws the first row whose running sum exceeds total * r / 2^64. The
comparison is exact for integers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from .._grid import Array, integer_weights, mass_of, product, weighted_total
from ..assignment import one_hot
from ..model import Centroids, Loss
from ..seeding import Seeding
from ..table import draw_rows

if TYPE_CHECKING:
    from .base import BaseRows

DRAW_ROWS = 1 << 12  # rows in a block with a known sum; a draw scans the rows of one block
RECOUNTED_CELLS = 1 << 21  # distances between rows and centroids that are computed at a time
DRAW_WEIGHT_BITS = 31  # bits of the largest integer weight used for draws
# {kind of dtype: a value larger than every loss}
INFINITE_LOSS = {"i": np.iinfo(np.int64).max, "O": 1 << 100, "f": np.inf}


def draw_blocks(n: int) -> list[slice]:
    """Return the slices of n rows in blocks of DRAW_ROWS."""
    return [slice(at, min(at + DRAW_ROWS, n)) for at in range(0, n, DRAW_ROWS)]


def weighted_loss(w: Array, losses: Array) -> Loss:
    """Return the sum of weight times loss, exact for integers."""
    if w.dtype.kind == "f":
        return float((w * losses).sum())  # BLAS would take longer to start its threads
    return weighted_total(w, losses)


def running_totals(blocks: Sequence[slice], w: Array, losses: Array) -> list[Loss]:
    """Return the running sum of weight times loss at the end of each block."""
    return list(accumulate(weighted_loss(w[at], losses[at]) for at in blocks))


def draw_goal(total: Loss, word: int) -> Loss:
    """Return the value that a word draws: the first running sum above it marks the drawn row."""
    return word / 2.0**64 * total if isinstance(total, float) else (word * total) >> 64


def draw_weights(w: Array) -> Array:
    """Return integer weights for draws, (n,). Real weights must be at most 1."""
    if w.dtype.kind == "i":
        return w
    return np.rint(np.ldexp(w, DRAW_WEIGHT_BITS)).astype(np.int64)


def draw_by_weight(w: Array, words: Array) -> Array:
    """Return a row number for each word, drawn by weight, or uniformly if all weights are 0."""
    if w.dtype.kind != "i":
        w = integer_weights(w if w.any() else w + 1)[0]
    return draw_rows(w, words)


def draw_by_weighted_loss(w: Array, losses: Array, words: Array) -> Array | None:
    """Return a row number for each word, drawn by weight times loss; None if all losses are 0."""
    blocks = draw_blocks(len(w))
    totals = running_totals(blocks, w, losses)
    if not totals[-1]:
        return None
    goals = (draw_goal(totals[-1], word) for word in words.tolist())
    return np.array([find_drawn_row(blocks, totals, w, losses, goal) for goal in goals])


def find_drawn_row(
    blocks: Sequence[slice], totals: Sequence[Loss], w: Array, losses: Array, goal: Loss
) -> int:
    """Return the first row at which the running sum of weight times loss exceeds the goal."""
    b = min(bisect_right(totals, goal), len(blocks) - 1)
    before = totals[b - 1] if b else 0
    at = blocks[b]
    kind = float if w.dtype.kind == "f" else object
    mass = np.cumsum(w[at].astype(kind) * losses[at].astype(kind))
    return at.start + min(int(np.searchsorted(mass, goal - before, side="right")), len(mass) - 1)


class DrawSeeding(Seeding):
    """Draws from an out-of-core table. The candidates are compared in memory afterwards."""

    centroids: Centroids

    def __init__(self, rows: BaseRows) -> None:
        self.rows = rows
        middle = rows.kernel.scale.middle[None]
        self.centroids = rows.kernel.from_points(middle).take([])

    def sample(self, words: Array) -> Array:
        return self.rows.draw(words, self.centroids if len(self.centroids) else None)

    def add_all(self, numbers: Array) -> None:
        self.centroids = self.centroids.append(self.rows.rows_as_centroids(numbers))

    def add_best(self, numbers: Array) -> None:
        raise NotImplementedError("not available for out-of-core tables")

    def swap_best(self, numbers: Array) -> bool:
        raise NotImplementedError("not available for out-of-core tables")

    def nearest_masses(self) -> Array:
        return self.rows.nearest_masses(self.centroids).astype(np.float64)


class RowSeeding(Seeding):
    """Seeding that keeps the nearest and the second nearest centroid of each row."""

    centroids: Centroids

    def __init__(self, rows: BaseRows, F: Array | None = None) -> None:
        self.rows = rows
        self.blocks = list(rows.blocks())
        self.F = rows.map_blocks(np.asarray) if F is None else F
        self.w = rows.weights()
        first = rows.rows_as_centroids(np.zeros(1, np.int64))
        self.centroids = first.take([])
        probe = rows.kernel.loss(rows.kernel.distance(self.F[:1], first))
        far = np.full(len(rows), INFINITE_LOSS[probe.dtype.kind], dtype=probe.dtype)
        # losses at the nearest and the second nearest centroid, and their numbers, (n,) each
        self.near = far
        self.next = far.copy()
        self.owner, self.second = (np.full(len(rows), -1, np.int32) for _ in range(2))

    def sample(self, words: Array) -> Array:
        if not (len(self.centroids) and self._total(self.near)):
            return draw_by_weight(self.w, words)
        totals = running_totals(self.blocks, self.w, self.near)
        goals = (draw_goal(totals[-1], word) for word in words.tolist())
        return np.array(
            [find_drawn_row(self.blocks, totals, self.w, self.near, goal) for goal in goals]
        )

    def _total(self, D: Array) -> Loss:
        """Return the weighted sum over all rows, exact for integers."""
        return sum(weighted_loss(self.w[at], D[at]) for at in self.blocks)

    def _losses(self, P: Centroids) -> Array:
        kernel = self.rows.kernel
        return np.concatenate([kernel.loss(kernel.distance(self.F[at], P)) for at in self.blocks])

    def add_best(self, numbers: Array) -> None:
        P = self.rows.rows_as_centroids(numbers)
        D = self._losses(P)
        left = (
            [self._total(np.minimum(self.near, D[:, i])) for i in range(len(P))]
            if len(P) > 1
            else [0]
        )
        best = min(range(len(P)), key=left.__getitem__)
        self.centroids = self.centroids.append(P.take([best]))
        self._insert(D[:, best], len(self.centroids) - 1)

    def _insert(self, D: Array, c: int) -> None:
        """Update the two nearest centroids of every row with centroid c, at losses D (n,)."""
        closer, close = D < self.near, D < self.next
        self.next = np.where(closer, self.near, np.where(close, D, self.next))
        self.second = np.where(closer, self.owner, np.where(close, c, self.second))
        self.near, self.owner = np.where(closer, D, self.near), np.where(closer, c, self.owner)

    def add_all(self, numbers: Array) -> None:
        P = self.rows.rows_as_centroids(numbers)
        kernel = self.rows.kernel
        first = len(self.centroids)
        for at in self.blocks:
            D = kernel.loss(kernel.distance(self.F[at], P))
            least = D.argmin(axis=1)
            D = np.take_along_axis(D, least[:, None], 1)[:, 0]
            self.owner[at] = np.where(D < self.near[at], first + least, self.owner[at])
            self.near[at] = np.minimum(self.near[at], D)
        self.centroids = self.centroids.append(P)

    def nearest_masses(self) -> Array:
        masses = mass_of(one_hot(self.owner, self.w, len(self.centroids)))
        return masses.astype(np.float64)  # masses above 2^43 are Python integers

    def swap_best(self, numbers: Array) -> bool:
        P = self.rows.rows_as_centroids(numbers)
        D = self._losses(P)
        k = len(self.centroids)
        left = reduce(add, (self._loss_left(at, D[at], k) for at in self.blocks))  # (k, candidates)
        q, p = divmod(int(np.argmin(left)), len(P))
        if left[q, p] >= self._total(self.near):
            return False
        self.centroids = self.centroids.replace(q, P.take([p]))
        hit = (self.owner == q) | (self.second == q)
        self._insert(np.where(hit, INFINITE_LOSS[D.dtype.kind], D[:, p]), q)
        self._recount(np.flatnonzero(hit))
        return True

    def _loss_left(self, at: slice, D: Array, k: int) -> Array:
        """Return the loss after candidate p replaces centroid q, (k, candidates).

        It is the sum of min(D_p, near) over the rows. A row of q takes min(D_p, next) instead.
        """
        w, owner = self.w[at], self.owner[at]
        kept = np.minimum(D, self.near[at][:, None])
        rest = np.minimum(D, self.next[at][:, None]) - kept
        return product(w[:, None], kept) + product(one_hot(owner, w, k), rest)

    def _recount(self, hit: Array) -> None:
        """Find the two nearest centroids of these rows again."""
        kernel = self.rows.kernel
        k = len(self.centroids)
        for i in np.array_split(hit, max(1, len(hit) * k // RECOUNTED_CELLS)):
            D = kernel.loss(kernel.distance(self.F[i], self.centroids))
            order = np.argsort(D, axis=1, kind="stable")[:, :2]
            self.near[i] = np.take_along_axis(D, order[:, :1], 1)[:, 0]
            self.owner[i] = order[:, 0]
            if k > 1:
                self.next[i] = np.take_along_axis(D, order[:, 1:], 1)[:, 0]
                self.second[i] = order[:, 1]
