"""Where the fit of a large or wide table starts: the best of a few short fits of it, or of a sample of its rows."""

from __future__ import annotations

from typing import Any

from . import lloyd
from .engines import Rows
from .model import Model, Stop
from .seeding import Bits, Start

SAMPLE_ROWS, ROWS_PER_CLUSTER = 10_000, 100  # of a sample: the larger of the two
LARGE = 4  # a table of so many samples is seeded on one
WIDE = 1000  # columns, in which each row is far from all others: a start at rows often leaves one large cluster
N_FITS = 4  # of the sample, each from a start of its own
MANY_CLUSTERS = 500  # from so many on a single one
SAMPLE_PASSES = 30  # of such a fit at most


def sample_start(start: Start, model: Model, tol: float) -> Start:
    """`start` on the rows of a small table; on others the centroids of the best short fit from such starts."""

    def of_rows(rows: Rows, k: int, bits: Bits) -> Any:
        size = max(SAMPLE_ROWS, ROWS_PER_CLUSTER * k)
        is_large, is_wide = len(rows) >= LARGE * size, rows.kernel.scale.n_columns >= WIDE
        if not is_large and not is_wide:
            return start(rows, k, bits)
        sample = rows.sample(size, bits.random_raw()) if is_large else rows
        starts = [start(sample, k, bits) for _ in range(N_FITS if k < MANY_CLUSTERS else 1)]
        ends = [lloyd.run_to_end(sample, model, C, Stop(SAMPLE_PASSES, tol)).state for C in starts]
        return min(ends, key=lambda state: state.loss).centroids

    return of_rows
