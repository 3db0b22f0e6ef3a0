"""Many centroids in groups of neighbours: a row scores only the groups that its lower bounds cannot
rule out.

LZ[j, g] is a lower bound on the distance of row j to every centroid of group g but its own, plus
the drift of the group summed up to then: the group is skipped while LZ exceeds the distance to the
own centroid, computed in every pass, plus the drift summed up to now. What is scored is certified
as in assign.py, so labels stay exact.
"""

import triton
import triton.language as tl

from .assign import append_places, distance_bounds, merge_tile

NOWHERE = tl.constexpr(-1e30)
LEAST = tl.constexpr(-(2**63))


@triton.jit(do_not_specialize=["n"])
def list_groups_to_score(
    X, C, bias, Q, AB, labels,
    own_score,  # f32 (n,)
    own_upper,  # f32 (n,) upper bound of the distance to the own centroid
    LZ,  # f32 (n, G)
    drift_high,  # f32 (G,) drift of each group summed, rounded up
    lists,  # i32 (G, n) rows to score, by group
    list_counts,  # i32 (G,)
    active, counters, halt, n,
    P: tl.constexpr, G: tl.constexpr, BN: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    """The distance of each row to its own centroid, and the rows that each group must score."""
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
        upper = tl.where(own < 0, 1e30, tl.where(q < 0, NOWHERE, upper))
        tl.store(own_score + r, tl.where(own < 0, NOWHERE, t), mask=live)
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
    T1, T2,  # f32 (n, G) the two best scores of a row in a group; the column rides in the low bits
    halt, n,
    P: tl.constexpr, KG: tl.constexpr, G: tl.constexpr, BN: tl.constexpr, BP: tl.constexpr,
    NPROG: tl.constexpr,
):  # fmt: skip
    """The two best of each listed row inside its group; P is a multiple of BP."""
    kc, pc = tl.arange(0, KG), tl.arange(0, BP)
    n_tiles = 0
    for g in range(0, G):
        n_tiles += tl.cdiv(tl.load(list_counts + g), BN)
    n_tiles = tl.where(tl.load(halt) == 0, n_tiles, 0)
    for task in range(tl.program_id(0), n_tiles, NPROG):
        g = 0
        first = 0
        before = 0
        for j in range(0, G):  # the group that this task falls into
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
    """The label of each active row from what its groups found; its bounds; movers and doubtful rows
    listed.
    """
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
        # the own centroid lies in a group that is not scored
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
            tl.store(doubt_best + to, tl.full([BN], LEAST, tl.int64), mask=doubt)
            tl.store(doubt_new + to, tl.full([BN], 1 << 30, tl.int32), mask=doubt)


@triton.jit
def sum_group_drift(stats, cum, drift_low, drift_high, list_counts, halt, k, K, KG: tl.constexpr):
    """The largest drift of each group joins its sum, cum f64 (G,); stats[2] has the drift of each
    centroid.
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
