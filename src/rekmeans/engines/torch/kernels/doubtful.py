"""Doubtful rows decided exactly: score 2 f.m - |m|^2 over observed cells in int64, lowest number at
a tie.
"""

import triton
import triton.language as tl

from .assign import append_places

GRID_STEPS = tl.constexpr(8388608.0)  # 2^23


@triton.jit
def grid_values(X, L, r, col, inside, P: tl.constexpr, LP: tl.constexpr):
    """g = f - mean in grid units, int32: hi 2^23 + lo; columns from LP on have no lo."""
    hi = tl.load(X + r.to(tl.int64) * P + col, mask=inside, other=0.0).to(tl.float32)
    lo = tl.load(L + r.to(tl.int64) * LP + col, mask=inside & (col < LP), other=0).to(tl.int32)
    return (hi * GRID_STEPS).to(tl.int32) + lo


@triton.jit
def _exact_terms(X, L, mean, M, r, c, col, inside, D: tl.constexpr, P: tl.constexpr,
    LP: tl.constexpr,
                 MISSING: tl.constexpr):  # fmt: skip
    """m (2 f - m) of each observed cell, int64; r, c (pairs, 1), col (1, columns)."""
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
    pair_slot,  # i32 (most_pairs,) place of the row among the doubtful
    pair_centroid,  # i32 (most_pairs,)
    doubt_overflow,  # i8 (n,) set where the candidates of a row did not fit
    counters,  # [1]: doubtful rows, [2]: pairs
    halt,
    most_pairs,
    K: tl.constexpr,
    P: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    BP: tl.constexpr,
    NPROG: tl.constexpr,
):
    """Pairs (doubtful row, centroid) whose score may still be the best.

    There may be more than 2^31 pairs if many centroids are equal. A program stops counting once the
    list is full, so counters[2] stays below most_pairs + NPROG BN; rows whose pairs did not fit are
    marked instead.
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
        s = tl.where(s >= least[:, None], kc[None, :], -1)  # the columns that may win
        top = tl.max(s, 1)
        # one candidate of each row at a time; rarely more than two rounds
        while tl.max(top, 0) >= 0:
            hit = top >= 0
            counted = hit & (full == 0)
            to = append_places(counted, counters + 2)
            fits = counted & (to < most_pairs)
            tl.store(pair_slot + to, at, mask=fits)
            tl.store(pair_centroid + to, kt + top, mask=fits)
            tl.store(doubt_overflow + at, tl.full([BN], 1, tl.int8), mask=hit & (fits == 0))
            s = tl.where(s >= top[:, None], -1, s)
            top = tl.where(full == 0, tl.max(s, 1), -1)  # each row that has more is marked by now
            full = tl.maximum(full, tl.max((counted & (fits == 0)).to(tl.int32), 0))


@triton.jit
def score_pairs(
    X, L, mean, M,  # M i32 (K, P) centroids on the grid
    doubt_row, pair_slot, pair_centroid,
    pair_score,  # i64 (most_pairs,)
    doubt_best,
    counters, halt, most_pairs,
    D: tl.constexpr, P: tl.constexpr, LP: tl.constexpr, BQ: tl.constexpr, BP: tl.constexpr,
    NPROG: tl.constexpr,
    MISSING: tl.constexpr,
):  # fmt: skip
    """The exact score of each pair; the best of a row by an atomic maximum."""
    pc = tl.arange(0, BP)
    total = tl.where(tl.load(halt) == 0, tl.minimum(tl.load(counters + 2), most_pairs), 0)
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
    halt, most_pairs,
                   B: tl.constexpr, NPROG: tl.constexpr):  # fmt: skip
    """The lowest centroid, as the caller numbers them (order i32 (K,)), among the exact best of
    each doubtful row.
    """
    total = tl.where(tl.load(halt) == 0, tl.minimum(tl.load(counters + 2), most_pairs), 0)
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
    X, L, mean, M, doubt_row, doubt_overflow, doubt_new, inverse, counters, halt, most_pairs, k,
    D: tl.constexpr, P: tl.constexpr, LP: tl.constexpr, BP: tl.constexpr, NPROG: tl.constexpr,
    MISSING: tl.constexpr,
):  # fmt: skip
    """Rows with more candidates than there was room for: all centroids, exactly, in the caller's
    order (inverse).
    """
    pc = tl.arange(0, BP)[None, :]
    crowded = (tl.load(counters + 2) > most_pairs) & (tl.load(halt) == 0)
    total = tl.where(crowded, tl.load(counters + 1), 0)
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
    """Doubtful rows whose exact label changed join the movers."""
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
