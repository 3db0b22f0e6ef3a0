"""Clusters with a shape: (f - m)' A (f - m) + prior s^2 tr A, det A = 1, on mapped rows f; the prior makes A round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._grid import GRID, Array, inner, product
from .._scale import Scale
from .._sums import Sums
from .euler import Euler
from .linear import Linear

SWEEPS = 5  # over the columns in one pass, towards the point of the circles nearest in the metric of the shape
ANGLES = np.linspace(-np.pi, np.pi, 64, endpoint=False)  # tried for one column
NEWTON = 4  # steps from the best of them
STILL = 1e-10  # a sweep that moves nothing more ends them


@dataclass(frozen=True)
class Mahalanobis:
    """A centroid is [m | A]: a place and a shape, the inverse of the cluster's covariance, of volume 1.

    With S = cov + prior s^2 I the exact minimiser is A = det(S)^(1/p) S^-1, so that no step raises the objective.
    """

    exact: ClassVar[bool] = False
    worth: ClassVar[float] = 1.0

    base: Euler | Linear
    prior: float
    spread: float = 1.0  # s^2: mean squared distance of a row to the middle of all, by coordinate

    @property
    def branches(self) -> bool:
        return self.base.branches

    @property
    def scale(self) -> Scale:
        return self.base.scale

    @property
    def beyond(self) -> str:
        return self.base.beyond

    @property
    def unit(self) -> int:
        """What the base kernel calls 1."""
        return GRID if self.base.exact else 1

    def position(self, X: Array) -> Array:
        return self.base.position(X)

    def embed(self, X: Array) -> Array:
        return self.base.embed(X) / self.unit

    def start(self, U: Array) -> Array:
        return self.whole(self.base.start(U) / self.unit, U)

    def silent(self, X: Array) -> Array:
        return self.base.silent(X)

    def split(self, C: Array) -> tuple[Array, Array]:
        """Places (k, p) and shapes (k, p, p)."""
        p = int((np.sqrt(1 + 4 * C.shape[1]) - 1) / 2)
        return C[:, :p], C[:, p:].reshape(-1, p, p)

    def distance(self, F: Array, C: Array) -> Array:
        M, A = self.split(C)
        bare = np.stack([np.einsum("ij,ij->i", (F - m) @ a, F - m) for m, a in zip(M, A, strict=True)], axis=1)
        return np.maximum(bare, 0.0) + self.prior * self.spread * np.trace(A, axis1=1, axis2=2)

    def loss(self, D: Array) -> Array:
        return D

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        """Scatter about the old places: about 0 it would be lost in the squares of far places."""
        V, M = np.asarray(W), self.split(C)[0]
        scatter = np.stack([((F - m) * v[:, None]).T @ (F - m) for m, v in zip(M, V.T, strict=True)])  # (k, p, p)
        return Sums(totals=product(V, F), scatter=scatter, mass=V.sum(axis=0), loss=inner(V, D))

    def mean(self, sums: Sums, C: Array) -> Array:
        M, A = self.split(C)
        return self._shaped(sums, self._means(sums, M), M, A)

    def rectify(self, sums: Sums, C: Array) -> Array:
        """Each centroid moved to the point of the circles nearest to its mean in the metric of its shape."""
        M, A = self.split(C)
        if not self.base.branches:
            return self.mean(sums, C)
        target = self._means(sums, M)
        return self._shaped(sums, on_circles(target, A, M), M, A)

    def _means(self, sums: Sums, M: Array) -> Array:
        some = (sums.mass > 0)[:, None]
        return np.where(some, sums.totals / np.where(some, sums.mass[:, None], 1.0), M)

    def _shaped(self, sums: Sums, M: Array, old: Array, A: Array) -> Array:
        """The places M with the shapes that minimise the objective there; A where there is no weight."""
        p, means = M.shape[1], self._means(sums, old)
        on, off = means - old, M - means
        weight = np.where(sums.mass > 0, sums.mass, 1.0)[:, None, None]
        S = sums.scatter / weight - on[:, :, None] * on[:, None] + off[:, :, None] * off[:, None]
        S = (S + S.transpose(0, 2, 1)) / 2 + self.prior * self.spread * np.eye(p)
        sign, volume = np.linalg.slogdet(S)
        fine = (sums.mass > 0) & (sign > 0)
        shapes = A.copy()
        shapes[fine] = np.exp(volume[fine] / p)[:, None, None] * np.linalg.inv(S[fine])
        return np.concatenate([M, shapes.reshape(len(M), -1)], axis=1)

    def gaps(self, F: Array) -> bool:
        return False

    def whole(self, f: Array, other: Array) -> Array:
        p = f.shape[-1]
        round_shape = np.broadcast_to(np.eye(p).ravel(), (*f.shape[:-1], p * p))
        return np.concatenate([f, round_shape], axis=-1)

    def likeness(self, F: Array, C: Array, own: Array | None = None) -> Array:
        """1/(1 + D/p) of the nearest centroid, D without the prior."""
        D = self.distance(F, C) - self.prior * self.spread * np.trace(self.split(C)[1], axis1=1, axis2=2)
        own = self.distance(F, C).argmin(axis=1) if own is None else own
        return 1 / (1 + D[np.arange(len(F)), own] / F.shape[1])

    def preimage(self, C: Array, near: Array) -> Array:
        return self.base.preimage(self.split(C)[0], near)

    def deviation(self, C: Array) -> Array:
        return self.base.deviation(self.split(C)[0] * self.unit)

    def between(self, C: Array) -> Array:
        """In the metric of the second centroid's shape."""
        return np.sqrt(self.distance(self.split(C)[0], C))

    def shown(self, C: Array) -> Array:
        return C

    hidden = shown


def on_circles(target: Array, A: Array, M: Array) -> Array:
    """The M (k, 2d) with every (cos, sin) of length 1 that lower (m - target)' A (m - target), column by column."""
    d = M.shape[1] // 2
    M = M / np.tile(np.maximum(np.hypot(M[:, :d], M[:, d:]), np.finfo(float).tiny), 2)
    slope = np.einsum("kij,kj->ki", A, M - target)
    for _ in range(SWEEPS):
        before = M.copy()
        for j in range(d):
            B, old = A[:, j::d, j::d], M[:, j::d]
            z = on_circle(B, (B @ old[:, :, None])[:, :, 0] - slope[:, j::d], old)
            slope += (A[:, :, j::d] @ (z - old)[:, :, None])[:, :, 0]
            M[:, j::d] = z
        if np.abs(M - before).max() < STILL:
            break
    return M


def on_circle(B: Array, h: Array, old: Array) -> Array:
    """The unit vectors z (k, 2) of least z'Bz - 2 h'z; the old one unless another is lower."""

    b00, b01, b11 = B[:, 0, :1], B[:, 0, 1:] + B[:, 1, :1], B[:, 1, 1:]  # (k, 1) each

    def height(cos: Array, sin: Array) -> Array:  # (k, t)
        return cos * (b00 * cos + b01 * sin - 2 * h[:, :1]) + sin * (b11 * sin - 2 * h[:, 1:])

    t = ANGLES[height(np.cos(ANGLES)[None], np.sin(ANGLES)[None]).argmin(axis=1)]
    for _ in range(NEWTON):
        z, across = np.stack([np.cos(t), np.sin(t)], axis=1), np.stack([-np.sin(t), np.cos(t)], axis=1)
        pull = (B @ z[:, :, None])[:, :, 0] - h
        first = (across * pull).sum(axis=1)
        second = ((B @ across[:, :, None])[:, :, 0] * across).sum(axis=1) - (z * pull).sum(axis=1)
        t = t - np.where(second > 0, first / np.where(second > 0, second, 1.0), 0.0)
    new = np.stack([np.cos(t), np.sin(t)], axis=1)
    lower = height(new[:, :1], new[:, 1:]) < height(old[:, :1], old[:, 1:])
    return np.where(lower, new, old)
