"""The next centroids where the sums are, what a pass needs of them, and the exact objective.

It is sum w |g|^2 + sum_c h (n h - 2 S), integers as digits of 16 bits: digit i counts 2^(16 i), the
last is signed.

Limits, for a mass N < 2^61 (fewer than 2^30 rows), |h| <= 2^24 and 2 D < 2^15 columns. A term is
below 3 N 2^48, their sum over the columns and clusters below 3 * 2^124, so the last digit, in units
of 2^80, is below 3 * 2^44. The high words of sums stay below 2^54, as _wide_to_float needs, and
below 2^52 for the sums of f.
"""

import triton
import triton.language as tl

from .doubtful import GRID_STEPS

# 1.5 * 2^52: added and subtracted it rounds to integers, ties to even
ROUNDER = tl.constexpr(6755399441055744.0)
DIGITS = tl.constexpr(6)


@triton.jit
def _wide_to_float(high, low):
    """2^32 high + low, 0 <= low < 2^32, |high| < 2^54, rounded once to float64: to odd first, at 55
    bits or more.
    """
    size = tl.where(high < 0, -high, high)
    value = ((high << 32) + low).to(tl.float64)
    for s in tl.static_range(8, 25, 8):
        cut = (high << (32 - s)) + (low >> s)
        odd = (cut | ((low & ((1 << s) - 1)) != 0).to(tl.int64)).to(tl.float64) * (2.0**s)
        value = tl.where(size >= (1 << (22 + s)), odd, value)
    return value


@triton.jit
def _sum_of_cells(S, at, inside, plane, mean, seen, WEIGHTED: tl.constexpr):
    """Sum of f = g + mean over the observed rows of a cluster as float64, and the sums of g as two
    words.
    """
    low = tl.load(S + at, mask=inside, other=0)
    high = tl.zeros_like(low)
    if WEIGHTED:
        high = tl.load(S + plane + at, mask=inside, other=0) + (low >> 32)
        low = low & 0xFFFFFFFF
        tl.store(S + at, low, mask=inside)
        tl.store(S + plane + at, high, mask=inside)
        total = low + mean * (seen & 0xFFFFFFFF)
        value = _wide_to_float(high + mean * (seen >> 32) + (total >> 32), total & 0xFFFFFFFF)
    else:
        value = (low + mean * seen).to(tl.float64)
    return value, low, high


@triton.jit
def _loss_digits(h, seen, low, high, WEIGHTED: tl.constexpr):
    """h (n h - 2 S) as six digits, not carried: |h| <= 2^24 times 16 bits of n h - 2 S each, the
    last signed.
    """
    none = tl.zeros_like(h)
    if WEIGHTED:
        lower = h * (seen & 0xFFFFFFFF) - 2 * low
        upper = h * (seen >> 32) - 2 * high
        p2 = ((lower >> 32) & 0xFFFF) + (upper & 0xFFFF)
        p3 = (lower >> 48) + ((upper >> 16) & 0xFFFF)
        p4 = (upper >> 32) & 0xFFFF
        p5 = upper >> 48
    else:
        lower = h * seen - 2 * low
        p2 = (lower >> 32) & 0xFFFF
        p3 = lower >> 48
        p4 = none
        p5 = none
    return (lower & 0xFFFF) * h, ((lower >> 16) & 0xFFFF) * h, p2 * h, p3 * h, p4 * h, p5 * h


@triton.jit
def _store_digits(digits, c, d0, d1, d2, d3, d4, d5):
    """Carried, so that sums over the clusters stay inside 64 bits."""
    d1 += d0 >> 16
    d2 += d1 >> 16
    d3 += d2 >> 16
    d4 += d3 >> 16
    d5 += d4 >> 16
    row = digits + c.to(tl.int64) * DIGITS
    tl.store(row, d0 & 0xFFFF)
    tl.store(row + 1, d1 & 0xFFFF)
    tl.store(row + 2, d2 & 0xFFFF)
    tl.store(row + 3, d3 & 0xFFFF)
    tl.store(row + 4, d4 & 0xFFFF)
    tl.store(row + 5, d5)


@triton.jit
def round_to_even(x):
    return (x + ROUNDER) - ROUNDER


@triton.jit
def move_centroids(
    S, N, mean,
    M,  # i32 (K, P) the centroids of this pass
    after,  # i32 (K, P) the next ones: computed, or given
    C, bias,
    stats,  # f32 (4, K): |h|, |h - fp16 h|, drift, error of the gap columns; each rounded up
    cum,  # f64 (K,) drift summed
    differs,  # i32 (K,)
    digits,  # i64 (K, DIGITS)
    halt, plane, K,
    D: tl.constexpr, P: tl.constexpr, BD: tl.constexpr,
    GIVEN: tl.constexpr, RECTIFIED: tl.constexpr, MISSING: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """The next centroid of each cluster, S/n or S/|S| on the grid, what a pass needs of it, its
    loss.
    """
    if tl.load(halt) == 0:
        c = tl.program_id(0).to(tl.int64)
        cols = tl.arange(0, BD)
        mass = tl.load(N + c)
        sum_h2 = tl.zeros([BD], tl.float64)
        sum_error2 = tl.zeros([BD], tl.float64)
        sum_step2 = tl.zeros([BD], tl.float64)
        gap_error = tl.zeros([BD], tl.float64)
        changed = tl.zeros([BD], tl.int32)
        e0 = tl.zeros([BD], tl.int64)
        e1 = tl.zeros([BD], tl.int64)
        e2 = tl.zeros([BD], tl.int64)
        e3 = tl.zeros([BD], tl.int64)
        e4 = tl.zeros([BD], tl.int64)
        e5 = tl.zeros([BD], tl.int64)
        for start in range(0, D, BD):
            column = start + cols
            inside = column < D
            at = c * P + column
            mean_a = tl.load(mean + column, mask=inside, other=0).to(tl.int64)
            mean_b = tl.load(mean + D + column, mask=inside, other=0).to(tl.int64)
            before_a = tl.load(M + at, mask=inside, other=0)
            before_b = tl.load(M + at + D, mask=inside, other=0)
            if GIVEN:
                next_a = tl.load(after + at, mask=inside, other=0)
                next_b = tl.load(after + at + D, mask=inside, other=0)
            else:
                seen = mass + tl.zeros([BD], tl.int64)
                if MISSING:  # the sums of gap columns count in units of 2^23
                    gap = tl.load(S + at + 2 * D, mask=inside, other=0)
                    if WEIGHTED:
                        gap_high = tl.load(S + plane + at + 2 * D, mask=inside, other=0)
                        seen -= (gap_high << 9) + (gap >> 23)
                    else:
                        seen -= gap >> 23
                a, low_a, high_a = _sum_of_cells(S, at, inside, plane, mean_a, seen, WEIGHTED)
                b, low_b, high_b = _sum_of_cells(S, at + D, inside, plane, mean_b, seen, WEIGHTED)
                ha = before_a - mean_a
                hb = before_b - mean_b
                a0, a1, a2, a3, a4, a5 = _loss_digits(ha, seen, low_a, high_a, WEIGHTED)
                b0, b1, b2, b3, b4, b5 = _loss_digits(hb, seen, low_b, high_b, WEIGHTED)
                e0 += a0 + b0
                e1 += a1 + b1
                e2 += a2 + b2
                e3 += a3 + b3
                e4 += a4 + b4
                e5 += a5 + b5
                if RECTIFIED:
                    r = tl.sqrt(a * a + b * b)
                    keep = r == 0.0
                    r = tl.where(keep, 1.0, r)
                    to_a = round_to_even(a / r * GRID_STEPS)
                    to_b = round_to_even(b / r * GRID_STEPS)
                else:
                    count = seen.to(tl.float64)
                    keep = count == 0.0
                    count = tl.where(keep, 1.0, count)
                    to_a = round_to_even(a / count)
                    to_b = round_to_even(b / count)
                next_a = tl.where(keep, before_a, to_a.to(tl.int32))
                next_b = tl.where(keep, before_b, to_b.to(tl.int32))
                tl.store(after + at, next_a, mask=inside)
                tl.store(after + at + D, next_b, mask=inside)
            changed += (inside & ((next_a != before_a) | (next_b != before_b))).to(tl.int32)
            h_a = (next_a - mean_a).to(tl.float64) * (1.0 / GRID_STEPS)
            h_b = (next_b - mean_b).to(tl.float64) * (1.0 / GRID_STEPS)
            short_a = h_a.to(tl.float32).to(tl.float16)
            short_b = h_b.to(tl.float32).to(tl.float16)
            tl.store(C + at, short_a, mask=inside)
            tl.store(C + at + D, short_b, mask=inside)
            square = tl.where(inside, h_a * h_a + h_b * h_b, 0.0)
            sum_h2 += square
            rest_a = h_a - short_a.to(tl.float64)
            rest_b = h_b - short_b.to(tl.float64)
            sum_error2 += tl.where(inside, rest_a * rest_a + rest_b * rest_b, 0.0)
            step_a = (next_a - before_a).to(tl.float64) * (1.0 / GRID_STEPS)
            step_b = (next_b - before_b).to(tl.float64) * (1.0 / GRID_STEPS)
            sum_step2 += tl.where(inside, step_a * step_a + step_b * step_b, 0.0)
            if MISSING:
                half = (0.5 * square).to(tl.float32).to(tl.float16)
                tl.store(C + at + 2 * D, half, mask=inside)
                gap_error += tl.abs(half.to(tl.float64) - 0.5 * square)
        up = 1.0000002  # float64 sums err far less; the rest is the rounding to float32
        length2 = tl.sum(sum_h2, 0)
        tl.store(bias + c, (0.5 * length2).to(tl.float32))
        drift = tl.sqrt(tl.sum(sum_step2, 0)) * (1.0 + 1e-9)
        tl.store(stats + c, (tl.sqrt(length2) * up).to(tl.float32))
        tl.store(stats + K + c, (tl.sqrt(tl.sum(sum_error2, 0)) * up).to(tl.float32))
        tl.store(stats + 2 * tl.cast(K, tl.int64) + c, (drift * up).to(tl.float32))
        tl.store(stats + 3 * tl.cast(K, tl.int64) + c, (tl.sum(gap_error, 0) * up).to(tl.float32))
        tl.store(cum + c, tl.load(cum + c) + drift)
        tl.store(differs + c, tl.sum(changed, 0))
        if GIVEN == 0:
            lower = tl.sum(e0, 0), tl.sum(e1, 0), tl.sum(e2, 0)
            _store_digits(
                digits, c, lower[0], lower[1], lower[2], tl.sum(e3, 0), tl.sum(e4, 0), tl.sum(e5, 0)
            )
