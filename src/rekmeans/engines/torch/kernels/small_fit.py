"""Many passes over a small table in one launch.

Scores are int64, atomics add the sums, and a barrier for all programs ends each pass.
"""

import triton
import triton.language as tl

from .assignment import GRID_STEPS
from .update import FALLS, RELOCATES, REPEATS, STALLS, round_to_even

# buffers for the sums and centroids of three passes: one is read, one is added to, one is cleared
SLOTS = tl.constexpr(3)


@triton.jit
def _wait_for_all(barrier, target):
    """Wait until the programs have arrived here `target` times in total."""
    tl.debug_barrier()
    tl.atomic_add(barrier, 1)
    while tl.atomic_add(barrier, 0) < target:
        pass
    tl.debug_barrier()


@triton.jit
def _next_centroids(
    S, N, m, slot, cell, partner, inside, kk, k, RECTIFIED: tl.constexpr, P: tl.constexpr
):
    """Return S/n or S/|S| on the grid, (KP, BP), and the number of empty clusters."""
    size = tl.load(N + slot * k + kk, mask=kk < k, other=1, volatile=True)
    a = tl.load(S + slot * k * P + cell, mask=inside, other=0, volatile=True).to(tl.float64)
    if RECTIFIED:
        b = tl.load(S + slot * k * P + partner, mask=inside, other=0, volatile=True).to(tl.float64)
        r = tl.sqrt(a * a + b * b)
        keep = r == 0.0
        to = round_to_even(a / tl.where(keep, 1.0, r) * GRID_STEPS)
    else:
        count = size.to(tl.float64)[:, None] + tl.zeros_like(a)
        keep = count == 0.0
        to = round_to_even(a / tl.where(keep, 1.0, count))
    return tl.where(keep, m, to.to(tl.int32)), tl.sum((size == 0).to(tl.int32), 0)


@triton.jit
def fit_small(
    F,  # i32 (n, P) rows on the grid, without missing cells
    labels,  # i16 (n,)
    S,  # i64 (3, k, P) sums of pass t in slot t % 3
    N,  # i32 (3, k)
    losses,  # i64 (3, 2) low and high words
    changed,  # i32 (3,)
    M,  # i32 (3, k, P) centroids; those of pass t in slot t % 3
    last,  # i64 (2,) the limit for the objective: low word, high word
    barrier,  # i32 (1,)
    log,  # i64 (passes, LOG) n_changed, verdict, n_empty, low word, high word
    progress,  # i32 (1,)
    n, first_slot, max_passes,
    k: tl.constexpr, KP: tl.constexpr, P: tl.constexpr, BP: tl.constexpr, BN: tl.constexpr,
    NPROG: tl.constexpr,
    LOG: tl.constexpr, RECTIFIED: tl.constexpr,
):  # fmt: skip
    """Make passes until a pass stalls, repeats its centroids or leaves a cluster empty."""
    pid = tl.program_id(0)
    kk, col = tl.arange(0, KP), tl.arange(0, BP)
    cell = kk[:, None] * P + col[None, :]
    partner = kk[:, None] * P + ((col + P // 2) % P)[None, :]
    inside = (kk < k)[:, None] & (col < P)[None, :]
    m = tl.load(M + first_slot * k * P + cell, mask=inside, other=0)
    was_low = tl.load(last)
    was_high = tl.load(last + 1)
    t = 0
    verdict = FALLS + 0
    while (t < max_passes) & (verdict == FALLS):
        slot = (first_slot + t) % SLOTS
        after = (first_slot + t + 1) % SLOTS
        if pid == 0:  # clear the sums of the next pass; all programs read them before the barrier
            tl.store(S + after * k * P + cell, tl.zeros([KP, BP], tl.int64), mask=inside)
            tl.store(N + after * k + kk, tl.zeros([KP], tl.int32), mask=kk < k)
            tl.store(losses + after * 2 + tl.arange(0, 2), tl.zeros([2], tl.int64))
            tl.store(changed + after, 0)
        n_changed = 0
        low = tl.sum(tl.zeros([1], tl.int64), 0)
        high = tl.sum(tl.zeros([1], tl.int64), 0)
        for tile in range(pid, tl.cdiv(n, BN), NPROG):
            r = tile * BN + tl.arange(0, BN)
            live = r < n
            here = live[:, None] & (col < P)[None, :]
            f = tl.load(F + r[:, None] * P + col[None, :], mask=here, other=0).to(tl.int64)
            best = tl.full([BN], -(2**62), tl.int64)
            own = tl.zeros([BN], tl.int32)
            for c in tl.range(0, k, loop_unroll_factor=4):
                mc = tl.load(M + (slot * k + c) * P + col, mask=col < P, other=0).to(tl.int64)
                score = tl.sum((2 * f - mc[None, :]) * mc[None, :], 1)
                own = tl.where(score > best, c, own)
                best = tl.maximum(score, best)
            loss = tl.where(live, tl.sum(f * f, 1) - best, 0)
            low += tl.sum(loss & 0xFFFFFFFF, 0)
            high += tl.sum(loss >> 32, 0)
            old = tl.load(labels + r, mask=live, other=0).to(tl.int32)
            n_changed += tl.sum((live & (own != old)).to(tl.int32), 0)
            tl.store(labels + r, own.to(tl.int16), mask=live)
            tl.atomic_add(
                S + (slot * k + own)[:, None] * P + col[None, :], f, mask=here, sem="relaxed"
            )
            tl.atomic_add(N + slot * k + own, tl.full([BN], 1, tl.int32), mask=live, sem="relaxed")
        tl.atomic_add(losses + slot * 2, low, sem="relaxed")
        tl.atomic_add(losses + slot * 2 + 1, high, sem="relaxed")
        tl.atomic_add(changed + slot, n_changed, sem="relaxed")
        t += 1
        _wait_for_all(barrier, t * NPROG)
        low = tl.load(losses + slot * 2, volatile=True)
        high = tl.load(losses + slot * 2 + 1, volatile=True) + (low >> 32)
        low = low & 0xFFFFFFFF
        next_m, n_empty = _next_centroids(S, N, m, slot, cell, partner, inside, kk, k, RECTIFIED, P)
        n_differ = tl.sum(tl.sum((inside & (next_m != m)).to(tl.int32), 1), 0)
        m = next_m
        tl.store(M + after * k * P + cell, m, mask=inside)  # all programs store the same values
        falls = (high < was_high) | ((high == was_high) & (low < was_low))
        verdict = tl.where(n_empty > 0, RELOCATES, tl.where(n_differ == 0, REPEATS, FALLS))
        verdict = tl.where(falls, verdict, STALLS)
        was_low = low
        was_high = high
        if pid == 0:
            row = log + (t - 1) * LOG
            tl.store(row, tl.load(changed + slot, volatile=True).to(tl.int64))
            tl.store(row + 1, verdict.to(tl.int64))
            tl.store(row + 2, n_empty.to(tl.int64))
            tl.store(row + 3, low)
            tl.store(row + 4, high)
            tl.store(progress, t)
        tl.debug_barrier()
