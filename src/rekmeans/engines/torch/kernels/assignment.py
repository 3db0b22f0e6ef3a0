"""The assignment step of a pass: certified scores, groups of centroids, doubtful rows.

Scores are t = g.h - |h|^2/2 in fp16 tensor cores. g = f - mean and h = m - mean are rows and
centroids centred on one grid point; error_bound.py proves the bound E = q A + B on the error of a
score computed here, q = |g|. A row is certain if its two best scores are more than 2 E apart.

If there are many centroids, nearby ones form groups. LZ[j, g] is a lower bound on the distance from
row j to all centroids of group g except its own, plus the accumulated drift of the group when the
bound was computed. The row skips the group while LZ exceeds the distance to its own centroid, which
each pass computes, plus the accumulated drift of the group now.

Doubtful rows are decided by the exact score 2 f.m - |m|^2 over observed cells in int64. Ties go to
the lowest centroid number.
"""

import triton
import triton.language as tl

GRID_STEPS = tl.constexpr(8388608.0)  # 2^23
LOWEST_SCORE = tl.constexpr(-1e30)
MIN_EXACT_SCORE = tl.constexpr(-(2**63))


@triton.jit
def _merge_two_best(a1, a2, b1, b2):
    return tl.maximum(a1, b1), tl.maximum(tl.minimum(a1, b1), tl.maximum(a2, b2))


@triton.jit
def append_places(flag, counter):
    """Return list positions for the flagged lanes, reserved by an atomic counter."""
    hits = flag.to(tl.int32)
    base = tl.atomic_add(counter, tl.sum(hits, 0), sem="relaxed")
    return base + tl.cumsum(hits, 0) - 1


@triton.jit
def merge_tile(acc, bias, kt, kc, b1, b2, i1, BN: tl.constexpr, BK: tl.constexpr):
    """Merge the two best scores of a tile (BN, BK) into the two best scores so far.

    The low bits of a score hold its column.
    """
    s = acc - tl.load(bias + kt + kc)[None, :]
    s = ((s.to(tl.int32, bitcast=True) & (-BK)) | kc[None, :]).to(tl.float32, bitcast=True)
    left, right = tl.split(tl.reshape(s, [BN, BK // 2, 2]))
    m1, m2 = tl.reduce((tl.maximum(left, right), tl.minimum(left, right)), 1, _merge_two_best)
    i1 = tl.where(m1 > b1, kt + (m1.to(tl.int32, bitcast=True) & (BK - 1)), i1)
    return tl.maximum(b1, m1), tl.maximum(tl.minimum(b1, m1), tl.maximum(b2, m2)), i1


@triton.jit
def distance_bounds(q, t1, t2, e2):
    """Return an upper bound on the distance for score t1 and a lower bound for score t2.

    |g - h|^2 = |g|^2 - 2 t, and e2 = 2 E. q is |g| rounded up, with a relative error of at most
    2^-21. The error of each float32 step is at most 2^-23 of its terms, so 2^-20 of their sum
    covers all steps. The square roots have a relative error below 2^-22 and are widened by 2^-21.
    """
    slack1 = e2 + 9.54e-7 * (q * q + 2.0 * tl.abs(t1) + e2)
    slack2 = e2 + 9.54e-7 * (q * q + 2.0 * tl.abs(t2) + e2)
    upper = tl.sqrt(tl.maximum(q * q - 2.0 * t1 + slack1, 0.0)) * 1.0000005
    lower = tl.sqrt(tl.maximum(q * q - 2.0 * t2 - slack2, 0.0)) * 0.9999995
    return upper, lower


@triton.jit
def _store_verdicts(
    r, live, b1, b2, i1, q, A, B, first, new, threshold, Z, cum_low, BOUND: tl.constexpr
):
    """Store the label and the bound of each row.

    `new` is the label if it is certain, otherwise -1 - label. Z is the bound that allows later
    passes to skip the row. A row without observed cells (q < 0) is equally near to all centroids,
    so it gets the first one.
    """
    e2 = 2.0 * (q * A + B)
    empty = q < 0
    i1 = tl.where(empty, first, i1)
    certain = ((b1 - b2) > e2) | empty
    tl.store(new + r, tl.where(certain, i1, -1 - i1).to(new.dtype.element_ty), mask=live)
    tl.store(threshold + r, b1 - e2, mask=live & (certain == 0))
    # The label is proven while the accumulated drift of its centroid plus the accumulated largest
    # drift is below Z.
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
    threshold,  # f32 (n,) the smallest score that can win, for doubtful rows
    Z,  # f32 (n,)
    cum_low,  # f32 (K,) accumulated drift of each centroid plus the largest drift, rounded down
    rows,  # i32 (n,) rows to score
    counters,  # i32 (8,), [3]: the number of rows to score
    halt,  # i32 (1,)
    n,
    limit,  # if more rows than this are listed, the launch with GATHER=False scores all rows
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
    """Find the two best scores of each row without storing an (n, k) matrix."""
    kc, pc = tl.arange(0, BK), tl.arange(0, BP)
    A = tl.load(AB)
    B = tl.load(AB + 1)
    listed = tl.load(counters + 3)
    total = tl.where(listed <= limit, listed, 0) if GATHER else tl.where(listed <= limit, 0, n)
    total = tl.where(tl.load(halt) == 0, total, 0)
    if (P <= BP) and (K == BK):  # all centroids fit into one tile, which is loaded once
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
    """List the rows whose bound no longer proves their label.

    cum_high f32 (K,) is the accumulated drift as in cum_low, rounded up.
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
    labels,  # int (n,) of the previous pass
    new,
    threshold,
    mover_row,  # i32 (n,)
    mover_old,  # int (n,)
    doubt_row,  # i32 (n,)
    doubt_threshold,  # f32 (n,)
    doubt_best,  # i64 (n,)
    doubt_new,  # i32 (n,)
    counters,  # [3]: scored rows
    two_counters,  # i64 (1,) view of counters[0] (movers) and counters[1] (doubts)
    halt,
    n,
    limit,
    BN: tl.constexpr,
):
    """List the rows whose new labels are certain and differ, and the doubtful rows.

    One 64-bit atomic updates both counters.
    """
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
            base = tl.atomic_add(two_counters, counts, sem="relaxed")
            to = (base & 0x7FFFFFFF).to(tl.int32) + (place & 0xFFFF)
            tl.store(labels + r, now.to(labels.dtype.element_ty), mask=moved)
            tl.store(mover_row + to, r, mask=moved)
            tl.store(mover_old + to, old.to(mover_old.dtype.element_ty), mask=moved)
            to = (base >> 32).to(tl.int32) + (place >> 16)
            tl.store(doubt_row + to, r, mask=doubt)
            tl.store(
                doubt_threshold + to, tl.load(threshold + r, mask=doubt, other=0.0), mask=doubt
            )
            tl.store(doubt_best + to, tl.full([BN], MIN_EXACT_SCORE, tl.int64), mask=doubt)
            tl.store(doubt_new + to, tl.full([BN], 1 << 30, tl.int32), mask=doubt)


@triton.jit(do_not_specialize=["n"])
def list_groups_to_score(
    X, C, bias, Q, AB, labels,
    own_score,  # f32 (n,)
    own_upper,  # f32 (n,) upper bound on the distance to the row's own centroid
    LZ,  # f32 (n, G)
    drift_high,  # f32 (G,) accumulated drift of each group, rounded up
    lists,  # i32 (G, n) rows to score, by group
    list_counts,  # i32 (G,)
    active, counters, halt, n,
    P: tl.constexpr, G: tl.constexpr, BN: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    """Compute the distance of each row to its own centroid; list the rows to score by group."""
    if tl.load(halt) == 0:
        r = tl.program_id(0) * BN + tl.arange(0, BN)
        live = r < n
        pc = tl.arange(0, BP)
        own = tl.load(labels + r, mask=live, other=0).to(tl.int32)
        at = tl.maximum(own, 0)
        dot = tl.zeros([BN], tl.float32)
        for pt in range(0, P, BP):
            inside = live[:, None] & (pt + pc < P)[None, :]
            x = tl.load(
                X + r.to(tl.int64)[:, None] * P + pt + pc[None, :], mask=inside, other=0.0
            ).to(tl.float32)
            c = tl.load(
                C + at.to(tl.int64)[:, None] * P + pt + pc[None, :], mask=inside, other=0.0
            ).to(tl.float32)
            dot += tl.sum(x * c, 1)
        q = tl.load(Q + r, mask=live, other=0.0)
        t = dot - tl.load(bias + at)
        upper, _ = distance_bounds(q, t, t, 2.0 * (q * tl.load(AB) + tl.load(AB + 1)))
        upper = tl.where(own < 0, 1e30, tl.where(q < 0, LOWEST_SCORE, upper))
        tl.store(own_score + r, tl.where(own < 0, LOWEST_SCORE, t), mask=live)
        tl.store(own_upper + r, upper, mask=live)
        is_active = tl.zeros([BN], tl.int1)
        for g in range(0, G):
            reach = (upper + tl.load(drift_high + g)) * 1.0000005
            need = live & (tl.load(LZ + r.to(tl.int64) * G + g, mask=live, other=1e30) <= reach)
            is_active = is_active | need
            if tl.sum(need.to(tl.int32), 0) > 0:
                to = tl.cast(g, tl.int64) * n + append_places(need, list_counts + g)
                tl.store(lists + to, r, mask=need)
        if tl.sum(is_active.to(tl.int32), 0) > 0:
            tl.store(active + append_places(is_active, counters + 3), r, mask=is_active)


@triton.jit(do_not_specialize=["n"])
def score_groups(
    X, C, bias, lists, list_counts,
    T1, T2,  # f32 (n, G) the two best scores of a row in a group, with the column in the low bits
    halt, n,
    P: tl.constexpr, KG: tl.constexpr, G: tl.constexpr, BN: tl.constexpr, BP: tl.constexpr,
    NPROG: tl.constexpr,
):  # fmt: skip
    """Find the two best scores of each listed row in its group. P must be a multiple of BP."""
    kc, pc = tl.arange(0, KG), tl.arange(0, BP)
    n_tiles = 0
    for g in range(0, G):
        n_tiles += tl.cdiv(tl.load(list_counts + g), BN)
    n_tiles = tl.where(tl.load(halt) == 0, n_tiles, 0)
    for task in range(tl.program_id(0), n_tiles, NPROG):
        g = 0
        first = 0
        before = 0
        for j in range(0, G):  # find the group of this task
            here = tl.cdiv(tl.load(list_counts + j), BN)
            inside = (task >= before) & (task < before + here)
            g = tl.where(inside, j, g)
            first = tl.where(inside, before, first)
            before += here
        at = (task - first) * BN + tl.arange(0, BN)
        live = at < tl.load(list_counts + g)
        r = tl.load(lists + tl.cast(g, tl.int64) * n + at, mask=live, other=0).to(tl.int64)
        xp = X + r[:, None] * P + pc[None, :]
        cp = C + tl.cast(g * KG, tl.int64) * P + (kc[None, :] * P + pc[:, None])
        acc = tl.zeros([BN, KG], tl.float32)
        for pt in tl.range(0, P, BP):
            acc = tl.dot(tl.load(xp + pt), tl.load(cp + pt), acc)
        b = tl.full([BN], -1e30, tl.float32)
        b1, b2, _ = merge_tile(acc, bias + g * KG, 0, kc, b, b, tl.zeros([BN], tl.int32), BN, KG)
        tl.store(T1 + r * G + g, b1, mask=live)
        tl.store(T2 + r * G + g, b2, mask=live)


@triton.jit(do_not_specialize=["first"])
def merge_groups(
    Q, AB, labels, own_score, own_upper, LZ, drift_low, drift_high, T1, T2, active, mover_row,
    mover_old, doubt_row,
    doubt_threshold, doubt_best, doubt_new, counters, halt, first,
    KG: tl.constexpr, G: tl.constexpr, GP: tl.constexpr, BN: tl.constexpr, NPROG: tl.constexpr,
):  # fmt: skip
    """Merge the groups of each active row into its label and bounds; list movers and doubts."""
    total = tl.where(tl.load(halt) == 0, tl.load(counters + 3), 0)
    gg = tl.arange(0, GP)
    low_now = tl.load(drift_low + gg, mask=gg < G, other=0.0)
    high_now = tl.load(drift_high + gg, mask=gg < G, other=0.0)
    for tile in range(tl.program_id(0), tl.cdiv(total, BN), NPROG):
        at = tile * BN + tl.arange(0, BN)
        live = at < total
        r = tl.load(active + at, mask=live, other=0)
        old = tl.load(labels + r, mask=live, other=0).to(tl.int32)
        t = tl.load(own_score + r, mask=live, other=0.0)
        upper = tl.load(own_upper + r, mask=live, other=0.0)
        q = tl.load(Q + r, mask=live, other=0.0)
        e2 = 2.0 * (q * tl.load(AB) + tl.load(AB + 1))
        cell = r.to(tl.int64)[:, None] * G + gg[None, :]
        inside = live[:, None] & (gg < G)[None, :]
        lz = tl.load(LZ + cell, mask=inside, other=1e30)
        scored = inside & (lz <= (upper[:, None] + high_now[None, :]) * 1.0000005)
        t1 = tl.load(T1 + cell, mask=scored, other=-1e30)
        t2 = tl.load(T2 + cell, mask=scored, other=-1e30)
        b1 = tl.max(t1, 1)
        g1 = tl.argmax(t1, 1).to(tl.int32)
        b2 = tl.max(tl.where(gg[None, :] == g1[:, None], t2, t1), 1)
        i1 = g1 * KG + (b1.to(tl.int32, bitcast=True) & (KG - 1))
        own_group = tl.where(old < 0, 0, old // KG)
        own_scored = tl.sum((scored & (gg[None, :] == own_group[:, None])).to(tl.int32), 1) > 0
        # the row's own centroid is in a group that is not scored
        alone = (old >= 0) & (own_scored == 0)
        stays = alone & (t > b1)
        b2 = tl.where(alone, tl.maximum(b2, tl.minimum(b1, t)), b2)
        i1 = tl.where(stays, old, i1)
        b1 = tl.where(alone, tl.maximum(b1, t), b1)
        empty = q < 0
        i1 = tl.where(empty, first, i1)
        certain = live & ((b1 - b2 > e2) | empty)
        doubt = live & (certain == 0)
        moved = certain & (i1 != old)
        tl.store(labels + r, i1.to(labels.dtype.element_ty), mask=moved)
        others = tl.where((gg[None, :] == g1[:, None]) & (stays == 0)[:, None], t2, t1)
        _, lower = distance_bounds(q[:, None], others, others, e2[:, None])
        low = (lower + low_now[None, :]) * 0.9999995
        _, left = distance_bounds(q, t, t, e2)
        gone = inside & (moved & alone)[:, None] & (gg[None, :] == own_group[:, None])
        low = tl.where(scored, low, lz)
        low = tl.where(gone, tl.minimum(low, (left[:, None] + low_now[None, :]) * 0.9999995), low)
        low = tl.where(doubt[:, None], -1e30, low)
        low = tl.where(empty[:, None], 1e30, low)
        tl.store(LZ + cell, low, mask=inside & (scored | gone | doubt[:, None] | empty[:, None]))
        if tl.sum((moved | doubt).to(tl.int32), 0) > 0:
            to = append_places(moved, counters)
            tl.store(mover_row + to, r, mask=moved)
            tl.store(mover_old + to, old.to(mover_old.dtype.element_ty), mask=moved)
            to = append_places(doubt, counters + 1)
            tl.store(doubt_row + to, r, mask=doubt)
            tl.store(doubt_threshold + to, b1 - e2, mask=doubt)
            tl.store(doubt_best + to, tl.full([BN], MIN_EXACT_SCORE, tl.int64), mask=doubt)
            tl.store(doubt_new + to, tl.full([BN], 1 << 30, tl.int32), mask=doubt)


@triton.jit
def sum_group_drift(stats, cum, drift_low, drift_high, list_counts, halt, k, K, KG: tl.constexpr):
    """Add the largest drift in each group to its accumulated drift, cum f64 (G,).

    stats[2] is the drift of each centroid.
    """
    if tl.load(halt) == 0:
        g = tl.program_id(0)
        c = g * KG + tl.arange(0, KG)
        farthest = tl.max(tl.load(stats + 2 * tl.cast(K, tl.int64) + c, mask=c < k, other=0.0), 0)
        summed = tl.load(cum + g) + farthest.to(tl.float64)
        tl.store(cum + g, summed)
        tl.store(drift_low + g, (summed * (1.0 - 2.0**-22)).to(tl.float32))
        tl.store(drift_high + g, (summed * (1.0 + 2.0**-22)).to(tl.float32))
        tl.store(list_counts + g, 0)


@triton.jit
def grid_values(X, L, r, col, inside, P: tl.constexpr, LP: tl.constexpr):
    """Return g = f - mean = hi 2^23 + lo in grid units, int32.

    `lo` has only the first LP columns.
    """
    hi = tl.load(X + r.to(tl.int64) * P + col, mask=inside, other=0.0).to(tl.float32)
    lo = tl.load(L + r.to(tl.int64) * LP + col, mask=inside & (col < LP), other=0).to(tl.int32)
    return (hi * GRID_STEPS).to(tl.int32) + lo


@triton.jit
def _exact_terms(X, L, mean, M, r, c, col, inside, D: tl.constexpr, P: tl.constexpr,
    LP: tl.constexpr,
                 MISSING: tl.constexpr):  # fmt: skip
    """Return m (2 f - m) for each observed cell, int64. r and c are (pairs, 1), col is (1, BP)."""
    f = grid_values(X, L, r, col, inside, P, LP) + tl.load(mean + col, mask=col < 2 * D, other=0)
    m = tl.load(M + c.to(tl.int64) * P + col, mask=inside, other=0)
    term = m.to(tl.int64) * (2 * f.to(tl.int64) - m.to(tl.int64))
    if MISSING:
        gap = tl.load(X + r.to(tl.int64) * P + 2 * D + col % D, mask=inside, other=0.0)
        term = tl.where(gap > 0, 0, term)
    return term


@triton.jit
def list_candidates(
    X,  # fp16 (n, P)
    C,  # fp16 (K, P)
    bias,  # f32 (K,)
    doubt_row,
    doubt_threshold,
    pair_slot,  # i32 (max_pairs,) index of the row in the list of doubtful rows
    pair_centroid,  # i32 (max_pairs,)
    doubt_overflow,  # i8 (n,) 1 if the candidates of a row did not fit
    counters,  # [1]: doubtful rows, [2]: pairs
    halt,
    max_pairs,
    K: tl.constexpr,
    P: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    BP: tl.constexpr,
    NPROG: tl.constexpr,
):
    """List the pairs (doubtful row, centroid) whose score may be the best.

    If many centroids are equal, there may be more than 2^31 pairs. A program stops counting when
    the list is full, so counters[2] stays below max_pairs + NPROG BN. Rows whose pairs did not fit
    are marked in doubt_overflow.
    """
    kc, pc = tl.arange(0, BK), tl.arange(0, BP)
    total = tl.where(tl.load(halt) == 0, tl.load(counters + 1), 0)
    wide: tl.constexpr = K // BK
    full = 0
    for task in range(tl.program_id(0), tl.cast(tl.cdiv(total, BN), tl.int64) * wide, NPROG):
        at = tl.cast(task // wide, tl.int32) * BN + tl.arange(0, BN)
        kt = tl.cast(task % wide, tl.int32) * BK
        live = at < total
        r = tl.load(doubt_row + at, mask=live, other=0)
        least = tl.load(doubt_threshold + at, mask=live, other=1e30)
        acc = tl.zeros([BN, BK], tl.float32)
        for pt in range(0, P, BP):
            inside = pc < P - pt
            x = tl.load(
                X + r.to(tl.int64)[:, None] * P + (pt + pc)[None, :],
                mask=inside[None, :],
                other=0.0,
            )
            cp = C + tl.cast(kt, tl.int64) * P + (kc[None, :] * P + (pt + pc)[:, None])
            c = tl.load(cp, mask=inside[:, None], other=0.0)
            acc = tl.dot(x, c, acc)
        s = acc - tl.load(bias + kt + kc)[None, :]
        s = tl.where(s >= least[:, None], kc[None, :], -1)  # columns of candidates
        top = tl.max(s, 1)
        # one candidate of each row per iteration; usually at most two iterations
        while tl.max(top, 0) >= 0:
            hit = top >= 0
            counted = hit & (full == 0)
            to = append_places(counted, counters + 2)
            fits = counted & (to < max_pairs)
            tl.store(pair_slot + to, at, mask=fits)
            tl.store(pair_centroid + to, kt + top, mask=fits)
            tl.store(doubt_overflow + at, tl.full([BN], 1, tl.int8), mask=hit & (fits == 0))
            s = tl.where(s >= top[:, None], -1, s)
            top = tl.where(full == 0, tl.max(s, 1), -1)  # rows with more candidates are marked
            full = tl.maximum(full, tl.max((counted & (fits == 0)).to(tl.int32), 0))


@triton.jit
def score_pairs(
    X, L, mean, M,  # M i32 (K, P) centroids on the grid
    doubt_row, pair_slot, pair_centroid,
    pair_score,  # i64 (max_pairs,)
    doubt_best,
    counters, halt, max_pairs,
    D: tl.constexpr, P: tl.constexpr, LP: tl.constexpr, BQ: tl.constexpr, BP: tl.constexpr,
    NPROG: tl.constexpr,
    MISSING: tl.constexpr,
):  # fmt: skip
    """Compute the exact score of each pair, and the best score of each row by an atomic maximum."""
    pc = tl.arange(0, BP)
    total = tl.where(tl.load(halt) == 0, tl.minimum(tl.load(counters + 2), max_pairs), 0)
    for tile in range(tl.program_id(0), tl.cdiv(total, BQ), NPROG):
        pair = tile * BQ + tl.arange(0, BQ)
        live = pair < total
        slot = tl.load(pair_slot + pair, mask=live, other=0)
        r = tl.load(doubt_row + slot, mask=live, other=0).to(tl.int64)[:, None]
        c = tl.load(pair_centroid + pair, mask=live, other=0).to(tl.int64)[:, None]
        terms = tl.zeros([BQ, BP], tl.int64)
        for pt in range(0, 2 * D, BP):
            col = (pt + pc)[None, :]
            terms += _exact_terms(
                X, L, mean, M, r, c, col, live[:, None] & (col < 2 * D), D, P, LP, MISSING
            )
        score = tl.sum(terms, 1)
        tl.store(pair_score + pair, score, mask=live)
        tl.atomic_max(doubt_best + slot, score, mask=live, sem="relaxed")


@triton.jit
def choose_winners(pair_slot, pair_centroid, pair_score, doubt_best, doubt_new, order, counters,
    halt, max_pairs,
                   B: tl.constexpr, NPROG: tl.constexpr):  # fmt: skip
    """Choose the lowest centroid with the best exact score for each doubtful row.

    Centroids are compared by the caller's numbers, order i32 (K,).
    """
    total = tl.where(tl.load(halt) == 0, tl.minimum(tl.load(counters + 2), max_pairs), 0)
    for t in range(tl.program_id(0), tl.cdiv(total, B), NPROG):
        pair = t * B + tl.arange(0, B)
        live = pair < total
        slot = tl.load(pair_slot + pair, mask=live, other=0)
        best = live & (
            tl.load(pair_score + pair, mask=live, other=0)
            == tl.load(doubt_best + slot, mask=live, other=1)
        )
        number = tl.load(
            order + tl.load(pair_centroid + pair, mask=live, other=0), mask=live, other=0
        )
        tl.atomic_min(doubt_new + slot, number, mask=best, sem="relaxed")


@triton.jit
def score_overflow(
    X, L, mean, M, doubt_row, doubt_overflow, doubt_new, inverse, counters, halt, max_pairs, k,
    D: tl.constexpr, P: tl.constexpr, LP: tl.constexpr, BP: tl.constexpr, NPROG: tl.constexpr,
    MISSING: tl.constexpr,
):  # fmt: skip
    """Score all centroids exactly, in the caller's order, for the rows in doubt_overflow."""
    pc = tl.arange(0, BP)[None, :]
    overflowed = (tl.load(counters + 2) > max_pairs) & (tl.load(halt) == 0)
    total = tl.where(overflowed, tl.load(counters + 1), 0)
    zero = tl.zeros([1], tl.int32)
    for at in range(tl.program_id(0), total, NPROG):
        if tl.load(doubt_overflow + at) != 0:
            r = tl.load(doubt_row + at + zero).to(tl.int64)[:, None]
            best = tl.full([1], -(2**63) + 1, tl.int64)
            winner = zero
            for number in range(0, k):
                c = tl.load(inverse + number + zero).to(tl.int64)[:, None]
                terms = tl.zeros([1, BP], tl.int64)
                for pt in range(0, 2 * D, BP):
                    col = pt + pc
                    terms += _exact_terms(X, L, mean, M, r, c, col, col < 2 * D, D, P, LP, MISSING)
                score = tl.sum(terms, 1)
                winner = tl.where(score > best, number, winner)
                best = tl.maximum(score, best)
            tl.store(doubt_new + at + zero, winner)
            tl.store(doubt_overflow + at + zero, zero.to(tl.int8))


@triton.jit
def list_decided_movers(doubt_row, doubt_new, inverse, labels, mover_row, mover_old, counters, halt,
                        B: tl.constexpr, NPROG: tl.constexpr):  # fmt: skip
    """Append the doubtful rows whose exact labels changed to the list of movers."""
    total = tl.where(tl.load(halt) == 0, tl.load(counters + 1), 0)
    for t in range(tl.program_id(0), tl.cdiv(total, B), NPROG):
        at = t * B + tl.arange(0, B)
        live = at < total
        r = tl.load(doubt_row + at, mask=live, other=0)
        new = tl.load(inverse + tl.load(doubt_new + at, mask=live, other=0), mask=live, other=0)
        old = tl.load(labels + r, mask=live, other=0).to(tl.int32)
        moved = live & (new != old)
        tl.store(labels + r, new.to(labels.dtype.element_ty), mask=moved)
        if tl.sum(moved.to(tl.int32), 0) > 0:
            to = append_places(moved, counters)
            tl.store(mover_row + to, r, mask=moved)
            tl.store(mover_old + to, old.to(mover_old.dtype.element_ty), mask=moved)


@triton.jit
def multiply(X, C, out, P: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BP: tl.constexpr):
    """Compute out f32 (BN, BK) = X fp16 (BN, P) times C' fp16 (BK, P), with the tiles of passes."""
    r, c, pc = tl.arange(0, BN), tl.arange(0, BK), tl.arange(0, BP)
    acc = tl.zeros([BN, BK], tl.float32)
    for pt in tl.range(0, P, BP):
        x = tl.load(X + r[:, None] * P + pt + pc[None, :])
        acc = tl.dot(x, tl.load(C + c[None, :] * P + pt + pc[:, None]), acc)
    tl.store(out + r[:, None] * BK + c[None, :], acc)
