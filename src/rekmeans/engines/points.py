"""Native passes where rows pull by real numbers: centroids that are points, or shared rows; sums in a fixed order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from .._grid import GRID, Array
from .._sums import Sums
from ..assign import Fuzzy, Hard, Map, NeuralGas
from ..centroids import rectified
from ..kernels import KERNELS
from ..kernels.euler import Euler
from ..kernels.laplace import Laplace
from ..kernels.linear import Linear
from ..lloyd import Model
from . import Pass
from ._native import _core  # type: ignore[attr-defined]
from .reference import ReferenceRows

if TYPE_CHECKING:
    from .._table import Table

MOST_THREADS = 256  # more only cost memory


class NativePoints(ReferenceRows):
    """Rows whose centroids are points: scaled by NumPy, looked at by the core."""

    def __init__(self, kernel: Any, table: Table, threads: int | None = None) -> None:
        super().__init__(kernel, table)
        self.F = np.ascontiguousarray(self.F)  # else the core would copy it in every pass
        self.threads = wanted(threads)

    def walk(self, model: Model) -> SharedWalk:
        return SharedWalk(self, model)

    def shared(self) -> Iterator[tuple[Array, Array]]:
        """All rows and their weights at once."""
        yield self.F, self.w

    def nearest(self, C: Array) -> Array:
        walk = SharedWalk(self, Model(self.kernel, Hard(), rectified))
        walk.step(C)
        return walk.labels()

    @cached_property
    def order(self) -> Array:
        """The rows of each column in ascending order, NaN last, (d, n)."""
        with ThreadPoolExecutor(self.threads) as pool:
            return np.array(list(pool.map(lambda x: np.argsort(x, kind="stable").astype(np.int32), self.F.T)))


class SharedWalk:
    """A run whose rows pull by real numbers: the core's sums, the kernel's own next centroids."""

    def __init__(self, rows: Any, model: Model) -> None:
        self.rows, self.model, self.last = rows, model, np.full(len(rows), -1, np.int32)
        self.rule, self.sums, self.pulls = RULES[type(model.assign)](model.assign), Sums(), list[Any]()
        self.unit = GRID if model.kernel.exact else 1
        self.medians = isinstance(model.kernel, Laplace)

    def step(self, C: Array) -> Pass:
        kernel = self.model.kernel
        ask = (C / self.unit * 1.0, MEASURES[type(kernel)], getattr(kernel, "gamma", 1.0), *self.rule)
        parts = [_core.look(F, w, *ask, self.rows.threads, isa(), self.medians) for F, w in self.rows.shared()]
        labels = np.concatenate([part[0] for part in parts])
        self.sums = reduce(add, (self._sums(part) for part in parts))
        self.pulls = [part[5] for part in parts]
        moved, self.last = int((labels != self.last).sum()), labels
        return Pass(moved, self.sums.mass, self.sums.loss)

    def _sums(self, part: tuple[Any, ...]) -> Sums:
        """What the core left, in the kernel's own numbers and names."""
        _, totals, strength, mass, loss, _, holding = part
        if not self.model.kernel.exact:
            return Sums(totals=totals, strength=strength, mass=mass, holding=holding, loss=loss)
        half = strength.shape[1] // 2
        return Sums(totals=totals * self.unit, seen=strength[:, :half], mass=mass, loss=loss * self.unit**2)

    def moved(self, C: Array) -> Array:
        if not self.medians:
            return self.model.centroids(self.model.kernel, self.sums, C)
        hard = self.last if self.pulls[0].ndim == 1 else None
        return _core.medians(self.rows.F, self.pulls[0], hard, self.rows.order, C, self.rows.threads)

    def labels(self) -> Array:
        return self.last


MEASURES = {kind: name for name, kind in KERNELS.items()} | dict.fromkeys((Euler, Linear), "square")
RULES: dict[type, Callable[[Any], tuple[str, float, Array | None]]] = {  # name, amount, neighbourhood
    Hard: lambda rule: ("hard", 0.0, None),
    Fuzzy: lambda rule: ("fuzzy", rule.fuzziness, None),
    NeuralGas: lambda rule: ("gas", rule.reach, None),
    Map: lambda rule: ("map", 0.0, rule.neighbours) if rule.reach > 0 else ("hard", 0.0, None),
}


def wanted(threads: int | None) -> int:
    """How many threads to start."""
    return min(threads or os.cpu_count() or 1, MOST_THREADS)


def isa() -> str:
    """The instruction set asked for; '' for the best at hand."""
    return os.environ.get("REKMEANS_ISA", "")
