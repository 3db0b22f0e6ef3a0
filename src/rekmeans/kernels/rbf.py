"""RBF kernel k(x, v) = exp(-gamma |x - v|^2) with centroids phi(v) at points v and the loss
2(1 - k), the Welsch loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._grid import Array
from ..model import Points
from .base import Kernel, distance_to_own, weigh
from .points import PointSums, point_distances, point_sums, weighted_mean


@dataclass(frozen=True)
class RBF(Kernel):
    """The RBF kernel: a row pulls with the weight k(x, v), so far rows have no influence."""

    name: ClassVar[str] = "rbf"
    formula: ClassVar[str] = "rbf"
    supports_missing: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("gamma",)
    has_width: ClassVar[bool] = True

    gamma: Any = 1.0

    def embed(self, X: Array) -> Array:
        return self.coordinates(X)

    def distance(self, F: Array, C: Points) -> Array:
        """Return gamma |x - v|^2, which has the order of the loss and does not saturate."""
        return self.gamma * point_distances(F, C, "sqeuclidean")

    def loss(self, D: Array) -> Array:
        return -2 * np.expm1(-D)

    def accumulate(self, F: Array, C: Points, D: Array, W: Any) -> PointSums:
        return point_sums(F, W, weigh(W, D, self.irls_weight))

    def rectify(self, sums: PointSums, C: Points) -> Points:
        """Return the step of mean shift v = sum k x / sum k, a majorization."""
        return weighted_mean(sums, C)

    def preimage(self, C: Points, near: Array) -> Array:
        return self.scale.from_units(C.x)

    def irls_weight(self, D: Array) -> Array:
        return np.exp(-D)

    def similarity(self, F: Array, V: Array) -> Array:
        """Return k(x, v), (n, m)."""
        return np.exp(-self.distance(F, Points(V)))

    def centroid_similarity(self, F: Array, C: Points, labels: Array | None = None) -> Array:
        """Return k of the nearest centroid, the cosine of the angle in the mapped space."""
        return np.exp(-distance_to_own(self.distance(F, C), labels))
