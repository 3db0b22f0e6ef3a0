"""Linear kernel: phi(x) = x; the loop becomes plain k-means, the baseline in the same house."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._grid import Array, inner, product
from .._scale import Scale
from .._sums import Sums


@dataclass(frozen=True)
class Linear:
    """The scaled table itself."""

    exact: ClassVar[bool] = False
    worth: ClassVar[float] = 1.0

    scale: Scale

    def position(self, X: Array) -> Array:
        return self.scale.scaled(X)

    embed = start = position

    def silent(self, X: Array) -> Array:
        return np.zeros(len(X), bool)

    def distance(self, F: Array, C: Array) -> Array:
        """|x - c|^2, (n, k), never negative."""
        return np.maximum((F * F).sum(axis=1)[:, None] - 2 * (F @ C.T) + (C * C).sum(axis=1), 0.0)

    def loss(self, D: Array) -> Array:
        return D

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        mass = product(W, np.ones((len(F), 1)))[:, 0]
        return Sums(totals=product(W, F), mass=mass, loss=inner(W, D))

    def mean(self, sums: Sums, C: Array) -> Array:
        some = sums.mass > 0
        return np.where(some[:, None], sums.totals / np.where(some, sums.mass, 1.0)[:, None], C)

    rectify = mean  # the mean of points is a point

    def whole(self, f: Array, other: Array) -> Array:
        return f

    def preimage(self, C: Array, near: Array) -> Array:
        return self.scale.restored(C)
