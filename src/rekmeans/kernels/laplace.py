"""Laplace kernels k(x, v) = exp(-gamma |x - v|) in the L1 or L2 norm, with centroids phi(v)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .._grid import Array, mass_of
from ..model import Points, Sums
from .base import Kernel, distance_to_own, weigh
from .points import PointSums, point_distances, point_sums, weighted_mean

AT_CENTROID = 1e-9  # distance in units of the scale up to which a row lies on a centroid


@dataclass(frozen=True, kw_only=True)
class MedianSums(Sums):
    """The mass, and the medians, a statistic of all rows that does not add up over blocks."""

    medians: Array | None = None  # (k, d)


@dataclass(frozen=True, kw_only=True)
class WeiszfeldSums(PointSums):
    """The sums of the rows off the centroids, and the mass of the rows on them."""

    mass_at_centroid: Array  # (k,)


@dataclass(frozen=True)
class Laplace(Kernel):
    """The kernel exp(-gamma |x - v|_1); `rectify` returns column medians weighted by k(x, v)."""

    name: ClassVar[str] = "laplace"
    formula: ClassVar[str] = "laplace"
    supports_missing: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("gamma",)
    statistics: ClassVar[tuple[str, ...]] = ("medians",)
    is_additive: ClassVar[bool] = False
    has_width: ClassVar[bool] = True

    gamma: Any = 1.0

    def embed(self, X: Array) -> Array:
        return self.coordinates(X)

    def distance(self, F: Array, C: Points) -> Array:
        return self.gamma * point_distances(F, C, "cityblock")

    def loss(self, D: Array) -> Array:
        return -2 * np.expm1(-D)

    def accumulate(self, F: Array, C: Points, D: Array, W: Any) -> MedianSums:
        return MedianSums(mass=mass_of(W))

    def medians(self, blocks: Sequence[tuple[Array, Any]], sums: MedianSums, C: Points) -> Array:
        """Return the medians of each column over all rows F with the weights V, (k, d)."""
        F = np.concatenate([F for F, _ in blocks])
        parts = [V for _, V in blocks]
        V = sparse.vstack(parts).tocsc() if sparse.issparse(parts[0]) else np.concatenate(parts)
        return np.stack([weighted_medians(F, V[:, [c]], C.x[c]) for c in range(len(C))])

    def rectify(self, sums: MedianSums, C: Points) -> Points:
        return C if sums.medians is None else Points(sums.medians)

    def preimage(self, C: Points, near: Array) -> Array:
        return self.scale.from_units(C.x)

    def irls_weight(self, D: Array) -> Array:
        return np.exp(-D)

    def similarity(self, F: Array, V: Array) -> Array:
        """Return k(x, v), (n, m)."""
        return np.exp(-self.distance(F, Points(V)))

    def centroid_similarity(self, F: Array, C: Points, labels: Array | None = None) -> Array:
        return np.exp(-distance_to_own(self.distance(F, C), labels))


@dataclass(frozen=True)
class LaplaceL2(Kernel):
    """The kernel exp(-gamma |x - v|_2); `rectify` is Weiszfeld's step with weights exp(-gamma r)/r.

    The weight of a row at the centroid would be infinite. Instead, these rows shorten the step
    (Vardi and Zhang).
    """

    name: ClassVar[str] = "laplace-l2"
    formula: ClassVar[str] = "laplace-l2"
    supports_missing: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("gamma",)
    has_width: ClassVar[bool] = True

    gamma: Any = 1.0

    def embed(self, X: Array) -> Array:
        return self.coordinates(X)

    def distance(self, F: Array, C: Points) -> Array:
        return self.gamma * np.sqrt(point_distances(F, C, "sqeuclidean"))

    def loss(self, D: Array) -> Array:
        return -2 * np.expm1(-D)

    def accumulate(self, F: Array, C: Points, D: Array, W: Any) -> WeiszfeldSums:
        pulls = point_sums(F, W, weigh(W, D, self.irls_weight))
        at_centroid = mass_of(weigh(W, D, lambda D: self._is_at_centroid(D) * 1.0))
        shared_fields = {field.name: getattr(pulls, field.name) for field in fields(pulls)}
        return WeiszfeldSums(**shared_fields, mass_at_centroid=at_centroid)

    def rectify(self, sums: WeiszfeldSums, C: Points) -> Points:
        """Return v + (1 - mass_at_centroid/|R|)(T - v).

        T is the weighted mean of the rows off v, and R is the sum of their pulls.
        """
        target = weighted_mean(sums, C).x
        force = np.linalg.norm(sums.totals - sums.pull * C.x, axis=1)
        step = np.maximum(0.0, 1 - sums.mass_at_centroid / np.where(force > 0, force, 1.0)) * (
            force > 0
        )
        return Points(C.x + step[:, None] * (target - C.x))

    def preimage(self, C: Points, near: Array) -> Array:
        return self.scale.from_units(C.x)

    def irls_weight(self, D: Array) -> Array:
        on = self._is_at_centroid(D)
        return np.where(on, 0.0, np.exp(-D) / np.where(on, 1.0, D / self.gamma))

    def _is_at_centroid(self, D: Array) -> Array:
        return D <= AT_CENTROID * self.gamma

    def similarity(self, F: Array, V: Array) -> Array:
        """Return k(x, v), (n, m)."""
        return np.exp(-self.distance(F, Points(V)))

    def centroid_similarity(self, F: Array, C: Points, labels: Array | None = None) -> Array:
        return np.exp(-distance_to_own(self.distance(F, C), labels))


def weighted_medians(F: Array, v: Any, old: Array) -> Array:
    """Return the weighted median of each column, (d,), with the weights v (n, 1).

    It is the smallest value such that the rows up to it have half of the weight. A column without
    weight keeps its old value.
    """
    # rows of weight 0 are not sorted
    at = v.indices if sparse.issparse(v) else np.flatnonzero(v[:, 0])
    cells = F[at]
    weights = v.data if sparse.issparse(v) else v[at, 0]
    order = np.argsort(cells, axis=0, kind="stable")  # NaN last
    in_order = np.take_along_axis(cells, order, axis=0)
    mass = np.cumsum(np.where(np.isnan(in_order), 0.0, weights[order]), axis=0)  # (n, d)
    if not len(cells):
        return old
    half = (mass >= mass[-1:] / 2).argmax(axis=0)
    return np.where(mass[-1] > 0, in_order[half, np.arange(F.shape[1])], old)
