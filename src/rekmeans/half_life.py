"""Exponentially decaying sums in integer arithmetic.

The weight of a row halves whenever the rows after it add up to one half-life of weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ._grid import Array, integer_weight_bits

# the weights of the first block have this many fewer bits than in a fit, to leave room for ticks
UNIT_BITS = 12
# limit of later weights as a multiple of the largest one in the first block, so that the sums of
# 2^26 rows fit into 64 bits
HEADROOM = 64
TICKS = 32  # steps per half-life; the weight of a row changes by 2.2 % per step
TICK_BITS = 11  # the weight at the first tick is 2^11
FRACTION_BITS = 32  # extra bits of integer sums, so that repeated halving does not lose precision
# halving changes a sum by less than 1; below this sum, the error exceeds the grid of 2^-23
LEAST_EXACT = 1 << 24
LEAST_REAL = 2.0**-990  # below this weight, halving makes floats subnormal, which loses digits
MAX_UNITS = 1 << 50  # longest half-life whose weights can be summed in 64 bits
INT64_BITS = 63
MAX_WEIGHT_BITS = 1200  # float64 numbers span 2^-1074 to 2^1024
# maximum number of half-lives in the weight of one row: the rows before it no longer matter, and
# each halving costs a pass
MAX_HALVINGS = 64
REAL_UNIT = 2.0**-32  # scale of the weights in floating-point sums


def _tick_weights() -> Array:
    """Return 2^(11 + t/32) for each tick t, rounded, and a final 0.

    The values are integer roots of powers of two, so they are the same on every machine.
    """
    weights = []
    for tick in range(TICKS):
        twice = 1 << ((TICK_BITS + 1) * TICKS + tick)
        for _ in range(TICKS.bit_length() - 1):
            twice = math.isqrt(twice)
        weights.append((twice + 1) // 2)
    return np.array([*weights, 0], np.int64)


TICK_WEIGHTS = _tick_weights()
TICK_SUMS = np.concatenate([[0], np.cumsum(TICK_WEIGHTS[:-1])])  # total weight of the earlier ticks


class Piece(NamedTuple):
    """The rows of a block between two halvings, and their integer weights."""

    rows: slice
    weights: Array  # (m,)


@dataclass(frozen=True)
class Clock:
    """The weight since the last halving, in units of 2^-weight_bits, and the number of halvings.

    A row of weight w covers the interval from p to p + w. Its weight in the sums is the integral of
    2^(11 + tick/32) over this interval. So a row of weight 2 equals the same row twice, and the
    result does not depend on the block boundaries.
    """

    weight_bits: int
    half_life: int | None  # units; None: the sums do not decay
    position: int = 0  # units since the last halving
    n_halvings: int = 0

    def check_record(self) -> None:
        """Raise ValueError for a clock that no stream can have."""
        if not -MAX_WEIGHT_BITS <= self.weight_bits <= MAX_WEIGHT_BITS:
            raise ValueError(f"weight_bits must be at most {MAX_WEIGHT_BITS} in magnitude")
        if not 0 <= self.n_halvings < MAX_UNITS:
            raise ValueError(f"n_halvings must be between 0 and 2^50, got {self.n_halvings}")
        if self.position < 0:
            raise ValueError(f"position must not be negative, got {self.position}")
        if self.half_life is None:
            return
        if not 0 < self.half_life <= MAX_UNITS or self.half_life % TICKS:
            raise ValueError(f"half_life must be a multiple of {TICKS}, got {self.half_life}")
        if self.position >= self.half_life:
            raise ValueError(f"position must be below the half-life, got {self.position}")

    @classmethod
    def begin(cls, half_life: float | None, weights: Array | None) -> Clock:
        """Return the clock of a stream whose first block has these weights."""
        largest = 1.0 if weights is None else float(weights.max())
        bits = integer_weight_bits(largest) - UNIT_BITS
        return cls(bits, None).with_half_life(half_life)

    def with_half_life(self, half_life: float | None) -> Clock:
        """Return the clock with this half-life, rounded to a multiple of the ticks."""
        if half_life is None:
            return replace(self, half_life=None)
        ticks = max(1.0, float(np.rint(self._to_units(half_life) / TICKS)))
        if ticks * TICKS > MAX_UNITS:
            raise ValueError(
                f"half_life={half_life:g} is too large for the weights of the stream. Use None."
            )
        units = int(ticks) * TICKS
        return self if units == self.half_life else replace(self, half_life=units, position=0)

    def units(self, weights: Array | None, n: int) -> Array:
        """Return the weights of the n rows of a block in units, (n,) integers."""
        if weights is None and self.weight_bits < INT64_BITS:
            return np.full(n, round(math.ldexp(1.0, self.weight_bits)), np.int64)
        weights = np.ones(n) if weights is None else weights
        scaled = np.rint(self._to_units(weights))
        largest = math.ldexp(HEADROOM, 31 - UNIT_BITS)
        if scaled.max() > largest:
            most = math.ldexp(largest, -self.weight_bits)
            raise ValueError(
                f"sample_weight must be at most {most:g} in this stream ({HEADROOM} times the "
                f"largest weight of its first block), got {weights.max():g}. Start a new stream."
            )
        units = scaled.astype(np.int64)
        if ((units == 0) & (weights > 0)).any():
            raise ValueError(
                f"sample_weight must be 0 or at least {math.ldexp(0.5, -self.weight_bits):g} in "
                f"this stream, because of the weights in its first block, got "
                f"{weights[weights > 0].min():g}. Set it to 0."
            )
        return units

    def _to_units(self, weights: Any) -> Any:
        """Return the weights in units, or infinity if they overflow."""
        with np.errstate(over="ignore"):
            return np.ldexp(weights, self.weight_bits)

    def reject_heavy_rows(self, units: Array, half_life: float | None) -> None:
        """Raise ValueError if a row is so heavy that all other rows would have no effect."""
        largest = int(units.max(initial=0))
        if self.half_life is None or largest <= MAX_HALVINGS * self.half_life:
            return
        least = math.ldexp(largest / MAX_HALVINGS, -self.weight_bits)
        raise ValueError(
            f"half_life={half_life:g} must be at least 1/{MAX_HALVINGS} of the weight of each "
            f"row (here {least:g}). Increase half_life or decrease the weights."
        )

    def pieces(self, units: Array) -> Iterator[Piece]:
        """Split a block at its halvings into one more piece than there are halvings.

        A row may be in several pieces.
        """
        if self.half_life is None:
            yield Piece(slice(0, len(units)), units)
            return
        ends = self.position + np.cumsum(units)
        starts = ends - units
        for number in range(int(ends[-1]) // self.half_life + 1):
            low = number * self.half_life
            high = (number + 1) * self.half_life
            rows = slice(
                int(np.searchsorted(ends, low, "right")), int(np.searchsorted(starts, high, "left"))
            )
            from_low, to_high = (
                np.clip(at[rows] - low, 0, self.half_life) for at in (starts, ends)
            )
            yield Piece(rows, self._weight_up_to(to_high) - self._weight_up_to(from_low))

    def _weight_up_to(self, units: Array) -> Array:
        """Return the integral of the weight over the first units after a halving."""
        tick = (self.half_life or TICKS) // TICKS
        number = units // tick
        return TICK_SUMS[number] * tick + (units - number * tick) * TICK_WEIGHTS[number]

    def epochs(self, units: Array) -> Array:
        """Return the number of halvings before each row of a block, (n,)."""
        if self.half_life is None:
            return np.zeros(len(units), np.int64)
        return self.n_halvings + (self.position + np.cumsum(units) - units) // self.half_life

    def advance(self, units: Array) -> Clock:
        """Return the clock after a block."""
        position = self.position + int(units.sum())
        if self.half_life is None:
            return replace(self, position=position)
        more, position = divmod(position, self.half_life)
        return replace(self, position=position, n_halvings=self.n_halvings + more)


def weighed_sums(sums: Any, weight: int = 1) -> Any:
    """Return the sums times a weight, as integers of any length or floats."""
    exact = weight << FRACTION_BITS
    real = weight * REAL_UNIT
    return sums.map_values(
        lambda values: _python_integers(values) * exact if _is_exact(values) else values * real
    )


def halved_sums(sums: Any) -> Any:
    """Return half of the sums, rounded towards zero.

    The sums of a cluster without mass become zero, so its centroid does not move.
    """
    half = sums.map_values(
        lambda values: (values + (values < 0)) >> 1 if _is_exact(values) else values * 0.5
    )
    has_mass = half.mass > 0
    return half if has_mass.all() else half.map_values(lambda values: _where_rows(has_mass, values))


def without_faded(sums: Any) -> Any:
    """Drop coordinates whose sums are so small that rounding would move the centroids."""
    return sums.drop_faded(LEAST_EXACT if _is_exact(sums.mass) else LEAST_REAL)


def _where_rows(some: Array, values: Any) -> Any:
    """Return a copy with 0 in the rows where `some` is false. A number is returned unchanged."""
    return (values.T * some).T if np.ndim(values) else values


def _is_exact(values: Any) -> bool:
    return np.asarray(values).dtype.kind in "iO"


def _python_integers(values: Any) -> Any:
    return values.astype(object) if np.ndim(values) else int(values)
