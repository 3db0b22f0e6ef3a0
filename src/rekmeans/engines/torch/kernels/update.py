"""The update step of a pass: exact sums of clusters, the next centroids, objective and verdict.

S i64 (1, K, P) holds the sums of g for each cluster. With weights it has two words (2, K, P), and
the sum is S[0] + 2^32 S[1]. N i64 (K,) holds the mass. Only movers, the rows whose labels changed,
affect them: a mover is added to its new cluster and subtracted from its old one.

Limits of the sums, for n < 2^30 rows (MAX_PACKED_ROWS), |g| <= 2^24 and weights up to 2^31: without
weights, |S| <= n 2^24 < 2^54. With weights, a pass adds at most n low words to a cluster before
they are carried, so S[0] < (n + 1) 2^32 < 2^63 and |S[1]| <= n 2^23 + n < 2^54. N <= n 2^31 < 2^61.
The sort has fewer than 2 n < 2^31 entries.

The objective is sum w |g|^2 + sum_c h (n h - 2 S). It is an integer, stored as digits of 16 bits:
digit i has weight 2^(16 i), and the last digit is signed.

Limits of the objective, for a mass N < 2^61, |h| <= 2^24 and 2 D < 2^15 columns: a term is below
3 N 2^48, and the sum over columns and clusters is below 3 * 2^124, so the last digit, in units of
2^80, is below 3 * 2^44. The high words of sums stay below 2^54, as _wide_to_float requires, and
below 2^52 for the sums of f.
"""

import triton
import triton.language as tl

from ..error_bound import SMALLEST_ERROR
from .assignment import GRID_STEPS, grid_values

MIN_ERROR = tl.constexpr(SMALLEST_ERROR)

NO_CLUSTER = tl.constexpr(1 << 30)  # larger than every cluster number
# 1.5 * 2^52: adding and subtracting it rounds to integers, ties to even
ROUNDER = tl.constexpr(6755399441055744.0)
DIGITS = tl.constexpr(6)
# verdicts on a pass
FALLS = tl.constexpr(0)  # the objective falls
STALLS = tl.constexpr(1)  # the objective does not fall
RELOCATES = tl.constexpr(2)  # a cluster is empty
REPEATS = tl.constexpr(3)  # the centroids repeat


@triton.jit
def _add_to_sums(S, at, v, mask, plane, WEIGHTED: tl.constexpr):
    """Add v i64 to the sums at these offsets."""
    if WEIGHTED:
        tl.atomic_add(S + at, v & 0xFFFFFFFF, mask=mask, sem="relaxed")
        tl.atomic_add(S + plane + at, v >> 32, mask=mask, sem="relaxed")
    else:
        tl.atomic_add(S + at, v, mask=mask, sem="relaxed")


@triton.jit
def add_few_movers(
    X, L, W,  # W i64 (n,), not read if all weights are 1
    labels, mover_row, mover_old, S, N, counters, halt, plane, upper,
    P: tl.constexpr, LP: tl.constexpr, BM: tl.constexpr, BP: tl.constexpr, NPROG: tl.constexpr,
    WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Add the movers with atomics, if there are fewer than `upper`."""
    pc = tl.arange(0, BP)
    total = tl.load(counters)
    total = tl.where((total >= upper) | (tl.load(halt) != 0), 0, total)
    for t in range(tl.program_id(0), tl.cdiv(total, BM), NPROG):
        at = t * BM + tl.arange(0, BM)
        live = at < total
        r = tl.load(mover_row + at, mask=live, other=0).to(tl.int64)
        old = tl.load(mover_old + at, mask=live, other=-1).to(tl.int64)
        new = tl.load(labels + r, mask=live, other=0).to(tl.int64)
        had = live & (old >= 0)
        w = tl.full([BM], 1, tl.int64)
        if WEIGHTED:
            w = tl.load(W + r, mask=live, other=0)
        tl.atomic_add(N + new, w, mask=live, sem="relaxed")
        tl.atomic_add(N + old, -w, mask=had, sem="relaxed")
        for pt in range(0, P, BP):
            col = (pt + pc)[None, :]
            inside = (col < P) & live[:, None]
            v = grid_values(X, L, r[:, None], col, inside, P, LP).to(tl.int64) * w[:, None]
            _add_to_sums(S, new[:, None] * P + col, v, inside, plane, WEIGHTED)
            _add_to_sums(S, old[:, None] * P + col, -v, inside & had[:, None], plane, WEIGHTED)


@triton.jit
def _tile_ranks(own, live, counts, KP: tl.constexpr):
    """Return the rank of each lane in its cluster, with one atomic per cluster and tile."""
    kk = tl.arange(0, KP)
    hits = ((own[:, None] == kk[None, :]) & live[:, None]).to(tl.int32)
    size = tl.sum(hits, 0)
    base = tl.atomic_add(counts + 2 * kk, size, mask=size > 0, sem="relaxed")
    return tl.sum(hits * (tl.cumsum(hits, 0) - 1 + base[None, :]), 1)


@triton.jit
def rank_movers(labels, mover_row, mover_old, ranks, counts, counters, halt, lower, upper,
                BM: tl.constexpr, NPROG: tl.constexpr, KP: tl.constexpr):  # fmt: skip
    """Find the rank of each mover among those that join (2c) or leave (2c + 1) its cluster.

    This is the first step of a counting sort. If KP > 0, it is a power of two above k, and ranks
    are counted in the tile first, so that programs do not compete for a few counters.
    """
    total = tl.load(counters)
    total = tl.where((total < lower) | (total >= upper) | (tl.load(halt) != 0), 0, total)
    for t in range(tl.program_id(0), tl.cdiv(total, BM), NPROG):
        at = t * BM + tl.arange(0, BM)
        live = at < total
        old = tl.load(mover_old + at, mask=live, other=-1).to(tl.int32)
        new = tl.load(labels + tl.load(mover_row + at, mask=live, other=0), mask=live, other=0).to(
            tl.int32
        )
        left = live & (old >= 0)
        if KP > 0:
            tl.store(ranks + 2 * at, _tile_ranks(new, live, counts, KP), mask=live)
            tl.store(ranks + 2 * at + 1, _tile_ranks(old, left, counts + 1, KP), mask=left)
        else:
            one = tl.full([BM], 1, tl.int32)
            tl.store(
                ranks + 2 * at,
                tl.atomic_add(counts + 2 * new, one, mask=live, sem="relaxed"),
                mask=live,
            )
            tl.store(
                ranks + 2 * at + 1,
                tl.atomic_add(counts + 2 * old + 1, one, mask=left, sem="relaxed"),
                mask=left,
            )


@triton.jit
def place_clusters(counts, offsets, counters, k, B: tl.constexpr):
    """Compute the offsets of the arrivals (2c) and departures (2c + 1) of each cluster.

    counters[4] is set to the number of all entries.
    """
    n_entries = 0
    for first in range(0, k, B):
        c = first + tl.arange(0, B)
        arrivals = tl.load(counts + 2 * c, mask=c < k, other=0)
        departures = tl.load(counts + 2 * c + 1, mask=c < k, other=0)
        start = n_entries + tl.cumsum(arrivals + departures, 0) - arrivals - departures
        tl.store(offsets + 2 * c, start, mask=c < k)
        tl.store(offsets + 2 * c + 1, start + arrivals, mask=c < k)
        tl.store(counts + 2 * c, tl.zeros([B], tl.int32), mask=c < k)
        tl.store(counts + 2 * c + 1, tl.zeros([B], tl.int32), mask=c < k)
        n_entries += tl.sum(arrivals + departures, 0)
    tl.store(counters + 4, n_entries)


@triton.jit
def sort_movers(labels, mover_row, mover_old, ranks, offsets, entry_row, entry_own, counters,
    halt, lower, upper,
                BM: tl.constexpr, NPROG: tl.constexpr):  # fmt: skip
    """Write the entries sorted by cluster: 2 row for an arrival, 2 row + 1 for a departure."""
    total = tl.load(counters)
    total = tl.where((total < lower) | (total >= upper) | (tl.load(halt) != 0), 0, total)
    for t in range(tl.program_id(0), tl.cdiv(total, BM), NPROG):
        at = t * BM + tl.arange(0, BM)
        live = at < total
        r = tl.load(mover_row + at, mask=live, other=0).to(tl.int64)
        old = tl.load(mover_old + at, mask=live, other=-1).to(tl.int32)
        new = tl.load(labels + r, mask=live, other=0).to(tl.int32)
        to = tl.load(offsets + 2 * new, mask=live, other=0) + tl.load(
            ranks + 2 * at, mask=live, other=0
        )
        tl.store(entry_row + to, 2 * r, mask=live)
        tl.store(entry_own + to, new, mask=live)
        left = live & (old >= 0)
        to = tl.load(offsets + 2 * old + 1, mask=left, other=0) + tl.load(
            ranks + 2 * at + 1, mask=left, other=0
        )
        tl.store(entry_row + to, 2 * r + 1, mask=left)
        tl.store(entry_own + to, old, mask=left)


@triton.jit
def add_sorted_movers(
    X, L, W, entry_row, entry_own, S, N, counters, halt, plane,
    P: tl.constexpr, LP: tl.constexpr, BR: tl.constexpr, BP: tl.constexpr, NPROG: tl.constexpr,
    WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Add each run of entries of one cluster in registers, and add the result with an atomic.

    A tile has BR <= 32 entries, so a sum is at most 32 |g| w <= 2^60, with |g| <= 2^24, w <= 2^31.
    """
    wide: tl.constexpr = (P + BP - 1) // BP
    total = tl.where(tl.load(halt) == 0, tl.load(counters + 4), 0)
    for task in range(tl.program_id(0), tl.cast(tl.cdiv(total, BR), tl.int64) * wide, NPROG):
        col = tl.cast(task % wide, tl.int32) * BP + tl.arange(0, BP)
        at = tl.cast(task // wide, tl.int32) * BR + tl.arange(0, BR)
        live = at < total
        e = tl.load(entry_row + at, mask=live, other=0)
        own = tl.load(entry_own + at, mask=live, other=NO_CLUSTER)
        r = e >> 1
        w = tl.where((e & 1) == 1, -1, 1)
        if WEIGHTED:
            w = w * tl.load(W + r, mask=live, other=0)
        inside = live[:, None] & (col < P)[None, :]
        g = grid_values(X, L, r[:, None], col[None, :], inside, P, LP)
        v = g.to(w.dtype) * w[:, None]
        c = tl.min(own, 0)
        while c < NO_CLUSTER:
            here = own == c
            _add_to_sums(S, c.to(tl.int64) * P + col, tl.sum(tl.where(here[:, None], v, 0),
                0).to(tl.int64), col < P,
                         plane, WEIGHTED)  # fmt: skip
            if task % wide == 0:
                tl.atomic_add(N + c, tl.sum(tl.where(here, w, 0), 0).to(tl.int64), sem="relaxed")
            c = tl.min(tl.where(own > c, own, NO_CLUSTER), 0)


@triton.jit
def add_movers_of_few_clusters(
    X, L,
    mean,  # i32 (P,) 0 in columns other than cosines and sines
    labels, mover_row, mover_old, S, N, counters, halt, k, lower,
    KP: tl.constexpr, P: tl.constexpr, LP: tl.constexpr, BP: tl.constexpr, BM: tl.constexpr,
    MIN_MOVERS: tl.constexpr,
    NPROG: tl.constexpr,
):  # fmt: skip
    """Add the movers by products of a signed one-hot matrix and limbs, if at least `lower` exist.

    The limbs a and b of g + mean = 2^12 a + b satisfy |a|, |b| <= 2^11 and are exact in fp16. A
    program adds at most 2^12 movers, so its sums stay below 2^24.
    """
    col, kk = tl.arange(0, BP), tl.arange(0, KP)
    middle = tl.load(mean + col, mask=col < P, other=0)
    total = tl.load(counters)
    total = tl.where((total < lower) | (tl.load(halt) != 0), 0, total)
    # number of movers for each program
    size = tl.minimum(
        tl.maximum(tl.cdiv(tl.cdiv(total, NPROG), MIN_MOVERS) * MIN_MOVERS, MIN_MOVERS), 4096
    )
    for span in range(tl.program_id(0), tl.cdiv(total, size), NPROG):
        high = tl.zeros([KP, BP], tl.float32)
        low = tl.zeros([KP, BP], tl.float32)
        count = tl.zeros([KP], tl.int32)
        for t in range(0, size, BM):
            at = span * size + t + tl.arange(0, BM)
            live = at < total
            r = tl.load(mover_row + at, mask=live, other=0).to(tl.int64)
            old = tl.load(mover_old + at, mask=live, other=-1).to(tl.int32)
            new = tl.load(labels + r, mask=live, other=-1).to(tl.int32)
            inside = live[:, None] & (col < P)[None, :]
            f = grid_values(X, L, r[:, None], col[None, :], inside, P, LP) + middle[None, :]
            b = ((f + 2048) & 4095) - 2048
            a = (f - b) >> 12
            sign = (kk[:, None] == new[None, :]).to(tl.int32) - (kk[:, None] == old[None, :]).to(
                tl.int32
            )
            count += tl.sum(sign, 1)
            high = tl.dot(sign.to(tl.float16), a.to(tl.float16), high)
            low = tl.dot(sign.to(tl.float16), b.to(tl.float16), low)
        v = (
            (high.to(tl.int64) << 12)
            + low.to(tl.int64)
            - count.to(tl.int64)[:, None] * middle[None, :]
        )
        inside = (kk < k)[:, None] & (col < P)[None, :] & (v != 0)
        tl.atomic_add(S + kk[:, None] * P + col[None, :], v, mask=inside, sem="relaxed")
        tl.atomic_add(N + kk, count.to(tl.int64), mask=kk < k, sem="relaxed")


@triton.jit
def _wide_to_float(high, low):
    """Return 2^32 high + low, with 0 <= low < 2^32 and |high| < 2^54, correctly rounded to float64.

    The value is first rounded to odd, to at least 55 bits.
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
    """Return the sum of f = g + mean over the observed rows of a cluster, as float64.

    Also return the low and the high word of the sum of g.
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
    """Return h (n h - 2 S) as six digits that are not carried.

    Each digit is h times 16 bits of n h - 2 S, with |h| <= 2^24. The last digit is signed.
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
    """Carry and store the digits, so that their sums over the clusters fit into 64 bits."""
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
    after,  # i32 (K, P) the next centroids: computed here, or given
    C, bias,
    stats,  # f32 (4, K): |h|, |h - fp16 h|, drift, error of the gap columns; all rounded up
    cum,  # f64 (K,) accumulated drift
    differs,  # i32 (K,)
    digits,  # i64 (K, DIGITS)
    halt, plane, K,
    D: tl.constexpr, P: tl.constexpr, BD: tl.constexpr,
    GIVEN: tl.constexpr, RECTIFIED: tl.constexpr, MISSING: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Move each centroid to S/n or S/|S| on the grid; store its loss and data for the next pass."""
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
                if MISSING:  # the sums of gap columns are in units of 2^23
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
        up = 1.0000002  # covers the rounding to float32; the errors of float64 sums are far smaller
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


@triton.jit
def _column_sum(digits, c, mask, i: tl.constexpr):
    return tl.sum(tl.load(digits + c.to(tl.int64) * DIGITS + i, mask=mask, other=0), 0)


@triton.jit
def check_convergence(
    stats, cum,
    cum_max,  # f64 (1,) accumulated largest drift of each pass
    cum_low, cum_high, differs, digits,
    last,  # i64 (DIGITS,) objective of the previous pass, carried
    N, AB, counters, log, progress, halt, k, K, rho, kappa,
    BK: tl.constexpr, LOG: tl.constexpr, GIVEN: tl.constexpr, MISSING: tl.constexpr,
):  # fmt: skip
    """Store the error bound and the accumulated drift for the next pass, and the log of this pass.

    log i64 (passes, LOG) has n_changed, verdict, n_empty and the digits of the objective.
    progress i32 (1,) is the number of passes so far. A verdict other than FALLS halts all later
    kernels.
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
        tl.store(AB + 1, (kappa * half_square + gap_error) * up + MIN_ERROR)
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
