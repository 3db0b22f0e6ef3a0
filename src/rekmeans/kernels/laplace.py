"""Laplace kernels k(x, v) = exp(-gamma |x - v|), in the L1 or the L2 norm; centroids phi(v) of points v."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._grid import Array, inner, product
from .._sums import Sums
from .linear import apart, weighed
from .rbf import RBF

LEAST = 1e-9  # distance, in units of the scale, within which a row sits on a centroid


@dataclass(frozen=True)
class LaplaceL2(RBF):
    """exp(-gamma |x - v|_2); `rectify` is Weiszfeld's step with the weights exp(-gamma r)/r.

    Rows on the centroid itself would hold it for ever: they pull nothing, and only shorten the step (Vardi and Zhang).
    """

    def distance(self, F: Array, C: Array) -> Array:
        return self.gamma * np.sqrt(apart(F, C, "sqeuclidean"))

    def strength(self, D: Array) -> Array:
        on = self.on(D)
        return np.where(on, 0.0, np.exp(-D) / np.where(on, 1.0, D / self.gamma))

    def on(self, D: Array) -> Array:
        """Whether a row at distance D sits on the centroid."""
        return D <= LEAST * self.gamma

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        holding = product(weighed(W, D, lambda D: self.on(D) * 1.0), np.ones((len(F), 1)))[:, 0]
        return super().pull(F, C, D, W) | Sums(holding=holding)

    def rectify(self, sums: Sums, C: Array) -> Array:
        """v + (1 - held/|R|)(T - v), T the weighted mean of the rows off v and R the sum of their pulls."""
        target = super().rectify(sums, C)
        force = np.linalg.norm(sums.totals - sums.strength * C, axis=1)
        free = np.maximum(0.0, 1 - sums.holding / np.where(force > 0, force, 1.0)) * (force > 0)
        return C + free[:, None] * (target - C)


@dataclass(frozen=True)
class Laplace(RBF):
    """exp(-gamma |x - v|_1); `rectify` takes the weighted median of each coordinate, with the weights k(x, v)."""

    def distance(self, F: Array, C: Array) -> Array:
        return self.gamma * apart(F, C, "cityblock")

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        """A median is no sum: the rows themselves and their weights are handed on, block after block."""
        mass = product(W, np.ones((len(F), 1)))[:, 0]
        return Sums(rows=(F,), weights=(weighed(W, D, self.strength),), mass=mass, loss=inner(W, self.loss(D)))

    def rectify(self, sums: Sums, C: Array) -> Array:
        F, V = np.concatenate(sums.rows), sums.weights
        V = sparse.vstack(V).tocsc() if sparse.issparse(V[0]) else np.concatenate(V)
        return np.stack([medians(F, V[:, [c]], C[c]) for c in range(len(C))])


def medians(F: Array, v: Any, old: Array) -> Array:
    """In each column the smallest value at which the weights v (n, 1) of it and all below reach half; else the old."""
    at = v.indices if sparse.issparse(v) else np.flatnonzero(v[:, 0])  # rows of no weight are not sorted
    own, weights = F[at], v.data if sparse.issparse(v) else v[at, 0]
    order = np.argsort(own, axis=0, kind="stable")  # NaN last
    there = np.take_along_axis(own, order, axis=0)
    mass = np.cumsum(np.where(np.isnan(there), 0.0, weights[order]), axis=0)  # (n, d)
    if not len(own):
        return old
    half = (mass >= mass[-1:] / 2).argmax(axis=0)
    return np.where(mass[-1] > 0, there[half, np.arange(F.shape[1])], old)
