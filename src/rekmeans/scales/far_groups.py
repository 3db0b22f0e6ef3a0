"""Groups of cells far from the bulk of a column.

Errors get sparser with the distance from the bulk. A group is a rise of the density.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from .._grid import Array
from .sorted_columns import SortedCells

NORMAL_IQR = 1.349  # interquartile range of a normal distribution, in standard deviations
# robust standard deviations around the median; wider fences fail with 30 % errors
FENCE_SIGMAS = 3.0

# All distances below are in standard deviations of the bulk.
NEAREST = 2.5  # search for groups beyond this distance
MAX_DISTANCE = 1e6  # cells beyond this distance are errors
# bins have the width BIN up to the distance WIDE_BINS, and are wider beyond it
BIN = 0.5
BIN_GROWTH = 1.025
WIDE_BINS = 20.0
N_GROWTHS = 440  # bins that grow: enough to reach MAX_DISTANCE
# a rise is significant if its count exceeds all of the following
RISE_SIGMAS = 2.0  # standard deviations of the count
RISE_SHARE = 0.1  # share of the cells of its segment
RISE_OF_ALL = 0.0025  # share of the cells of the column
GROUP_END = 0.25  # a group ends where the density falls below this share of its mean so far
MIN_GROUP_SHARE = 0.01  # smallest group, as a share of the cells of the column
MIN_RISE_CELLS = (
    4.0  # smallest group in cells: RISE_SIGMAS squared, below which a rise may be chance
)
WIDEST_SIGMA = 20.0  # largest standard deviation of a group
WIDEST = 120.0  # largest width of a group
GROUP_SIGMAS = 3.0  # half the width of a group before it is widened, in its standard deviations
MAX_WIDENING = 20  # steps of widening, of one standard deviation each
MAX_CATEGORY_DISTANCE = 12.0  # a single value beyond this is a code for "unknown", such as -999
# a column is categorical if its cells at PLACES quantiles have at most FEW_VALUES distinct values
FEW_VALUES = 8
PLACES = 64

GROWTHS = np.multiply.accumulate(np.full(N_GROWTHS, BIN_GROWTH))

Interval = tuple[float, float]


def far_groups(cells: SortedCells, centre: float, sigma: float) -> list[Interval]:
    """Return the intervals of groups farther than 2.5 sigma from the centre, on either side.

    Their ends are distances from the centre in units of sigma.
    """
    step = _category_step(cells)
    tails = (
        _Tail(cells.standardize(centre, sigma, sign), cells.total, step and step / sigma)
        for sign in (-1, 1)
    )
    below, above = (_groups(tail, NEAREST, MAX_DISTANCE) for tail in tails)
    return [(-high, -low) for low, high in below] + above


def least_mass(total: Any, row_weight: float) -> Any:
    """Return the minimum mass of a group in a column of mass `total`, or in several columns."""
    return np.maximum(MIN_RISE_CELLS * row_weight, MIN_GROUP_SHARE * total)


def fenced_moments(cells: SortedCells) -> tuple[float, float]:
    """Return the mean and the standard deviation of the cells within 3 IQR/1.349 of the median.

    If the interquartile range is 0, these are the median and 0.
    """
    median = cells.quantile(0.5)
    fence = FENCE_SIGMAS * (cells.quantile(0.75) - cells.quantile(0.25)) / NORMAL_IQR
    return cells.moments(median, fence) if fence > 0 else (median, 0.0)


def _category_step(cells: SortedCells) -> float | None:
    """Return the smallest difference of two values of a categorical column; None for others."""
    values = np.unique(cells.quantile((np.arange(PLACES) + 0.5) / PLACES))
    return float(np.diff(values).min()) if 1 < len(values) <= FEW_VALUES else None


class _Tail:
    """One side of a column: distances from its centre, its total mass, and the category step."""

    def __init__(self, cells: SortedCells, total: float, step: float | None) -> None:
        self.cells = cells
        self.total = total
        self.step = step
        self.least_mass = least_mass(total, cells.row_weight)

    def edges(self, low: float, high: float) -> Array:
        """Return edges of bins between low and high; with categories they lie between values."""
        first = low
        if self.step is not None:  # values differ by multiples of the step
            value = float(self.cells.values[np.searchsorted(self.cells.values, low, side="right")])
            first = value - self.step / 2
        width = BIN if self.step is None else max(BIN, self.step)
        stop = min(high, WIDE_BINS)
        even = first + np.arange(max(0.0, (stop - first) / width) + 1) * width
        wide = max(first, WIDE_BINS) * GROWTHS
        return np.unique(
            np.concatenate([[min(first, low)], even[even < stop], wide[wide < high], [high]])
        )


def _groups(tail: _Tail, low: float, high: float) -> list[Interval]:
    """Return the groups among the distances in (low, high], from near to far."""
    inside = tail.cells.take_between(low, high)
    if inside.total < tail.least_mass:
        return []
    edges = tail.edges(low, float(inside.values[-1]))
    start = _find_rise(edges, inside.mass_up_to(edges), tail)
    if start is None:
        return []
    end = _group_end(edges[edges >= start], inside.mass_up_to(edges[edges >= start]))
    members = inside.take_between(start, 2 * end - start)
    centre, sigma = fenced_moments(members)
    if sigma == 0:  # a single value
        kept = tail.step is not None and centre < MAX_CATEGORY_DISTANCE
        return [
            *_groups(tail, low, float(np.nextafter(centre, -np.inf))),
            *([(centre, centre)] if kept else []),
            *_groups(tail, centre, high),
        ]
    group = _interval_with_flanks(inside, centre, sigma)
    width = group[1] - group[0]
    if sigma > WIDEST_SIGMA or width > WIDEST or inside.mass_within(*group) < tail.least_mass:
        return [*_groups(tail, low, start), *_groups(tail, end, high)]
    return [*_groups(tail, low, group[0]), group, *_groups(tail, group[1], high)]


def _find_rise(edges: Array, mass: Array, tail: _Tail) -> float | None:
    """Return the start of the first significant rise of the density, or None.

    It is the point where the running mass lies farthest below a segment of its least concave
    majorant.
    """
    for i, j in _majorant(edges, mass):
        gained = mass[j] - mass[i]
        if gained > 0 and j > i + 1:
            line = mass[i] + (edges[i + 1 : j] - edges[i]) * (gained / (edges[j] - edges[i]))
            lag = line - mass[i + 1 : j]
            at = int(lag.argmax())
            chance = RISE_SIGMAS * np.sqrt(gained * tail.cells.row_weight)
            if lag[at] >= max(chance, RISE_SHARE * gained, RISE_OF_ALL * tail.total):
                return float(edges[i + 1 + at])
    return None


def _group_end(edges: Array, mass: Array) -> float:
    """Return the edge where the density of a group falls below a quarter of its mean so far.

    The group begins at the first edge.
    """
    segments = list(_majorant(edges, mass))
    for (_, end), (_, after) in pairwise(segments):
        density = (mass[end] - mass[0]) / (edges[end] - edges[0])
        if (mass[after] - mass[end]) / (edges[after] - edges[end]) < GROUP_END * density:
            return float(edges[end])
    return float(edges[-1])


def _majorant(x: Array, y: Array) -> Iterable[tuple[int, int]]:
    """Return the segments of the least concave majorant of (x, y) as pairs of indices."""
    corners = [0]
    for i in range(1, len(x)):
        while len(corners) > 1:
            a, b = corners[-2:]
            if (y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    return pairwise(corners)


def _interval_with_flanks(cells: SortedCells, centre: float, sigma: float) -> Interval:
    """Return centre -+ 3 sigma, widened on each side.

    Each end moves outward by sigma as long as the next interval of width sigma has at least half
    the mass of the previous one.
    """
    low = centre - GROUP_SIGMAS * sigma
    high = centre + GROUP_SIGMAS * sigma
    for _ in range(MAX_WIDENING):
        at, before, after = cells.mass_up_to(np.array([high, high - sigma, high + sigma]))
        if not after - at > 0 or after - at < (at - before) / 2:
            break
        high += sigma
    for _ in range(MAX_WIDENING):
        at, before, after = cells.mass_below(np.array([low, low + sigma, low - sigma]))
        if not at - after > 0 or at - after < (before - at) / 2:
            break
        low -= sigma
    return low, high
