"""Means by inner products: m_c = sum_q A_cq phi(x_q), |phi - m_c|^2 = k(x, x) - 2 sum_q A_cq k(x, x_q) + |m_c|^2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .._grid import Array, inner, product
from .._scale import Scale
from .._sums import Sums

CELLS = 1 << 22  # kernel values held at a time where they are not kept
STEPS = 100  # mean shifts to a pre-image; each is of the cost of a prediction


@dataclass(frozen=True)
class Gram:
    """A centroid is a row [A_c | |m_c|^2] over the fitted rows. Mapped rows are [k(x, x_q) for all q | k(x, x)] where
    these are kept or given, else the scaled rows, whose kernel values are made anew for each look."""

    exact: ClassVar[bool] = False
    worth: ClassVar[float] = 1.0
    branches: ClassVar[bool] = False

    scale: Scale
    own: Array  # k(x_q, x_q) of the fitted rows, (n,)
    base: Any = None  # the kernel, an RBF or Laplace; None: the table holds its values
    fitted: Any = None  # the fitted rows, scaled, (n, d)
    kept: bool = True
    beyond: str = "wrap"

    def position(self, X: Array) -> Array:
        return X if self.base is None else self.base.position(X)

    def embed(self, X: Array) -> Array:
        if self.base is None:
            return X
        F = self.base.embed(X)
        if not self.kept:
            return F
        K = np.ones((len(F), len(self.own) + 1))
        step = max(1, CELLS // len(self.own))
        for at in range(0, len(F), step):  # a few rows at a time: no second matrix beside this one
            K[at : at + step, :-1] = self.base.similarity(F[at : at + step], self.fitted)
        return K

    def start(self, U: Array) -> Array:
        """The fitted rows nearest to the points."""
        return self.whole(self.embed(U), U)

    def silent(self, X: Array) -> Array:
        return np.zeros(len(X), bool) if self.base is None else self.base.silent(X)

    def alike(self, F: Array, at: Array) -> Array:
        """k(x, x_q) of the rows and the fitted rows `at`, row by row: so that products are the same, kept or not."""
        return F.take(at, axis=1) if self.kept else self.base.similarity(F, self.fitted[at])

    def towards(self, F: Array, A: Array) -> Array:
        """<phi, m> for weights A (k, n), (n, k); a few rows at a time."""
        at = np.flatnonzero(A.any(axis=0))
        parts = np.array_split(F, max(1, len(F) * len(at) // CELLS))
        return np.concatenate([self.alike(part, at) @ A[:, at].T for part in parts])

    def lengths(self, F: Array) -> Array:
        """k(x, x), (n,)."""
        return F[:, -1] if self.kept else np.ones(len(F))

    def distance(self, F: Array, C: Array) -> Array:
        """Below 0 by rounding, or where k(x, x) is not known: new rows of precomputed values."""
        return self.lengths(F)[:, None] - 2 * self.towards(F, C[:, :-1]) + C[:, -1]

    def loss(self, D: Array) -> Array:
        return np.maximum(D, 0.0)

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        mass = product(W, np.ones((len(F), 1)))[:, 0]
        return Sums(rows=(F,), shares=(W,), mass=mass, loss=inner(W, self.loss(D)))

    def mean(self, sums: Sums, C: Array) -> Array:
        """A_c = shares/mass, and |m_c|^2 = A_c K A_c'."""
        W = np.concatenate([part.toarray() if sparse.issparse(part) else part for part in sums.shares])
        some = sums.mass > 0
        A = np.where(some[:, None], W.T / np.where(some, sums.mass, 1.0)[:, None], C[:, :-1])
        squares, at = np.zeros(len(A)), 0
        for F in sums.rows:
            squares += (A[:, at : at + len(F)] * self.towards(F, A).T).sum(axis=1)
            at += len(F)
        return np.column_stack([A, squares])

    def rectify(self, sums: Sums, C: Array) -> Array:
        raise NotImplementedError("kernel values know no points to put a centroid on: use mean centroids.")

    def gaps(self, F: Array) -> bool:
        return False

    def whole(self, f: Array, other: Array) -> Array:
        """The centroid at the fitted row nearest to f."""
        rows, everyone = np.atleast_2d(f), np.arange(len(self.own))
        nearest = (self.own - 2 * self.alike(rows, everyone)).argmin(axis=1)
        C = np.zeros((len(rows), len(self.own) + 1))
        C[np.arange(len(rows)), nearest], C[:, -1] = 1.0, self.own[nearest]
        return C.reshape(*f.shape[:-1], C.shape[1])

    def likeness(self, F: Array, C: Array, own: Array | None = None) -> Array:
        """<phi, m>/(|phi||m|) of the nearest centroid."""
        D = self.distance(F, C)
        own = D.argmin(axis=1) if own is None else own
        inward = (self.lengths(F) + C[own, -1] - D[np.arange(len(F)), own]) / 2
        size = np.sqrt(self.lengths(F) * C[own, -1])
        return np.clip(inward / np.where(size > 0, size, 1.0), -1.0, 1.0)

    def preimage(self, C: Array, near: Array) -> Array:
        """The points whose images are nearest to the means: mean shift from each cluster's average row."""
        if self.base is None:
            return np.full((len(C), 0), np.nan)
        W, V = C[:, :-1].T, np.zeros((len(C), self.fitted.shape[1]))
        flat = Sums(totals=product(W, np.nan_to_num(self.fitted)), strength=product(W, ~np.isnan(self.fitted)))
        moved = np.where(flat.strength > 0, flat.totals / np.where(flat.strength > 0, flat.strength, 1.0), V)
        for _ in range(STEPS):
            if np.array_equal(moved, V):
                break
            V = moved
            moved = self.base.rectify(self.base.pull(self.fitted, V, self.base.distance(self.fitted, V), W), V)
        return self.base.preimage(V, near)

    def deviation(self, C: Array) -> Array:
        """0 where all rows of a cluster lie at the origin, as their mean does."""
        size = C[:, :-1] @ self.own
        return np.where(size > 0, 1 - np.sqrt(np.maximum(C[:, -1], 0.0) / np.where(size > 0, size, 1.0)), 0.0)

    def between(self, C: Array) -> Array:
        inward = C[:, :-1] @ replace(self, kept=False).towards(self.fitted, C[:, :-1])
        return np.sqrt(np.maximum(C[:, -1:] + C[:, -1] - inward - inward.T, 0.0))

    def shown(self, C: Array) -> Array:
        return C

    hidden = shown
