"""Engines: the places where mapped rows live; `place` is the only chooser."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .._grid import Array
from ..kernels import Kernel
from ..kernels.euler import NARROW, Euler
from ..kernels.linear import Linear

if TYPE_CHECKING:
    from .._table import Table
    from ..lloyd import Fit, Model


class Pass(NamedTuple):
    """One look at all rows: how many changed their label, and the objective of labels and centroids."""

    moved: int
    mass: Array  # (k,) weight of each cluster
    loss: Any


class Walk(Protocol):
    """One run's own state over shared rows: bounds, movers, the labels of the pass before."""

    def step(self, C: Array) -> Pass:
        """Assign every row to C and add up."""

    def moved(self, C: Array) -> Array:
        """The next centroids, from what the last step left; C where that says nothing."""

    def labels(self) -> Array:
        """Label of each row in the last step, (n,)."""


class Seeding(Protocol):
    """Starting centroids as they are chosen, with each row's distance to the nearest and the second nearest."""

    @property
    def C(self) -> Array:  # noqa: N802
        """The centroids chosen so far, (k, p)."""

    def drawn(self, bits: Bits, count: int) -> Array:
        """`count` row numbers, each in proportion to weight times loss (weight alone before the first centroid)."""

    def extend(self, numbers: Array) -> None:
        """Take as a new centroid the candidate row that leaves the least loss."""

    def exchange(self, numbers: Array) -> bool:
        """Put the best candidate row in the place of the best centroid to lose, if that lowers the loss."""


class Rows(Protocol):
    """The mapped rows of a table, in one place."""

    kernel: Kernel
    weight_bits: int  # the weights in the sums are the user's times 2^weight_bits

    def __len__(self) -> int: ...

    def weights(self) -> Array:
        """Weight of each row in the sums, (n,)."""

    def walk(self, model: Model) -> Walk: ...

    def seeding(self) -> Seeding: ...

    def best(self, model: Model, starts: list[Array], max_iter: int, tol: float) -> Fit | None:
        """`lloyd.best` of the starts where the engine has a faster way that gives the same; else None."""

    def mapped(self, numbers: Array) -> Array:
        """The mapped rows of these numbers, missing coordinates filled from the table's overall centroid."""

    def nearest(self, C: Array) -> Array:
        """Label of each row, (n,)."""

    def farthest(self, C: Array) -> tuple[Any, Array]:
        """The largest loss of a row to its nearest centroid, and that mapped row (the first of several)."""

    def each(self, answer: Callable[[Array], Array]) -> Array:
        """`answer` of every block of mapped rows, one below the other."""

    def middles(self, labels: Array, k: int) -> Array:
        """Mean phase of each cluster's own rows in half-turns, (k, d)."""


class Bits(Protocol):
    """A source of raw random 64-bit words, such as numpy.random.PCG64."""

    def random_raw(self) -> int: ...


def _reference(model: Model, table: Table, n_threads: int | None, memory_limit: int | None) -> Rows:
    from .reference import ReferenceRows

    return ReferenceRows(model.kernel, table)


def _native(model: Model, table: Table, n_threads: int | None, memory_limit: int | None) -> Rows:
    from .native import NativeRows
    from .points import NativePoints

    if model.kernel.exact:
        return NativeRows(model.kernel, table, n_threads, memory_limit)
    return NativePoints(model.kernel, table, n_threads)


def _unfit(model: Model, table: Table) -> str:
    """Why the native engine cannot serve this model and table, or ''."""
    if not isinstance(model.kernel, Euler | Linear):
        return "engine='native' serves kernels with points or circles for centroids only: use engine='reference'."
    if model.kernel.exact and table.X.shape[1] > NARROW:
        return f"engine='native' takes at most {NARROW} columns, got {table.X.shape[1]}: use engine='reference'."
    return ""


ENGINES: dict[str, Callable[..., Rows]] = {"native": _native, "reference": _reference}


def compiled() -> bool:
    """Whether the native engine's core was built."""
    return find_spec("rekmeans.engines._native._core") is not None


def place(
    engine: str, model: Model, table: Table, n_threads: int | None = None, memory_limit: int | None = None
) -> Rows:
    """The rows of the table, mapped by the model's kernel, on the engine asked for."""
    if not isinstance(engine, str) or engine not in ("auto", *ENGINES):
        names = ", ".join(repr(name) for name in ("auto", *ENGINES))
        raise ValueError(f"engine must be one of {names}; got {engine!r}.")
    there, why = compiled(), _unfit(model, table)
    if engine == "native" and not there:
        raise ImportError("engine='native' needs the compiled core: pip install rekmeans with a C++ compiler at hand.")
    if engine == "native" and why:
        raise ValueError(why)
    if engine == "auto" and not there:
        warnings.warn("rekmeans runs its slow reference engine: the compiled core is absent.", stacklevel=2)
    name = "reference" if engine == "reference" or why or not there else "native"
    return ENGINES[name](model, table, n_threads, memory_limit)
