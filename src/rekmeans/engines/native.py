"""The native engine: compiled passes over float32 rows that prove each winner, and integers where they cannot."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._grid import GRID, Array, integer_weights, mean_turns
from .._sums import Sums
from ..assign import Hard
from ..centroids import rectified
from ..lloyd import Fit, Model, worth
from . import Bits, Pass, Walk
from ._native import _core  # type: ignore[attr-defined]
from .points import SharedWalk, isa, wanted

if TYPE_CHECKING:
    from .._table import Table

BLOCK = 4096  # rows handed to NumPy at a time
SMALL = 1 << 22  # n d k up to which a pass takes less than a millisecond
SAMPLE = 256  # rows looked at for zeros
THIN = 0.25  # share of cells that are not zero up to which a dense table is kept in sparse form
THIN_FROM = 1 << 12  # cells of the sample below which it does not matter
THIN_CELL = 12  # bytes such a cell takes
PART = 1 << 16  # rows mapped at a time where they are not kept
STATE = 32  # bytes of a row besides its mapped copy


class NativeRows:
    """Mapped rows in the compiled core."""

    def __init__(
        self, kernel: Any, table: Table, threads: int | None = None, memory_limit: int | None = None, skip: bool = True
    ) -> None:
        self.kernel, self.skip = kernel, skip
        X, scale = table.X, kernel.scale
        self.n, self.d = X.shape
        weights, self.weight_bits = (None, 0) if table.weights is None else integer_weights(table.weights)
        columns = (scale.centre, kernel.alpha / scale.unit, scale.low, scale.high, kernel.beyond)
        self.threads, self.keep = wanted(threads), memory_limit is None or self.n * (8 * self.d + STATE) <= memory_limit
        common = (self.threads, isa())
        if sparse.issparse(X):
            cells = (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))
            self.core = _core.Rows(*cells, self.d, *columns, weights, weights is None, *common)
        else:
            if any(stride % X.itemsize for stride in X.strides):  # a field of records: no grid of cells
                X = np.ascontiguousarray(X)
            thin = _thin(X, memory_limit)
            self.core = _core.Rows(X, X.dtype.kind, *columns, weights, weights is None, self.keep, thin, *common)

    def __len__(self) -> int:
        return self.n

    def weights(self) -> Array:
        return self.core.weights()

    def walk(self, model: Model) -> Walk:
        return NativeWalk(self, model) if isinstance(model.assign, Hard) else SharedWalk(self, model)

    def shared(self) -> Iterator[tuple[Array, Array]]:
        """Mapped rows as float32, NaN for missing cells, and their weights: at once if they are kept."""
        for at in self._parts:
            F = self._kept if self._kept is not None else self._floats(at)
            yield F, self.weights()[at].astype(np.float64)

    def _floats(self, at: slice) -> Array:
        F = self.core.grid(np.arange(at.start, at.stop)).astype(np.float32) / np.float32(GRID)
        if not self.core.complete:
            F[np.tile((F[:, : self.d] == 0) & (F[:, self.d :] == 0), 2)] = np.nan
        return F

    @cached_property
    def _kept(self) -> Array | None:
        return self._floats(slice(0, self.n)) if self.keep else None

    @property
    def _parts(self) -> list[slice]:
        size = self.n if self.keep else PART
        return [slice(at, min(at + size, self.n)) for at in range(0, self.n, size)]

    def best(self, model: Model, starts: list[Array], max_iter: int, tol: float) -> Fit | None:
        """All starts side by side without Python between passes; None where passes are long enough to stop between."""
        rule, k = model.centroids is rectified, len(starts[0])
        if self.n * self.d * k > SMALL or not isinstance(model.assign, Hard):
            return None
        found = _core.best(self.core, np.concatenate(starts), k, rule, self.skip, max_iter, tol)
        centroids, labels, n_iter, losses, moved, refilled, seconds = found
        objective = np.array([worth(self, loss) for loss in losses])
        history = {"objective": objective, "moved": moved, "refilled": refilled, "seconds": seconds}
        return Fit(centroids, labels, losses[-1], float(objective[-1]), n_iter, history)

    def seeding(self) -> NativeSeeding:
        return NativeSeeding(self)

    def mapped(self, numbers: Array) -> Array:
        F = self.core.grid(np.asarray(numbers, np.int64))
        return F if self.core.complete else self.kernel.whole(F, self._overall)

    @cached_property
    def _overall(self) -> Array:
        """The rectified centroid of all rows, (1, p)."""
        start = self.kernel.start(self.kernel.scale.centre[None])
        walk = _core.Walk(self.core, 1, False)
        walk.step(start)
        return self.kernel.rectify(Sums(totals=_joined(walk.totals())), start)

    def nearest(self, C: Array) -> Array:
        walk = _core.Walk(self.core, len(C), False)
        walk.step(C)
        return walk.labels()

    def farthest(self, C: Array) -> tuple[Any, Array]:
        least = np.where(self.weights() > 0, self.core.distances(C, self.nearest(C)), -1)
        row = int(least.argmax())
        return least[row], self.core.grid(np.array([row]))[0]

    def each(self, answer: Callable[[Array], Array]) -> Array:
        blocks = (np.arange(at, min(at + BLOCK, self.n)) for at in range(0, self.n, BLOCK))
        return np.concatenate([answer(self.core.grid(block)) for block in blocks])

    def middles(self, labels: Array, k: int) -> Array:
        turns, seen = self.core.middles(labels, k)
        return mean_turns(_joined(turns), seen)


class NativeWalk:
    """A run's labels, bounds and sums, kept in the core."""

    def __init__(self, rows: NativeRows, model: Model) -> None:
        self.rows, self.rectified = rows, model.centroids is rectified
        self.core: Any = None

    def step(self, C: Array) -> Pass:
        if self.core is None:
            self.core = _core.Walk(self.rows.core, len(C), self.rows.skip)
        moved = self.core.step(C)
        return Pass(moved, self.core.mass(), self.core.loss)

    def moved(self, C: Array) -> Array:
        return self.core.centroids(self.rectified, C)

    def labels(self) -> Array:
        return self.core.labels()


class NativeSeeding:
    """Each row's two nearest centroids so far, kept in the core."""

    def __init__(self, rows: NativeRows) -> None:
        self.rows, self.core = rows, _core.Seeding(rows.core)

    @property
    def C(self) -> Array:  # noqa: N802
        return self.core.centroids()

    def drawn(self, bits: Bits, count: int) -> Array:
        ends = list(accumulate(self.core.masses()))
        goals = [(bits.random_raw() * ends[-1]) >> 64 for _ in range(count)]
        return np.array([self._row(goal, ends) for goal in goals])

    def _row(self, goal: int, ends: list[int]) -> int:
        """The first row whose running sum of weight times distance exceeds `goal`."""
        part = bisect_right(ends, goal)
        rest = goal - (ends[part - 1] if part else 0)
        return self.core.row(part, rest >> 64, rest & (1 << 64) - 1)

    def extend(self, numbers: Array) -> None:
        self.core.extend(self.rows.mapped(numbers))

    def exchange(self, numbers: Array) -> bool:
        return self.core.exchange(self.rows.mapped(numbers))


def _thin(X: Array, memory_limit: int | None) -> bool:
    """Whether so many cells are zero that only the others are kept."""
    sample = X[:: max(1, len(X) // SAMPLE)]
    filled = np.count_nonzero(sample) / sample.size
    room = memory_limit is None or filled * X.size * THIN_CELL <= memory_limit
    return bool(sample.size >= THIN_FROM and filled <= THIN and room)


def _joined(sums: Any) -> Array:
    """128-bit sums from the core: int64 where they fit, else Python's integers."""
    return sums if isinstance(sums, np.ndarray) else (sums[0].astype(object) << 64) + sums[1].astype(object)
