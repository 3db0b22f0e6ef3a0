"""Assignment rules: distances D (n, k) and row weights w (n,) become labels (n,) and shares W (n, k)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from ._grid import Array

Loss = Callable[[Array], Array]


def one_each(labels: Array, w: Array, k: int) -> Any:
    """Each row's whole weight at its label, (n, k) sparse."""
    return sparse.csr_array((w, labels, np.arange(len(labels) + 1)), shape=(len(labels), k))


@dataclass(frozen=True)
class Hard:
    """A row belongs to its nearest centroid, the first of several."""

    def __call__(self, D: Array, loss: Loss, w: Array) -> tuple[Array, Any]:
        labels = nearest(D)
        return labels, one_each(labels, w, D.shape[1])


@dataclass(frozen=True)
class Fuzzy:
    """u_jc in proportion to loss_jc^(-1/(m-1)), W = w u^m; a row on centroids is shared among those it sits on."""

    fuzziness: float = 2.0

    def __call__(self, D: Array, loss: Loss, w: Array) -> tuple[Array, Any]:
        return nearest(D), w[:, None] * self.memberships(D, loss) ** self.fuzziness

    def memberships(self, D: Array, loss: Loss) -> Array:
        """u (n, k), each row of sum 1."""
        L = loss(D).astype(np.float64)
        least = L.min(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            ratio = np.where(L == least, 1.0, least / L)  # 1 at the nearest, 0 elsewhere for a row on a centroid
        u = ratio ** (1.0 / (self.fuzziness - 1.0))
        return u / u.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class NeuralGas:
    """W = w exp(-rank/reach), the nearest centroid having rank 0; reach 0 is the nearest alone."""

    reach: float

    def __call__(self, D: Array, loss: Loss, w: Array) -> tuple[Array, Any]:
        if self.reach == 0:
            return Hard()(D, loss, w)
        order, W = np.argsort(D, axis=1, kind="stable"), np.empty(D.shape)
        with np.errstate(over="ignore"):  # a reach next to nothing: exp(-inf) is 0
            fading = np.exp(-np.arange(D.shape[1]) / self.reach)
        np.put_along_axis(W, order, fading[None], axis=1)
        return nearest(D), w[:, None] * W


@dataclass(frozen=True)
class Map:
    """Self-organising map of nodes on a grid, h_cr in proportion to exp(-|c - r|^2/(2 reach^2)); W = w h[winner].

    The winner is Heskes', argmin_c sum_r h_cr loss_r, so that the map has an objective; reach 0 is the nearest alone.
    Each sum_r h_cr is 1: else a node with fewer neighbours would have less loss for that, and rows go to the rim.
    """

    grid: tuple[int, int]
    reach: float

    def __call__(self, D: Array, loss: Loss, w: Array) -> tuple[Array, Any]:
        if self.reach == 0:
            return Hard()(D, loss, w)
        h = self.neighbours
        labels = nearest(loss(D) @ h.T)
        return labels, w[:, None] * h[labels]

    @property
    def neighbours(self) -> Array:
        """h (k, k), row by winner; reach 0 is each node alone."""
        return _neighbours(self.grid, self.reach)


@lru_cache(maxsize=64)
def _neighbours(grid: tuple[int, int], reach: float) -> Array:
    steps = cdist(places(grid), places(grid))
    with np.errstate(over="ignore"):  # a reach next to nothing: exp(-inf) is 0
        h = np.exp(-((steps / reach) ** 2) / 2) if reach > 0 else (steps == 0) * 1.0
    h /= h.sum(axis=1, keepdims=True)
    h.setflags(write=False)
    return h


def places(grid: tuple[int, int]) -> Array:
    """Row and column of each node of a map, (k, 2)."""
    return np.stack(np.meshgrid(*(np.arange(side) for side in grid), indexing="ij"), axis=-1).reshape(-1, 2) * 1.0


def nearest(D: Array) -> Array:
    """The first column of least D, (n,)."""
    return D.argmin(axis=1).astype(np.int32)
