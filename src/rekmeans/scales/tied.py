"""The scale of columns with one value in at least half of the cells.

Examples are counts, flags, and amounts that are mostly zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._grid import Array
from .sorted_columns import SortedCells
from .tails import Side, Tail, tail_beyond

# The tie is the most frequent value of a column; the "other cells" have other values.
# a value in at least this share of all cells, and in this many cells, is not an error
REPEATED = 0.005
REPEATED_CELLS = 2.0
# a column is discrete if at least this share of its other cells have repeated values
REPEATED_SHARE = 0.25
# A repeated value is a code for "unknown" if it is this many times farther from the tie than the
# USUAL quantile of the other distances, and if there are enough cells with other values: at least
# CODE_REST for each cell with the code.
CODE_DISTANCE = 10.0
CODE_REST = 0.25
USUAL = 0.75
LARGEST = 0.95  # quantile of the distances that counts as the largest usual distance
KEPT = 1.5  # half the width of the kept range, as a multiple of the largest usual distance
# a unit has at least this many standard deviations of the kept cells,
UNIT_SIGMAS = 6.0
# and at least this many largest usual distances, or KEPT if the column extends to both sides
UNIT_DISTANCES = 1.25
# Counts are rare if fewer than this share of the cells differ from the tie. Tables may have
# thousands of such columns, and their unit is multiplied by RARE_UNITS.
RARE = 0.2
RARE_UNITS = 2.0
# The mass of a tail falls to at most this share from shell to shell. This is stricter than in
# columns without a tie, because errors are a larger share of the other cells than of all cells.
TAIL_FALL = 0.8
BOTH_SIDES = 0.05  # with this share of the other cells on each side, a column extends to both sides


class TiedColumn(NamedTuple):
    """The kept range of a tied column, and the terms of its unit; 0 for a constant column.

    The other cells of a column with a tail lie on one side. Its distances are in units of twice
    `kept`.
    """

    tie: float
    kept: float  # on each side of the tie
    least_unit: float  # in units of `kept`
    factor: float
    tail: Tail | None = None

    def unit(self, sigma: float, extent: float) -> float:
        """Return the unit if the kept cells have this standard deviation and this extent."""
        return self.factor * max(UNIT_SIGMAS * sigma, self.least_unit * extent)


def tied_column(cells: SortedCells) -> TiedColumn:
    """Return the most frequent value of a column, and the range around it that is kept."""
    values, mass = cells.distinct()
    tie = float(values[mass.argmax()])
    other = values != tie
    if not other.any():
        return TiedColumn(tie, 0.0, 0.0, 0.0)
    values = values[other]
    mass = mass[other]
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
    least_unit = 1.0 if both else UNIT_DISTANCES / KEPT
    side = Side(cells, tie, 2 * kept, 1 if below < 0.5 else -1)
    tail = None if both or discrete else tail_beyond(side, 0.5, TAIL_FALL)
    return TiedColumn(tie, kept, least_unit, RARE_UNITS if is_rare_count else 1.0, tail)


def _without_codes(distances: Array, mass: Array, repeated: Array) -> Array:
    """Return a mask of the values that are not codes; the search starts at the farthest value."""
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
    """Return the largest usual distance.

    If values do not repeat, it is extrapolated from the lower half, because errors are large.
    """
    if discrete:
        return _quantile(distances, mass, LARGEST)
    median = _quantile(distances, mass, 0.5)
    quartile = _quantile(distances, mass, 0.25)
    return float(min(2 * median - quartile, distances.max()))


def _quantile(values: Array, mass: Array, share: float) -> float:
    """Return the smallest value with this share of the mass at or below it."""
    order = np.argsort(values, kind="stable")
    running = np.cumsum(mass[order])
    return float(values[order][min(np.searchsorted(running, share * running[-1]), len(values) - 1)])
