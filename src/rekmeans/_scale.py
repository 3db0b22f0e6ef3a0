"""Column ranges and back: z = (x - centre)/unit, with the interval [low, high] of x outside which a value is beyond."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._grid import Array, integer_weights, product

FENCE = 3.0  # robust standard deviations round the median; wider fences break at 30 % dirt
SPREAD = 4.0  # a unit is 4 sigma: the central 95 % of a normal column, so that alpha = 1 keeps near near
NORMAL_IQR = 1.349  # quartile range of a normal column in standard deviations
NORMAL_90 = 3.290  # its 5-95 % range
FOLD = 4096  # cells of a line that NumPy reduces at full speed
BLOCK = 1 << 14  # cells whose moments are taken at a time: their copies stay small
LEAST = 1e-150  # a narrower column is constant: its inverse would overflow
STEP = 2.0**24  # the fenced cells are summed on this grid of the fence, exactly: row order cannot show


@dataclass(frozen=True)
class Scale:
    """Per-column centre and unit, and the bounds of what counts as inside; all (d,)."""

    centre: Array
    unit: Array
    low: Array
    high: Array

    def inside(self, X: Array) -> Array:
        """True where a cell is observed and within its column's bounds, (n, d)."""
        return (X >= self.low) & (X <= self.high)

    def clipped(self, X: Array) -> Array:
        """X with every cell moved to the nearest bound; a missing cell stays missing."""
        return np.clip(X, self.low, self.high)

    def scaled(self, X: Array) -> Array:
        """z = (x - centre)/unit, (n, d)."""
        return (X - self.centre) / self.unit

    def restored(self, Z: Array) -> Array:
        """x = centre + unit z."""
        return self.centre + self.unit * Z


def ignored(scale: Scale, X: Array) -> Array:
    """A value beyond the bounds says nothing, like a missing one; a row of only such values is clipped instead."""
    kept = np.where(scale.inside(X), X, np.nan).astype(np.float64)
    silent = silenced(scale, X)
    kept[silent] = scale.clipped(X[silent])
    return kept


def clipped(scale: Scale, X: Array) -> Array:
    """A value beyond the bounds counts as the nearest bound."""
    return scale.clipped(X)


def wrapped(scale: Scale, X: Array) -> Array:
    """A value beyond the bounds goes on round the circle: the paper's map."""
    return X


def silenced(scale: Scale, X: Array) -> Array:
    """Rows of which every observed value is beyond the bounds, (n,)."""
    return np.logical_not(scale.inside(X).any(axis=1))


def bare(X: Any, weights: Array | None = None, threads: int | None = None) -> Scale:
    """The paper's map: no centre, unit 1, nothing is beyond."""
    d = X.shape[1]
    return Scale(np.zeros(d), np.ones(d), np.full(d, -np.inf), np.full(d, np.inf))


def column_range(X: Any, weights: Array | None = None, threads: int | None = None) -> Scale:
    """Minimum to maximum of each column becomes [0, 1]."""
    low, high = (np.nan_to_num(end) for end in _extent(X, weights))
    return Scale(low, _unit(high - low), low, high)


def global_range(X: Any, weights: Array | None = None, threads: int | None = None) -> Scale:
    """Minimum to maximum of the whole table becomes [0, 1]."""
    ends = _extent(X, weights)
    low, high = (np.full(X.shape[1], end) for end in (np.fmin.reduce(ends[0]), np.fmax.reduce(ends[1])))
    return Scale(low, _unit(high - low), low, high)


def fenced(X: Any, weights: Array | None = None, threads: int | None = None) -> Scale:
    """Centre and standard deviation s of the cells within 3 IQR/1.349 of the median; unit 4 s, bounds one unit away.

    Where the quartiles coincide, the 5-95 % range stands for them; where that is zero too, the full range.
    """
    w = None if weights is None else integer_weights(weights)[0]
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:  # NumPy sorts without holding the interpreter
        columns = list(pool.map(lambda column: _fenced_column(column, w), _columns(X)))
    centre, unit = (np.array(values, dtype=np.float64) for values in zip(*columns, strict=True))
    return Scale(centre, unit, centre - unit, centre + unit)


def _fenced_column(x: Array, weights: Array | None) -> tuple[float, float]:
    """(centre, unit) of one column."""
    seen = ~np.isnan(x) if weights is None else ~np.isnan(x) & (weights > 0)
    x, w = np.asarray(x[seen], np.float64), None if weights is None else weights[seen]  # ours to reorder
    if not len(x):
        return 0.0, 1.0
    q05, q25, median, q75, q95 = np.quantile(
        x, [0.05, 0.25, 0.5, 0.75, 0.95], weights=w, method="inverted_cdf", overwrite_input=w is None
    )
    if q75 > q25:
        return _moments(x, w, median, FENCE * (q75 - q25) / NORMAL_IQR)
    if q95 > q05:
        return float(median), float(_unit(SPREAD * (q95 - q05) / NORMAL_90))
    return float(median), float(_unit(x.max() - x.min()))


def _moments(x: Array, w: Array | None, median: float, fence: float) -> tuple[float, float]:
    """Mean and 4 standard deviations of the cells within `fence` of the median, summed as integers."""
    blocks = (slice(at, at + BLOCK) for at in range(0, len(x), BLOCK))
    parts = [_powers(x[at], None if w is None else w[at], median, fence) for at in blocks]
    count, first, second = (sum(power) for power in zip(*parts, strict=True))
    mean = first / count
    variance = (second * count - first * first) / (count * count)
    return float(median + fence * (mean / STEP)), float(_unit(SPREAD * fence * (np.sqrt(variance) / STEP)))


def _powers(x: Array, w: Array | None, median: float, fence: float) -> tuple[int, int, int]:
    """Mass, sum and sum of squares of the cells within the fence, on the grid of STEP."""
    within = np.abs(x - median) <= fence
    y = np.rint((x[within] - median) / fence * STEP).astype(np.int64)[:, None]
    mass = np.ones((len(y), 1), np.int64) if w is None else w[within][:, None]
    count, first, second = (int(product(mass, v)[0, 0]) for v in (np.ones_like(y), y, y * y))
    return count, first, second


def _extent(X: Any, weights: Array | None) -> tuple[Array, Array]:
    """Smallest and largest observed cell of each column among rows that count; NaN where there is none."""
    rows = X if weights is None or weights.all() else X[weights > 0]
    n, d = rows.shape
    if sparse.issparse(rows):
        stored = np.bincount(rows.indices, minlength=d)
        low, high = (np.where(stored < n, 0.0, np.nan) for _ in range(2))  # a cell that is not stored is zero
        np.fmin.at(low, rows.indices, rows.data)
        np.fmax.at(high, rows.indices, rows.data)
        return low, high
    fold = max(1, FOLD // d)
    if n < fold or not rows.flags.c_contiguous:
        fold = 1
    wide = rows[: n // fold * fold].reshape(-1, fold * d)  # several rows side by side: NumPy reduces long lines faster
    low, high = (
        end.reduce(np.concatenate([end.reduce(wide, axis=0).reshape(fold, d), rows[n // fold * fold :]]), axis=0)
        for end in (np.fmin, np.fmax)
    )
    return low.astype(np.float64), high.astype(np.float64)


def _columns(X: Any) -> Iterator[Array]:
    """The columns one by one, dense."""
    if not sparse.issparse(X):
        yield from X.T
        return
    by_column = X.tocsc()
    for j in range(X.shape[1]):
        yield by_column[:, [j]].toarray().ravel()


def _unit(width: Array) -> Array:
    """The width, or 1 where there is none: a constant column carries nothing."""
    return np.where(width > LEAST, width, 1.0)


SCALES: dict[str | None, Callable[[Any, Array | None, int | None], Scale]] = {
    "robust": fenced,
    "range": column_range,
    "global": global_range,
    None: bare,
}

BEYOND: dict[str, Callable[[Scale, Array], Array]] = {"ignore": ignored, "clip": clipped, "wrap": wrapped}
