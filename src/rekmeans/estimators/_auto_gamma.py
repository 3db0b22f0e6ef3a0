"""The width of a kernel with gamma="auto": gamma = 1/(2 median distance of a row to the nearest of
k spread rows).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .._grid import Array
from ..engines import place_by_definition
from ..seeding import plus_plus
from ..table import MemoryTable, Table

GAMMA_ROWS = 1 << 12  # rows of the sample
# of the sample and of the spread rows: the width is a number of the table, not of a start
GAMMA_SEED = 0
# of the distance at which the median row lies; twice as steep, and clean tables begin to suffer
MEDIAN_DISTANCE = 0.5
LEAST_DISTANCE = np.finfo(float).tiny  # a smaller distance is none: its inverse would overflow
# power of 2 of the largest distance at which losses are taken for distances: they err by 1e-9
FLAT_EXPONENT = -30


def auto_gamma(kernel: Any, table: Table, k: int) -> float:
    """The width at which the median row lies at distance 1/2 of the nearest of k rows spread over
    the table.
    """
    sample = table.sample(GAMMA_ROWS, GAMMA_SEED)
    X = sample.dense(slice(None))
    flat = _flat_kernel(kernel, X)
    rows = place_by_definition(flat, MemoryTable(X, sample.weights))
    if not rows.weights().any():
        return 1.0
    C = plus_plus(rows, min(k, len(rows)), np.random.PCG64(GAMMA_SEED))
    near = rows.map_blocks(lambda F: flat.distance(F, C).min(axis=1)) / flat.gamma
    median = _median(near, rows.weights())
    return MEDIAN_DISTANCE / median if median > LEAST_DISTANCE else 1.0


def _flat_kernel(kernel: Any, X: Array) -> Any:
    """The kernel at a width, a power of 2, so small that losses are distances, whatever the units
    of the rows.
    """
    F = kernel.within_bounds().embed(X)
    even = replace(kernel, gamma=1.0)
    middle = kernel.from_points(kernel.scale.middle[None])
    widest = float(even.distance(F, kernel.from_rows(F[:1], middle)).max())
    return replace(
        kernel, gamma=math.ldexp(1.0, FLAT_EXPONENT - math.frexp(max(widest, LEAST_DISTANCE))[1])
    )


def _median(values: Array, weights: Array) -> float:
    """Weighted median of the values above zero: a row that is itself one of the k has no distance
    to it.
    """
    some = (weights > 0) & (values > 0)
    return (
        float(np.quantile(values[some], 0.5, weights=weights[some], method="inverted_cdf"))
        if some.any()
        else 0.0
    )
