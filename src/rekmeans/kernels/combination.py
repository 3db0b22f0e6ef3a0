"""Means as combinations of the fitted rows: m_c = sum_q A_cq phi(x_q).

|phi - m_c|^2 = k(x, x) - 2 sum_q A_cq k(x, x_q) + |m_c|^2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._grid import Array
from ..model import Centroids, Sums
from ..table import Table, dense

BLOCK_VALUES = 1 << 22  # kernel values computed at a time

# (rows F (n, p), indices `at` of fitted rows) -> k(x, x_q), (n, len(at))
Inner = Callable[[Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Combination(Centroids):
    """Centroids as combinations of the fitted rows: weights A (k, n), and squared lengths (k,)."""

    weights: Array
    squares: Array


@dataclass(frozen=True, kw_only=True)
class CombinationSums(Sums):
    """The mass, and the combinations, a statistic of all rows that does not add up over blocks."""

    combination: Combination | None = None


def inner_products(values: Inner, F: Array, A: Array) -> Array:
    """Return <phi, m> for weights A (k, n), (n, k), computed a few rows at a time."""
    at = np.flatnonzero(A.any(axis=0))
    parts = np.array_split(F, max(1, len(F) * len(at) // BLOCK_VALUES))
    return np.concatenate([values(part, at) @ A[:, at].T for part in parts])


def combination_distances(values: Inner, F: Array, lengths: Array, C: Combination) -> Array:
    """Return |phi - m|^2, (n, k).

    It may be negative because of rounding, or if the lengths k(x, x) are unknown.
    """
    return lengths[:, None] - 2 * inner_products(values, F, C.weights) + C.squares


def mean_combination(
    values: Inner, blocks: Sequence[tuple[Array, Any]], sums: CombinationSums, C: Combination
) -> Combination:
    """Return A_c = weights/mass and |m_c|^2 = A_c K A_c'.

    A cluster without weight keeps its centroid.
    """
    W = np.concatenate([dense(part) for _, part in blocks])
    some = sums.mass > 0
    A = np.where(some[:, None], W.T / np.where(some, sums.mass, 1.0)[:, None], C.weights)
    squares = np.zeros(len(A))
    at = 0
    for F, _ in blocks:
        squares += (A[:, at : at + len(F)] * inner_products(values, F, A).T).sum(axis=1)
        at += len(F)
    return Combination(A, squares)


def at_fitted_rows(values: Inner, F: Array, fitted_lengths: Array, counting: Array) -> Combination:
    """Return centroids at the nearest of the fitted rows with the indices `counting`."""
    nearest = counting[(fitted_lengths[counting] - 2 * values(F, counting)).argmin(axis=1)]
    A = np.zeros((len(F), len(fitted_lengths)))
    A[np.arange(len(F)), nearest] = 1.0
    return Combination(A, fitted_lengths[nearest])


def counting_rows(kernel: Any, table: Table) -> Array:
    """Return the indices of the rows with a positive weight and a kept value, or else all.

    Only these rows may be centroids.
    """
    counts = ~kernel.uninformative_rows(table.dense(slice(None)))
    counts &= True if table.weights is None else table.weights > 0
    return np.flatnonzero(counts if counts.any() else ~counts)


def combination_similarity(D: Array, lengths: Array, C: Combination, labels: Array | None) -> Array:
    """Return <phi, m>/(|phi||m|) for the nearest or labelled centroid of each row, (n,)."""
    labels = D.argmin(axis=1) if labels is None else labels
    inner = (lengths + C.squares[labels] - D[np.arange(len(D)), labels]) / 2
    size = np.sqrt(lengths * C.squares[labels])
    return np.clip(inner / np.where(size > 0, size, 1.0), -1.0, 1.0)


def combination_deviation(C: Combination, fitted_lengths: Array) -> Array:
    """Return 1 - |m|/|phi|, (k,), or 0 if all rows of a cluster lie at the origin."""
    size = C.weights @ fitted_lengths
    ratio = np.maximum(C.squares, 0.0) / np.where(size > 0, size, 1.0)
    return np.where(size > 0, 1 - np.sqrt(ratio), 0.0)
