"""The record of a scale, and the scales that need at most the extent of the columns.

A value x in a kept interval [low, high] becomes z = (x - shift)/unit, with the shift and unit of
the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from .._grid import Array
from ..table import ColumnSummary

MIN_WIDTH = 1e-150  # a narrower column counts as constant, because 1/unit would overflow
MAX_INTERVALS = 24  # kept intervals of a column


@dataclass(frozen=True)
class Scale:
    """A scale: up to 24 kept intervals per column, each with a shift and a unit, and a period.

    A value x in interval i of its column is mapped to (x - shift_i)/unit_i. Different shifts
    shorten the gaps between intervals, and larger units compress a long tail. Of two intervals that
    share an end, the first contains it. A column with fewer than m intervals has NaN in place of
    the others. In a periodic column, x - shift is reduced modulo the period. A unit of shape (d,)
    is used for all intervals of each column.
    """

    low: Array  # (d, m)
    high: Array  # (d, m)
    shift: Array  # (d, m)
    unit: Array  # (d, m)
    period: Array  # (d,), 0 for columns without a period
    # (d,) share of the cells of each column outside its kept intervals, if it was counted
    left_out: Array | None = None

    def __post_init__(self) -> None:
        d, m = self.low.shape
        if self.unit.shape == (d,):
            object.__setattr__(self, "unit", np.repeat(self.unit[:, None], m, axis=1))
        shapes = [values.shape for values in (self.high, self.shift, self.unit, self.period)]
        if not 1 <= m <= MAX_INTERVALS or shapes != [(d, m), (d, m), (d, m), (d,)]:
            raise ValueError(
                f"low, high, shift and unit of a scale must have shape (d, m) with m from 1 to "
                f"{MAX_INTERVALS}, and period shape (d,); got low {self.low.shape} and {shapes}."
            )
        unused = np.isnan(self.low)
        if (
            unused[:, 0].any()
            or not np.isfinite(self.shift[~unused]).all()
            or np.isnan(self.high[~unused]).any()
        ):
            raise ValueError("a scale must be finite and have an interval for every column.")
        unit = self.unit[~unused]
        if not (np.isfinite(unit) & (unit > MIN_WIDTH)).all() or (self.low > self.high).any():
            raise ValueError("a scale must have positive units and ordered bounds.")
        is_period = np.isfinite(self.period) & ((self.period == 0) | (self.period > MIN_WIDTH))
        if not is_period.all():
            raise ValueError(
                f"a period must be 0 or a finite number greater than {MIN_WIDTH:g}; got "
                f"{self.period[~is_period][0]:g}."
            )

    def check_record(self) -> None:
        """Raise ValueError for arrays that a fitted scale cannot have."""
        for name, values in vars(self).items():
            if values is not None and values.dtype != np.float64:
                raise ValueError(f"{name} must be of type float64, got {values.dtype}")
        if self.left_out is not None and (
            self.left_out.shape != self.period.shape or np.isnan(self.left_out).any()
        ):
            raise ValueError("left_out must be a share for each column")

    @classmethod
    def of_intervals(cls, low: Array, high: Array, shift: Array, unit: Array) -> Self:
        """Return a scale with one interval per column and no periods; all arrays are (d,)."""
        return cls(low[:, None], high[:, None], shift[:, None], unit[:, None], np.zeros(len(unit)))

    def to_one_interval(self) -> Scale:
        """Return the scale with the kept range of each column as one interval.

        It has the shift and the unit of the original interval with the smallest unit. In a column
        with a tail, that interval contains the bulk.
        """
        finest = np.where(np.isnan(self.low), np.inf, self.unit).argmin(axis=1)
        low, high = self.bounds
        one = Scale.of_intervals(low, high, self.at(self.shift, finest), self.at(self.unit, finest))
        return replace(one, period=self.period, left_out=self.left_out)

    @property
    def n_columns(self) -> int:
        return len(self.unit)

    @property
    def origin(self) -> Array:
        """The shift of the first interval of each column, which is mapped to 0, (d,)."""
        return self.shift[:, 0]

    @property
    def middle(self) -> Array:
        """The kept value of each column with the image nearest to 0, (d,)."""
        return self.nearest_ends(self.from_units(np.zeros((1, self.n_columns))))[0][0]

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The smallest and the largest kept value of each column, (d,)."""
        return np.nanmin(self.low, axis=1), np.nanmax(self.high, axis=1)

    def kept_ranges(self, column: int) -> list[tuple[float, float]]:
        """Return the kept ranges of a column in order, with adjacent intervals merged."""
        used = ~np.isnan(self.low[column])
        ranges: list[tuple[float, float]] = []
        ends = (values[column, used].tolist() for values in (self.low, self.high))
        for low, high in sorted(zip(*ends, strict=True)):
            if ranges and low == ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], high)
            else:
                ranges.append((low, high))
        return ranges

    def take(self, columns: Any) -> Scale:
        """Return the scale of these columns."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            self, **{name: part[columns] for name, part in parts.items() if part is not None}
        )

    def inside(self, X: Array) -> Array:
        """Return a mask of the observed cells inside the kept intervals, (n, d)."""
        if self.low.shape[1] == 1:
            return (X >= self.low[:, 0]) & (X <= self.high[:, 0])
        return np.any((X[..., None] >= self.low) & (X[..., None] <= self.high), axis=-1)

    def offsets(self, X: Array, beyond: str) -> tuple[Array, Array | int]:
        """Return x - shift modulo the period, (n, d) float64, and the interval of each cell.

        Missing and ignored cells are NaN.
        """
        values, interval = BEYOND[beyond](self, X)
        steps = np.asarray(values - self.at(self.shift, interval), np.float64)
        periodic = np.flatnonzero(self.period > 0)
        if len(periodic):
            steps[:, periodic] = np.fmod(steps[:, periodic], self.period[periodic])
        return steps, interval

    def to_units(self, X: Array, beyond: str) -> Array:
        """Return z = (x - shift)/unit, (n, d)."""
        steps, interval = self.offsets(X, beyond)
        return steps / self.at(self.unit, interval)

    def from_units(self, Z: Array) -> Array:
        """Return x = shift + unit z, using the interval whose image is nearest to z."""
        if self.low.shape[1] == 1:
            return self.shift[:, 0] + self.unit[:, 0] * Z
        steps = Z[..., None] * self.unit  # (n, d, m)
        ends = np.clip(steps, self.low - self.shift, self.high - self.shift)
        interval = _least_gap(ends / self.unit, steps / self.unit)
        return self.at(self.unit, interval) * Z + self.at(self.shift, interval)

    def nearest_ends(self, X: Array) -> tuple[Array, Array | int]:
        """Return the nearest kept value of each cell, (n, d), and its interval."""
        if self.low.shape[1] == 1:
            return np.clip(X, self.low[:, 0], self.high[:, 0]), 0
        ends = np.clip(X[..., None], self.low, self.high)  # (n, d, m)
        interval = _least_gap(ends, X[..., None])
        return np.take_along_axis(ends, interval[..., None], -1)[..., 0], interval

    def at(self, values: Array, interval: Array | int) -> Array:
        """Return the values (d, m) of the interval of each cell, (n, d); (d,) for one interval."""
        return values[np.arange(self.n_columns), interval]


def _least_gap(ends: Array, values: Array) -> Array:
    """Return the first interval (n, d) with the end (n, d, m) nearest to the value; 0 if NaN."""
    distances = np.abs(ends - values)
    return np.where(np.isnan(distances), np.inf, distances).argmin(axis=-1)


def positive_unit(width: Array) -> Array:
    """Return the width of each column, or 1 for a constant column, which carries no information."""
    return np.where(width > MIN_WIDTH, width, 1.0)


def ignore(scale: Scale, X: Array) -> tuple[Array, Array | int]:
    """Treat values outside the kept intervals as missing; clip a row without a kept value."""
    values, interval = scale.nearest_ends(X)
    inside = scale.inside(X)
    return np.where(inside | ~inside.any(axis=1, keepdims=True), values, np.nan), interval


def clip(scale: Scale, X: Array) -> tuple[Array, Array | int]:
    """Replace values outside the kept intervals by the nearest kept value."""
    return scale.nearest_ends(X)


def wrap(scale: Scale, X: Array) -> tuple[Array, Array | int]:
    """Map all values with the first interval, as in the paper: distant values wrap."""
    return X, 0


def uninformative_rows(scale: Scale, X: Array) -> Array:
    """Return a mask of the rows without a value inside the kept intervals, (n,)."""
    return np.logical_not(scale.inside(X).any(axis=1))


# rules for values outside the kept intervals; each returns the values and their intervals
BEYOND: dict[str, Callable[[Scale, Array], tuple[Array, Array | int]]] = {
    "ignore": ignore,
    "clip": clip,
    "wrap": wrap,
}


def identity_scale(n_columns: int) -> Scale:
    """Return the scale without shift, with unit 1 and unbounded intervals, as in the paper."""
    zeros = np.zeros(n_columns)
    ends = np.full(n_columns, np.inf)
    return Scale.of_intervals(-ends, ends, zeros, np.ones(n_columns))


# the scale of kernels whose attributes are read before there is a table
NO_COLUMNS = identity_scale(0)


def no_scale(summary: ColumnSummary) -> Scale:
    """Return the identity for any table."""
    return identity_scale(summary.n_columns)


def range_scale(summary: ColumnSummary) -> Scale:
    """Map the minimum and the maximum of each column to 0 and 1."""
    low, high = (np.nan_to_num(end) for end in summary.extent)
    return Scale.of_intervals(low, high, low, positive_unit(high - low))


def global_scale(summary: ColumnSummary) -> Scale:
    """Map the minimum and the maximum of the whole table to 0 and 1."""
    # NaN for a table without observed cells
    ends = (np.fmin.reduce(summary.extent[0]), np.fmax.reduce(summary.extent[1]))
    low, high = (np.full(summary.n_columns, np.nan_to_num(end)) for end in ends)
    return Scale.of_intervals(low, high, low, positive_unit(high - low))
