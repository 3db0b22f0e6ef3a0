"""RBF kernel k(x, v) = exp(-gamma |x - v|^2); centroids phi(v) of points v; loss 2(1 - k), the Welsch loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._grid import Array
from .._sums import Sums
from .linear import Linear, apart


@dataclass(frozen=True)
class RBF(Linear):
    """Rows and centroids are points; a row pulls with the weight k(x, v), so far rows let go.

    `rectify` is the mean-shift step v = sum k x / sum k, a majorisation.
    """

    gamma: float = 1.0

    def distance(self, F: Array, C: Array) -> Array:
        """gamma |x - v|^2: the nearest point is the nearest in the mapped space, without saturating."""
        return self.gamma * apart(F, C, "sqeuclidean")

    def loss(self, D: Array) -> Array:
        return -2 * np.expm1(-D)

    def strength(self, D: Array) -> Array:
        return np.exp(-D)

    def mean(self, sums: Sums, C: Array) -> Array:
        raise NotImplementedError("the mean of rows mapped by this kernel is no point: kernels/gram.py holds it.")

    def similarity(self, F: Array, C: Array) -> Array:
        """k(x, v), (n, k)."""
        return np.exp(-self.distance(F, C))

    def likeness(self, F: Array, C: Array, own: Array | None = None) -> Array:
        """k of the nearest centroid: the cosine of the angle between them in the mapped space."""
        return np.exp(-self.nearest(F, C, own))
