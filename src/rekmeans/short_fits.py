"""Where a fit starts: the best of a few short fits, of a sample of the rows where the table is
large.
"""

from __future__ import annotations

from typing import Any

from . import lloyd
from ._grid import Array
from .engines import Rows
from .model import Model, State, Stop
from .seeding import MANY_CLUSTERS, Bits, SeedingPlan, greedy_rows, plus_plus

# of a sample: the larger of the two,
SAMPLE_ROWS = 500
ROWS_PER_CLUSTER = 50
# or one row in so many, up to this
SAMPLE_SHARE = 64
MOST_SAMPLED = 100_000
LARGE = 2  # a table of so many samples is seeded on one,
# but not one of so few rows times columns times clusters, of which more fits are made
SMALL = 1 << 18
FITS_OF_SMALL = 10
FEW_CLUSTERS = 32  # below which more fits find more than more swaps do
# each from a start of its own; of MANY_CLUSTERS one
FITS_OF_FEW = 4
FITS_OF_MORE = 2
SWAPS_OF_FEW = (4, 4)  # batches, and candidates of each
MOST_BATCHES = 100  # of swaps; of more clusters as many batches as clusters
SAMPLE_PASSES = 30  # of a short fit of a sample at most
PASSES = 5  # of one of all rows: enough to tell the better start


class Words:
    """Random words that were drawn before, in order."""

    def __init__(self, words: Array) -> None:
        self.words = words
        self.used = 0

    def random_raw(self, size: int, /) -> Array:
        self.used += size
        return self.words[self.used - size : self.used]


def best_short_fit(rows: Rows, model: Model, k: int, bits: Bits, tol: float) -> Any:
    """The centroids in which the best short fit from starts by k-means++ ends; of many clusters the
    one start.
    """
    size = max(SAMPLE_ROWS, ROWS_PER_CLUSTER * k, min(len(rows) // SAMPLE_SHARE, MOST_SAMPLED))
    is_small = len(rows) * rows.kernel.scale.n_columns * k <= SMALL
    is_large = not is_small and len(rows) >= LARGE * size
    rows = (
        rows.place(rows.table.sample(size, bits.random_raw(1).item()))
        if is_large
        else rows.in_memory()
    )
    if k >= MANY_CLUSTERS:
        C = plus_plus(rows, k, bits)
        return (
            lloyd.run_to_end(rows, model, C, Stop(SAMPLE_PASSES, tol)).state.centroids
            if is_large
            else C
        )
    stop = Stop(SAMPLE_PASSES if is_large else PASSES, tol)
    n_fits, plan = _plan(k, is_small)
    words = bits.random_raw(n_fits * plan.n_words).reshape(n_fits, plan.n_words)
    best = rows.start_run(model).fit_drawn_starts(plan, words, stop)
    if best is None:
        best = _best_one_by_one(rows, model, plan, words, stop)
    return best.centroids


def _plan(k: int, is_small: bool) -> tuple[int, SeedingPlan]:
    """How many short fits are made, and how each is seeded."""
    if k == 1:
        return 1, SeedingPlan(k, 0)
    if k < FEW_CLUSTERS:
        return FITS_OF_SMALL if is_small else FITS_OF_FEW, SeedingPlan(k, *SWAPS_OF_FEW)
    return FITS_OF_MORE, SeedingPlan(k, min(k, MOST_BATCHES))


def _best_one_by_one(
    rows: Rows, model: Model, plan: SeedingPlan, words: Array, stop: Stop
) -> State:
    """The end of lowest objective, the first of several, of runs from each row of words."""
    starts = (greedy_rows(rows, plan, Words(row)) for row in words)
    return min(
        (lloyd.run_to_end(rows, model, C, stop).state for C in starts), key=lambda state: state.loss
    )
