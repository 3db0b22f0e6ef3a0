"""Assignment rules: from distances D (n, k) and row weights w (n,) to labels and weights."""

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
    """A function that maps the distances between rows and centroids to a `Shares` record."""

    # the label of a row is its nearest centroid, the first one on ties
    labels_are_nearest: ClassVar[bool]
    is_hard: ClassVar[bool]  # a row contributes only to the centroid of its label

    def __call__(self, D: Array, loss: Loss, w: Array) -> Shares: ...


def one_hot(labels: Array, w: Array, k: int) -> Any:
    """Return a sparse matrix (n, k) with the weight of each row at its label."""
    if labels.min(initial=0) < 0:
        raise ValueError(
            "a distance is NaN because values overflow in the kernel: use a wider scale or a "
            "smaller gamma."
        )
    return sparse.csr_array((w, labels, np.arange(len(labels) + 1)), shape=(len(labels), k))


@dataclass(frozen=True)
class Hard:
    """Hard assignment: a row belongs to its nearest centroid, the first one on ties."""

    labels_are_nearest: ClassVar[bool] = True
    is_hard: ClassVar[bool] = True

    def __call__(self, D: Array, loss: Loss, w: Array) -> Shares:
        labels = nearest(D)
        nearest_D = np.take_along_axis(D, labels[:, None], axis=1)[:, 0]
        return Shares(labels, one_hot(labels, w, D.shape[1]), loss(nearest_D))


@dataclass(frozen=True)
class Fuzzy:
    """Fuzzy memberships u_jc proportional to loss_jc^(-1/(m-1)); W = w u^m.

    A row that lies on several centroids belongs to them in equal parts.
    """

    labels_are_nearest: ClassVar[bool] = True
    is_hard: ClassVar[bool] = False

    fuzziness: float = 2.0

    def __call__(self, D: Array, loss: Loss, w: Array) -> Shares:
        return _shares(nearest(D), self.memberships(D, loss) ** self.fuzziness, loss(D), w)

    def memberships(self, D: Array, loss: Loss) -> Array:
        """Return u (n, k); each row sums to 1."""
        L = loss(D).astype(np.float64)
        least = L.min(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            # a row on a centroid has least = 0: its ratio is 1 there and 0 elsewhere
            ratio = np.where(L == least, 1.0, least / L)
        u = ratio ** (1.0 / (self.fuzziness - 1.0))
        return u / u.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class NeuralGas:
    """Neural gas: W = w exp(-rank/reach), where the nearest centroid has rank 0.

    A reach of 0 is hard assignment.
    """

    labels_are_nearest: ClassVar[bool] = True
    is_hard: ClassVar[bool] = False

    reach: float

    def __call__(self, D: Array, loss: Loss, w: Array) -> Shares:
        if self.reach == 0:
            return Hard()(D, loss, w)
        order = np.argsort(D, axis=1, kind="stable")
        H = np.empty(D.shape)
        with np.errstate(over="ignore"):  # with a tiny reach, exp(-inf) is 0
            decay = np.exp(-np.arange(D.shape[1]) / self.reach)
        np.put_along_axis(H, order, decay[None], axis=1)
        return _shares(nearest(D), H, loss(D), w)


@dataclass(frozen=True)
class SomNeighbourhood:
    """The neighbourhood of a self-organizing map, W = w h[winner].

    h_cr is proportional to exp(-|c - r|^2/(2 reach^2)) for nodes c and r of the grid. The winner is
    argmin_c sum_r h_cr loss_r (Heskes), so the map has an objective. Each sum_r h_cr is 1.
    Otherwise a node with fewer neighbours would have a smaller loss, and rows would move to the
    border of the map. A reach of 0 is hard assignment.
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
        """The matrix h (k, k), with one row for each winner."""
        return _neighbourhood(self.grid, self.reach)


def _shares(labels: Array, H: Array, L: Array, w: Array) -> Shares:
    """Return the shares with W = w H and losses sum_c H L."""
    return Shares(labels, w[:, None] * H, np.einsum("ij,ij->i", H, L.astype(np.float64)))


@lru_cache(maxsize=64)
def _neighbourhood(grid: tuple[int, int], reach: float) -> Array:
    """Return h (k, k) as a read-only array, computed once for each grid and reach."""
    steps = cdist(node_places(grid), node_places(grid))
    with np.errstate(over="ignore"):  # with a tiny reach, exp(-inf) is 0
        h = np.exp(-((steps / reach) ** 2) / 2) if reach > 0 else (steps == 0) * 1.0
    h /= h.sum(axis=1, keepdims=True)
    h.setflags(write=False)
    return h


def node_places(grid: tuple[int, int]) -> Array:
    """Return the row and the column of each node of a map, (k, 2) float64."""
    places = np.meshgrid(*(np.arange(float(side)) for side in grid), indexing="ij")
    return np.stack(places, axis=-1).reshape(-1, 2)


def nearest(D: Array) -> Array:
    """Return the column of the smallest distance in each row, the first one on ties, (n,)."""
    return D.argmin(axis=1).astype(np.int32)
