"""Linear kernel: phi(x) = x; the loop becomes plain k-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .._grid import Array
from ..model import Points
from .base import Kernel
from .points import PointSums, point_distances, point_sums, weighted_mean


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
