"""Starting centroids from the best of a few short fits, made on a sample if the table is large."""

from __future__ import annotations

from . import lloyd
from ._grid import Array
from .engines import Rows
from .model import Centroids, Model, State, Stop
from .seeding import MANY_CLUSTERS, Bits, SeedingPlan, greedy_rows, plus_plus

# A sample has at least SAMPLE_ROWS rows and ROWS_PER_CLUSTER rows for each cluster. For a large
# table it has one row in SAMPLE_STEP, up to MAX_SAMPLE rows.
SAMPLE_ROWS = 500
ROWS_PER_CLUSTER = 50
SAMPLE_STEP = 64
MAX_SAMPLE = 100_000
# A table with at least LARGE times the rows of a sample is seeded on the sample, unless its rows
# times columns times clusters are at most SMALL. For small tables there are more fits.
LARGE = 2
SMALL = 1 << 18
FITS_OF_SMALL = 10
FEW_CLUSTERS = 32  # with fewer clusters, more fits improve the start more than more swaps do
# Number of short fits, each from its own start. With MANY_CLUSTERS there is a single start.
FITS_OF_FEW = 4
FITS_OF_MORE = 2
SWAPS_OF_FEW = (4, 4)  # batches of swaps, and candidates per batch, with few clusters
MAX_BATCHES = 100  # with more clusters there are as many batches as clusters, up to this limit
SAMPLE_PASSES = 30  # limit of a short fit on a sample
PASSES = 5  # limit of a short fit on all rows: enough to find the better start


class DrawnBits:
    """Random words that were drawn before, returned in order."""

    def __init__(self, words: Array) -> None:
        self.words = words
        self.used = 0

    def random_raw(self, size: int, /) -> Array:
        """Return the next words."""
        self.used += size
        return self.words[self.used - size : self.used]


def best_short_fit(rows: Rows, model: Model, k: int, bits: Bits, tol: float) -> Centroids:
    """Return the centroids of the best short fit from k-means++ starts.

    With many clusters there is a single start, and a short fit only on a sample.
    """
    size = max(SAMPLE_ROWS, ROWS_PER_CLUSTER * k, min(len(rows) // SAMPLE_STEP, MAX_SAMPLE))
    is_small = len(rows) * rows.kernel.scale.n_columns * k <= SMALL
    is_large = not is_small and len(rows) >= LARGE * size
    if is_large:
        rows = rows.place(rows.table.sample(size, bits.random_raw(1).item()))
    else:
        rows = rows.in_memory()
    if k >= MANY_CLUSTERS:
        C = plus_plus(rows, k, bits)
        if is_large:
            C = lloyd.run_to_end(rows, model, C, Stop(SAMPLE_PASSES, tol)).state.centroids
        return C
    stop = Stop(SAMPLE_PASSES if is_large else PASSES, tol)
    # the number of short fits, and the seeding of each
    if k == 1:
        n_fits, plan = 1, SeedingPlan(k, 0)
    elif k < FEW_CLUSTERS:
        n_fits = FITS_OF_SMALL if is_small else FITS_OF_FEW
        plan = SeedingPlan(k, *SWAPS_OF_FEW)
    else:
        n_fits, plan = FITS_OF_MORE, SeedingPlan(k, min(k, MAX_BATCHES))
    words = bits.random_raw(n_fits * plan.n_words).reshape(n_fits, plan.n_words)
    best = rows.start_run(model).fit_drawn_starts(plan, words, stop)
    if best is None:
        best = _best_run(rows, model, plan, words, stop)
    return best.centroids


def _best_run(rows: Rows, model: Model, plan: SeedingPlan, words: Array, stop: Stop) -> State:
    """Return the final state with the lowest objective over one run for each row of words."""
    starts = (greedy_rows(rows, plan, DrawnBits(row)) for row in words)
    states = (lloyd.run_to_end(rows, model, C, stop).state for C in starts)
    return min(states, key=lambda state: state.loss)
