"""Exact sums of g over each cluster, kept by movers alone: added where they arrive, subtracted
where they leave.

S i64 (1, K, P), or with weights (2, K, P): S[0] + 2^32 S[1]. N i64 (K,): the mass.

Limits, for n < 2^30 rows (MOST_PACKED_ROWS), |g| <= 2^24 and weights up to 2^31. Without weights
|S| <= n 2^24 < 2^54. With weights, a pass adds at most n low words to a cluster, and carries them
afterwards: S[0] < (n + 1) 2^32 < 2^63 and |S[1]| <= n 2^23 + n < 2^54. N <= n 2^31 < 2^61. Entries
of the sort are numbered below 2 n < 2^31.
"""

import triton
import triton.language as tl

from .doubtful import grid_values

NO_CLUSTER = tl.constexpr(1 << 30)  # above every cluster number


@triton.jit
def _add_to_sums(S, at, v, mask, plane, WEIGHTED: tl.constexpr):
    """v i64 added to the sums at these places."""
    if WEIGHTED:
        tl.atomic_add(S + at, v & 0xFFFFFFFF, mask=mask, sem="relaxed")
        tl.atomic_add(S + plane + at, v >> 32, mask=mask, sem="relaxed")
    else:
        tl.atomic_add(S + at, v, mask=mask, sem="relaxed")


@triton.jit
def add_few_movers(
    X, L, W,  # W i64 (n,), or anything where all weights are 1
    labels, mover_row, mover_old, S, N, counters, halt, plane, most,
    P: tl.constexpr, LP: tl.constexpr, BM: tl.constexpr, BP: tl.constexpr, NPROG: tl.constexpr,
    WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Fewer than `most` movers, by atomics."""
    pc = tl.arange(0, BP)
    total = tl.load(counters)
    total = tl.where((total >= most) | (tl.load(halt) != 0), 0, total)
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
    """Places of the lanes among those of their cluster, one atomic for each cluster and tile."""
    kk = tl.arange(0, KP)
    hits = ((own[:, None] == kk[None, :]) & live[:, None]).to(tl.int32)
    size = tl.sum(hits, 0)
    base = tl.atomic_add(counts + 2 * kk, size, mask=size > 0, sem="relaxed")
    return tl.sum(hits * (tl.cumsum(hits, 0) - 1 + base[None, :]), 1)


@triton.jit
def rank_movers(labels, mover_row, mover_old, ranks, counts, counters, halt, most, upper,
                BM: tl.constexpr, NPROG: tl.constexpr, KP: tl.constexpr):  # fmt: skip
    """Counting sort of movers, first step: each one's place among those that join (2c) or leave (2c
    + 1) a cluster.

    KP > 0: a power of two above k; ranks are counted in the tile first, so that few counters are
    not fought over.
    """
    total = tl.load(counters)
    total = tl.where((total < most) | (total >= upper) | (tl.load(halt) != 0), 0, total)
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
    """Where the arrivals (2c) and departures (2c + 1) of each cluster start; counters[4]: all
    entries.
    """
    n_entries = 0
    for first in range(0, k, B):
        c = first + tl.arange(0, B)
        came = tl.load(counts + 2 * c, mask=c < k, other=0)
        went = tl.load(counts + 2 * c + 1, mask=c < k, other=0)
        start = n_entries + tl.cumsum(came + went, 0) - came - went
        tl.store(offsets + 2 * c, start, mask=c < k)
        tl.store(offsets + 2 * c + 1, start + came, mask=c < k)
        tl.store(counts + 2 * c, tl.zeros([B], tl.int32), mask=c < k)
        tl.store(counts + 2 * c + 1, tl.zeros([B], tl.int32), mask=c < k)
        n_entries += tl.sum(came + went, 0)
    tl.store(counters + 4, n_entries)


@triton.jit
def sort_movers(labels, mover_row, mover_old, ranks, offsets, entry_row, entry_own, counters,
    halt, most, upper,
                BM: tl.constexpr, NPROG: tl.constexpr):  # fmt: skip
    """Entries in the order of their clusters: 2 row, + 1 if it leaves."""
    total = tl.load(counters)
    total = tl.where((total < most) | (total >= upper) | (tl.load(halt) != 0), 0, total)
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
    """A run of one cluster inside BR <= 32 entries adds up in registers (|g| <= 2^24, w <= 2^31),
    then by an atomic.
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
    mean,  # i32 (P,) 0 in columns that are no cosine or sine
    labels, mover_row, mover_old, S, N, counters, halt, k, least,
    KP: tl.constexpr, P: tl.constexpr, LP: tl.constexpr, BP: tl.constexpr, BM: tl.constexpr,
    LEAST: tl.constexpr,
    NPROG: tl.constexpr,
):  # fmt: skip
    """Signed one-hot' x limbs g + mean = 2^12 a + b, |a|, |b| <= 2^11 exact in fp16; 2^12 movers:
    sums < 2^24.

    Nothing is done for fewer than `least` movers.
    """
    col, kk = tl.arange(0, BP), tl.arange(0, KP)
    middle = tl.load(mean + col, mask=col < P, other=0)
    total = tl.load(counters)
    total = tl.where((total < least) | (tl.load(halt) != 0), 0, total)
    # movers of a program
    size = tl.minimum(tl.maximum(tl.cdiv(tl.cdiv(total, NPROG), LEAST) * LEAST, LEAST), 4096)
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
