"""arctan2 of grid integers from basic IEEE operations, with the same bits on every CPU.

The last bit of NumPy's arctan2 depends on the CPU.
"""

from __future__ import annotations

import numpy as np

from ._grid import PI, PLACES, Array

STEPS = 64  # arctan is tabulated at i/64, so the remainder of a quotient is at most 1/128
# arctan r = r - r^3 (1/3 - r^2/5 + ...); the next term is below 2^-79
SERIES = (1 / 3, -1 / 5, 1 / 7, -1 / 9, 1 / 11)
SPLITTER = 2.0**27 + 1  # Dekker's constant: it splits into halves of 26 bits with exact products

Pair = tuple[Array, Array]  # the unevaluated sum of two float64 arrays


def grid_arctan2(b: Array, a: Array) -> Array:
    """Return arctan2(b, a) in float64 for grid integers up to 2^24.

    All but about 1 in 10^4 results are correctly rounded.
    """
    x, y = np.abs(a), np.abs(b)
    low, high = np.minimum(x, y), np.maximum(x, y)
    high = np.where(high > 0, high, 1.0)
    i = np.rint(low / high * STEPS)
    # both arguments are integers below 2^32, so they are exact
    rest, rest_error = _quotient(STEPS * low - i * high, STEPS * high + i * low)
    square = rest * rest
    series = np.zeros_like(rest)
    for coefficient in reversed(SERIES):
        series = series * square + coefficient
    table, table_error = TABLE[i.astype(np.intp)].T
    error = (rest_error - rest * square * series) + table_error.T
    angle: Pair | Array = _fast_sum(table.T, rest, error)
    mirrored = _fast_sum(HALF_PI[0], -angle[0], HALF_PI[1] - angle[1])
    angle = np.where(y > x, mirrored, angle)
    mirrored = _fast_sum(HALF_PI[0] * 2, -angle[0], HALF_PI[1] * 2 - angle[1])
    angle = np.where(a < 0, mirrored, angle)
    return np.copysign(angle[0] + angle[1], b)


def _quotient(n: Array, d: Array) -> Pair:
    """Return q = n/d and its rounding error, from the exact product q d (Dekker)."""
    q = n / d
    # the high and the low half of the digits of both factors
    q_high = SPLITTER * q - (SPLITTER * q - q)
    d_high = SPLITTER * d - (SPLITTER * d - d)
    q_low = q - q_high
    d_low = d - d_high
    product = q * d
    error = ((q_high * d_high - product) + q_high * d_low + q_low * d_high) + q_low * d_low
    return q, ((n - product) - error) / d


def _fast_sum(large: Array | float, small: Array, error: Array) -> Pair:
    """Return large + small + error as a pair, for |large| >= |small| or large = 0."""
    total = large + small
    return total, (small - (total - large)) + error


def _to_pair(value: int) -> tuple[float, float]:
    """Return value / 2^PLACES as a sum of two float64."""
    high = value / (1 << PLACES)
    numerator, denominator = high.as_integer_ratio()
    return high, (value - (numerator << PLACES) // denominator) / (1 << PLACES)


def _arctan_series(n: int, d: int) -> int:
    """Return 2^PLACES arctan(n/d) for n/d <= 1/64, by the Taylor series in integers."""
    power = (n << PLACES) // d
    total = 0
    order = 1
    while power:
        total += power // order if order % 4 == 1 else -(power // order)
        power = power * n * n // (d * d)
        order += 2
    return total


def _tabulate() -> Array:
    """Return arctan(i/64) for i = 0 ... 64 as pairs, (65, 2).

    Each value follows from the one before by arctan x - arctan y = arctan((x - y)/(1 + x y)).
    """
    values = [0]
    for i in range(1, STEPS + 1):
        values.append(values[-1] + _arctan_series(STEPS, STEPS * STEPS + i * (i - 1)))
    return np.array([_to_pair(value) for value in values])


TABLE = _tabulate()  # (65, 2)
HALF_PI = _to_pair(PI // 2)
