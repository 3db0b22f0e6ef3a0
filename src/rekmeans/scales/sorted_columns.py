"""Sorted columns: quantiles, masses and moments of their cells.

The mass of a cell is its integer weight, or 1 without weights. All sums are sums of integers, so
they are exact and do not depend on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, Self

import numpy as np

from .._grid import Array, product

# Deviations are rounded to multiples of (largest deviation)/MOMENT_GRID, so that their sums are
# exact and do not depend on the order of the rows.
MOMENT_GRID = 2.0**24
# rows per block when moments are computed; limits the size of temporary copies
MOMENT_ROWS = 1 << 14


@dataclass(frozen=True)
class SortedColumns:
    """Some columns, each in ascending order with missing cells last."""

    values: Array  # (n, m)
    weights: Array | None  # (n, m) integers, 0 for missing cells; None for equal weights
    row_weight: float  # mass of one row
    n_observed: Array  # (m,) number of observed cells

    @classmethod
    def sort(cls, X: Array, weights: Array | None, row_weight: float) -> Self:
        """Return the sorted columns of X (n, m), NaN for missing cells, with row weights (n,)."""
        n_observed = np.count_nonzero(~np.isnan(X), axis=0)
        if weights is None:
            # + 0.0 turns -0 into 0, since their sorted order is arbitrary
            return cls(np.sort(X, axis=0) + 0.0, None, 1.0, n_observed)
        order = np.argsort(X, axis=0)
        values = np.take_along_axis(X, order, axis=0) + 0.0
        return cls(values, np.where(np.isnan(values), 0, weights[order]), row_weight, n_observed)

    @cached_property
    def running_mass(self) -> Array:
        """The mass of the first 0, 1, ... n cells, (n + 1, m)."""
        if self.weights is None:
            return np.minimum(np.arange(len(self.values) + 1.0)[:, None], self.n_observed)
        sums = np.cumsum(self.weights, axis=0, dtype=np.int64)
        return np.concatenate([np.zeros((1, sums.shape[1])), sums])

    @property
    def total(self) -> Array:
        """The mass of all observed cells, (m,)."""
        return self.mass_of_first(self.n_observed)

    def mass_of_first(self, count: Array) -> Array:
        """Return the mass of the first `count` cells of each column; both have shape (m,)."""
        if self.weights is None:
            return count.astype(np.float64)
        return np.take_along_axis(self.running_mass, count[None], axis=0)[0]

    def count_up_to(self, bound: Array) -> Array:
        """Return the number of cells at or below `bound`; both have shape (m,)."""
        return _search(self.values, bound, self.n_observed, "right")

    def count_below(self, bound: Array) -> Array:
        """Return the number of cells below `bound`; both have shape (m,)."""
        return _search(self.values, bound, self.n_observed, "left")

    def quantile(self, share: Any) -> Array:
        """Return the smallest value with this share of the mass at or below it, (m,).

        It is NaN for a column without observed cells. Several shares (q, 1) give values (q, m).
        """
        return self._value_at(
            _search(self.running_mass[1:], share * self.total, self.n_observed, "left")
        )

    def first_after_mass(self, mass: Array) -> Array:
        """Return the first value at which the running mass exceeds `mass`; both have shape (m,)."""
        return self._value_at(_search(self.running_mass[1:], mass, self.n_observed, "right"))

    def last_before_mass(self, mass: Array) -> Array:
        """Return the last value preceded by less than `mass`; both have shape (m,)."""
        return self._value_at(_search(self.running_mass[1:], mass, self.n_observed, "left"))

    def _value_at(self, place: Array) -> Array:
        """Return the cells at these indices (..., m), or the last observed cell of a column."""
        return _pick(self.values, np.clip(np.minimum(place, self.n_observed - 1), 0, None))

    def take(self, columns: Any) -> SortedColumns:
        """Return these columns."""
        weights = None if self.weights is None else self.weights[:, columns]
        return SortedColumns(
            self.values[:, columns], weights, self.row_weight, self.n_observed[columns]
        )

    def take_intervals(
        self, intervals: list[tuple[float, float]], shifts: list[float]
    ) -> SortedColumns:
        """Return the cells of a single column in these intervals, minus the shift of each."""
        column = self.cells(0)
        bounds = [column.places(low, high) for low, high in intervals]
        values = [
            self.values[first:last] - shift
            for (first, last), shift in zip(bounds, shifts, strict=True)
        ]
        weights = (
            None
            if self.weights is None
            else np.concatenate([self.weights[slice(*at)] for at in bounds])
        )
        image = np.concatenate(values)
        return SortedColumns(image, weights, self.row_weight, np.array([len(image)]))

    def cells(self, column: int) -> SortedCells:
        """Return the observed cells of one column."""
        n = self.n_observed[column]
        weights = None if self.weights is None else self.weights[:n, column]
        return SortedCells(self.values[:n, column], weights, self.row_weight)


@dataclass(frozen=True)
class SortedCells:
    """The observed cells of one column in ascending order."""

    values: Array  # (n,)
    weights: Array | None  # (n,) integers; None for equal weights
    row_weight: float  # mass of one row

    @cached_property
    def running_mass(self) -> Array:
        """The mass of the first 0, 1, ... n cells, (n + 1,)."""
        if self.weights is None:
            return np.arange(len(self.values) + 1.0)
        return np.concatenate([[0.0], np.cumsum(self.weights, dtype=np.int64)])

    @property
    def total(self) -> float:
        return float(self.running_mass[-1])

    def mass_up_to(self, bound: Any) -> Any:
        """Return the mass of the cells at or below a bound, or at or below each of several."""
        return self.running_mass[np.searchsorted(self.values, bound, side="right")]

    def mass_below(self, bound: Any) -> Any:
        """Return the mass of the cells below a bound, or below each of several."""
        return self.running_mass[np.searchsorted(self.values, bound, side="left")]

    def mass_within(self, low: float, high: float) -> float:
        """Return the mass of the cells in [low, high]."""
        return float(self.mass_up_to(high) - self.mass_below(low))

    def places(self, low: float, high: float) -> tuple[int, int]:
        """Return the bounds of the slice of the cells in [low, high]."""
        return int(np.searchsorted(self.values, low, "left")), int(
            np.searchsorted(self.values, high, "right")
        )

    def quantile(self, share: Any) -> Any:
        """Return the smallest value with this share of the mass at or below it, or several."""
        place = np.searchsorted(self.running_mass[1:], share * self.total, side="left")
        return self.values[np.minimum(place, len(self.values) - 1)]

    def take_between(self, low: float, high: float) -> SortedCells:
        """Return the cells in (low, high]."""
        return self.take_slice(*np.searchsorted(self.values, [low, high], side="right"))

    def take_slice(self, first: int, last: int) -> SortedCells:
        """Return the cells from index `first` to `last` - 1."""
        at = slice(first, last)
        return self._take(self.values[at], at)

    def first_after_mass(self, mass: float) -> float:
        """Return the first value at which the running mass exceeds `mass`."""
        place = np.searchsorted(self.running_mass[1:], mass, side="right")
        return float(self.values[np.minimum(place, len(self.values) - 1)])

    def standardize(self, centre: float, unit: float, sign: int) -> SortedCells:
        """Return sign (x - centre)/unit in ascending order."""
        with np.errstate(over="ignore"):
            values = sign * (self.values - centre) / unit
        at = slice(None, None, sign)
        return self._take(values[at], at)

    def moments(self, middle: float, distance: float) -> tuple[float, float]:
        """Return the mean and the standard deviation of the cells within `distance` of `middle`."""
        mean, sigma = moments(
            self.values[:, None], self.weights, np.array([middle]), np.array([distance])
        )
        return float(mean[0]), float(sigma[0])

    def as_columns(self) -> SortedColumns:
        """Return these cells as the only column."""
        weights = None if self.weights is None else self.weights[:, None]
        return SortedColumns(
            self.values[:, None], weights, self.row_weight, np.array([len(self.values)])
        )

    def distinct(self) -> tuple[Array, Array]:
        """Return the distinct values in ascending order, and the mass of each."""
        starts = np.flatnonzero(np.concatenate([[True], self.values[1:] != self.values[:-1]]))
        return self.values[starts], np.diff(np.append(self.running_mass[starts], self.total))

    def _take(self, values: Array, at: slice) -> SortedCells:
        return SortedCells(
            values, None if self.weights is None else self.weights[at], self.row_weight
        )


def moments(X: Array, weights: Array | None, middle: Array, distance: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of the cells X (n, m) within `distance` of `middle`, (m,).

    They do not depend on the order of the rows.
    """
    blocks = (slice(at, at + MOMENT_ROWS) for at in range(0, len(X), MOMENT_ROWS))
    parts = [
        _powers(X[at], None if weights is None else weights[at], middle, distance) for at in blocks
    ]
    # (m,) Python integers each, then rounded to the nearest float64
    powers = (reduce(add, power) for power in zip(*parts, strict=True))
    count, first, second = (power.astype(np.float64) for power in powers)
    mean = first / count
    sigma = np.sqrt(np.maximum(0.0, second / count - mean * mean)) / MOMENT_GRID
    return middle + distance * (mean / MOMENT_GRID), distance * sigma


def _powers(
    X: Array, weights: Array | None, middle: Array, distance: Array
) -> tuple[Array, Array, Array]:
    """Return mass, sum and sum of squares of the cells within the distance, on the MOMENT_GRID."""
    within = np.abs(X - middle) <= distance
    Y = np.rint(np.where(within, X - middle, 0.0) / distance * MOMENT_GRID).astype(np.int64)
    mass = np.ones((len(Y), 1), np.int64) if weights is None else weights[:, None]
    count, first, second = (
        product(mass, V)[0].astype(object) for V in (within.astype(np.int64), Y, Y * Y)
    )
    return count, first, second


def _search(ascending: Array, goals: Array, counts: Array, side: str) -> Array:
    """Return searchsorted of goals (..., m) in the first `counts` entries of each column."""
    low = np.zeros(goals.shape, counts.dtype)
    high = np.broadcast_to(counts, goals.shape)
    for _ in range(int(counts.max(initial=0)).bit_length()):
        middle = (low + high) // 2
        found = _pick(ascending, np.minimum(middle, len(ascending) - 1))
        before = ((found <= goals) if side == "right" else (found < goals)) & (low < high)
        low = np.where(before, middle + 1, low)
        high = np.where(before, high, np.minimum(middle, high))
    return low


def _pick(values: Array, index: Array) -> Array:
    """Return values (n, m) at an index (..., m) in each column."""
    rows = index.reshape(-1, index.shape[-1])
    return np.take_along_axis(values, rows, axis=0).reshape(index.shape)
