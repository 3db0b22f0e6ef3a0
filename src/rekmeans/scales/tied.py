"""Columns of which one value takes half the cells or more: counts, yes and no, amounts that are
mostly zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._grid import Array
from .sorted_columns import SortedCells

# of the column, and cells: a value with so many is no error
REPEATED = 0.005
REPEATED_CELLS = 2.0
REPEATED_SHARE = 0.25  # of the other cells: then the repeated values are what the column holds
# a repeated value so many times farther than the other ones is a code for "unknown"
CODE_DISTANCE = 10.0
CODE_REST = 0.25  # as many cells, for each with the code, must have other values
USUAL = 0.75  # share of the other values by which that is measured
LARGEST = 0.95  # quantile of the distances that is the largest usual one
KEPT = 1.5  # largest usual distances to either side
UNIT_SIGMAS = 6.0  # a unit is at least so many standard deviations of the kept cells
# and so many largest usual distances, KEPT where the column goes to both sides
UNIT_DISTANCES = 1.25
# rare counts, with fewer other cells, have so many units: there are thousands of them
RARE = 0.2
RARE_UNITS = 2.0
BOTH_SIDES = 0.05  # of the other cells: then the column goes to both sides of the tie


class TiedColumn(NamedTuple):
    """What is kept of a tied column, and its unit but for its standard deviation; all 0 for a
    constant column.
    """

    tie: float
    kept: float  # to either side
    least_unit: float
    factor: float

    def unit(self, sigma: float) -> float:
        """The unit where the kept cells have this standard deviation."""
        return self.factor * max(UNIT_SIGMAS * sigma, self.least_unit)


def tied_column(cells: SortedCells) -> TiedColumn:
    """The value of most cells of a column, and how far from it the others are usual."""
    values, mass = cells.distinct()
    tie = float(values[mass.argmax()])
    other = values != tie
    if not other.any():
        return TiedColumn(tie, 0.0, 0.0, 0.0)
    values, mass = values[other], mass[other]
    with np.errstate(over="ignore"):
        distances = np.abs(values - tie)
    repeated = mass >= max(REPEATED_CELLS * cells.row_weight, REPEATED * cells.total)
    usual = _without_codes(distances, mass, repeated)
    discrete = bool(mass[usual & repeated].sum() >= REPEATED_SHARE * mass[usual].sum())
    usual &= repeated if discrete else True
    largest = _largest(distances[usual], mass[usual], discrete)
    kept = KEPT * largest
    near = usual & (distances <= kept)
    below = mass[near & (values < tie)].sum() / mass[near].sum()
    both = BOTH_SIDES < below < 1 - BOTH_SIDES
    is_rare_count = mass.sum() < RARE * cells.total and np.count_nonzero(usual & repeated) > 1
    return TiedColumn(
        tie, kept, kept if both else UNIT_DISTANCES * largest, RARE_UNITS if is_rare_count else 1.0
    )


def _without_codes(distances: Array, mass: Array, repeated: Array) -> Array:
    """Which values are left without those that are codes, looked for from the farthest on."""
    usual = np.ones(len(distances), bool)
    farthest_first = np.flatnonzero(repeated)[np.argsort(-distances[repeated], kind="stable")]
    for value in farthest_first:
        rest = usual & (np.arange(len(usual)) != value)
        if mass[rest].sum() < CODE_REST * mass[value] or not rest.any():
            break
        if distances[value] <= CODE_DISTANCE * _quantile(distances[rest], mass[rest], USUAL):
            break
        usual = rest
    return usual


def _largest(distances: Array, mass: Array, discrete: bool) -> float:
    """The largest usual distance; where values do not repeat it is told by the lower half, since
    errors are large.
    """
    if discrete:
        return _quantile(distances, mass, LARGEST)
    median, quartile = _quantile(distances, mass, 0.5), _quantile(distances, mass, 0.25)
    return float(min(2 * median - quartile, distances.max()))


def _quantile(values: Array, mass: Array, share: float) -> float:
    """The least value with this share of the mass at or below it."""
    order = np.argsort(values, kind="stable")
    running = np.cumsum(mass[order])
    return float(values[order][min(np.searchsorted(running, share * running[-1]), len(values) - 1)])
