"""Where a fit starts: the best of a few short fits, of a sample of the rows where the table is large."""

from __future__ import annotations

from typing import Any

from . import lloyd
from ._grid import Array
from .engines import Rows
from .model import Model, State, Stop
from .seeding import MANY_CLUSTERS, Bits, SeedingPlan, plus_plus

SAMPLE_ROWS, ROWS_PER_CLUSTER = 500, 50  # of a sample: the larger of the two,
SAMPLE_SHARE = 64  # or one row in so many
LARGE = 2  # a table of so many samples is seeded on one
FEW_CLUSTERS = 32  # below which a start takes little time, and the best of more of them is taken
FITS_OF_FEW, FITS_OF_MORE = 4, 2  # each from a start of its own; of MANY_CLUSTERS one
SAMPLE_PASSES = 30  # of a short fit of a sample at most
PASSES = 10  # of one of all rows: enough to tell the better start


class Words:
    """Random words that were drawn before, in order."""

    def __init__(self, words: Array) -> None:
        self.words, self.used = words, 0

    def random_raw(self, size: int, /) -> Array:
        self.used += size
        return self.words[self.used - size : self.used]


def best_short_fit(rows: Rows, model: Model, k: int, bits: Bits, tol: float) -> Any:
    """The centroids in which the best short fit from starts by k-means++ ends; of many clusters the one start."""
    size = max(SAMPLE_ROWS, ROWS_PER_CLUSTER * k, len(rows) // SAMPLE_SHARE)
    is_large = len(rows) >= LARGE * size
    rows = rows.sample(size, bits.random_raw(1).item()) if is_large else rows
    if k >= MANY_CLUSTERS:
        C = plus_plus(rows, k, bits)
        return lloyd.run_to_end(rows, model, C, Stop(SAMPLE_PASSES, tol)).state.centroids if is_large else C
    stop, plan = Stop(SAMPLE_PASSES if is_large else PASSES, tol), SeedingPlan(k)
    n_fits = FITS_OF_FEW if k < FEW_CLUSTERS else FITS_OF_MORE
    words = bits.random_raw(n_fits * plan.n_words).reshape(n_fits, plan.n_words)
    best = rows.best_of_drawn(model, plan, words, stop) or _best_one_by_one(rows, model, k, words, stop)
    return best.centroids


def _best_one_by_one(rows: Rows, model: Model, k: int, words: Array, stop: Stop) -> State:
    """The end of lowest objective, the first of several, of runs from each row of words."""
    starts = (plus_plus(rows, k, Words(row)) for row in words)
    return min((lloyd.run_to_end(rows, model, C, stop).state for C in starts), key=lambda state: state.loss)
