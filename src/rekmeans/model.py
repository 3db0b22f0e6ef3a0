"""The records of the loop: what is plugged in, what a pass leaves behind, what a fit gives; plain
and frozen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from ._grid import Array, weighted_total, widen

if TYPE_CHECKING:
    from .assignment import AssignmentRule
    from .centroids import CentroidRule
    from .kernels.base import Kernel

Loss = int | float  # an integer where the arithmetic is exact

ANSWER_VERSION = 4  # rises whenever the same call gives other bits; model files carry it


@dataclass(frozen=True, eq=False)
class Centroids:
    """k centroids: named arrays whose first axis is the cluster.

    A kernel family has its own record of them.
    """

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, clusters: Any) -> Self:
        """The centroids of these numbers, in that order."""
        return self._map(lambda values: values[clusters])

    def append(self, other: Self) -> Self:
        """These centroids, then the others."""
        return self._map(lambda one, two: np.concatenate([one, two]), other)

    def replace(self, cluster: int, other: Self) -> Self:
        """These centroids with the one of a cluster replaced by the only one of `other`."""
        at = np.arange(len(self)) == cluster

        def put(values: Array, value: Array) -> Array:
            return np.where(at.reshape(-1, *[1] * (values.ndim - 1)), value, values)

        return self._map(put, other)

    def check(self, example: Self) -> None:
        """Raise ValueError unless these centroids are finite, with the types and shapes of the
        example.
        """
        for field in fields(self):
            check_like(field.name, getattr(self, field.name), getattr(example, field.name))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in fields(self)]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def _map(self, change: Callable[..., Array], *others: Self) -> Self:
        """The record of `change` of each array, and of the same array of the others."""
        names = [field.name for field in fields(self)]
        return type(self)(
            **{name: change(*(getattr(one, name) for one in (self, *others))) for name in names}
        )


def check_like(name: str, value: Any, example: Any) -> None:
    """Raise ValueError unless a field of centroids has the type and the shape of the example, and
    is finite.
    """
    if type(value) is not type(example):
        raise ValueError(f"{name} is a {type(value).__name__}, not a {type(example).__name__}")
    if isinstance(example, Centroids):
        value.check(example)
    elif isinstance(example, tuple):
        if len(value) != len(example):
            raise ValueError(f"{name} has {len(value)} parts, not {len(example)}")
        for one, like in zip(value, example, strict=True):
            check_like(name, one, like)
    elif (value.dtype, value.shape) != (example.dtype, example.shape):
        found, expected = (f"{array.dtype} of shape {array.shape}" for array in (value, example))
        raise ValueError(f"{name} is {found}, not {expected}")
    elif not np.isfinite(value).all():
        raise ValueError(f"{name} is not finite")


@dataclass(frozen=True, eq=False)
class Points(Centroids):
    """Centroids that are points: x (k, p), in the coordinates of the mapped rows."""

    x: Array


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What a pass leaves for the centroids: arrays that add. A kernel family has its own record of
    them.

    None stands for a statistic that does not add and was not computed.
    """

    mass: Array  # (k,) weight of each cluster
    loss: Loss = 0  # summed over the rows, exact where it is an integer

    def drop_faded(self, least: float) -> Self:
        """Return the sums without coordinates whose observed weight is below `least`; these keep
        their centroids.
        """
        return self

    def fetch(self) -> Self:
        """All of them as arrays of their own: an engine may hold its sums where they were added
        up.
        """
        return self

    def map_values(self, change: Callable[[Any], Any]) -> Self:
        """The record of `change` of each array that is there."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            self, **{name: change(value) for name, value in values.items() if value is not None}
        )

    def widen(self) -> Self:
        """Return sums of a block to which a million others can be added without overflow."""
        return self.map_values(
            lambda value: widen(value) if isinstance(value, np.ndarray) else value
        )

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]
        return replace(
            self, **{name: _add(getattr(self, name), getattr(other, name)) for name in names}
        )


def _add(one: Any, two: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(_add(a, b) for a, b in zip(one, two, strict=True))
    return None if one is None else one + two


class Shares(NamedTuple):
    """What an assignment rule gives for the distances of some rows."""

    labels: Array  # (n,)
    weights: Any  # (n, k), dense or sparse: the weight with which each row counts for each centroid
    losses: Array  # (n,) loss of each row, not weighted


class PassSums(Protocol):
    """The sums of a pass where the engine holds them; `fetch` returns all of them as arrays."""

    @property
    def mass(self) -> Array: ...

    @property
    def loss(self) -> Loss: ...

    def fetch(self) -> Sums:
        """Return all sums as arrays of their own."""


@dataclass(frozen=True)
class Assignment:
    """One pass over all rows: how many labels changed, and the sums."""

    n_changed: int
    sums: PassSums


@dataclass(frozen=True)
class FarthestRow:
    """The row of largest loss to its nearest centroid; of several the one of lowest number."""

    loss: Loss
    number: int
    mapped: Array  # (p,)

    def merge(self, other: FarthestRow) -> FarthestRow:
        """The farther of two: in any order the same."""
        return self if (self.loss, -self.number) > (other.loss, -other.number) else other


@dataclass(frozen=True)
class Model:
    """What is plugged into the loop: a kernel, an assignment rule, a centroid rule."""

    kernel: Kernel
    assignment: AssignmentRule
    centroids: CentroidRule

    def assign_block(self, F: Array, w: Array, C: Centroids) -> tuple[Array, Sums, Any]:
        """Labels (n,) of mapped rows and their sums; and their weights (n, k) where the kernel has
        statistics.
        """
        D = self.kernel.distance(F, C)
        labels, W, losses = self.assignment(D, self.kernel.loss, w)
        sums = replace(self.kernel.accumulate(F, C, D, W), loss=weighted_total(w, losses))
        return labels, sums, self.kernel.row_weights(D, W) if self.kernel.statistics else None

    def update(self, sums: PassSums, C: Centroids) -> Centroids:
        """Return the next centroids."""
        return self.centroids(self.kernel, sums.fetch(), C)


@dataclass(frozen=True)
class Pass:
    """The record of one pass."""

    loss: Loss
    n_changed: int
    n_relocated: int
    seconds: float


@dataclass(frozen=True)
class Stop:
    """When a run ends, beside the end of all change: after so many passes, or at a relative fall of
    at most tol.
    """

    max_iter: int
    tol: float


@dataclass(frozen=True)
class State:
    """A run between two passes: the best centroids so far, those to try next, and the record of
    every pass.
    """

    centroids: Centroids
    candidate: Centroids
    loss: Loss = math.inf  # of `centroids`
    passes: Sequence[Pass] = ()
    is_done: bool = False
    labels: Array | None = None  # of `centroids`, where the engine has brought them already


@dataclass(frozen=True)
class Fit:
    """Centroids, the labels they give and the objective of both; n_iter passes, and the record of
    each.
    """

    centroids: Centroids
    labels: Array
    loss: Loss  # the objective in the kernel's own numbers, exact where they are integers
    inertia: float
    n_iter: int
    history: dict[str, Array]
