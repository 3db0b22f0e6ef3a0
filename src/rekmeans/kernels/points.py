"""The linear and RBF kernels, and distances and means for kernels whose centroids are points.

With the linear kernel phi(x) = x the loop is plain k-means. The RBF kernel
k(x, v) = exp(-gamma |x - v|^2) has the Welsch loss 2(1 - k).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from .._grid import Array, mass_of, product
from ..model import Points, Sums
from .base import Kernel, distance_to_own, weigh

COORDINATE_SHARE = {"sqeuclidean": np.square, "cityblock": np.abs}  # term of a coordinate


@dataclass(frozen=True, kw_only=True)
class PointSums(Sums):
    """The sums of v x and of v over the observed coordinates; a row pulls with weight v."""

    totals: Array  # (k, d)
    pull: Array  # (k, d)

    def drop_faded(self, least: float) -> PointSums:
        kept = self.pull >= least
        return replace(self, totals=self.totals * kept, pull=self.pull * kept)


def point_distances(F: Array, C: Points, metric: str) -> Array:
    """Return sums of squared or absolute differences over the observed coordinates, (n, k)."""
    D = cdist(F, C.x, metric)
    missing = np.isnan(D).any(axis=1)
    if missing.any():  # these rows, usually few, are summed again without their missing cells
        share = COORDINATE_SHARE[metric]
        D[missing] = np.stack([np.nansum(share(F[missing] - c), axis=1) for c in C.x], axis=1)
    return D


def point_sums(F: Array, W: Any, V: Any) -> PointSums:
    """Return the sums of rows with weights W that pull with weights V, both (n, k)."""
    observed = ~np.isnan(F)
    return PointSums(
        mass=mass_of(W),
        totals=product(V, np.where(observed, F, 0.0)),
        pull=product(V, observed.astype(np.float64)),
    )


def weighted_mean(sums: PointSums, C: Points) -> Points:
    """Return sum v x / sum v for each coordinate, or the old value if sum v = 0."""
    some = sums.pull > 0
    return Points(np.where(some, sums.totals / np.where(some, sums.pull, 1.0), C.x))


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel: mapped rows are the scaled rows, with NaN in missing cells."""

    name: ClassVar[str] = "linear"
    formula: ClassVar[str] = "linear"
    pull_is_weight: ClassVar[bool] = True
    loss_is_distance: ClassVar[bool] = True
    supports_missing: ClassVar[bool] = True
    centroid_rules: ClassVar[tuple[str, ...]] = ("mean",)
    mean_is_point: ClassVar[bool] = True

    def embed(self, X: Array) -> Array:
        return self.coordinates(X)

    def distance(self, F: Array, C: Points) -> Array:
        """Return |x - c|^2, (n, k)."""
        return point_distances(F, C, "sqeuclidean")

    def loss(self, D: Array) -> Array:
        return D

    def accumulate(self, F: Array, C: Points, D: Array, W: Any) -> PointSums:
        return point_sums(F, W, W)

    def mean(self, sums: PointSums, C: Points) -> Points:
        return weighted_mean(sums, C)

    def preimage(self, C: Points, near: Array) -> Array:
        return self.scale.from_units(C.x)


@dataclass(frozen=True)
class RBF(Kernel):
    """The RBF kernel: a row pulls with the weight k(x, v), so distant rows have no influence."""

    name: ClassVar[str] = "rbf"
    formula: ClassVar[str] = "rbf"
    supports_missing: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("gamma",)
    has_width: ClassVar[bool] = True

    gamma: Any = 1.0

    def embed(self, X: Array) -> Array:
        return self.coordinates(X)

    def distance(self, F: Array, C: Points) -> Array:
        """Return gamma |x - v|^2, which orders rows like the loss and does not saturate, (n, k)."""
        return self.gamma * point_distances(F, C, "sqeuclidean")

    def loss(self, D: Array) -> Array:
        return -2 * np.expm1(-D)

    def accumulate(self, F: Array, C: Points, D: Array, W: Any) -> PointSums:
        return point_sums(F, W, weigh(W, D, self.irls_weight))

    def rectify(self, sums: PointSums, C: Points) -> Points:
        """Return the mean-shift step v = sum k x / sum k, which is a majorization step."""
        return weighted_mean(sums, C)

    def preimage(self, C: Points, near: Array) -> Array:
        return self.scale.from_units(C.x)

    def irls_weight(self, D: Array) -> Array:
        return np.exp(-D)

    def similarity(self, F: Array, V: Array) -> Array:
        """Return k(x, v), (n, m)."""
        return np.exp(-self.distance(F, Points(V)))

    def centroid_similarity(self, F: Array, C: Points, labels: Array | None = None) -> Array:
        """Return k(x, v) for the centroid of each row: the cosine in the mapped space, (n,)."""
        return np.exp(-distance_to_own(self.distance(F, C), labels))
