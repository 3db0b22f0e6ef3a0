"""The frozen records of the loop: models, centroids, sums, passes, states and fits."""

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

Loss = int | float  # an integer if the arithmetic is exact

ANSWER_VERSION = 5  # increases when the same call gives different bits; stored in model files


@dataclass(frozen=True, eq=False)
class Centroids:
    """The base class of records of k centroids: named arrays with the clusters on the first axis.

    Each kernel family has a subclass.
    """

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def take(self, clusters: Any) -> Self:
        """Return the centroids of these clusters, in this order."""
        return self._map(lambda values: values[clusters])

    def append(self, other: Self) -> Self:
        """Return these centroids followed by the others."""
        return self._map(lambda one, two: np.concatenate([one, two]), other)

    def replace(self, cluster: int, other: Self) -> Self:
        """Return these centroids, with one of them replaced by the only centroid of `other`."""
        at = np.arange(len(self)) == cluster

        def put(values: Array, value: Array) -> Array:
            return np.where(at.reshape(-1, *[1] * (values.ndim - 1)), value, values)

        return self._map(put, other)

    def check(self, example: Self) -> None:
        """Raise ValueError unless the centroids are finite, with the example's types and shapes."""
        for field in fields(self):
            check_like(field.name, getattr(self, field.name), getattr(example, field.name))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in fields(self)]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def _map(self, change: Callable[..., Array], *others: Self) -> Self:
        """Return a record of `change` applied to each array and the same array of the others."""
        names = [field.name for field in fields(self)]
        return type(self)(
            **{name: change(*(getattr(one, name) for one in (self, *others))) for name in names}
        )


def check_like(name: str, value: Any, example: Any) -> None:
    """Raise ValueError unless a field of centroids is finite and matches the example's shape."""
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
    """The base class of the sums of a pass, from which the next centroids are computed.

    The sums of blocks add up. Each kernel family has a subclass. None stands for a statistic that
    does not add up and was not computed.
    """

    mass: Array  # (k,) weight of each cluster
    loss: Loss = 0  # summed over the rows, exact if it is an integer

    def drop_faded(self, least: float) -> Self:
        """Return the sums without the coordinates with an observed weight below `least`.

        The centroids do not change in these coordinates.
        """
        return self

    def fetch(self) -> Self:
        """Return the sums as NumPy arrays; an engine may hold them on its device until then."""
        return self

    def map_values(self, change: Callable[[Any], Any]) -> Self:
        """Return a record of `change` applied to each field that is not None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            self, **{name: change(value) for name, value in values.items() if value is not None}
        )

    def widen(self) -> Self:
        """Return the sums in a type in which those of a million blocks add up without overflow."""
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
    """The result of an assignment rule for some rows."""

    labels: Array  # (n,)
    weights: Any  # (n, k), dense or sparse: the weight of each row for each centroid
    losses: Array  # (n,) loss of each row, not weighted


class PassSums(Protocol):
    """The sums of a pass as an engine holds them; `fetch` returns them as arrays."""

    @property
    def mass(self) -> Array: ...

    @property
    def loss(self) -> Loss: ...

    def fetch(self) -> Sums:
        """Return the sums as NumPy arrays."""


@dataclass(frozen=True)
class Assignment:
    """The result of assigning all rows: the number of changed labels, and the sums."""

    n_changed: int
    sums: PassSums


@dataclass(frozen=True)
class FarthestRow:
    """The row with the largest loss to its nearest centroid, the first one on ties."""

    loss: Loss
    number: int
    mapped: Array  # (p,)

    def merge(self, other: FarthestRow) -> FarthestRow:
        """Return the farther of two rows; the order does not matter."""
        return self if (self.loss, -self.number) > (other.loss, -other.number) else other


@dataclass(frozen=True)
class Model:
    """The three parts of a clustering method: a kernel, an assignment rule and a centroid rule."""

    kernel: Kernel
    assignment: AssignmentRule
    centroids: CentroidRule

    def assign_block(self, F: Array, w: Array, C: Centroids) -> tuple[Array, Sums, Any]:
        """Return the labels of mapped rows, (n,), their sums, and their weights, (n, k).

        The weights are None if the kernel has no statistics.
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
    """The stopping criteria of a run: a number of iterations, and a relative fall of the objective.

    A run also ends when nothing changes.
    """

    max_iter: int
    tol: float


@dataclass(frozen=True)
class State:
    """A run between two passes: its centroids, the candidate for the next pass, and all passes."""

    centroids: Centroids
    candidate: Centroids
    loss: Loss = math.inf  # of `centroids`
    passes: Sequence[Pass] = ()
    is_done: bool = False
    labels: Array | None = None  # for `centroids`, if the engine has already returned them


@dataclass(frozen=True)
class Fit:
    """The result of a fit: centroids, their labels and objective, and the history of the passes."""

    centroids: Centroids
    labels: Array
    loss: Loss  # the objective in the units of the kernel, exact if it is an integer
    inertia: float
    n_iter: int
    history: dict[str, Array]
