"""Engines: the places where mapped rows live; `place` is the only chooser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .._grid import Array
from .._sums import Sums
from ..kernels import Kernel

if TYPE_CHECKING:
    from .._table import Table
    from ..lloyd import Model


class Pass(NamedTuple):
    """One look at all rows: labels by the centroids given, how many changed, and what the rows leave behind."""

    labels: Array
    moved: int
    sums: Sums


class Walk(Protocol):
    """One run's own state over shared rows: bounds, movers, the labels of the pass before."""

    def step(self, C: Array) -> Pass:
        """Assign every row to C and add up."""


class Seeding(Protocol):
    """Starting centroids as they are chosen, with each row's distance to the nearest and the second nearest."""

    C: Array

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

    def walk(self, model: Model) -> Walk: ...

    def seeding(self) -> Seeding: ...

    def mapped(self, numbers: Array) -> Array:
        """The mapped rows of these numbers, missing coordinates filled from the table's overall centroid."""

    def farthest(self, C: Array) -> tuple[Any, Array]:
        """The largest loss of a row to its nearest centroid, and that mapped row (the first of several)."""

    def each(self, answer: Callable[[Array], Array]) -> Array:
        """`answer` of every block of mapped rows, one below the other."""

    def middles(self, labels: Array, k: int) -> Array:
        """Mean phase of each cluster's own rows in half-turns, (k, d)."""


class Bits(Protocol):
    """A source of raw random 64-bit words, such as numpy.random.PCG64."""

    def random_raw(self) -> int: ...


def _reference(kernel: Kernel, table: Table) -> Rows:
    from .reference import ReferenceRows

    return ReferenceRows(kernel, table)


ENGINES: dict[str, Callable[[Kernel, Table], Rows]] = {"reference": _reference}


def place(engine: str, kernel: Kernel, table: Table) -> Rows:
    """The rows of the table, mapped by the kernel, on the engine asked for."""
    if engine != "auto" and engine not in ENGINES:
        names = ", ".join(repr(name) for name in ("auto", *ENGINES))
        raise ValueError(f"engine must be one of {names}; got {engine!r}.")
    return ENGINES["reference" if engine == "auto" else engine](kernel, table)
