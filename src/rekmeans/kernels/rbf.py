"""RBF kernel k(x, v) = exp(-gamma |x - v|^2); centroids phi(v) of points v; loss 2(1 - k), the Welsch loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._grid import Array, inner, product
from .._sums import Sums
from .linear import Linear


@dataclass(frozen=True)
class RBF(Linear):
    """Rows and centroids are points; a row pulls with the weight k(x, v), so far rows let go."""

    gamma: float = 1.0

    def distance(self, F: Array, C: Array) -> Array:
        """gamma |x - v|^2: the nearest point is the nearest in the mapped space, without saturating."""
        return self.gamma * super().distance(F, C)

    def loss(self, D: Array) -> Array:
        return -2 * np.expm1(-D)

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        one_each = sparse.issparse(W)
        own = D[np.arange(len(D)), W.indices] if one_each else D
        strength = np.exp(-own)
        V = sparse.csr_array((W.data * strength, W.indices, W.indptr), shape=W.shape) if one_each else W * strength
        ones = np.ones((len(F), 1))
        return Sums(
            totals=product(V, F),
            strength=product(V, ones)[:, 0],
            mass=product(W, ones)[:, 0],
            loss=inner(W, self.loss(D)),
        )

    def mean(self, sums: Sums, C: Array) -> Array:
        raise NotImplementedError("the mean of RBF-mapped rows is no point: use rectified centroids.")

    def rectify(self, sums: Sums, C: Array) -> Array:
        """v = sum k x / sum k: one mean-shift step, a majorisation; without strength v stays."""
        some = sums.strength > 0
        return np.where(some[:, None], sums.totals / np.where(some, sums.strength, 1.0)[:, None], C)
