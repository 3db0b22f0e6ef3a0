"""Linear kernel: phi(x) = x; the loop becomes plain k-means. The ground of all kernels whose centroids are points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from .._grid import Array, inner, product
from .._scale import BEYOND, Scale, silenced
from .._sums import Sums

SIZES = {"sqeuclidean": np.square, "cityblock": np.abs}  # a coordinate's share of the distance


@dataclass(frozen=True)
class Linear:
    """The scaled table itself; NaN for a cell that says nothing."""

    exact: ClassVar[bool] = False
    worth: ClassVar[float] = 1.0
    branches: ClassVar[bool] = False

    scale: Scale
    beyond: str = "wrap"

    def position(self, X: Array) -> Array:
        return np.asarray(self.scale.scaled(BEYOND[self.beyond](self.scale, X)), np.float64)

    embed = position

    def start(self, U: Array) -> Array:
        return self.within().embed(U)

    def within(self) -> Self:
        """The same kernel, which moves a value beyond the bounds to them where this one ignores it."""
        return replace(self, beyond="wrap" if self.beyond == "wrap" else "clip")

    def silent(self, X: Array) -> Array:
        return silenced(self.scale, X) if self.beyond == "ignore" else np.zeros(len(X), bool)

    def distance(self, F: Array, C: Array) -> Array:
        """|x - c|^2, (n, k)."""
        return apart(F, C, "sqeuclidean")

    def loss(self, D: Array) -> Array:
        return D

    def strength(self, D: Array) -> Array:
        """How hard a row at distance D pulls."""
        return np.ones_like(D)

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        V, seen = weighed(W, D, self.strength), ~np.isnan(F)
        return Sums(
            totals=product(V, np.where(seen, F, 0.0)),
            strength=product(V, seen.astype(np.float64)),
            mass=product(W, np.ones((len(F), 1)))[:, 0],
            loss=inner(W, self.loss(D)),
        )

    def mean(self, sums: Sums, C: Array) -> Array:
        """v = sum s x / sum s per coordinate; where nothing pulls, v stays."""
        some = sums.strength > 0
        return np.where(some, sums.totals / np.where(some, sums.strength, 1.0), C)

    rectify = mean  # the mean of points is a point

    def gaps(self, F: Array) -> bool:
        return bool(np.isnan(F).any())

    def whole(self, f: Array, other: Array) -> Array:
        return np.where(np.isnan(f), other, f)

    def likeness(self, F: Array, C: Array, own: Array | None = None) -> Array:
        """1/(1 + |x - c|^2) of the nearest centroid."""
        return 1 / (1 + self.nearest(F, C, own))

    def nearest(self, F: Array, C: Array, own: Array | None = None) -> Array:
        """Distance to the nearest centroid, or to the one named, (n,)."""
        D = self.distance(F, C)
        return D.min(axis=1) if own is None else D[np.arange(len(D)), own]

    def preimage(self, C: Array, near: Array) -> Array:
        return self.scale.restored(C)

    def deviation(self, C: Array) -> Array:
        return np.zeros(len(C))

    def between(self, C: Array) -> Array:
        return np.sqrt(self.loss(self.distance(C, C)))

    def shown(self, C: Array) -> Array:
        return C

    hidden = shown


def apart(F: Array, C: Array, metric: str) -> Array:
    """Sums of squares or absolute values of the differences over the coordinates each row has, (n, k)."""
    D = cdist(F, C, metric)
    gaps = np.isnan(D).any(axis=1)
    if gaps.any():  # few rows as a rule: they alone are summed without their gaps
        D[gaps] = np.stack([np.nansum(SIZES[metric](F[gaps] - c), axis=1) for c in C], axis=1)
    return D


def weighed(W: Any, D: Array, strength: Any) -> Any:
    """W times strength(D), where W has entries."""
    if not sparse.issparse(W):
        return W * strength(D)
    own = strength(D[np.arange(len(D)), W.indices])
    return sparse.csr_array((W.data * own, W.indices, W.indptr), shape=W.shape)
