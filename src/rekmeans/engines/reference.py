"""The reference engine:

NumPy blocks, exact integers. It defines the answer; other engines must give its bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from .._grid import TURN, Array, integer_weights, mass_of, mean_turns, product, small_weights
from ..assignment import nearest, one_hot
from ..kernels.base import rectified_update, with_statistics
from ..model import Assignment, FarthestRow, Model, State, Stop
from ..seeding import Seeding, SeedingPlan
from ..table import Table, Twins, draw_rows
from .base import count_silent_rows, refuse_device
from .blocks import BlockRows, middle_centroid, refuse_blocks
from .loss_draws import draw_goal, row_at_goal, running_totals, weighted_loss

BLOCK_CELLS_HELD = 1 << 21  # cells of one block: a few of its float64 copies stay near the cache
MOST_BLOCK_ROWS = 1 << 15  # rows of a block at most
# above every distance of that kind of number
FARTHEST = {"i": np.iinfo(np.int64).max, "O": 1 << 100, "f": np.inf}


class Reference:
    """NumPy, for every model on tables that can give their rows."""

    name = "reference"

    def missing(self) -> str:
        return ""

    def describe(self) -> str:
        return "NumPy, slow; it defines the answer"

    def is_home_of(self, table: Table) -> bool:
        return table.is_on_host and not table.is_partitioned

    def unsupported(self, stages: Sequence[Model], table: Table) -> str:
        if table.is_partitioned:
            return "takes no collection of Dask's: use engine='dask'."
        if reason := refuse_device(table):
            return reason
        return "" if table.is_in_memory else refuse_blocks(stages)

    def twins(self) -> Twins:
        return {}

    def place(
        self,
        stages: Sequence[Model],
        table: Any,
        n_threads: int | None = None,
        memory_limit: int | None = None,
    ) -> Any:
        kernel = stages[-1].kernel
        place = partial(ReferenceRows, kernel)
        return place(table) if table.is_in_memory else BlockRows(kernel, table, place)


class ReferenceRows:
    """Mapped rows in memory, gone through in blocks; `cuts` are the block borders, any will do."""

    most_gathered: ClassVar[int | None] = None

    def __init__(self, kernel: Any, table: Table, cuts: Array | None = None) -> None:
        self.kernel = kernel
        self.table = table
        n = table.n_rows
        size = max(1, min(MOST_BLOCK_ROWS, BLOCK_CELLS_HELD // (2 * table.n_columns)))
        self.cuts = np.append(np.arange(0, n, size), n) if cuts is None else cuts
        parts = [kernel.embed(table.dense(at)) for at in self.blocks()]
        self.F = parts[0] if len(parts) == 1 else np.concatenate(parts)  # (n, p)
        informative = ~np.concatenate(
            [kernel.uninformative_rows(table.dense(at)) for at in self.blocks()]
        )
        self.w: Array = np.ones(n, np.int64 if kernel.is_exact else np.float64)
        self.weight_bits = 0
        if table.weights is not None:
            scale_weights = integer_weights if kernel.is_exact else small_weights
            self.w, self.weight_bits = scale_weights(table.weights, table.largest_weight)
        self.w = self.w * informative

    def __len__(self) -> int:
        return len(self.F)

    def blocks(self) -> Iterator[slice]:
        return (slice(a, b) for a, b in zip(self.cuts[:-1], self.cuts[1:], strict=True))

    def weights(self) -> Array:
        return self.w

    def has_weight(self) -> bool:
        return bool(self.w.any())

    def n_silent(self) -> int:
        return count_silent_rows(self, self.table)

    def label_counts(self, labels: Array, k: int) -> Array:
        return np.bincount(labels, minlength=k)

    def concurrent_starts(self, k: int) -> int:
        return 1

    def sample(self, count: int, seed: int) -> Self:
        return type(self)(self.kernel, self.table.sample(count, seed))

    def in_memory(self) -> Self:
        return self

    def take(self, numbers: Array, weights: Array) -> Self:
        return type(self)(self.kernel, self.table.take(numbers, weights))

    def start_run(self, model: Model) -> Any:
        return ReferenceRun(self, model)

    def start_seeding(self) -> ReferenceSeeding:
        return ReferenceSeeding(self)

    def best_of_drawn(
        self, model: Model, plan: SeedingPlan, words: Array, stop: Stop
    ) -> State | None:
        return None

    def rows_as_centroids(self, numbers: Array) -> Any:
        F = self.F[numbers]
        return self.kernel.from_rows(F, self._overall if self.kernel.has_missing(F) else None)

    @cached_property
    def _overall(self) -> Any:
        """The rectified centroid of all rows."""
        kernel = self.kernel
        start = middle_centroid(self.kernel)
        sums = self.overall_sums()
        blocks = (
            [(F, kernel.row_weights(D, W)) for F, D, W in self._undivided_parts()]
            if kernel.statistics
            else []
        )
        return rectified_update(kernel, with_statistics(kernel, blocks, sums, start), start)

    def overall_sums(self) -> Any:
        """The sums of all rows in one cluster, each of which pulls as if it were at the
        centroid.
        """
        start = middle_centroid(self.kernel)
        return reduce(
            add, (self.kernel.accumulate(F, start, D, W) for F, D, W in self._undivided_parts())
        )

    def _undivided_parts(self) -> Iterator[tuple[Array, Array, Any]]:
        """Mapped rows, distances of 0 to the one centroid, and weights, block by block."""
        for F, w in self.parts():
            yield F, np.zeros((len(F), 1), np.int64), one_hot(np.zeros(len(F), np.int32), w, 1)

    def parts(self) -> Iterator[tuple[Array, Array]]:
        """Mapped rows and their weights, block by block."""
        return ((self.F[at], self.w[at]) for at in self.blocks())

    def nearest_losses(self, C: Any) -> Array:
        return self.map_blocks(lambda F: self.kernel.loss(self.kernel.distance(F, C)).min(axis=1))

    def farthest(self, C: Any) -> FarthestRow:
        return reduce(FarthestRow.merge, (self._farthest_of(at, C) for at in self.blocks()))

    def _farthest_of(self, at: slice, C: Any) -> FarthestRow:
        least = np.where(self.w[at] > 0, self.kernel.distance(self.F[at], C).min(axis=1), -1)
        row = int(least.argmax())
        return FarthestRow(least[row], at.start + row, self.F[at.start + row])

    def label(self, model: Model, C: Any) -> Array:
        if model.assignment.labels_are_nearest:
            return self.map_blocks(lambda F: nearest(self.kernel.distance(F, C)))
        parts = [
            model.assignment(self.kernel.distance(F, C), self.kernel.loss, w).labels
            for F, w in self.parts()
        ]
        return np.concatenate(parts)

    def map_blocks(self, answer: Callable[[Array], Array]) -> Array:
        return np.concatenate([answer(F) for F, _ in self.parts()])

    def mean_phases(self, labels: Array, k: int) -> Array:
        return mean_turns(*self.phase_sums(labels, k))

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        turns: Any = 0
        masses: Any = 0
        for at in self.blocks():
            phases = self.kernel.coordinates(self.table.dense(at))
            observed = ~np.isnan(phases)
            W = one_hot(labels[at], self.w[at], k)
            V = np.rint(
                np.clip(np.where(observed, phases, 0.0), -(2.0**46), 2.0**46) * TURN
            ).astype(np.int64)
            turns = turns + product(W, V)
            masses = masses + product(W, observed.astype(np.int64))
        return turns, masses


class ReferenceRun:
    """Every pass goes over every row; only the labels are remembered, to count those that
    change.
    """

    def __init__(self, rows: ReferenceRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.last = np.full(len(rows), -1, np.int32)
        self.n_passes = 0
        # of the rows in the last pass, by block, where the kernel has statistics
        self.weights: list[Any] = []

    def assign(self, C: Any) -> Assignment:
        parts = [self.model.assign_block(F, w, C) for F, w in self.rows.parts()]
        labels = np.concatenate([part[0] for part in parts])
        n_changed = int((labels != self.last).sum())
        self.last = labels
        self.weights = [part[2] for part in parts]
        self.n_passes = self.n_passes + 1
        return Assignment(n_changed, reduce(add, (part[1] for part in parts)))

    def update(self, sums: Any, C: Any) -> Any:
        blocks = [(F, V) for (F, _), V in zip(self.rows.parts(), self.weights, strict=True)]
        return self.model.update(with_statistics(self.model.kernel, blocks, sums, C), C)

    def advance(self, state: State, stop: Stop, most_passes: int) -> None:
        return None

    def labels(self) -> Array:
        return self.last


class ReferenceSeeding(Seeding):
    """Nearest and second-nearest distance of every row to the centroids chosen so far, updated as
    they change.
    """

    def __init__(self, rows: ReferenceRows) -> None:
        self.rows = rows
        self.blocks = list(rows.blocks())
        self.F = rows.F
        self.w = rows.w
        first = rows.rows_as_centroids(np.zeros(1, np.int64))
        self.centroids: Any = first.take([])
        probe = rows.kernel.loss(rows.kernel.distance(rows.F[:1], first))
        far = np.full(len(rows), FARTHEST[probe.dtype.kind], dtype=probe.dtype)
        # (n,) each
        self.near = far
        self.next = far.copy()
        self.owner, self.second = (np.full(len(rows), -1, np.int32) for _ in range(2))

    def sample(self, words: Array) -> Array:
        if not (len(self.centroids) and self._total(self.near)):
            return draw_rows(self._integer_weights(), words)
        totals = running_totals(self.blocks, self.w, self.near)
        goals = (draw_goal(totals[-1], word) for word in words.tolist())
        return np.array(
            [row_at_goal(self.blocks, totals, self.w, self.near, goal) for goal in goals]
        )

    def _integer_weights(self) -> Array:
        return (
            self.w
            if self.w.dtype.kind == "i"
            else integer_weights(self.w if self.w.any() else self.w + 1)[0]
        )

    def _total(self, D: Array) -> Any:
        """Weighted sum over rows, exact for integers."""
        return sum(weighted_loss(self.w[at], D[at]) for at in self.blocks)

    def _losses(self, P: Any) -> Array:
        kernel = self.rows.kernel
        # (n, candidates)
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
        """Centroid c, at losses D, takes its place among the two nearest of every row."""
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
        return masses.astype(np.float64)  # above 2^43 they are Python integers

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
        self._insert(np.where(hit, FARTHEST[D.dtype.kind], D[:, p]), q)
        self._recount(np.flatnonzero(hit))
        return True

    def _loss_left(self, at: slice, D: Array, k: int) -> Array:
        """Loss left if candidate p replaces centroid q: sum min(D_p, near), and more for the rows
        of q.
        """
        w, owner = self.w[at], self.owner[at]
        kept = np.minimum(D, self.near[at][:, None])
        rest = np.minimum(D, self.next[at][:, None]) - kept
        return product(w[:, None], kept) + product(one_hot(owner, w, k), rest)

    def _recount(self, hit: Array) -> None:
        """The two nearest of these rows, from all centroids."""
        kernel = self.rows.kernel
        k = len(self.centroids)
        for i in np.array_split(hit, max(1, len(hit) * k // BLOCK_CELLS_HELD)):
            D = kernel.loss(kernel.distance(self.F[i], self.centroids))
            order = np.argsort(D, axis=1, kind="stable")[:, :2]
            self.near[i] = np.take_along_axis(D, order[:, :1], 1)[:, 0]
            self.owner[i] = order[:, 0]
            if k > 1:
                self.next[i] = np.take_along_axis(D, order[:, 1:], 1)[:, 0]
                self.second[i] = order[:, 1]
