"""The bound E = q A + B on the error of a score t = g.h - |h|^2/2 computed in fp16 tensor cores,
and its proof.

Let g and h be a centred row and a centred centroid, g' and h' their fp16 roundings, q = |g|, and P
the number of stored columns. The error has six sources.

1. **Operands.** By Cauchy-Schwarz, |g.h - g'.h'| <= |g - g'||h| + |g'||h - h'|, which is at most
   q (rho H + (1 + rho) delta). Here rho = max |g - g'|/|g| over the rows, H = max |h| and delta =
   max |h - h'| over the centroids. All three are measured in float64 and rounded up. A row with |g|
   = 0 has g' = g and adds 0 to rho. A missing cell is 0 in g and g' and contributes nothing.
2. **Missing cells.** For a row with missing cells, |h|^2/2 excludes the columns of these cells.
   Extra gap columns subtract them: a row has 1 in the gap column of a missing cell, and a centroid
   has v' = fp16(|h_l|^2/2). Their error is sum |v' - |h_l|^2/2|, which is measured.
3. **Accumulation.** A tensor core multiplies exactly. It aligns N products and the accumulator to
   the largest of them, drops the bits more than F binary places below it, adds, and drops the bits
   that do not fit a float32. Let Y be the sum of |g'_i h'_i|, including the gap columns. No term
   and no partial sum exceeds Y plus the error e_i after i steps. Each of the N + 1 terms loses less
   than 2^-F of the largest, and the sum loses less than 2^-23 of itself, so e_{i+1} <= e_i +
   s (Y + e_i) with s = (N + 1) 2^-F + 2^-23. After P/N steps the error is at most ((1 + s)^(P/N) -
   1) Y <= (exp(P u) - 1) Y with u = s/N (`step_loss`). The bound uses P u Y. The neglected share
   (exp(P u) - 1)/(P u) - 1 is at most 2^-7 for P <= 49 152 (16 383 columns with missing cells):
   2^-7.8 on Volta, 2^-8.9 on Ampere, 2^-9.7 on Hopper. MARGIN covers it.
4. **Other roundings.** |h|^2/2 is rounded once, and subtracting it rounds once more. The threshold
   b1 - 2 E is rounded, and so are the products in 2 (q A + B). The error of each rounding is at
   most 2^-24 (Y + H^2/2), and there are fewer than 8 of them (`FLOAT_ROUNDINGS`).
5. **The column number in the low bits.** The column of a centroid replaces the lowest log2(BK) bits
   of its score. This changes a score s by less than BK units in its last place, which is at most
   BK 2^-23 |s| (`UNIT_IN_LAST_PLACE`), and |s| <= (1 + rho) q (H + delta) + H^2/2. The errors of
   steps 3 and 4 in s grow by a factor below 1 + BK 2^-23, which MARGIN covers as well.
6. **Scores below 2^-126.** For these, a unit in the last place is 2^-149 regardless of the score,
   so step 5 needs an absolute term, `SMALLEST_ERROR`. Without it, E = 0 if all centroids lie on the
   common grid point (H = delta = 0). All scores are then 0, the column numbers make them differ,
   and a row would be certified for the last centroid instead of the first.

Together, with kappa = MARGIN P u + BK 2^-23 + 2^-21 (`relative_error`), A = rho H + (1 + rho)
(delta + kappa (H + delta)) and B = kappa H^2/2 + the gap columns' error + SMALLEST_ERROR. If cells
are missing, B has H^2 + the gap columns' error in place of H^2/2, because these columns are added
too. `check_convergence` computes A and B in float32 and rounds them up.

The score of the true winner is at least its exact value minus E, and the best computed score is at
most the exact value of its centroid plus E. Therefore the winner's score is at least the best score
minus 2 E, in any order of accumulation, and the candidates of a doubtful row include the winner.
"""

from __future__ import annotations

from typing import NamedTuple


class Accumulator(NamedTuple):
    """The accumulator of a tensor core: terms per step (N), binary places kept by alignment (F)."""

    terms: int
    places: int

    @property
    def step_loss(self) -> float:
        """The largest relative error of a step, divided by its terms: u in the proof."""
        return ((self.terms + 1) * 2.0**-self.places + UNIT_IN_LAST_PLACE) / self.terms


UNIT_IN_LAST_PLACE = 2.0**-23  # upper bound for a float32, relative to its value

# Accumulators by major compute capability. NVIDIA does not document N and F. Experiments found
# N = 4, F = 23 (Volta), N = 8, F = 24 (Ampere) and N = 8 or 16, F >= 25 (Hopper) [Fasi, Higham,
# Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, PeerJ CS 7:e330, 2021; Khattak,
# Mikaitis: Accurate models of NVIDIA tensor cores, arXiv:2512.07004, 2025; both as we read them].
# AMD GPUs flush fp16 subnormals, which this proof does not cover.
ACCUMULATORS = {7: Accumulator(4, 23), 8: Accumulator(8, 24), 9: Accumulator(8, 25)}
STEP_LOSS = {major: accumulator.step_loss for major, accumulator in ACCUMULATORS.items()}

# The accumulator model is inferred, so the bound is doubled. On inputs built to maximize the error
# (`adversarial_operands` in placement.py), an H200 reaches 0.31 of the doubled bound. A GPU of an
# untested architecture is tested before its first pass, and rejected if its error exceeds half of
# the doubled bound.
MARGIN = 2.0
# major compute capabilities that tests/engines/torch/test_cuda.py has tested with such inputs
TESTED = (9,)

FLOAT_ROUNDINGS = 8 * UNIT_IN_LAST_PLACE / 2  # step 4: 8 roundings of at most 2^-24 each

# kappa is computed in float64 and passed to the kernels as a float32, with an error of 2^-24. The
# factor is larger than necessary.
ROUNDED_UP = 1.00001

# Step 6: BK 2^-149, rounded up to a power of two that no GPU flushes to zero. It affects no other
# bound: if H > 0, then H >= 2^-23 and B >= 2^-21 2^-47, and adding 2^-100 does not change B.
SMALLEST_ERROR = 2.0**-100


def step_loss(major: int) -> float:
    """Return the relative accumulation error per column.

    For an unknown architecture, return the largest known value.
    """
    return STEP_LOSS.get(major, max(STEP_LOSS.values()))


def relative_error(columns: int, tile: int, major: int) -> float:
    """Return kappa, rounded up: accumulation, column number in the low bits, other roundings."""
    accumulation = MARGIN * columns * step_loss(major)
    number = tile * UNIT_IN_LAST_PLACE
    return (accumulation + number + FLOAT_ROUNDINGS) * ROUNDED_UP
