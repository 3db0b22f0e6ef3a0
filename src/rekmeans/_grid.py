"""The grid of the mapped rows and exact sums on it.

cos(pi t) and sin(pi t) are correctly rounded to multiples of 2^-23.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]

BITS = 23  # a grid value and the difference of two grid values are exact in float32
GRID = 1 << BITS
# A value this close to a tie is rounded in integers, in grid units. The error of float64 cos and
# sin of |x| <= pi/4 is below 2^-26 grid units.
DOUBT = 2.0**-24
PLACES = 160  # binary places of the integer arithmetic for values close to a tie
PI = (
    31415926535897932384626433832795028841971693993751058209749445923078164
    * (1 << PLACES)
    // 10**70
)
# A block sum below 2^ROOM stays a 64-bit integer: a million of these add up without overflow.
ROOM = 43
TURN = 1 << 16  # phases are averaged exactly, on a grid of 1/TURN half-turns
LIMB = 16  # bits of V multiplied at a time, so that the weighted sums of a block fit into 64 bits


def cospi_sinpi(t: Array) -> tuple[Array, Array]:
    """Return the grid integers nearest to 2^23 cos(pi t) and 2^23 sin(pi t), for |t| < 2."""
    quarter = np.rint(2 * t)
    r = t - quarter / 2  # exact, |r| <= 1/4
    c = _round_to_grid(np.cos(np.pi * r), r, cosine=True)
    s = _round_to_grid(np.sin(np.pi * r), r, cosine=False)
    turn = quarter.astype(np.int8) & 3
    odd = (turn & 1) == 1
    left = (turn == 1) | (turn == 2)
    below = turn >= 2
    cos = np.where(odd, s, c)
    sin = np.where(odd, c, s)
    return np.where(left, -cos, cos), np.where(below, -sin, sin)


def _round_to_grid(value: Array, r: Array, *, cosine: bool) -> Array:
    """Return the nearest grid integers.

    The few values close to a tie are rounded with `PLACES` binary places.
    """
    scaled = value * GRID
    near = np.rint(scaled)
    doubtful = np.flatnonzero(np.abs(scaled - near).ravel() > 0.5 - DOUBT)
    out = near.astype(np.int32)
    for i in doubtful:
        out.flat[i] = round_correctly(float(r.flat[i]), cosine=cosine)
    return out


def round_correctly(r: float, *, cosine: bool) -> int:
    """Return 2^23 cos(pi r) or 2^23 sin(pi r), rounded to nearest, for |r| <= 1/4.

    The Taylor series is summed in integers.
    """
    numerator, denominator = r.as_integer_ratio()
    angle = (PI * numerator) // denominator
    term, total, order = ((1 << PLACES), 0, 0) if cosine else (angle, 0, 1)
    while term:
        total += term
        term = -(((term * angle) >> PLACES) * angle >> PLACES) // ((order + 1) * (order + 2))
        order += 2
        if abs(term) <= 1:  # floor division never reaches zero from below
            break
    shift = PLACES - BITS
    return (total + (1 << (shift - 1))) >> shift


def product(W: Any, V: Array) -> Array:
    """Return W' V, (k, m), which is exact if both are integers.

    The integers have 64 bits if these suffice; otherwise they are Python integers.
    """
    if W.dtype.kind == "f" or V.dtype.kind == "f":
        return np.asarray(W.T @ V)
    if V.dtype != object and int(np.abs(V).max(initial=0)) * int(W.sum()) < 1 << ROOM:
        return np.asarray(W.T @ V.astype(np.int64))
    if W.shape[0] > 1 and int(W.sum()) >= 1 << (63 - LIMB):
        half = W.shape[0] // 2
        return product(W[:half], V[:half]) + product(W[half:], V[half:])
    bits = max(int(V.max(initial=0)), -int(V.min(initial=0))).bit_length() + 1
    shifts = range(0, bits, LIMB)
    limbs = [
        (V >> shift if shift == shifts[-1] else V >> shift & ((1 << LIMB) - 1)) for shift in shifts
    ]
    parts = (np.asarray(W.T @ limb.astype(np.int64)).astype(object) for limb in limbs)
    return reduce(add, (part << shift for part, shift in zip(parts, shifts, strict=True)))


def widen(values: Array) -> Array:
    """Return 64-bit integers as Python integers if a sum of a million such arrays may overflow."""
    if values.dtype.kind != "i":
        return values
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    return values.astype(object) if largest >> ROOM else values


def add_phase_sums(pairs: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the phase sums of all blocks; the order of the blocks does not matter."""
    wide = ((widen(turns), widen(masses)) for turns, masses in pairs)
    return reduce(lambda one, two: (one[0] + two[0], one[1] + two[1]), wide)


def weighted_total(w: Array, values: Array) -> int | float:
    """Return the sum of w * values (n,), which is exact if both are integers."""
    if w.dtype.kind == "f" or values.dtype.kind == "f":
        return float(w @ values)
    return int(product(w[:, None], values[:, None])[0, 0])


def inner(W: Any, V: Array) -> int | float:
    """Return the sum of W * V over all entries (n, k), which is exact if both are integers.

    W is dense, or sparse with one entry per row.
    """
    if sparse.issparse(W):
        return weighted_total(W.data, V[np.arange(len(V)), W.indices])
    return float(np.vdot(W, V.astype(np.float64)))


def mass_of(W: Any) -> Array:
    """Return the column sums (k,) of dense or sparse weights (n, k), exact for integers."""
    ones = np.ones((W.shape[0], 1), np.int64 if W.dtype.kind == "i" else np.float64)
    return product(W, ones)[:, 0]


def integer_weights(weights: Array, largest: float | None = None) -> tuple[Array, int]:
    """Return the weights times 2^b, rounded, and b; the largest is in (2^30, 2^31].

    Integer weights stay exact. `largest` is the largest weight of all rows, if these are the
    weights of some rows only.
    """
    b = integer_weight_bits(float(weights.max()) if largest is None else largest)
    return np.rint(np.ldexp(weights, b)).astype(np.int64), b


def integer_weight_bits(largest: float) -> int:
    """Return b such that the largest weight times 2^b is in (2^30, 2^31]."""
    mantissa, exponent = math.frexp(largest)
    return 31 - exponent + (mantissa == 0.5)


def small_weights(weights: Array, largest: float | None = None) -> tuple[Array, int]:
    """Return the exact weights times 2^b, and b; the largest is in [1/2, 1).

    Sums of these weights cannot overflow.
    """
    b = small_weight_bits(float(weights.max()) if largest is None else largest)
    return np.ldexp(weights, b), b


def small_weight_bits(largest: float) -> int:
    """Return b such that the largest weight times 2^b is in [1/2, 1)."""
    return -math.frexp(largest)[1]


def mean_turns(turns: Array, observed: Array) -> Array:
    """Return mean phases in half-turns from their sums on the TURN grid, 0 without observations."""
    count = observed.astype(np.float64)
    return np.where(
        count > 0, turns.astype(np.float64) / np.where(count > 0, count, 1.0) / TURN, 0.0
    )


def complex_centroids(C: Array) -> Array:
    """Return grid centroids [cos | sin] as complex numbers, (k, d)."""
    d = C.shape[1] // 2
    return (C[:, :d] + 1j * C[:, d:]) / GRID


def grid_centroids(centroids: Array) -> Array:
    """Return complex centroids in grid integers, (k, 2d): the exact inverse of the above."""
    return np.concatenate(
        [np.rint(part * GRID) for part in (centroids.real, centroids.imag)], axis=1
    ).astype(np.int32)
