"""Column ranges and back: z = (x - shift)/unit in the kept interval [low, high] of x; others are
out of range. Scales that need the extent of the columns alone, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from .._grid import Array
from ..table import ColumnSummary

LEAST_WIDTH = 1e-150  # a narrower column is constant: its inverse would overflow
MOST_INTERVALS = 8  # kept of a column


@dataclass(frozen=True)
class Scale:
    """A record per column: up to 8 kept intervals with the shift of each, a unit, and a period or
    0.

    A value x in interval i of its column lies at (x - shift_i)/unit, so that the space between them
    can be folded. A column with fewer intervals than another has NaN in their place. A periodic
    column lies at fmod(x - shift, period).
    """

    low: Array  # (d, m)
    high: Array  # (d, m)
    shift: Array  # (d, m)
    unit: Array  # (d,)
    period: Array  # (d,) 0 where a column has none
    # (d,) share of each column's cells in no kept interval, if it was counted
    left_out: Array | None = None

    def __post_init__(self) -> None:
        d, m = self.low.shape
        shapes = [values.shape for values in (self.high, self.shift, self.unit, self.period)]
        if not 1 <= m <= MOST_INTERVALS or shapes != [(d, m), (d, m), (d,), (d,)]:
            raise ValueError(
                f"a scale has low, high, shift of shape (d, m), m from 1 to {MOST_INTERVALS}, and "
                f"unit, period (d,); "
                f"got low {self.low.shape} and {shapes}."
            )
        lacks = np.isnan(self.low)
        if (
            lacks[:, 0].any()
            or not np.isfinite(self.shift[~lacks]).all()
            or np.isnan(self.high[~lacks]).any()
        ):
            raise ValueError("a scale must be finite and have an interval in every column.")
        if (
            not (np.isfinite(self.unit) & (self.unit > LEAST_WIDTH)).all()
            or (self.low > self.high).any()
        ):
            raise ValueError("a scale must have positive units and ordered bounds.")
        if not (
            np.isfinite(self.period) & ((self.period == 0) | (self.period > LEAST_WIDTH))
        ).all():
            raise ValueError(
                "a scale must have no negative period, and none too small or infinite."
            )

    def check_record(self) -> None:
        """Raise ValueError for arrays that no scale of a fit has."""
        for name, values in vars(self).items():
            if values is not None and values.dtype != np.float64:
                raise ValueError(f"{name} must be of type float64, got {values.dtype}")
        if self.left_out is not None and (
            self.left_out.shape != self.unit.shape or np.isnan(self.left_out).any()
        ):
            raise ValueError("left_out must be a share for each column")

    @classmethod
    def of_intervals(cls, low: Array, high: Array, shift: Array, unit: Array) -> Self:
        """The scale with one interval a column, none periodic; all (d,)."""
        return cls(low[:, None], high[:, None], shift[:, None], unit, np.zeros(len(unit)))

    @property
    def n_columns(self) -> int:
        return len(self.unit)

    @property
    def origin(self) -> Array:
        """The value that lies at 0 if a column goes on as in its first interval, (d,)."""
        return self.shift[:, 0]

    @property
    def middle(self) -> Array:
        """The kept value nearest to 0, (d,)."""
        return self.nearest_ends(self.from_units(np.zeros((1, self.n_columns))))[0][0]

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the largest kept value of each column, (d,)."""
        return np.nanmin(self.low, axis=1), np.nanmax(self.high, axis=1)

    def take(self, columns: Any) -> Scale:
        """The scale of these columns."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            self, **{name: part[columns] for name, part in parts.items() if part is not None}
        )

    def rates(self, alpha: float) -> Array:
        """Half-turns per unit of each column at alpha, (d,); a period is a full turn at any."""
        return np.where(
            self.period > 0, 2.0 / np.where(self.period > 0, self.period, 1.0), alpha / self.unit
        )

    def inside(self, X: Array) -> Array:
        """Where a cell is observed and in a kept interval of its column, (n, d)."""
        if self.low.shape[1] == 1:
            return (X >= self.low[:, 0]) & (X <= self.high[:, 0])
        return np.any((X[..., None] >= self.low) & (X[..., None] <= self.high), axis=-1)

    def offsets(self, X: Array, beyond: str) -> Array:
        """x - shift of its interval, modulo the period, (n, d) float64;

        NaN for a missing or ignored cell.
        """
        steps = np.asarray(BEYOND[beyond](self, X), np.float64)
        periodic = np.flatnonzero(self.period > 0)
        if len(periodic):
            steps[:, periodic] = np.fmod(steps[:, periodic], self.period[periodic])
        return steps

    def to_units(self, X: Array, beyond: str) -> Array:
        """z = (x - shift)/unit, (n, d)."""
        return self.offsets(X, beyond) / self.unit

    def from_units(self, Z: Array) -> Array:
        """x = shift + unit z, of the interval whose image is nearest to z."""
        if self.low.shape[1] == 1:
            return self.origin + self.unit * Z
        steps = self.unit * Z
        ends = np.clip(steps[..., None], self.low - self.shift, self.high - self.shift)
        return steps + self._at(self.shift, _least_gap(ends, steps))

    def nearest_ends(self, X: Array) -> tuple[Array, Array]:
        """Each cell moved to the nearest end of the nearest kept interval, and that interval's
        shift.
        """
        if self.low.shape[1] == 1:
            return np.clip(X, self.low[:, 0], self.high[:, 0]), self.shift[:, 0]
        ends = np.clip(X[..., None], self.low, self.high)  # (n, d, m)
        nearest = _least_gap(ends, X)
        return np.take_along_axis(ends, nearest[..., None], -1)[..., 0], self._at(
            self.shift, nearest
        )

    def _at(self, values: Array, interval: Array) -> Array:
        """values[column, interval] of each cell, (n, d)."""
        return values[np.arange(self.n_columns), interval]


def _least_gap(ends: Array, values: Array) -> Array:
    """The interval (n, d) whose end (n, d, m) is nearest to each value; the first where a value is
    missing.
    """
    distances = np.abs(ends - values[..., None])
    return np.where(np.isnan(distances), np.inf, distances).argmin(axis=-1)


def positive_unit(width: Array) -> Array:
    """The width, or 1 where there is none: a constant column carries nothing."""
    return np.where(width > LEAST_WIDTH, width, 1.0)


def ignore(scale: Scale, X: Array) -> Array:
    """A value outside the kept intervals counts as missing; a row of only such values is clipped
    instead.
    """
    values, shift = scale.nearest_ends(X)
    inside = scale.inside(X)
    return np.where(inside | ~inside.any(axis=1, keepdims=True), values - shift, np.nan)


def clip(scale: Scale, X: Array) -> Array:
    """A value outside the kept intervals counts as the nearest end of the nearest one."""
    values, shift = scale.nearest_ends(X)
    return values - shift


def wrap(scale: Scale, X: Array) -> Array:
    """A value out of range goes on round the circle, as if there were one interval: the paper's
    map.
    """
    return X - scale.origin


def uninformative_rows(scale: Scale, X: Array) -> Array:
    """Rows of which every observed value is outside the kept intervals, (n,)."""
    return np.logical_not(scale.inside(X).any(axis=1))


BEYOND: dict[str, Callable[[Scale, Array], Array]] = {"ignore": ignore, "clip": clip, "wrap": wrap}


def identity_scale(n_columns: int) -> Scale:
    """No shift, unit 1, nothing is beyond: the paper's bare map."""
    zeros = np.zeros(n_columns)
    ends = np.full(n_columns, np.inf)
    return Scale.of_intervals(-ends, ends, zeros, np.ones(n_columns))


# the scale of kernels that are asked what they are before a table is there
NO_COLUMNS = identity_scale(0)


def no_scale(summary: ColumnSummary) -> Scale:
    """The identity, whatever the table holds."""
    return identity_scale(summary.n_columns)


def range_scale(summary: ColumnSummary) -> Scale:
    """Minimum to maximum of each column becomes [0, 1]."""
    low, high = (np.nan_to_num(end) for end in summary.extent)
    return Scale.of_intervals(low, high, low, positive_unit(high - low))


def global_scale(summary: ColumnSummary) -> Scale:
    """Minimum to maximum of the table becomes [0, 1]."""
    # NaN where no cell is observed
    ends = (np.fmin.reduce(summary.extent[0]), np.fmax.reduce(summary.extent[1]))
    low, high = (np.full(summary.n_columns, np.nan_to_num(end)) for end in ends)
    return Scale.of_intervals(low, high, low, positive_unit(high - low))
