"""The bound E = q A + B on the error of a score t = g.h - |h|^2/2 computed in fp16 tensor cores,
and its proof.

Let g and h be a centred row and a centred centroid, g' and h' their fp16 roundings, q = |g|. Over
the columns of one row:

1. **Operands.** |g.h - g'.h'| <= |g - g'||h| + |g'||h - h'| (Cauchy and Schwarz) <= q (rho H + (1 +
rho) delta),
   where rho = max |g - g'|/|g| over the rows, H = max |h| and delta = max |h - h'| over the
   centroids; all three are measured, in float64, and rounded up. A missing cell is 0 in g and g',
   so it takes nothing from the left side.
2. **Gaps.** |h|^2/2 of a row with gaps is |h|^2/2 of all columns less the columns of its gaps;
those are subtracted
   by columns of their own, 1 in the row at a gap and v' = fp16(|h_l|^2/2) in the centroid: they err
   by sum |v' - |h_l|^2/2|, measured.
3. **Accumulation.** A tensor core multiplies exactly, aligns N products and the accumulator to the
largest of them,
   drops what lies below F binary places of it, adds, and drops what does not fit a float32. Each of
   the N + 1 terms loses less than 2^-F of the largest, the sum less than 2^-23 of itself, and none
   of them exceeds Y, the sum of |g'_i h'_i| (and of the gap columns) plus what was lost before. So
   one step errs by at most ((N + 1) 2^-F + 2^-23) Y, and P/N steps by P u Y with u = ((N + 1) 2^-F
   + 2^-23)/N (a term of second order, P^2 u^2, is below 2^-9 of it and inside the margin). N and F
   are not documented by the vendor; they were found by experiment: N = 4, F = 23 (Volta), N = 8, F
   = 24 (Ampere), N = 8 or 16, F >= 25 (Hopper) [Fasi, Higham, Mikaitis, Pranesh: Numerical behavior
   of NVIDIA tensor cores, PeerJ CS 7:e330, 2021; Khattak, Mikaitis: Accurate models of NVIDIA
   tensor cores, arXiv:2512.07004, 2025, in our reading of them]. Here u is that of the table below,
   **doubled**; `largest_share_of_bound` feeds the cores inputs built to lose the most. An H200
   takes 0.31 of the doubled bound (a test holds it below a half), which is what the model says of
   them; a card of an architecture that no test has seen is fed them before its first pass, and
   refused if it takes more than half.
4. **The rest in float32.** |h|^2/2 rounded once, subtracted (once rounded), the threshold b1 - 2 E
(rounded) and the
   products in 2 (q A + B): each at most 2^-24 of Y + H^2/2, fewer than eight in all: 2^-21.
5. **The number in the low bits.** The column of a centroid takes the lowest log2(BK) bits of its
score: less than BK
   2^-23 of the score, which is at most (1 + rho) q (H + delta) + H^2/2.

So with kappa = 2 P u + BK 2^-23 + 2^-21, A = rho H + (1 + rho)(delta + kappa (H + delta)) and B =
kappa H^2/2 + the gaps' error (H^2 + the gaps' error for H^2/2 where there are gaps, as these
columns are added too). The winner's score is at least the best less 2 E in any order of
accumulation, so the candidates of a doubtful row include it.
"""

from __future__ import annotations

# u by the major number of an NVIDIA architecture; AMD GPUs flush fp16 subnormals, which this proof
# does not cover
STEP_LOSS = {
    7: 6 * 2.0**-23 / 4,
    8: (9 * 2.0**-24 + 2.0**-23) / 8,
    9: (9 * 2.0**-25 + 2.0**-23) / 8,
}
# architectures whose accumulators were fed hostile inputs by tests/engines/torch/test_cuda.py
TESTED = (9,)
MARGIN = 2.0  # the model of the accumulator is inferred, not documented


def step_loss(major: int) -> float:
    """Return what one column adds to the relative error of accumulation, the largest for an unknown
    one.
    """
    return STEP_LOSS.get(major, max(STEP_LOSS.values()))


def relative_error(columns: int, tile: int, major: int) -> float:
    """kappa, rounded up: accumulation, the number in the low bits, and float32 arithmetic."""
    return (MARGIN * columns * step_loss(major) + tile * 2.0**-23 + 2.0**-21) * 1.00001
