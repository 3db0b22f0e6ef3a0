"""The robust scale: it keeps the bulk of a column and distant groups, but not scattered errors."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .._grid import Array
from ..table import ColumnSummary
from .far_groups import FENCE_SIGMAS, NEAREST, NORMAL_IQR, Interval, far_groups, least_mass
from .record import MAX_INTERVALS, MIN_WIDTH, Scale
from .sorted_columns import SortedColumns, moments
from .tied import tied_column

BULK_SIGMAS = 4.0  # half the width of the bulk in sigmas; a unit is at least this long
WIDEST_GAP = 1.0  # sigmas: wider gaps between kept intervals are shortened to this
TAIL = 0.02  # share of the kept cells at either end that are excluded from the extent
REACHES = (0.0, 4.0, 12.0)  # sigmas beyond the kept intervals: errors are counted in between
MAX_GROUPS = 8  # intervals of a column with groups
FOLDED_SHARE = 0.85  # smallest unit of a column with several intervals, as a share of its extent

# positions in the record of a column; LOW, HIGH, SHIFT and UNIT have MAX_INTERVALS values each
LOW = 0
HIGH = MAX_INTERVALS
SHIFT = 2 * MAX_INTERVALS
UNIT = 3 * MAX_INTERVALS
LEFT_OUT = 4 * MAX_INTERVALS
RECORD = 4 * MAX_INTERVALS + 1


def robust_scale(summary: ColumnSummary) -> Scale:
    """Return a scale that keeps centre -+ 4 s of each column, and distant groups.

    The centre and the standard deviation s are those of the cells within 3 IQR/1.349 of the median.
    Gaps between kept intervals are shortened to s. The unit is 4 s, or the extent of the kept cells
    without their tails if this is longer. Otherwise the ends of a column would meet on the circle.
    If half of the cells of a column are equal, its scale follows from the other cells.
    """
    placed = summary.find_compiled(place_columns)(summary)
    intervals = placed[:LEFT_OUT].reshape(4, MAX_INTERVALS, -1)
    used = int((~np.isnan(intervals[0])).any(axis=1).sum())
    low, high, shift, unit = (np.ascontiguousarray(values[:used].T) for values in intervals)
    return Scale(low, high, shift, unit, np.zeros(summary.n_columns), placed[LEFT_OUT])


def place_columns(summary: ColumnSummary) -> Array:
    """Return the records of all columns, (RECORD, d), with NaN for unused intervals."""
    return summary.by_block(_place_block)


def _place_block(X: Array, weights: Array | None, row_weight: float) -> Array:
    """Return the records of some columns, (RECORD, m)."""
    columns = SortedColumns.sort(X, weights, row_weight)
    q25, median, q75 = (columns.quantile(share) for share in (0.25, 0.5, 0.75))
    at_median = columns.mass_of_first(columns.count_up_to(median)) - columns.mass_of_first(
        columns.count_below(median)
    )
    has_spread = (q75 - q25 > MIN_WIDTH) & (2 * at_median < columns.total)
    placed = np.full((RECORD, len(median)), np.nan)
    tied = np.flatnonzero(~has_spread & (columns.n_observed > 0))
    if len(tied):
        placed[:, tied] = _place_tied(columns.take(tied), X[:, tied], weights)
    if has_spread.any():
        fence = FENCE_SIGMAS * (q75 - q25)[has_spread] / NORMAL_IQR
        centre, sigma = moments(X[:, has_spread], weights, median[has_spread], fence)
        placed[:, has_spread] = _place_spread(columns.take(has_spread), centre, sigma)
    _put(placed, columns.n_observed == 0, [(0.0, 0.0)], [0.0], 0.0, 0.0)
    return _with_unit_one(placed)


def _place_tied(columns: SortedColumns, X: Array, weights: Array | None) -> Array:
    """Return the records of columns with one value in half of the cells: one interval around it."""
    found = [tied_column(columns.cells(column)) for column in range(X.shape[1])]
    tie, kept = (np.array(values) for values in list(zip(*found, strict=True))[:2])
    sigma = moments(X, weights, tie, np.where(kept > 0, kept, 1.0))[1]
    low = tie - kept
    high = tie + kept
    inside = columns.mass_of_first(columns.count_up_to(high)) - columns.mass_of_first(
        columns.count_below(low)
    )
    placed = np.full((RECORD, len(tie)), np.nan)
    unit = [column.unit(float(s)) for column, s in zip(found, sigma, strict=True)]
    placed[[LOW, HIGH, SHIFT, UNIT, LEFT_OUT]] = low, high, tie, unit, 1 - inside / columns.total
    return placed


def _place_spread(columns: SortedColumns, centre: Array, sigma: Array) -> Array:
    """Return the records of columns with different quartiles: the bulk and distant groups."""
    low = centre - BULK_SIGMAS * sigma
    high = centre + BULK_SIGMAS * sigma
    errors = _adjacent_errors(columns, low, high, sigma)
    first = columns.count_below(low)
    last = columns.count_up_to(high)
    unit = np.maximum(BULK_SIGMAS * sigma, _extent_without_tails(columns, first, last, *errors))
    left_out = 1 - (columns.mass_of_first(last) - columns.mass_of_first(first)) / columns.total
    placed = np.full((RECORD, len(centre)), np.nan)
    placed[[LOW, HIGH, SHIFT, UNIT, LEFT_OUT]] = low, high, centre, unit, left_out
    below = columns.mass_of_first(columns.count_below(centre - NEAREST * sigma))
    above = columns.total - columns.mass_of_first(columns.count_up_to(centre + NEAREST * sigma))
    has_far_cells = (np.maximum(below, above) >= least_mass(columns.total, columns.row_weight)) & (
        sigma > MIN_WIDTH
    )
    for column in map(int, np.flatnonzero(has_far_cells)):
        groups = far_groups(columns.cells(column), centre[column], sigma[column])
        if groups:
            _place_groups(
                placed, column, columns.take([column]), centre[column], sigma[column], groups
            )
    return placed


def _place_groups(
    placed: Array,
    number: int,
    column: SortedColumns,
    centre: float,
    sigma: float,
    groups: list[Interval],
) -> None:
    """Write the record of a column with groups, with shortened gaps between its intervals."""
    intervals = _merge([(-BULK_SIGMAS, BULK_SIGMAS), *groups])
    ends = [(centre + sigma * low, centre + sigma * high) for low, high in intervals]
    shifts = [centre + sigma * shift for shift in _folding_shifts(intervals)]
    image = column.take_intervals(ends, shifts)
    errors = _adjacent_errors(
        column, np.array([ends[0][0]]), np.array([ends[-1][1]]), np.array([sigma])
    )
    inner = float(_extent_without_tails(image, np.array([0]), image.n_observed, *errors)[0])
    whole = (ends[-1][1] - shifts[-1]) - (ends[0][0] - shifts[0])
    share = 1.0 if len(ends) == 1 else FOLDED_SHARE
    unit = max(whole / 2, share * max(BULK_SIGMAS * sigma, inner))
    _put(placed, number, ends, shifts, unit, 1 - float((image.total / column.total)[0]))


def _adjacent_errors(
    columns: SortedColumns, low: Array, high: Array, sigma: Array
) -> tuple[Array, Array]:
    """Return the mass of the errors just outside [low, high], on either side.

    Errors are assumed to be equally dense inside the interval and farther outside.
    """
    at, near, far = (
        columns.mass_of_first(columns.count_below(low - reach * sigma)) for reach in REACHES
    )
    below = np.minimum(at - near, near - far)
    at, near, far = (
        columns.mass_of_first(columns.count_up_to(high + reach * sigma)) for reach in REACHES
    )
    return below, np.minimum(near - at, far - near)


def _extent_without_tails(
    columns: SortedColumns, first: Array, last: Array, below: Array, above: Array
) -> Array:
    """Return the extent of the cells from index `first` to `last` without tails, (m,).

    A tail is 2 % of the mass and the mass of the errors on that side, `below` or `above`.
    """
    start = columns.mass_of_first(first)
    end = columns.mass_of_first(last)
    tail = TAIL * (end - start)
    return columns.last_before_mass(end - tail - above) - columns.first_after_mass(
        start + tail + below
    )


def _merge(intervals: list[Interval]) -> list[Interval]:
    """Return the intervals in order, after merging those that overlap.

    If there are more than MAX_GROUPS, those with the smallest gaps are merged too.
    """
    merged: list[Interval] = []
    for low, high in sorted(intervals):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    while len(merged) > MAX_GROUPS:
        at = int(np.argmin([after[0] - before[1] for before, after in pairwise(merged)]))
        merged[at : at + 2] = [(merged[at][0], merged[at + 1][1])]
    return merged


def _folding_shifts(intervals: list[Interval]) -> list[float]:
    """Return the shift of each interval.

    After the shifts, no gap is wider than WIDEST_GAP and the middle of all intervals lies at 0.
    """
    gaps = [max(0.0, after[0] - before[1] - WIDEST_GAP) for before, after in pairwise(intervals)]
    folded = list(accumulate(gaps, initial=0.0))
    middle = (intervals[0][0] + intervals[-1][1] - folded[-1]) / 2
    return [shift + middle for shift in folded]


def _put(
    placed: Array,
    columns: Any,
    ends: list[Interval],
    shifts: list[float],
    unit: float,
    left_out: float,
) -> None:
    """Write the record of these columns."""
    for i, ((low, high), shift) in enumerate(zip(ends, shifts, strict=True)):
        placed[LOW + i, columns] = low
        placed[HIGH + i, columns] = high
        placed[SHIFT + i, columns] = shift
        placed[UNIT + i, columns] = unit
    placed[LEFT_OUT, columns] = left_out


def _with_unit_one(placed: Array) -> Array:
    """Give constant columns the unit 1 and the interval centre -+ 1."""
    constant = ~(placed[UNIT] > MIN_WIDTH)
    centre = placed[SHIFT, constant]
    placed[LOW, constant] = centre - 1
    placed[HIGH, constant] = centre + 1
    placed[UNIT, constant] = 1.0
    return placed
