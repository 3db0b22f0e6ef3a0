"""Assignment rules: distances D (n, k) and row weights w (n,) become labels (n,), weights W (n, k),
losses (n,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from ._grid import Array
from .model import Shares

Loss = Callable[[Array], Array]


class AssignmentRule(Protocol):
    """Distances of rows to centroids become shares of the rows."""

    # a row's label is its nearest centroid, the first of several
    labels_are_nearest: ClassVar[bool]
    is_hard: ClassVar[bool]  # a row counts for the centroid of its label alone

    def __call__(self, D: Array, loss: Loss, w: Array) -> Shares: ...


def one_hot(labels: Array, w: Array, k: int) -> Any:
    """All of each row's weight at its label, (n, k) sparse."""
    if labels.min(initial=0) < 0:
        raise ValueError(
            "a distance is not a number: values overflow in the kernel; use a wider scale or "
            "smaller gamma."
        )
    return sparse.csr_array((w, labels, np.arange(len(labels) + 1)), shape=(len(labels), k))


@dataclass(frozen=True)
class Hard:
    """A row belongs to its nearest centroid, the first of several."""

    labels_are_nearest: ClassVar[bool] = True
    is_hard: ClassVar[bool] = True

    def __call__(self, D: Array, loss: Loss, w: Array) -> Shares:
        labels = nearest(D)
        nearest_D = np.take_along_axis(D, labels[:, None], axis=1)[:, 0]
        return Shares(labels, one_hot(labels, w, D.shape[1]), loss(nearest_D))


@dataclass(frozen=True)
class Fuzzy:
    """u_jc in proportion to loss_jc^(-1/(m-1)), W = w u^m; a row on centroids is shared among those
    it sits on.
    """

    labels_are_nearest: ClassVar[bool] = True
    is_hard: ClassVar[bool] = False

    fuzziness: float = 2.0

    def __call__(self, D: Array, loss: Loss, w: Array) -> Shares:
        return _shares(nearest(D), self.memberships(D, loss) ** self.fuzziness, loss(D), w)

    def memberships(self, D: Array, loss: Loss) -> Array:
        """u (n, k), each row of sum 1."""
        L = loss(D).astype(np.float64)
        least = L.min(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            # 1 at the nearest, 0 elsewhere for a row on a centroid
            ratio = np.where(L == least, 1.0, least / L)
        u = ratio ** (1.0 / (self.fuzziness - 1.0))
        return u / u.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class NeuralGas:
    """W = w exp(-rank/reach), the nearest centroid having rank 0; reach 0 is the nearest alone."""

    labels_are_nearest: ClassVar[bool] = True
    is_hard: ClassVar[bool] = False

    reach: float

    def __call__(self, D: Array, loss: Loss, w: Array) -> Shares:
        if self.reach == 0:
            return Hard()(D, loss, w)
        order = np.argsort(D, axis=1, kind="stable")
        H = np.empty(D.shape)
        with np.errstate(over="ignore"):  # a reach next to nothing: exp(-inf) is 0
            decay = np.exp(-np.arange(D.shape[1]) / self.reach)
        np.put_along_axis(H, order, decay[None], axis=1)
        return _shares(nearest(D), H, loss(D), w)


@dataclass(frozen=True)
class SomNeighbourhood:
    """Self-organising map of nodes on a grid, h_cr in proportion to exp(-|c - r|^2/(2 reach^2)); W
    = w h[winner].

    The winner is Heskes', argmin_c sum_r h_cr loss_r, so that the map has an objective; reach 0 is
    the nearest alone. Each sum_r h_cr is 1: else a node with fewer neighbours would have less loss
    for that, and rows go to the rim.
    """

    labels_are_nearest: ClassVar[bool] = False
    is_hard: ClassVar[bool] = False

    grid: tuple[int, int]
    reach: float

    def __call__(self, D: Array, loss: Loss, w: Array) -> Shares:
        if self.reach == 0:
            return Hard()(D, loss, w)
        h = self.neighbourhood
        L = loss(D)
        labels = nearest(L @ h.T)
        return _shares(labels, h[labels], L, w)

    @property
    def neighbourhood(self) -> Array:
        """h (k, k), row by winner; reach 0 is each node alone."""
        return _neighbourhood(self.grid, self.reach)


def _shares(labels: Array, H: Array, L: Array, w: Array) -> Shares:
    """W = w H and the losses sum_c H L."""
    return Shares(labels, w[:, None] * H, np.einsum("ij,ij->i", H, L.astype(np.float64)))


@lru_cache(maxsize=64)
def _neighbourhood(grid: tuple[int, int], reach: float) -> Array:
    steps = cdist(node_places(grid), node_places(grid))
    with np.errstate(over="ignore"):  # a reach next to nothing: exp(-inf) is 0
        h = np.exp(-((steps / reach) ** 2) / 2) if reach > 0 else (steps == 0) * 1.0
    h /= h.sum(axis=1, keepdims=True)
    h.setflags(write=False)
    return h


def node_places(grid: tuple[int, int]) -> Array:
    """Row and column of each node of a map, (k, 2)."""
    return (
        np.stack(np.meshgrid(*(np.arange(side) for side in grid), indexing="ij"), axis=-1).reshape(
            -1, 2
        )
        * 1.0
    )


def nearest(D: Array) -> Array:
    """The first column of least D, (n,)."""
    return D.argmin(axis=1).astype(np.int32)
