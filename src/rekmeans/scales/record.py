"""Column ranges and back: z = (x - shift)/unit in the kept interval [low, high] of x; others are out of range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from ._grid import Array, product
from .table import ColumnSummary

FENCE_SIGMAS = 3.0  # robust standard deviations round the median; wider fences break at 30 % dirt
UNIT_SIGMAS = 4.0  # a unit is 4 sigma: the central 95 % of a normal column, so that alpha = 1 keeps near near
SCALE_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of a column that its scale is made of
NORMAL_IQR = 1.349  # quartile range of a normal column in standard deviations
NORMAL_90 = 3.290  # its 5-95 % range
MOMENT_ROWS = 1 << 14  # rows whose moments are taken at a time: their copies stay small
LEAST_WIDTH = 1e-150  # a narrower column is constant: its inverse would overflow
FENCE_GRID = 2.0**24  # the fenced cells are summed on this grid of the fence, exactly: row order cannot show
MOST_INTERVALS = 8  # kept of a column


@dataclass(frozen=True)
class Scale:
    """A record per column: up to 8 kept intervals with the shift of each, a unit, and a period or 0.

    A value x in interval i of its column lies at (x - shift_i)/unit, so that the space between them can be folded. A
    column with fewer intervals than another has NaN in their place. A periodic column lies at fmod(x - shift, period).
    """

    low: Array  # (d, m)
    high: Array  # (d, m)
    shift: Array  # (d, m)
    unit: Array  # (d,)
    period: Array  # (d,) 0 where a column has none

    def __post_init__(self) -> None:
        d, m = self.low.shape
        shapes = [values.shape for values in (self.high, self.shift, self.unit, self.period)]
        if not 1 <= m <= MOST_INTERVALS or shapes != [(d, m), (d, m), (d,), (d,)]:
            raise ValueError(
                f"a scale has low, high, shift of shape (d, m), m from 1 to {MOST_INTERVALS}, and unit, period (d,); "
                f"got low {self.low.shape} and {shapes}."
            )
        lacks = np.isnan(self.low)
        if lacks[:, 0].any() or not np.isfinite(self.shift[~lacks]).all() or np.isnan(self.high[~lacks]).any():
            raise ValueError("a scale must be finite and have an interval in every column.")
        if not (np.isfinite(self.unit) & (self.unit > LEAST_WIDTH)).all() or (self.low > self.high).any():
            raise ValueError("a scale must have positive units and ordered bounds.")
        if not (np.isfinite(self.period) & ((self.period == 0) | (self.period > LEAST_WIDTH))).all():
            raise ValueError("a scale must have no negative period, and none too small or infinite.")

    @classmethod
    def of_intervals(cls, low: Array, high: Array, shift: Array, unit: Array) -> Self:
        """The scale with one interval a column, none periodic; all (d,)."""
        return cls(low[:, None], high[:, None], shift[:, None], unit, np.zeros(len(unit)))

    @property
    def n_columns(self) -> int:
        return len(self.unit)

    @property
    def origin(self) -> Array:
        """The value that lies at 0, (d,)."""
        return self.shift[:, 0]

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the largest kept value of each column, (d,)."""
        return np.nanmin(self.low, axis=1), np.nanmax(self.high, axis=1)

    def take(self, columns: Any) -> Scale:
        """The scale of these columns."""
        names = ("low", "high", "shift", "unit", "period")
        return replace(self, **{name: getattr(self, name)[columns] for name in names})

    def rates(self, alpha: float) -> Array:
        """Half-turns per unit of each column at alpha, (d,); a period is a full turn at any."""
        return np.where(self.period > 0, 2.0 / np.where(self.period > 0, self.period, 1.0), alpha / self.unit)

    def inside(self, X: Array) -> Array:
        """Where a cell is observed and in a kept interval of its column, (n, d)."""
        if self.low.shape[1] == 1:
            return (X >= self.low[:, 0]) & (X <= self.high[:, 0])
        return np.any((X[..., None] >= self.low) & (X[..., None] <= self.high), axis=-1)

    def offsets(self, X: Array, beyond: str) -> Array:
        """x - shift of its interval, modulo the period, (n, d) float64; NaN for a missing or ignored cell."""
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
        """Each cell moved to the nearest end of the nearest kept interval, and that interval's shift."""
        if self.low.shape[1] == 1:
            return np.clip(X, self.low[:, 0], self.high[:, 0]), self.shift[:, 0]
        ends = np.clip(X[..., None], self.low, self.high)  # (n, d, m)
        nearest = _least_gap(ends, X)
        return np.take_along_axis(ends, nearest[..., None], -1)[..., 0], self._at(self.shift, nearest)

    def _at(self, values: Array, interval: Array) -> Array:
        """values[column, interval] of each cell, (n, d)."""
        return values[np.arange(self.n_columns), interval]


def _least_gap(ends: Array, values: Array) -> Array:
    """The interval (n, d) whose end (n, d, m) is nearest to each value; the first where a value is missing."""
    distances = np.abs(ends - values[..., None])
    return np.where(np.isnan(distances), np.inf, distances).argmin(axis=-1)


def ignore(scale: Scale, X: Array) -> Array:
    """A value outside the kept intervals counts as missing; a row of only such values is clipped instead."""
    values, shift = scale.nearest_ends(X)
    inside = scale.inside(X)
    return np.where(inside | ~inside.any(axis=1, keepdims=True), values - shift, np.nan)


def clip(scale: Scale, X: Array) -> Array:
    """A value outside the kept intervals counts as the nearest end of the nearest one."""
    values, shift = scale.nearest_ends(X)
    return values - shift


def wrap(scale: Scale, X: Array) -> Array:
    """A value out of range goes on round the circle, as if there were one interval: the paper's map."""
    return X - scale.origin


def uninformative_rows(scale: Scale, X: Array) -> Array:
    """Rows of which every observed value is outside the kept intervals, (n,)."""
    return np.logical_not(scale.inside(X).any(axis=1))


def identity_scale(n_columns: int) -> Scale:
    """No shift, unit 1, nothing is beyond: the paper's bare map."""
    zeros, ends = np.zeros(n_columns), np.full(n_columns, np.inf)
    return Scale.of_intervals(-ends, ends, zeros, np.ones(n_columns))


def no_scale(summary: ColumnSummary) -> Scale:
    """The identity, whatever the table holds."""
    return identity_scale(summary.n_columns)


def range_scale(summary: ColumnSummary) -> Scale:
    """Minimum to maximum of each column becomes [0, 1]."""
    low, high = (np.nan_to_num(end) for end in summary.extent)
    return Scale.of_intervals(low, high, low, _unit(high - low))


def global_scale(summary: ColumnSummary) -> Scale:
    """Minimum to maximum of the table becomes [0, 1]."""
    ends = (np.fmin.reduce(summary.extent[0]), np.fmax.reduce(summary.extent[1]))  # NaN where no cell is observed
    low, high = (np.full(summary.n_columns, np.nan_to_num(end)) for end in ends)
    return Scale.of_intervals(low, high, low, _unit(high - low))


def robust_scale(summary: ColumnSummary) -> Scale:
    """Centre and standard deviation s of the cells within 3 IQR/1.349 of the median; unit 4 s, kept one unit away.

    Where the quartiles coincide, the 5-95 % range takes their place; where that is zero too, the full range.
    """
    centre, unit = summary.by_block(_centres_and_units)
    return Scale.of_intervals(centre - unit, centre + unit, centre, unit)


def _centres_and_units(X: Array, w: Array | None) -> Array:
    """Centre and unit of each column, (2, m), of cells X (n, m) and weights w (n,)."""
    q05, q25, median, q75, q95 = column_quantiles(X, w, SCALE_QUANTILES)
    width = np.where(q95 > q05, UNIT_SIGMAS * (q95 - q05) / NORMAL_90, np.fmax.reduce(X) - np.fmin.reduce(X))
    centre, unit = median, _unit(width)
    spread = q75 > q25
    if spread.any():
        fence = FENCE_SIGMAS * (q75 - q25)[spread] / NORMAL_IQR
        centre[spread], unit[spread] = _moments(X[:, spread], w, median[spread], fence)
    return np.where(np.isnan(median), [[0.0], [1.0]], [centre, unit])  # a column without a cell


def column_quantiles(X: Array, w: Array | None, shares: Sequence[float]) -> Array:
    """The quantiles of each column by inverted distribution function, (q, m), without its NaN; NaN where all are."""
    n, counts = len(X), np.count_nonzero(~np.isnan(X), axis=0)
    if w is None:
        places = [np.ceil(counts * share) - 1 for share in shares]
        at = np.clip(places, 0, n - 1).astype(np.intp)  # (q, m)
        return np.take_along_axis(np.partition(X, np.unique(at), axis=0), at, axis=0)
    order = np.argsort(X, axis=0)  # NaN last
    ordered = np.take_along_axis(X, order, axis=0)
    mass = np.cumsum(np.where(np.isnan(ordered), 0, w[order]), axis=0, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        share_below = mass / mass[-1]
    at = np.array([np.count_nonzero(share_below < share, axis=0) for share in shares])
    return np.take_along_axis(ordered, np.minimum(at, np.maximum(counts - 1, 0)), axis=0)


def _moments(X: Array, w: Array | None, median: Array, fence: Array) -> tuple[Array, Array]:
    """Mean and 4 standard deviations of each column's cells within `fence` of the median, summed as integers."""
    blocks = (slice(at, at + MOMENT_ROWS) for at in range(0, len(X), MOMENT_ROWS))
    parts = [_powers(X[at], None if w is None else w[at], median, fence) for at in blocks]
    count, first, second = (reduce(add, power) for power in zip(*parts, strict=True))  # (m,) Python's integers each
    mean, variance = first / count, (second * count - first * first) / (count * count)
    deviation = np.sqrt(variance.astype(np.float64)) / FENCE_GRID
    return median + fence * (mean.astype(np.float64) / FENCE_GRID), _unit(UNIT_SIGMAS * fence * deviation)


def _powers(X: Array, w: Array | None, median: Array, fence: Array) -> tuple[Array, Array, Array]:
    """Mass, sum and sum of squares of each column's cells within the fence, on the grid of FENCE_GRID."""
    within = np.abs(X - median) <= fence
    Y = np.rint(np.where(within, (X - median) / fence, 0.0) * FENCE_GRID).astype(np.int64)
    mass = np.ones((len(Y), 1), np.int64) if w is None else w[:, None]
    count, first, second = (product(mass, V)[0].astype(object) for V in (within.astype(np.int64), Y, Y * Y))
    return count, first, second


def _unit(width: Array) -> Array:
    """The width, or 1 where there is none: a constant column carries nothing."""
    return np.where(width > LEAST_WIDTH, width, 1.0)


SCALES: dict[str | None, Callable[[ColumnSummary], Scale]] = {
    "robust": robust_scale,
    "range": range_scale,
    "global": global_scale,
    None: no_scale,
}

BEYOND: dict[str, Callable[[Scale, Array], Array]] = {"ignore": ignore, "clip": clip, "wrap": wrap}
