"""Native passes where rows pull by real numbers: centroids that are points, or shared rows; sums in
a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from ..._grid import GRID, Array
from ...assignment import Hard
from ...kernels.euler import CircleSums, OnCircles
from ...model import Assignment, Centroids, Model, PassSums, Points
from ...table import Table
from ...threads import count_threads
from ..base import Run
from ..reference import ReferenceRows
from .arrays import core_array
from .core_module import _core
from .options import FORMULAS, RULES, instruction_set

if TYPE_CHECKING:
    from ...kernels.base import Kernel

SORTED_CELLS = 1 << 16  # cells of the columns that one thread sorts at a time


class NativePoints(ReferenceRows):
    """Rows whose centroids are points: scaled by NumPy, gone through by the core."""

    def __init__(
        self, kernel: Kernel, table: Table, cuts: Array | None = None, n_threads: int | None = None
    ) -> None:
        super().__init__(kernel, table, cuts)
        self.F = core_array(self.F, self.F.dtype)  # else the core would copy it in every pass
        self.threads = count_threads(n_threads)

    def place(self, table: Table) -> Self:
        return type(self)(self.kernel, table, n_threads=self.threads)

    def start_run(self, model: Model) -> FloatRun:
        return FloatRun(self, model)

    def float_parts(self) -> Iterator[tuple[Array, Array]]:
        """All rows and their weights at once."""
        yield self.F, self.w

    def label(self, model: Model, C: Centroids) -> Array:
        run = self.start_run(
            replace(model, assignment=Hard()) if model.assignment.labels_are_nearest else model
        )
        run.assign(C)
        return run.labels()

    @cached_property
    def order(self) -> Array:
        """The rows of each column in ascending order, NaN last, (d, n)."""
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
    """A run whose rows pull by real numbers: the core's sums, the kernel's own next centroids."""

    def __init__(self, rows: Any, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.last = np.full(len(rows), -1, np.int32)
        self.n_passes = 0
        self.rule = RULES[type(model.assignment)](model.assignment)
        self.formula = FORMULAS[model.kernel.formula]
        self.measure = self.formula.measure, getattr(model.kernel, "gamma", 1.0)
        self.unit = GRID if self.formula.is_on_grid else 1
        self.has_medians = "medians" in model.kernel.statistics
        # with which the rows pulled in the last pass, where medians are needed
        self.weights: Any = None

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
        parts = [_core.soft_pass(F, w, *arguments) for F, w in self.rows.float_parts()]
        labels = np.concatenate([part[0] for part in parts])
        n_changed = int((labels != self.last).sum())
        self.last = labels
        self.weights = parts[0][5]
        self.n_passes = self.n_passes + 1
        return Assignment(n_changed, reduce(add, (self._sums(part) for part in parts)))

    def _sums(self, part: tuple[Any, ...]) -> Any:
        """What the core left, in the kernel's own numbers and names."""
        _, totals, pull, mass, loss, _, at_centroid = part
        if self.formula.is_on_grid:
            half = pull.shape[1] // 2
            return CircleSums(
                mass=mass,
                loss=loss * self.unit**2,
                totals=totals * self.unit,
                observed=pull[:, :half],
            )
        found = {
            "mass": mass,
            "loss": loss,
            "totals": totals,
            "pull": pull,
            "mass_at_centroid": at_centroid,
        }
        record = self.formula.sums
        return record(
            **{field.name: found[field.name] for field in fields(record) if field.name in found}
        )

    def update(self, sums: PassSums, C: Centroids) -> Centroids:
        if self.has_medians:
            hard = self.last if self.weights.ndim == 1 else None
            medians = _core.medians(
                self.rows.F, self.weights, hard, self.rows.order, self._places(C), self.rows.threads
            )
            return self.model.update(replace(cast(Any, sums.fetch()), medians=medians), C)
        return self.model.update(sums, C)

    def _places(self, C: Centroids) -> Array:
        """Return the coordinates of the centroids, (k, p) float64."""
        if self.formula.is_on_grid:
            return core_array(cast(OnCircles, C).f / self.unit, np.float64)
        return core_array(cast(Points, C).x, np.float64)

    def labels(self) -> Array:
        return self.last
