"""The reference engine: NumPy blocks, exact integers. It defines the answer; other engines must give its bits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._grid import TURN, Array, integer_weights, mean_turns, product, sampled, small_weights
from .._sums import Sums
from ..assign import one_each
from ..kernels import Kernel
from . import Bits, Pass, Walk

if TYPE_CHECKING:
    from .._table import Table
    from ..lloyd import Model

SAMPLE = 1 << 14  # rows that starts are chosen from where sums are no integers
CELLS = 1 << 21  # cells of one block: a few of its float64 copies stay near the cache
FAR = {"i": np.iinfo(np.int64).max, "O": 1 << 100, "f": np.inf}  # above every distance of that kind of number


class ReferenceRows:
    """Mapped rows in memory, looked at in blocks; `cuts` are the block borders, any will do."""

    def __init__(self, kernel: Kernel, table: Table, cuts: Array | None = None) -> None:
        self.kernel, self.table = kernel, table
        n, d = table.X.shape
        size = max(1, min(1 << 15, CELLS // (2 * d)))
        self.cuts = np.append(np.arange(0, n, size), n) if cuts is None else cuts
        parts = [kernel.embed(self._table(at)) for at in self.blocks()]
        self.F = parts[0] if len(parts) == 1 else np.concatenate(parts)  # (n, p)
        heard = ~np.concatenate([kernel.silent(self._table(at)) for at in self.blocks()])
        self.w: Array = np.ones(n, np.int64 if kernel.exact else np.float64)
        self.weight_bits = 0
        if table.weights is not None:
            self.w, self.weight_bits = (integer_weights if kernel.exact else small_weights)(table.weights)
        self.w = self.w * heard

    def __len__(self) -> int:
        return len(self.F)

    def _table(self, at: slice) -> Array:
        """The table's own rows, dense."""
        return self.table.X[at].toarray() if sparse.issparse(self.table.X) else self.table.X[at]

    def blocks(self) -> Iterator[slice]:
        return (slice(a, b) for a, b in zip(self.cuts[:-1], self.cuts[1:], strict=True))

    def weights(self) -> Array:
        return self.w

    def walk(self, model: Model) -> Walk:
        return ReferenceWalk(self, model)

    def best(self, model: Model, starts: list[Array], max_iter: int, tol: float) -> None:
        return None

    def seeding(self) -> ReferenceSeeding:
        return ReferenceSeeding(self)

    def mapped(self, numbers: Array) -> Array:
        F = self.F[numbers]
        return self.kernel.whole(F, self._overall if self.kernel.gaps(F) else F)

    @cached_property
    def _overall(self) -> Array:
        """The rectified centroid of all rows, (1, p)."""
        start = self.kernel.start(self.kernel.scale.centre[None])
        pulls = (
            self.kernel.pull(F, start, np.zeros((len(F), 1), np.int64), one_each(np.zeros(len(F), np.int32), w, 1))
            for F, w in self.parts()
        )
        return self.kernel.rectify(reduce(add, pulls), start)

    def parts(self) -> Iterator[tuple[Array, Array]]:
        """Mapped rows and their weights, block by block."""
        return ((self.F[at], self.w[at]) for at in self.blocks())

    def farthest(self, C: Array) -> tuple[Any, Array]:
        least = self.each(lambda F: self.kernel.distance(F, C).min(axis=1))
        least = np.where(self.w > 0, least, -1)
        row = int(least.argmax())
        return least[row], self.F[row]

    def nearest(self, C: Array) -> Array:
        return self.each(lambda F: self.kernel.distance(F, C).argmin(axis=1).astype(np.int32))

    def each(self, answer: Callable[[Array], Array]) -> Array:
        return np.concatenate([answer(F) for F, _ in self.parts()])

    def middles(self, labels: Array, k: int) -> Array:
        parts = []
        for at in self.blocks():
            turns = self.kernel.position(self._table(at))
            seen = ~np.isnan(turns)
            W = one_each(labels[at], self.w[at], k)
            V = np.rint(np.clip(np.where(seen, turns, 0.0), -(2.0**46), 2.0**46) * TURN).astype(np.int64)
            parts.append(Sums(turns=product(W, V), seen=product(W, seen.astype(np.int64))))
        sums = reduce(add, parts)
        return mean_turns(sums.turns, sums.seen)


class ReferenceWalk:
    """Every pass looks at every row; only the labels are remembered, to count the movers."""

    def __init__(self, rows: ReferenceRows, model: Model) -> None:
        self.rows, self.model, self.last = rows, model, np.full(len(rows), -1, np.int32)
        self.sums = Sums()

    def step(self, C: Array) -> Pass:
        parts = [self.model.look(F, w, C) for F, w in self.rows.parts()]
        labels = np.concatenate([part[0] for part in parts])
        moved = int((labels != self.last).sum())
        self.last, self.sums = labels, reduce(add, (part[1] for part in parts))
        return Pass(moved, self.sums.mass, self.sums.loss)

    def moved(self, C: Array) -> Array:
        return self.model.centroids(self.model.kernel, self.sums, C)

    def labels(self) -> Array:
        return self.last


class ReferenceSeeding:
    """Nearest and second-nearest distance of every row to the centroids chosen so far, updated as they change.

    Where distances are no integers a large table is looked at in a sample.
    """

    def __init__(self, rows: ReferenceRows) -> None:
        self.rows, n = rows, len(rows)
        self.at, self.blocks, self.F, self.w = np.arange(n), list(rows.blocks()), rows.F, rows.w
        if not rows.kernel.exact and n > SAMPLE:
            self.at, self.w = sampled(rows.w, SAMPLE)
            self.blocks, self.F = [slice(0, len(self.at))], rows.F[self.at]
        self.C: Array = rows.mapped(self.at[:0])
        probe = rows.kernel.loss(rows.kernel.distance(rows.F[:1], rows.mapped(self.at[:1])))
        far = np.full(len(self.at), FAR[probe.dtype.kind], dtype=probe.dtype)
        self.near, self.next = far, far.copy()  # (n,) each
        self.owner, self.second = (np.full(len(self.at), -1, np.int32) for _ in range(2))

    def drawn(self, bits: Bits, count: int) -> Array:
        D = self.near if len(self.C) and self._total(self.near) else np.ones_like(self.near)
        totals = list(accumulate(self._sum(at, D) for at in self.blocks))
        return self.at[[self._row(bits.random_raw(), D, self.blocks, totals) for _ in range(count)]]

    def _row(self, raw: int, D: Array, blocks: list[slice], totals: list[Any]) -> int:
        """The row at the share raw/2^64 of the running sum of weight times D; exact for integers."""
        whole, inexact = totals[-1], self.w.dtype.kind == "f"
        goal = raw / 2.0**64 * whole if inexact else (raw * whole) >> 64
        b = min(bisect_right(totals, goal), len(blocks) - 1)
        before, at = totals[b - 1] if b else 0, blocks[b]
        kind = float if inexact else object
        mass = np.cumsum(self.w[at].astype(kind) * D[at].astype(kind))
        return at.start + min(int(np.searchsorted(mass, goal - before, side="right")), len(mass) - 1)

    def _sum(self, at: slice, D: Array) -> Any:
        if not self.rows.kernel.exact:
            return float((self.w[at] * D[at]).sum())  # no BLAS: to wake its threads takes longer than the sum
        return int(product(self.w[at][:, None], D[at][:, None])[0, 0])

    def _total(self, D: Array) -> Any:
        """Weighted sum over rows, exact for integers."""
        return sum(self._sum(at, D) for at in self.blocks)

    def _distances(self, P: Array) -> Array:
        kernel = self.rows.kernel
        return np.concatenate([kernel.loss(kernel.distance(self.F[at], P)) for at in self.blocks])  # (n, candidates)

    def extend(self, numbers: Array) -> None:
        P = self.rows.mapped(numbers)
        D = self._distances(P)
        left = [self._total(np.minimum(self.near, D[:, i])) for i in range(len(P))] if len(P) > 1 else [0]
        best = min(range(len(P)), key=left.__getitem__)
        self.C = np.concatenate([self.C, P[best : best + 1]])
        self._insert(D[:, best], len(self.C) - 1)

    def _insert(self, D: Array, c: int) -> None:
        """Centroid c, at distances D, takes its place among the two nearest of every row."""
        closer, close = D < self.near, D < self.next
        self.next = np.where(closer, self.near, np.where(close, D, self.next))
        self.second = np.where(closer, self.owner, np.where(close, c, self.second))
        self.near, self.owner = np.where(closer, D, self.near), np.where(closer, c, self.owner)

    def exchange(self, numbers: Array) -> bool:
        P = self.rows.mapped(numbers)
        D, k = self._distances(P), len(self.C)
        left = reduce(add, (self._left(at, D[at], k) for at in self.blocks))  # (k, candidates)
        q, p = divmod(int(np.argmin(left)), len(P))
        if left[q, p] >= self._total(self.near):
            return False
        self.C = self.C.copy()
        self.C[q] = P[p]
        hit = (self.owner == q) | (self.second == q)
        self._insert(np.where(hit, FAR[D.dtype.kind], D[:, p]), q)
        self._recount(np.flatnonzero(hit))
        return True

    def _left(self, at: slice, D: Array, k: int) -> Array:
        """Loss left if candidate p replaces centroid q: sum min(D_p, near), and more for the rows of q."""
        w, owner = self.w[at], self.owner[at]
        kept = np.minimum(D, self.near[at][:, None])
        rest = np.minimum(D, self.next[at][:, None]) - kept
        return product(w[:, None], kept) + product(one_each(owner, w, k), rest)

    def _recount(self, hit: Array) -> None:
        """The two nearest of these rows, from all centroids."""
        kernel, k = self.rows.kernel, len(self.C)
        for i in np.array_split(hit, max(1, len(hit) * k // CELLS)):
            D = kernel.loss(kernel.distance(self.F[i], self.C))
            order = np.argsort(D, axis=1, kind="stable")[:, :2]
            self.near[i], self.owner[i] = np.take_along_axis(D, order[:, :1], 1)[:, 0], order[:, 0]
            if k > 1:
                self.next[i], self.second[i] = np.take_along_axis(D, order[:, 1:], 1)[:, 0], order[:, 1]
