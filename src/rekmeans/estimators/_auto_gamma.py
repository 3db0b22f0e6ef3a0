"""The default width: gamma = 1/(2 m), m the median distance of a row to the nearest of k rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .._grid import Array
from ..engines import place_by_definition
from ..seeding import plus_plus
from ..table import MemoryTable, Table

GAMMA_ROWS = 1 << 12  # maximum size of the sample
GAMMA_SEED = 0  # constant, so that the width depends on the table only
MEDIAN_DISTANCE = 0.5  # gamma times the median distance; 1.0 gives worse fits of clean tables
MIN_DISTANCE = np.finfo(float).tiny  # smaller distances count as 0, because their inverse overflows
FLAT_EXPONENT = -30  # losses equal distances up to 1e-9 if all distances are below 2^-30


def auto_gamma(kernel: Any, table: Table, k: int) -> float:
    """Return the width at which the median distance to the nearest of k rows is 1/2.

    The k rows are spread over the table by greedy k-means++.
    """
    sample = table.sample(GAMMA_ROWS, GAMMA_SEED)
    X = sample.dense(slice(None))
    flat = _flat_kernel(kernel, X)
    rows = place_by_definition(flat, MemoryTable(X, sample.weights))
    if not rows.weights().any():
        return 1.0
    C = plus_plus(rows, min(k, len(rows)), np.random.PCG64(GAMMA_SEED))
    distances = rows.map_blocks(lambda F: flat.distance(F, C).min(axis=1)) / flat.gamma
    median = _positive_median(distances, rows.weights())
    return MEDIAN_DISTANCE / median if median > MIN_DISTANCE else 1.0


def _flat_kernel(kernel: Any, X: Array) -> Any:
    """Return the kernel with gamma a power of 2 so small that its losses equal distances."""
    F = kernel.within_bounds().embed(X)
    unit = replace(kernel, gamma=1.0)
    middle = kernel.from_points(kernel.scale.middle[None])
    largest = float(unit.distance(F, kernel.from_rows(F[:1], middle)).max())
    exponent = math.frexp(max(largest, MIN_DISTANCE))[1]
    return replace(kernel, gamma=math.ldexp(1.0, FLAT_EXPONENT - exponent))


def _positive_median(values: Array, weights: Array) -> float:
    """Return the weighted median of the positive values (0 is the distance of the k rows)."""
    some = (weights > 0) & (values > 0)
    return (
        float(np.quantile(values[some], 0.5, weights=weights[some], method="inverted_cdf"))
        if some.any()
        else 0.0
    )
