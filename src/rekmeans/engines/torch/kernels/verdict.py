"""After a pass: its record, whether the objective falls, and the bound of the next; what halts all
later kernels.
"""

import triton
import triton.language as tl

from .centroids import DIGITS

FALLS = tl.constexpr(0)  # verdicts: the objective falls,
STALLS = tl.constexpr(1)  # it does not,
RELOCATES = tl.constexpr(2)  # a cluster is empty,
REPEATS = tl.constexpr(3)  # the centroids repeat


@triton.jit
def _column_sum(digits, c, mask, i: tl.constexpr):
    return tl.sum(tl.load(digits + c.to(tl.int64) * DIGITS + i, mask=mask, other=0), 0)


@triton.jit
def check_convergence(
    stats, cum,
    cum_max,  # f64 (1,) largest drift of each pass, summed
    cum_low, cum_high, differs, digits,
    last,  # i64 (DIGITS,) objective of the pass before, carried
    N, AB, counters, log, progress, halt, k, K, rho, kappa,
    BK: tl.constexpr, LOG: tl.constexpr, GIVEN: tl.constexpr, MISSING: tl.constexpr,
):  # fmt: skip
    """Bound and summed drift for the next pass; and, after a pass, its record and the verdict.

    log i64 (passes, LOG): n_changed, verdict, n_empty, then the digits; progress i32 (1,): passes
    so far.
    """
    if tl.load(halt) == 0:
        H = 0.0
        error = 0.0
        drift = 0.0
        gap_error = 0.0
        n_differ = 0
        n_empty = 0
        d0 = tl.sum(tl.zeros([1], tl.int64), 0)
        d1 = d0
        d2 = d0
        d3 = d0
        d4 = d0
        d5 = d0
        for start in range(0, k, BK):
            c = start + tl.arange(0, BK)
            mask = c < k
            H = tl.maximum(H, tl.max(tl.load(stats + c, mask=mask, other=0.0), 0))
            error = tl.maximum(error, tl.max(tl.load(stats + K + c, mask=mask, other=0.0), 0))
            drift = tl.maximum(
                drift,
                tl.max(tl.load(stats + 2 * tl.cast(K, tl.int64) + c, mask=mask, other=0.0), 0),
            )
            gap_errors = tl.load(stats + 3 * tl.cast(K, tl.int64) + c, mask=mask, other=0.0)
            gap_error = tl.maximum(gap_error, tl.max(gap_errors, 0))
            n_differ += tl.sum(tl.load(differs + c, mask=mask, other=0), 0)
            n_empty += tl.sum((tl.load(N + c, mask=mask, other=1) == 0).to(tl.int32), 0)
            if GIVEN == 0:
                d0 += _column_sum(digits, c, mask, 0)
                d1 += _column_sum(digits, c, mask, 1)
                d2 += _column_sum(digits, c, mask, 2)
                d3 += _column_sum(digits, c, mask, 3)
                d4 += _column_sum(digits, c, mask, 4)
                d5 += _column_sum(digits, c, mask, 5)
        magnitude = H + error
        half_square = 0.5 * H * H
        if MISSING:
            half_square = H * H + gap_error
        up = 1.000002
        tl.store(AB, (rho * H + (1.0 + rho) * (error + kappa * magnitude)) * up)
        tl.store(AB + 1, (kappa * half_square + gap_error) * up)
        summed = tl.load(cum_max) + drift.to(tl.float64) * (1.0 + 1e-9)
        tl.store(cum_max, summed)
        for start in range(0, k, BK):
            c = start + tl.arange(0, BK)
            mask = c < k
            both = tl.load(cum + c, mask=mask, other=0.0) + summed
            tl.store(cum_low + c, (both * (1.0 - 2.0**-22)).to(tl.float32), mask=mask)
            tl.store(cum_high + c, (both * (1.0 + 2.0**-22)).to(tl.float32), mask=mask)
        if GIVEN == 0:
            d1 += d0 >> 16
            d2 += d1 >> 16
            d3 += d2 >> 16
            d4 += d3 >> 16
            d5 += d4 >> 16
            d0 = d0 & 0xFFFF
            d1 = d1 & 0xFFFF
            d2 = d2 & 0xFFFF
            d3 = d3 & 0xFFFF
            d4 = d4 & 0xFFFF
            top = (d5 << 16) + d4
            middle = (d3 << 32) + (d2 << 16) + d1
            was_top = (tl.load(last + 5) << 16) + tl.load(last + 4)
            was_middle = (tl.load(last + 3) << 32) + (tl.load(last + 2) << 16) + tl.load(last + 1)
            falls_below = (middle < was_middle) | ((middle == was_middle) & (d0 < tl.load(last)))
            falls = (top < was_top) | ((top == was_top) & falls_below)
            number = tl.load(progress)
            verdict = tl.where(n_empty > 0, RELOCATES, tl.where(n_differ == 0, REPEATS, FALLS))
            verdict = tl.where(falls, verdict, STALLS)
            row = log + number * LOG
            tl.store(row, tl.load(counters).to(tl.int64))
            tl.store(row + 1, verdict.to(tl.int64))
            tl.store(row + 2, n_empty.to(tl.int64))
            tl.store(row + 3, d0)
            tl.store(row + 4, d1)
            tl.store(row + 5, d2)
            tl.store(row + 6, d3)
            tl.store(row + 7, d4)
            tl.store(row + 8, d5)
            tl.store(last, d0)
            tl.store(last + 1, d1)
            tl.store(last + 2, d2)
            tl.store(last + 3, d3)
            tl.store(last + 4, d4)
            tl.store(last + 5, d5)
            tl.store(progress, number + 1)
            tl.store(halt, (verdict != FALLS).to(tl.int32))
        tl.store(counters + tl.arange(0, 8), tl.zeros([8], tl.int32))
