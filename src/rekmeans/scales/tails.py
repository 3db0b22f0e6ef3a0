"""Long tails of skewed columns: they are compressed, not ignored.

A distance v from the short end of the column is mapped to t = log2(1 + 2 v) at v = 0, 0.5, 1.5,
3.5, ..., and linearly in between. The slope halves at each of these knots.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .sorted_columns import SortedCells

# All distances are in standard deviations of the bulk.
SHORT_SIDE = 1.6  # the short end of a skewed column is at most this far from the centre
SHORT_TAIL = 0.02  # share of the cells beyond the short end
TAIL_START = 4.0  # the tail begins here, where the bulk of other columns ends
MAX_TAIL = 4096.0  # cells beyond this distance are errors
MIN_TAIL_SHARE = 0.005  # smallest tail, as a share of the cells of the column
MIN_TAIL_CELLS = 4.0  # smallest tail in cells
# Errors lie on both sides, so a tail ends where the other side has more than this share of its
# cells.
MAX_MIRRORED = 0.5
MIN_TAIL_VALUES = 13  # distinct values at PLACES quantiles; columns with fewer have no tail
N_PIECES = 14  # enough for MAX_TAIL
PIECE_STARTS = 0.5 * (2.0 ** np.arange(N_PIECES) - 1)
PIECE_WIDTHS = 0.5 * 2.0 ** np.arange(N_PIECES)


class Tail(NamedTuple):
    """The direction of a tail, and the distances of the short end and of the end of the tail."""

    sign: int
    start: float
    end: float


class Side(NamedTuple):
    """The cells of a column on one side of its centre."""

    cells: SortedCells
    centre: float
    sigma: float
    sign: int

    def mass(self, first: float, end: float) -> float:
        """Return the mass of the cells farther than `first` and not farther than `end`."""
        near, far = (self.centre + self.sign * self.sigma * distance for distance in (first, end))
        if self.sign > 0:
            return float(self.cells.mass_up_to(far) - self.cells.mass_up_to(near))
        return float(self.cells.mass_below(near) - self.cells.mass_below(far))


def find_tail(cells: SortedCells, centre: float, sigma: float) -> Tail | None:
    """Return the tail of a column with this centre and standard deviation, or None."""
    reach = TAIL_START * sigma
    near = cells.take_slice(*cells.places(centre - reach, centre + reach))
    short = SHORT_TAIL * near.total
    # the short end lies below the centre if the tail is above it
    short_ends = (
        centre - near.quantile(SHORT_TAIL),
        near.first_after_mass(near.total - short) - centre,
    )
    for sign, short_end in zip((1, -1), short_ends, strict=True):
        if short_end <= SHORT_SIDE * sigma:
            tail = tail_beyond(Side(cells, centre, sigma, sign), TAIL_START, 1.0)
            if tail is not None:
                return tail._replace(start=float(short_end / sigma))
    return None


def tail_beyond(side: Side, first: float, fall: float) -> Tail | None:
    """Return the tail beyond the distance `first`, or None if there is none.

    Each shell is twice as wide as the previous one and has at most the fraction `fall` of its mass,
    apart from random variation. Errors do not decrease in this way, or they lie on both sides.
    """
    other_side = side._replace(sign=-side.sign)
    row_weight = side.cells.row_weight
    end = first
    before = side.mass(end / 2, end)
    while end < MAX_TAIL:
        mass = side.mass(end, 2 * end)
        chance = np.sqrt(before * row_weight) if end > first else 0.0
        if not mass or mass > fall * before + chance:
            break
        if other_side.mass(end, 2 * end) > MAX_MIRRORED * mass:
            break
        before = mass
        end *= 2
    least = least_tail_mass(side.cells.total, row_weight)
    return Tail(side.sign, 0.0, end) if side.mass(first, end) >= least else None


def least_tail_mass(total: Any, row_weight: float) -> Any:
    """Return the minimum mass of a tail in a column of mass `total`, or in several columns."""
    return np.maximum(MIN_TAIL_CELLS * row_weight, MIN_TAIL_SHARE * total)


def compress(v: Any) -> Any:
    """Return t of distances v from the short end."""
    piece = np.clip(np.searchsorted(PIECE_STARTS, v, side="right") - 1, 0, None)
    return piece + (v - PIECE_STARTS[piece]) / PIECE_WIDTHS[piece]


def to_distance(t: float, piece: int) -> float:
    """Return the distance v that corresponds to t, on the linear piece with this index."""
    return float(PIECE_STARTS[piece] + PIECE_WIDTHS[piece] * (t - piece))


def cut_into_pieces(low: float, high: float) -> list[tuple[int, float, float]]:
    """Split an interval of t into pieces. Return the index and the ends of each."""
    number = min(max(int(np.floor(low)), 0), N_PIECES - 1)
    pieces = []
    while number < N_PIECES - 1 and number + 1 < high:
        pieces.append((number, low, number + 1.0))
        number += 1
        low = float(number)
    return [*pieces, (number, low, high)]
