"""What an engine is: it says what it serves, and places the rows of a table where its runs go over
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from .._caller import caller_stacklevel
from .._grid import Array
from ..model import Assignment, FarthestRow, Model, State, Stop
from ..seeding import Seeding, SeedingPlan
from ..table import Table, Twins


class Run(Protocol):
    """One run's own state over shared rows: bounds, changed labels, the labels of the pass
    before.
    """

    n_passes: int  # so far

    def assign(self, C: Any) -> Assignment:
        """Assign every row to C and add up."""

    def update(self, sums: Any, C: Any) -> Any:
        """The next centroids from the sums of the last pass: `model.update`, or the same bits where
        the sums are.
        """

    def advance(self, state: State, stop: Stop, most_passes: int) -> State | None:
        """Several passes in one call, to the same bits;

        None where `assign` and `update` are all there is.
        """

    def labels(self) -> Array:
        """Label of each row in the last pass, (n,)."""


class Rows(Protocol):
    """The mapped rows of a table, in one place."""

    kernel: Any
    weight_bits: int  # the weights in the sums are the user's times 2^weight_bits
    # rows brought to memory to choose starts from; None: they are there
    most_gathered: ClassVar[int | None]

    def __len__(self) -> int: ...

    def weights(self) -> Array:
        """Weight of each row in the sums, (n,)."""

    def has_weight(self) -> bool:
        """Whether any row counts."""

    def n_silent(self) -> int:
        """How many rows whose weight in the table is not 0 take no part, as all their values are
        ignored.
        """

    def label_counts(self, labels: Any, k: int) -> Array:
        """How many rows have each label, (k,)."""

    def concurrent_starts(self, k: int) -> int:
        """How many runs of k centroids are best made side by side."""

    def start_run(self, model: Model) -> Run: ...

    def start_seeding(self) -> Seeding: ...

    def sample(self, count: int, seed: int) -> Rows:
        """So many of the rows, drawn by weight; how often is each one's weight."""

    def in_memory(self) -> Rows:
        """These rows in memory: those of a small table."""

    def best_of_drawn(
        self, model: Model, plan: SeedingPlan, words: Array, stop: Stop
    ) -> State | None:
        """The best end of runs from k-means++ starts, one a row of words, in one call;

        None for one by one.
        """

    def take(self, numbers: Array, weights: Array) -> Rows:
        """These rows with these weights."""

    def rows_as_centroids(self, numbers: Array) -> Any:
        """Centroids at the mapped rows of these numbers, missing coordinates from the table's
        overall centroid.
        """

    def label(self, model: Model, C: Any) -> Array:
        """The label that the model gives each row for these centroids, (n,)."""

    def nearest_losses(self, C: Any) -> Array:
        """Loss of each row at the nearest of these centroids, (n,)."""

    def farthest(self, C: Any) -> FarthestRow:
        """The row of largest loss to its nearest centroid, of those that count."""

    def map_blocks(self, answer: Callable[[Array], Array]) -> Array:
        """`answer` of every block of mapped rows, one below the other."""

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        """Sums of the coordinates of each cluster's own rows on the TURN grid, and of observed
        weights, (k, d) each.
        """

    def mean_phases(self, labels: Array, k: int) -> Array:
        """Mean coordinates of each cluster's own rows, (k, d)."""


class Engine(Protocol):
    """A place where mapped rows are stored and passes run."""

    name: str

    def missing(self) -> str:
        """'' or what is missing, with the way to get it; imports nothing."""

    def describe(self) -> str:
        """A description of the engine on this machine."""

    def is_home_of(self, table: Table) -> bool:
        """Whether rows of this table are where this engine works; used by "auto" only."""

    def unsupported(self, stages: Sequence[Model], table: Table) -> str:
        """'' or why it cannot run every stage of this fit on this table."""

    def twins(self) -> Twins:
        """Functions of `scales` that it has compiled, to the same bits."""

    def place(
        self, stages: Sequence[Model], table: Table, n_threads: int | None, memory_limit: int | None
    ) -> Rows: ...


def refuse_device(table: Table) -> str:
    """'' or why an engine of the host does not take a table of torch's."""
    return (
        "" if table.is_on_host else "takes tables on the host: pass X.cpu(), or use engine='torch'."
    )


def count_silent_rows(rows: Rows, table: Table) -> int:
    """Rows in memory that count in the table and take no part."""
    counts: Any = True if table.weights is None else table.weights > 0
    return int(((rows.weights() == 0) & counts).sum())


def refuse_missing_engine(engine: Engine) -> None:
    """Raise an ImportError if an engine is not installed."""
    if missing := engine.missing():
        what = missing.rstrip(".")
        raise ImportError(
            f"engine={engine.name!r} needs {what}; or choose another engine: "
            f"set_params(engine='auto')."
        )


def choose_engine(
    name: str, engines: dict[str, Engine], stages: Sequence[Model], table: Table
) -> Engine:
    """The engine of this name; for "auto" the first that is installed, is home of the table and
    serves every stage.

    They are tried from the last entry to the first, which serves what no other does.
    """
    if name != "auto":
        refuse_missing_engine(engines[name])
        if reason := engines[name].unsupported(stages, table):
            raise ValueError(f"engine={name!r} {reason}")
        return engines[name]
    tried = list(reversed(engines.values()))
    home = [engine for engine in tried if engine.is_home_of(table)]
    able = [engine for engine in home if not engine.unsupported(stages, table)]
    installed = [engine for engine in able if not engine.missing()]
    if not installed:
        raise ValueError(f"no engine serves this fit: it {home[-1].unsupported(stages, table)}")
    if able[0] is not installed[0]:
        missing = able[0].missing()
        what = f"rekmeans runs its slow {installed[0].name} engine: {able[0].name} needs {missing}"
        warnings.warn(what, stacklevel=caller_stacklevel())
    return installed[0]
