"""Certified assignment: t = g.h - |h|^2/2 in fp16 tensor cores, the two best of each row, and what
they prove.

g = f - mean and h = m - mean are rows and centroids centred on one grid point; error_bound.py has
the proof of the bound E = q A + B on what a score computed here may err by, q = |g|. A row is
certain if its two best are more than 2 E apart.
"""

import triton
import triton.language as tl


@triton.jit
def _merge_two_best(a1, a2, b1, b2):
    return tl.maximum(a1, b1), tl.maximum(tl.minimum(a1, b1), tl.maximum(a2, b2))


@triton.jit
def append_places(flag, counter):
    """Places of the flagged lanes in a list that grows by an atomic counter."""
    hits = flag.to(tl.int32)
    base = tl.atomic_add(counter, tl.sum(hits, 0), sem="relaxed")
    return base + tl.cumsum(hits, 0) - 1


@triton.jit
def merge_tile(acc, bias, kt, kc, b1, b2, i1, BN: tl.constexpr, BK: tl.constexpr):
    """The two best of a tile of scores (BN, BK) join the running two; the column rides in the low
    bits of a score.
    """
    s = acc - tl.load(bias + kt + kc)[None, :]
    s = ((s.to(tl.int32, bitcast=True) & (-BK)) | kc[None, :]).to(tl.float32, bitcast=True)
    left, right = tl.split(tl.reshape(s, [BN, BK // 2, 2]))
    m1, m2 = tl.reduce((tl.maximum(left, right), tl.minimum(left, right)), 1, _merge_two_best)
    i1 = tl.where(m1 > b1, kt + (m1.to(tl.int32, bitcast=True) & (BK - 1)), i1)
    return tl.maximum(b1, m1), tl.maximum(tl.minimum(b1, m1), tl.maximum(b2, m2)), i1


@triton.jit
def distance_bounds(q, t1, t2, e2):
    """An upper bound of the distance at score t1 and a lower one at t2, |g - h|^2 = |g|^2 - 2 t; e2
    = 2 E.

    q is |g| rounded up by at most 2^-21 of it. Each float32 step errs by at most 2^-23 of its
    terms; 2^-20 of their sum covers all of them, and the square roots, within 2^-22, are widened by
    2^-21.
    """
    room1 = e2 + 9.54e-7 * (q * q + 2.0 * tl.abs(t1) + e2)
    room2 = e2 + 9.54e-7 * (q * q + 2.0 * tl.abs(t2) + e2)
    upper = tl.sqrt(tl.maximum(q * q - 2.0 * t1 + room1, 0.0)) * 1.0000005
    lower = tl.sqrt(tl.maximum(q * q - 2.0 * t2 - room2, 0.0)) * 0.9999995
    return upper, lower


@triton.jit
def _store_verdicts(
    r, live, b1, b2, i1, q, A, B, first, new, threshold, Z, cum_low, BOUND: tl.constexpr
):
    """new: the certain label, or -1 - label; Z: the bound that lets later passes skip the row.

    A row without observed cells (q < 0) is as near to all, so the first centroid has it.
    """
    e2 = 2.0 * (q * A + B)
    empty = q < 0
    i1 = tl.where(empty, first, i1)
    certain = ((b1 - b2) > e2) | empty
    tl.store(new + r, tl.where(certain, i1, -1 - i1).to(new.dtype.element_ty), mask=live)
    tl.store(threshold + r, b1 - e2, mask=live & (certain == 0))
    # the label stays while the drift of its centroid and the largest of all, summed since, stay
    # below Z
    if BOUND:
        upper, lower = distance_bounds(q, b1, b2, e2)
        drift = tl.load(cum_low + i1, mask=live, other=0.0)
        z = (lower - upper + drift) - 4.8e-7 * (lower + upper + drift)
        z = tl.where(empty, 1e30, z)
        tl.store(Z + r, tl.where(certain, z, -1.0), mask=live)


@triton.jit(do_not_specialize=["n", "limit", "first"])
def assign(
    X,  # fp16 (n, P) centred rows
    C,  # fp16 (K, P) centred centroids
    bias,  # f32 (K,) |h|^2/2
    Q,  # f32 (n,) |g|
    AB,  # f32 (2,) E = Q A + B
    new,  # int (n,) label, or -1 - label where in doubt
    threshold,  # f32 (n,) of doubtful rows: what a score must reach to win
    Z,  # f32 (n,)
    cum_low,  # f32 (K,) summed drift of each centroid and the largest, rounded down
    rows,  # i32 (n,) rows to score
    counters,  # i32 (8,), [3]: how many
    halt,  # i32 (1,)
    n,
    limit,  # more rows than this are scored in place, by the launch that does not gather
    first,
    K: tl.constexpr,
    P: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    BP: tl.constexpr,
    NPROG: tl.constexpr,
    GATHER: tl.constexpr,
    BOUND: tl.constexpr,
    STAGES: tl.constexpr,
):
    """The two best scores of each row, without an n x k matrix."""
    kc, pc = tl.arange(0, BK), tl.arange(0, BP)
    A = tl.load(AB)
    B = tl.load(AB + 1)
    listed = tl.load(counters + 3)
    total = tl.where(listed <= limit, listed, 0) if GATHER else tl.where(listed <= limit, 0, n)
    total = tl.where(tl.load(halt) == 0, total, 0)
    if (P <= BP) and (K == BK):  # one tile of centroids stays
        c = tl.load(C + kc[None, :] * P + pc[:, None], mask=(pc < P)[:, None], other=0.0)
        for tile in tl.range(tl.program_id(0), tl.cdiv(total, BN), NPROG, num_stages=1):
            at = tile * BN + tl.arange(0, BN)
            live = at < total
            r = tl.load(rows + at, mask=live, other=0) if GATHER else at
            inside = live[:, None] if P == BP else live[:, None] & (pc < P)[None, :]
            x = tl.load(X + r.to(tl.int64)[:, None] * P + pc[None, :], mask=inside, other=0.0)
            b = tl.full([BN], -1e30, tl.float32)
            b1, b2, i1 = merge_tile(
                tl.dot(x, c), bias, 0, kc, b, b, tl.zeros([BN], tl.int32), BN, BK
            )
            q = tl.load(Q + r, mask=live, other=0.0)
            _store_verdicts(r, live, b1, b2, i1, q, A, B, first, new, threshold, Z, cum_low, BOUND)
    else:
        for tile in range(tl.program_id(0), tl.cdiv(total, BN), NPROG):
            at = tile * BN + tl.arange(0, BN)
            live = at < total
            r = tl.load(rows + at, mask=live, other=0) if GATHER else tl.minimum(at, n - 1)
            xp = X + r.to(tl.int64)[:, None] * P + pc[None, :]
            if P <= BP:
                x = tl.load(xp) if P == BP else tl.load(xp, mask=(pc < P)[None, :], other=0.0)
            b1 = tl.full([BN], -1e30, tl.float32)
            b2 = tl.full([BN], -1e30, tl.float32)
            i1 = tl.zeros([BN], tl.int32)
            for kt in tl.range(0, K, BK, num_stages=STAGES):
                cp = C + tl.cast(kt, tl.int64) * P + (kc[None, :] * P + pc[:, None])
                if P <= BP:
                    c = tl.load(cp) if P == BP else tl.load(cp, mask=(pc < P)[:, None], other=0.0)
                    acc = tl.dot(x, c)
                else:
                    acc = tl.zeros([BN, BK], tl.float32)
                    for pt in tl.range(0, P, BP):  # P is a multiple of BP here
                        acc = tl.dot(tl.load(xp + pt), tl.load(cp + pt), acc)
                b1, b2, i1 = merge_tile(acc, bias, kt, kc, b1, b2, i1, BN, BK)
            q = tl.load(Q + r, mask=live, other=0.0)
            _store_verdicts(r, live, b1, b2, i1, q, A, B, first, new, threshold, Z, cum_low, BOUND)


@triton.jit(do_not_specialize=["n"])
def list_unproven_rows(Z, labels, cum_high, rows, counters, halt, n, BN: tl.constexpr):
    """Rows whose bound no longer proves their label; cum_high f32 (K,): summed drift, rounded
    up.
    """
    if tl.load(halt) == 0:
        r = tl.program_id(0) * BN + tl.arange(0, BN)
        live = r < n
        own = tl.maximum(tl.load(labels + r, mask=live, other=0).to(tl.int32), 0)
        z = tl.load(Z + r, mask=live, other=1e30)
        unproven = live & (z <= tl.load(cum_high + own))
        if tl.sum(unproven.to(tl.int32), 0) > 0:
            tl.store(rows + append_places(unproven, counters + 3), r, mask=unproven)


@triton.jit(do_not_specialize=["n", "limit"])
def list_movers_and_doubts(
    rows,
    labels,  # int (n,) of the pass before
    new,
    threshold,
    mover_row,  # i32 (n,)
    mover_old,  # int (n,)
    doubt_row,  # i32 (n,)
    doubt_threshold,  # f32 (n,)
    doubt_best,  # i64 (n,)
    doubt_new,  # i32 (n,)
    counters,  # [3]: scored rows
    both,  # i64 (1,) over counters[0] (movers) and counters[1] (doubts)
    halt,
    n,
    limit,
    BN: tl.constexpr,
):
    """Rows that certainly changed label, and rows in doubt, to their lists; one 64-bit atomic
    counts both.
    """
    least: tl.constexpr = -(2**63)
    listed = tl.load(counters + 3)
    gathered = listed <= limit
    total = tl.where(tl.load(halt) == 0, tl.where(gathered, listed, n), 0)
    if tl.program_id(0) * BN < total:
        at = tl.program_id(0) * BN + tl.arange(0, BN)
        live = at < total
        r = at
        if gathered:
            r = tl.load(rows + at, mask=live, other=0)
        old = tl.load(labels + r, mask=live, other=0).to(tl.int32)
        now = tl.load(new + r, mask=live, other=0).to(tl.int32)
        doubt = live & (now < 0)
        moved = live & (now >= 0) & (now != old)
        flags = moved.to(tl.int32) + (doubt.to(tl.int32) << 16)
        whole = tl.sum(flags, 0)
        if whole > 0:
            place = tl.cumsum(flags, 0) - flags
            counts = (whole & 0xFFFF).to(tl.int64) + ((whole >> 16).to(tl.int64) << 32)
            base = tl.atomic_add(both, counts, sem="relaxed")
            to = (base & 0x7FFFFFFF).to(tl.int32) + (place & 0xFFFF)
            tl.store(labels + r, now.to(labels.dtype.element_ty), mask=moved)
            tl.store(mover_row + to, r, mask=moved)
            tl.store(mover_old + to, old.to(mover_old.dtype.element_ty), mask=moved)
            to = (base >> 32).to(tl.int32) + (place >> 16)
            tl.store(doubt_row + to, r, mask=doubt)
            tl.store(
                doubt_threshold + to, tl.load(threshold + r, mask=doubt, other=0.0), mask=doubt
            )
            tl.store(doubt_best + to, tl.full([BN], least, tl.int64), mask=doubt)
            tl.store(doubt_new + to, tl.full([BN], 1 << 30, tl.int32), mask=doubt)
