"""The robust scale: it keeps the bulk of a column, its tail and distant groups, but not errors."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .._grid import Array
from ..table import ColumnSummary
from .far_groups import (
    FENCE_SIGMAS,
    FEW_VALUES,
    NEAREST,
    NORMAL_IQR,
    PLACES,
    Interval,
    far_groups,
    fenced_moments,
    least_mass,
)
from .record import MAX_INTERVALS, MIN_WIDTH, Scale
from .sorted_columns import SortedCells, SortedColumns, moments
from .tails import (
    MIN_TAIL_VALUES,
    PIECE_WIDTHS,
    TAIL_START,
    Tail,
    compress,
    cut_into_pieces,
    find_tail,
    least_tail_mass,
    to_distance,
)
from .tied import TiedColumn, tied_column

BULK_SIGMAS = 4.0  # half the width of the bulk in sigmas; a unit is at least this long
WIDEST_GAP = 1.0  # sigmas: wider gaps between kept intervals are shortened to this
TAIL = 0.02  # share of the kept cells at either end that are excluded from the extent
REACHES = (0.0, 4.0, 12.0)  # sigmas beyond the kept intervals: errors are counted in between
MAX_GROUPS = 8  # intervals of a column with groups
# Few values fill at least FEW_PLACES of PLACES quantiles, and errors may fill the others. Units of
# these columns are wider: by FEW_SIGMAS for two values, and by less for more values.
FEW_PLACES = 48
FEW_SIGMAS = 2.0
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
    If half of the cells of a column are equal, its scale is computed from the other cells. A long
    tail on one side is compressed, and columns with few values have a wider unit.
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
        placed[:, tied] = _place_tied(columns.take(tied))
    if has_spread.any():
        fence = FENCE_SIGMAS * (q75 - q25)[has_spread] / NORMAL_IQR
        centre, sigma = moments(X[:, has_spread], weights, median[has_spread], fence)
        placed[:, has_spread] = _place_spread(columns.take(has_spread), centre, sigma)
    _put(placed, columns.n_observed == 0, [(0.0, 0.0)], [0.0], 0.0, 0.0)
    return _with_unit_one(placed)


def _place_tied(columns: SortedColumns) -> Array:
    """Return the records of columns with one value in half of the cells."""
    placed = np.full((RECORD, len(columns.n_observed)), np.nan)
    for column in range(placed.shape[1]):
        cells = columns.cells(column)
        tied = tied_column(cells)
        tie, kept = tied.tie, tied.kept
        sigma = cells.moments(tie, kept if kept > 0 else 1.0)[1]
        ends = (tie - kept, tie + kept)
        left_out = 1 - cells.mass_within(*ends) / cells.total
        _put(placed, column, [ends], [tie], tied.unit(sigma, kept), left_out)
        if tied.tail is not None:
            record = _place_tied_tail(cells, tied, tied.tail)
            placed[:, column] = placed[:, column] if record is None else record
    return placed


def _place_tied_tail(cells: SortedCells, tied: TiedColumn, tail: Tail) -> Array | None:
    """Return the record of a tied column with a tail, or None if it cannot be represented.

    The first piece extends from the tie to the end of the range that would be kept without a tail.
    """
    width = tied.kept / PIECE_WIDTHS[0]
    image = map_tail(cells, tied.tie, width, tail)
    extent = compress(tail.end)
    unit = tied.unit(image.moments(0.0, 1.0)[1], extent)
    return record_of_tail(cells, tied.tie, width, tail, [(-1.0, extent, 0.0, unit)])


def _place_spread(columns: SortedColumns, centre: Array, sigma: Array) -> Array:
    """Return the records of columns whose quartiles differ."""
    placed = _place_bulk_and_groups(columns, centre, sigma)
    is_plain = np.isnan(placed[LOW + 1]) & (sigma > MIN_WIDTH)
    n_values, few_values_unit = _count_values(columns)
    reach = TAIL_START * sigma
    below = columns.mass_of_first(columns.count_below(centre - reach))
    above = columns.total - columns.mass_of_first(columns.count_up_to(centre + reach))
    least = least_tail_mass(columns.total, columns.row_weight)
    may_have_tail = (
        (few_values_unit == 0) & (n_values >= MIN_TAIL_VALUES) & (np.maximum(below, above) >= least)
    )
    placed[UNIT] = np.where(
        is_plain, np.maximum(placed[UNIT], few_values_unit * sigma), placed[UNIT]
    )
    for column in map(int, np.flatnonzero(is_plain & may_have_tail)):
        cells = columns.cells(column)
        tail = find_tail(cells, centre[column], sigma[column])
        if tail is not None:
            record = _place_tail(cells, centre[column], sigma[column], tail)
            placed[:, column] = placed[:, column] if record is None else record
    return placed


def _count_values(columns: SortedColumns) -> tuple[Array, Array]:
    """Return the number of distinct values at PLACES quantiles, and the minimum unit, (m,) each.

    The unit is in standard deviations for columns with few values, and 0 for other columns.
    """
    places = columns.quantile((np.arange(PLACES)[:, None] + 0.5) / PLACES)
    is_same = places[1:] == places[:-1]
    n_same = np.count_nonzero(is_same, axis=0)
    is_run = np.concatenate([is_same[:1], is_same[1:] & ~is_same[:-1]])
    n_repeated = np.count_nonzero(is_run, axis=0)
    has_few = (n_same + n_repeated >= FEW_PLACES) & (n_repeated <= FEW_VALUES)
    unit = BULK_SIGMAS + FEW_SIGMAS * (FEW_VALUES + 1 - n_repeated) / (FEW_VALUES - 1)
    return PLACES - n_same, np.where(has_few, unit, 0.0)


def _place_tail(cells: SortedCells, centre: float, sigma: float, tail: Tail) -> Array | None:
    """Return the record of a column with a tail, or None if it cannot be represented."""
    image = map_tail(cells, centre, sigma, tail)
    q25, median, q75 = (float(image.quantile(share)) for share in (0.25, 0.5, 0.75))
    if not q75 - q25 > MIN_WIDTH or 2 * image.mass_within(median, median) >= image.total:
        return None
    bulk = (np.array([value]) for value in fenced_moments(image))
    record = _place_bulk_and_groups(image.as_columns(), *bulk)
    intervals = record[:LEFT_OUT].reshape(4, MAX_INTERVALS).T
    return record_of_tail(cells, centre, sigma, tail, intervals)


def map_tail(cells: SortedCells, centre: float, sigma: float, tail: Tail) -> SortedCells:
    """Return t of the cells up to the end of the tail, in ascending order."""
    end = centre + tail.sign * sigma * tail.end
    bounds = (-np.inf, end) if tail.sign > 0 else (end, np.inf)
    distances = cells.take_slice(*cells.places(*bounds)).standardize(centre, sigma, tail.sign)
    return replace(distances, values=compress(distances.values + tail.start))


def record_of_tail(
    cells: SortedCells, centre: float, sigma: float, tail: Tail, intervals: Any
) -> Array | None:
    """Return the record of a column from intervals of t: (low, high, shift, unit) each.

    It is None if a unit is too small or too large.
    """
    step = tail.sign * sigma
    cut = compress(tail.end + tail.start)
    kept = 0.0
    found: list[tuple[float, float, float, float]] = []
    for low, high, shift, unit in intervals:
        if not low < cut:
            continue
        own = []
        for piece, *ends in cut_into_pieces(low, min(high, cut)):
            one, two, origin = (
                centre + step * (to_distance(t, piece) - tail.start) for t in (*ends, shift)
            )
            own.append((min(one, two), max(one, two), origin, unit * PIECE_WIDTHS[piece] * sigma))
        own.sort()
        kept += cells.mass_within(own[0][0], own[-1][1])
        found += own
    placed = np.full(RECORD, np.nan)
    for i, values in enumerate(sorted(found)):
        placed[[LOW + i, HIGH + i, SHIFT + i, UNIT + i]] = values
    placed[LEFT_OUT] = 1 - kept / cells.total
    is_valid = all(unit > MIN_WIDTH and np.isfinite(origin + unit) for *_, origin, unit in found)
    return placed if is_valid else None


def _place_bulk_and_groups(columns: SortedColumns, centre: Array, sigma: Array) -> Array:
    """Return the records of columns with the bulk and distant groups."""
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
