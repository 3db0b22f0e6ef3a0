"""Native passes in floats, for centroids that are points and for soft assignments.

Sums are added in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, cast

import numpy as np

from ..._grid import GRID, Array
from ...assignment import Hard
from ...kernels.euler import CircleSums, OnCircles
from ...kernels.laplace import MedianSums
from ...model import Assignment, Centroids, Model, PassSums, Points, Sums
from ...table import Table
from ...threads import count_threads
from ..base import Run
from ..reference import ReferenceRows
from .core_module import _core, core_array, instruction_set
from .formulas import FORMULAS, RULES

if TYPE_CHECKING:
    from ...kernels.base import Kernel

SORTED_CELLS = 1 << 16  # cells that one thread sorts at a time


class FloatRows(Protocol):
    """The rows of a `FloatRun`."""

    threads: int

    def __len__(self) -> int: ...

    def float_parts(self) -> Iterator[tuple[Array, Array]]:
        """Yield the mapped rows in parts, with NaN in missing cells, and their weights."""


class SoftPass(NamedTuple):
    """The result of a pass of the core over a part of the rows."""

    labels: Array  # (n,)
    totals: Array  # (k, p)
    pull: Array  # (k, p)
    mass: Array  # (k,)
    loss: float
    weights: Array | None  # the pull of each row on its centroids, if medians are needed
    mass_at_centroid: Array  # (k,)


class NativePoints(ReferenceRows):
    """Rows whose centroids are points. NumPy scales the rows, the core runs the passes."""

    def __init__(
        self, kernel: Kernel, table: Table, cuts: Array | None = None, n_threads: int | None = None
    ) -> None:
        super().__init__(kernel, table, cuts)
        self.F = core_array(self.F, self.F.dtype)  # once here, instead of in every pass
        self.threads = count_threads(n_threads)

    def place(self, table: Table) -> Self:
        return type(self)(self.kernel, table, n_threads=self.threads)

    def start_run(self, model: Model) -> FloatRun:
        return FloatRun(self, model)

    def float_parts(self) -> Iterator[tuple[Array, Array]]:
        """Yield all rows and their weights as one part."""
        yield self.F, self.w

    def label(self, model: Model, C: Centroids) -> Array:
        run = self.start_run(
            replace(model, assignment=Hard()) if model.assignment.labels_are_nearest else model
        )
        run.assign(C)
        return run.labels()

    @cached_property
    def order(self) -> Array:
        """The row numbers that sort each column, NaN last, (d, n)."""
        n, d = self.F.shape
        size = max(1, SORTED_CELLS // n)
        blocks = [self.F[:, at : at + size].T for at in range(0, d, size)]
        with ThreadPoolExecutor(self.threads) as pool:
            return np.concatenate(
                list(
                    pool.map(
                        lambda x: np.argsort(x, axis=1, kind="stable").astype(np.int32), blocks
                    )
                )
            )


class FloatRun(Run):
    """A run in floats: the core computes the sums, and the kernel computes the next centroids."""

    def __init__(self, rows: FloatRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.last = np.full(len(rows), -1, np.int32)
        self.n_passes = 0
        self.rule = RULES[type(model.assignment)](model.assignment)
        self.formula = FORMULAS[model.kernel.formula]
        self.measure = self.formula.measure, getattr(model.kernel, "gamma", 1.0)
        self.unit = GRID if self.formula.is_on_grid else 1
        self.has_medians = "medians" in model.kernel.statistics
        # the pull of the rows on their centroids in the last pass, if medians are needed
        self.weights: Array | None = None

    def assign(self, C: Centroids) -> Assignment:
        places = self._places(C)
        arguments = (
            places,
            *self.measure,
            *self.rule,
            self.rows.threads,
            instruction_set(),
            self.has_medians,
        )
        parts = [SoftPass(*_core.soft_pass(F, w, *arguments)) for F, w in self.rows.float_parts()]
        labels = np.concatenate([part.labels for part in parts])
        n_changed = int((labels != self.last).sum())
        self.last = labels
        self.weights = parts[0].weights
        self.n_passes += 1
        return Assignment(n_changed, reduce(add, (self._sums(part) for part in parts)))

    def _sums(self, part: SoftPass) -> Sums:
        """Return the sums of the core as the record of the kernel."""
        if self.formula.is_on_grid:
            half = part.pull.shape[1] // 2
            return CircleSums(
                mass=part.mass,
                loss=part.loss * self.unit**2,
                totals=part.totals * self.unit,
                observed=part.pull[:, :half],
            )
        record = self.formula.sums
        found = part._asdict()
        return record(
            **{field.name: found[field.name] for field in fields(record) if field.name in found}
        )

    def update(self, sums: PassSums, C: Centroids) -> Centroids:
        if self.weights is None:
            return self.model.update(sums, C)
        rows = cast(NativePoints, self.rows)  # only kernels on points use medians
        hard = self.last if self.weights.ndim == 1 else None
        medians = _core.medians(
            rows.F, self.weights, hard, rows.order, self._places(C), rows.threads
        )
        fetched = cast(MedianSums, sums.fetch())
        return self.model.update(replace(fetched, medians=cast(Array, medians)), C)

    def _places(self, C: Centroids) -> Array:
        """Return the coordinates of the centroids, (k, p) float64."""
        if self.formula.is_on_grid:
            return core_array(cast(OnCircles, C).f / self.unit, np.float64)
        return core_array(cast(Points, C).x, np.float64)

    def labels(self) -> Array:
        return self.last
