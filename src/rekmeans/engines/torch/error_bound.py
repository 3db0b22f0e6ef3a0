"""The bound E = q A + B on the error of a score t = g.h - |h|^2/2 computed in fp16 tensor cores,
and its proof.

Let g and h be a centred row and a centred centroid, g' and h' their fp16 roundings, q = |g|, and P
the number of stored columns. The error has six sources.

1. **Operands.** |g.h - g'.h'| <= |g - g'||h| + |g'||h - h'| (Cauchy and Schwarz), so it is at most
   q (rho H + (1 + rho) delta). Here rho = max |g - g'|/|g| over the rows, H = max |h| and delta =
   max |h - h'| over the centroids. All three are measured in float64 and rounded up. A row with |g|
   = 0 has g' = g and adds 0 to rho. A missing cell is 0 in g and g' and contributes nothing.
2. **Gaps.** |h|^2/2 of a row with gaps is |h|^2/2 of all columns less the columns of its gaps.
   Columns of their own subtract those: 1 in the row at a gap and v' = fp16(|h_l|^2/2) in the
   centroid. They err by sum |v' - |h_l|^2/2|, which is measured.
3. **Accumulation.** A tensor core multiplies exactly. It aligns N products and the accumulator to
   the largest of them, drops what lies below F binary places of it, adds, and drops what does not
   fit a float32. Let Y be the sum of |g'_i h'_i| (and of the gap columns). No term and no partial
   sum exceeds Y plus the error e_i after i steps. Each of the N + 1 terms loses less than 2^-F of
   the largest, and the sum loses less than 2^-23 of itself, so e_{i+1} <= e_i + s (Y + e_i) with s
   = (N + 1) 2^-F + 2^-23. After P/N steps the error is at most ((1 + s)^(P/N) - 1) Y <= (exp(P u) -
   1) Y with u = s/N (`step_loss`). The bound uses P u Y. The neglected share (exp(P u) - 1)/(P u) -
   1 is at most 2^-7 for P <= 49 152 (16 383 columns with gaps): 2^-7.8 on Volta, 2^-8.9 on Ampere,
   2^-9.7 on Hopper. MARGIN covers it.
4. **Other roundings.** |h|^2/2 is rounded once and subtracted (one rounding). The threshold
   b1 - 2 E is rounded, and so are the products in 2 (q A + B). Each errs by at most 2^-24 (Y +
   H^2/2), and there are fewer than 8 (`FLOAT_ROUNDINGS`).
5. **The number in the low bits.** The column of a centroid replaces the lowest log2(BK) bits of its
   score. This changes a score s by less than BK units in its last place, which is at most BK 2^-23
   |s| (`UNIT_IN_LAST_PLACE`), and |s| <= (1 + rho) q (H + delta) + H^2/2. The errors of steps 3 and
   4 inside s add less than BK 2^-23 of themselves, which MARGIN covers as well.
6. **Scores below 2^-126.** There a unit in the last place is 2^-149 whatever the score, so step 5
   needs an absolute term, `SMALLEST_ERROR`. Without it E = 0 where all centroids lie on the common
   grid point (H = delta = 0): all scores are 0, the column numbers make them differ, and a row
   would be certified for the last centroid instead of the first.

So with kappa = MARGIN P u + BK 2^-23 + 2^-21 (`relative_error`), A = rho H + (1 + rho) (delta +
kappa (H + delta)) and B = kappa H^2/2 + the gaps' error + SMALLEST_ERROR. Where there are gaps, B
has H^2 + the gaps' error in place of H^2/2, as these columns are added too. `check_convergence`
computes A and B in float32 and rounds them up.

The score of the true winner is at least its exact value less E, and the best computed score is at
most the exact value of its centroid plus E. So the winner scores at least the best less 2 E in any
order of accumulation, and the candidates of a doubtful row include it.
"""

from __future__ import annotations

from typing import NamedTuple


class Accumulator(NamedTuple):
    """How a tensor core adds up: terms per step (N) and binary places kept when aligning (F)."""

    terms: int
    places: int

    @property
    def step_loss(self) -> float:
        """The largest relative error of a step, shared between its terms: u of the proof."""
        return ((self.terms + 1) * 2.0**-self.places + UNIT_IN_LAST_PLACE) / self.terms


UNIT_IN_LAST_PLACE = 2.0**-23  # of a float32, relative to its value: at most this

# By the major number of an NVIDIA architecture. The vendor does not document N and F. Experiments
# found N = 4, F = 23 (Volta), N = 8, F = 24 (Ampere) and N = 8 or 16, F >= 25 (Hopper) [Fasi,
# Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ CS 7:e330, 2021;
# Khattak, Mikaitis: Accurate models of NVIDIA tensor cores, arXiv:2512.07004, 2025, in our reading
# of them]. AMD GPUs flush fp16 subnormals, which this proof does not cover.
ACCUMULATORS = {7: Accumulator(4, 23), 8: Accumulator(8, 24), 9: Accumulator(8, 25)}
STEP_LOSS = {major: accumulator.step_loss for major, accumulator in ACCUMULATORS.items()}

# The model of the accumulator is inferred, so the bound takes twice its loss. `accumulator.py`
# feeds the cores inputs built to lose the most: an H200 loses 0.31 of the doubled bound. A GPU of
# an architecture that no test has seen is tested before its first pass and rejected above a half.
MARGIN = 2.0
# architectures whose accumulators were fed hostile inputs by tests/engines/torch/test_cuda.py
TESTED = (9,)

FLOAT_ROUNDINGS = 8 * UNIT_IN_LAST_PLACE / 2  # step 4: 8 roundings of at most 2^-24 each

# kappa becomes a float32 argument of the kernels, which costs 2^-24, and is computed in float64.
# The factor is larger than needed.
ROUNDED_UP = 1.00001

# Step 6: BK 2^-149 rounded up to a power of two that no GPU flushes to zero. It changes no other
# bound: H > 0 means H >= 2^-23, so that B >= 2^-21 2^-47, and adding 2^-100 does not change it.
SMALLEST_ERROR = 2.0**-100


def step_loss(major: int) -> float:
    """Return what one column adds to the relative error of accumulation, the largest for an unknown
    architecture.
    """
    return STEP_LOSS.get(major, max(STEP_LOSS.values()))


def relative_error(columns: int, tile: int, major: int) -> float:
    """Return kappa, rounded up: accumulation, the number in the low bits, other roundings."""
    accumulation = MARGIN * columns * step_loss(major)
    number = tile * UNIT_IN_LAST_PLACE
    return (accumulation + number + FLOAT_ROUNDINGS) * ROUNDED_UP
