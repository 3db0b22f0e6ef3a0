"""The width of a kernel that nobody named: gamma = 1/(2 median distance of a row to the nearest of k spread rows)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import sparse

from .._grid import Array, sampled
from .._table import Table
from ..engines.reference import ReferenceRows
from ..kernels.rbf import RBF
from ..seeds import plus_plus

SAMPLE = 1 << 12  # rows looked at
WIDTH = 0.5  # of the distance at which the middle row lies; twice as steep, and clean tables begin to suffer
LEAST = np.finfo(float).tiny  # a smaller distance is none: its inverse would overflow
FLAT = -30  # power of 2 of the largest distance at which losses are taken for distances: they err by 1e-9


def auto_gamma(kernel: RBF, table: Table, k: int) -> float:
    """The width at which the middle row lies at distance 1/2 of the nearest of k rows spread over the table."""
    weights = np.ones(table.X.shape[0]) if table.weights is None else table.weights
    at, weights = sampled(weights, SAMPLE)
    X = table.X[at].toarray() if sparse.issparse(table.X) else table.X[at]
    flat = _flat(kernel, X)
    rows = ReferenceRows(flat, Table(X, weights))
    if not rows.weights().any():
        return 1.0
    C = plus_plus(rows, min(k, len(at)), np.random.PCG64(0))
    near = rows.each(lambda F: flat.distance(F, C).min(axis=1)) / flat.gamma
    middle = _middle(near, rows.weights())
    return WIDTH / middle if middle > LEAST else 1.0


def _flat(kernel: RBF, X: Array) -> RBF:
    """The kernel at a width, a power of 2, so small that losses are distances, whatever the units of the rows."""
    F, even = kernel.within().embed(X), replace(kernel, gamma=1.0)
    widest = float(even.distance(F, kernel.whole(F[:1], kernel.start(kernel.scale.centre[None]))).max())
    return replace(kernel, gamma=math.ldexp(1.0, FLAT - math.frexp(max(widest, LEAST))[1]))


def _middle(values: Array, weights: Array) -> float:
    """Weighted median of the values above zero: a row that is itself one of the k says nothing of the width."""
    some = (weights > 0) & (values > 0)
    return float(np.quantile(values[some], 0.5, weights=weights[some], method="inverted_cdf")) if some.any() else 0.0
