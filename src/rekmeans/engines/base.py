"""Protocols and base classes of engines: `Engine`, `Rows` and `Run`."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .._grid import TURN, Array, integer_weight_bits, mass_of, product, small_weight_bits
from .._text import caller_stacklevel
from ..assignment import Hard, nearest, one_hot
from ..centroids import rectified
from ..kernels.base import rectified_update, with_statistics
from ..model import Assignment, Centroids, FarthestRow, Model, PassSums, State, Stop, Sums
from ..seeding import Seeding, SeedingPlan
from ..table import ColumnSummary, CompiledFunctions, Table, TableFacts
from ..threads import lazy_property
from .row_seeding import RowSeeding, draw_by_weight, draw_by_weighted_loss

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..kernels.base import Kernel

# why an engine on the host does not support a tensor on a GPU
HOST_ONLY = "supports only tables on the host, but X is on a GPU. Pass X.cpu(), or engine='torch'."
MAX_HALF_TURNS = 2.0**46  # larger phases are clipped to this before they are added
BLOCK_CELLS = 1 << 21  # mapped cells of a block, so that a few float64 copies of it stay near cache
MAX_BLOCK_ROWS = 1 << 15


class Run(ABC):
    """The state of one run: its labels, bounds and buffers. Several runs may share the rows."""

    model: Model
    n_passes: int  # passes made so far

    @abstractmethod
    def assign(self, C: Centroids) -> Assignment:
        """Assign every row to a centroid of C and return the sums."""

    @abstractmethod
    def labels(self) -> Array:
        """Return the label of each row in the last pass, (n,)."""

    def update(self, sums: PassSums, C: Centroids) -> Centroids:
        """Return the next centroids, computed from the sums of the last pass by `model.update`."""
        return self.model.update(sums, C)

    def advance(self, state: State, stop: Stop, max_passes: int) -> State | None:
        """Make several passes in one call, with the same bits as single passes.

        Return None if this run does not support it.
        """
        return None

    def fit_drawn_starts(self, plan: SeedingPlan, words: Array, stop: Stop) -> State | None:
        """Fit from several k-means++ starts in one call, and return the best final state.

        Each row of `words` has the random words of one start. Return None if this run does not
        support it.
        """
        return None


class Rows(Protocol):
    """The mapped rows of one table: the interface for the loop, the seeding and the estimators.

    The table may be read block by block, or it may be on a cluster or a GPU.
    """

    n_parallel_runs: int  # number of small runs that may run in parallel
    # number of rows loaded into memory to choose the starts from; None if all rows are in memory
    max_seeding_rows: int | None

    @property
    def weight_bits(self) -> int:
        """The exponent b: the sums use the user's weights times 2^b."""

    @property
    def kernel(self) -> Kernel: ...

    @property
    def table(self) -> Table: ...

    def __len__(self) -> int: ...

    def weights(self) -> Array:
        """Return the weight of each row in the sums, (n,); 0 for uninformative rows."""

    def has_weight(self) -> bool:
        """Return whether any row has a weight above 0."""

    def n_uninformative(self) -> int:
        """Count the rows of positive weight whose values are all ignored."""

    def start_run(self, model: Model) -> Run: ...

    def start_seeding(self) -> Seeding: ...

    def place(self, table: Table) -> Rows:
        """Map the rows of a sample or a selection, which is in memory, on the same engine."""

    def in_memory(self) -> Rows:
        """Load these rows into memory. The table must be small."""

    def rows_as_centroids(self, numbers: Array) -> Centroids:
        """Return centroids at the mapped rows with these row numbers.

        Missing coordinates are filled from the centroid of all rows.
        """

    def label(self, model: Model, C: Centroids) -> Array:
        """Return the label of each row for this model and these centroids, (n,)."""

    def farthest(self, C: Centroids) -> FarthestRow:
        """Return the row of positive weight with the largest distance to its nearest centroid."""

    def map_blocks(self, function: Callable[[Array], Array]) -> Array:
        """Apply a function to each block of mapped rows, and concatenate the results."""

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        """Return the sums of coordinates on the TURN grid and of observed weights of each cluster.

        Both have shape (k, d). The coordinates are not reduced to one turn.
        """


class BaseRows(ABC):
    """A base class that derives all methods of `Rows` from `place`, `weights` and `start_run`.

    An engine overrides a method if it has a faster version. `mapped_blocks` matters most.
    """

    n_parallel_runs: int = 1
    max_seeding_rows: int | None = None
    table: Table

    def __init__(self, kernel: Kernel, table: Table) -> None:
        self.kernel = kernel
        self.table = table

    @abstractmethod
    def place(self, table: Table) -> BaseRows: ...

    @abstractmethod
    def weights(self) -> Array: ...

    @abstractmethod
    def start_run(self, model: Model) -> Run: ...

    # derived

    def blocks(self) -> Iterator[slice]:
        """Yield the slice of each block of rows, in order."""
        rows = BLOCK_CELLS // (2 * self.table.n_columns)
        return self.table.blocks(max(1, min(MAX_BLOCK_ROWS, rows)))

    def mapped_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the slice and the mapped rows F (m, p) of each block, in order."""
        return ((at, self.kernel.embed(self.table.dense(at))) for at in self.blocks())

    @lazy_property
    def weight_bits(self) -> int:
        """The exponent b: the sums use the user's weights times 2^b."""
        largest = self.table.largest_weight
        if largest is None and self.table.is_in_memory and self.table.weights is not None:
            largest = float(self.table.weights.max())
        if largest is None:
            return 0
        bits = integer_weight_bits if self.kernel.has_exact_arithmetic else small_weight_bits
        return bits(largest)

    def __len__(self) -> int:
        return self.table.n_rows

    def has_weight(self) -> bool:
        return bool(self.weights().any())

    def n_uninformative(self) -> int:
        w = self.table.weights
        return int(((self.weights() == 0) & (True if w is None else w > 0)).sum())

    def in_memory(self) -> BaseRows:
        return self

    def start_seeding(self) -> Seeding:
        return RowSeeding(self)

    def draw(self, words: Array, C: Centroids | None = None) -> Array:
        """Return a row number for each random word, drawn by weight, or by weight times loss at C.

        If all losses are 0, rows are drawn by weight.
        """
        w = self.weights()
        if C is not None:
            losses = np.where(w > 0, self.nearest_losses(C), 0)
            if (drawn := draw_by_weighted_loss(w, losses, words)) is not None:
                return drawn
        return draw_by_weight(w, words)

    def rows_as_centroids(self, numbers: Array) -> Centroids:
        F = self.kernel.embed(self.table.dense(numbers))
        return self.kernel.from_rows(F, self._overall if self.kernel.has_missing(F) else None)

    @lazy_property
    def _overall(self) -> Centroids:
        """The rectified centroid of all rows."""
        kernel = self.kernel
        start = middle_centroid(kernel)
        sums = self.overall_sums()
        blocks = []
        if kernel.statistics:
            blocks = [(F, kernel.row_weights(D, W)) for F, D, W in self._undivided_blocks()]
        return rectified_update(kernel, with_statistics(kernel, blocks, sums, start), start)

    def overall_sums(self) -> Sums:
        """Return the sums of all rows as one cluster, with the pull of each row at distance 0."""
        kernel = self.kernel
        start = middle_centroid(kernel)
        # A pass of the engine gives the same integers.
        if kernel.has_exact_arithmetic and kernel.pull_is_weight:
            model = Model(kernel, Hard(), rectified)
            return self.start_run(model).assign(start).sums.fetch()
        blocks = self._undivided_blocks()
        return reduce(add, (kernel.accumulate(F, start, D, W) for F, D, W in blocks))

    def _undivided_blocks(self) -> Iterator[tuple[Array, Array, Array]]:
        """Yield the mapped rows, distances of 0 to one centroid, and the weights of each block."""
        w = self.weights()
        for at, F in self.mapped_blocks():
            yield F, np.zeros((len(F), 1), np.int64), one_hot(np.zeros(len(F), np.int32), w[at], 1)

    def nearest_losses(self, C: Centroids) -> Array:
        """Return the loss of each row at its nearest centroid, (n,)."""
        return self.map_blocks(lambda F: self.kernel.loss(self.kernel.distance(F, C)).min(axis=1))

    def nearest_masses(self, C: Centroids) -> Array:
        """Return the total weight of the rows whose loss is smallest at each centroid, (k,)."""
        kernel = self.kernel
        # A pass of the engine gives the same integers.
        if kernel.has_exact_arithmetic and kernel.loss_is_distance:
            return self.start_run(Model(kernel, Hard(), rectified)).assign(C).sums.mass
        owners = self.map_blocks(lambda F: nearest(kernel.loss(kernel.distance(F, C))))
        return mass_of(one_hot(owners, self.weights(), len(C)))

    def label(self, model: Model, C: Centroids) -> Array:
        run = self.start_run(model)
        run.assign(C)
        return run.labels()

    def farthest(self, C: Centroids) -> FarthestRow:
        w = self.weights()

        def farthest_of_block(at: slice, F: Array) -> FarthestRow:
            least = np.where(w[at] > 0, self.kernel.distance(F, C).min(axis=1), -1)
            row = int(least.argmax())
            return FarthestRow(least[row], at.start + row, F[row])

        return reduce(
            FarthestRow.merge, (farthest_of_block(at, F) for at, F in self.mapped_blocks())
        )

    def map_blocks(self, function: Callable[[Array], Array]) -> Array:
        return np.concatenate([function(F) for _, F in self.mapped_blocks()])

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        w = self.weights()
        turns: Array = np.zeros((), np.int64)
        masses: Array = np.zeros((), np.int64)
        for at in self.blocks():
            phases = self.kernel.coordinates(self.table.dense(at))
            observed = ~np.isnan(phases)
            phases = np.clip(np.where(observed, phases, 0.0), -MAX_HALF_TURNS, MAX_HALF_TURNS)
            W = one_hot(labels[at], w[at], k)
            turns = turns + product(W, np.rint(phases * TURN).astype(np.int64))
            masses = masses + product(W, observed.astype(np.int64))
        return turns, masses


def middle_centroid(kernel: Kernel) -> Centroids:
    """Return a single centroid at the middle of the scale."""
    return kernel.from_points(kernel.scale.middle[None])


class TableReader(Protocol):
    """A function that reads and checks the input of an estimator, and returns a table."""

    def __call__(
        self,
        estimator: BaseEstimator,
        X: object,
        sample_weight: object,
        *,
        fitting: bool,
        k: int,
        k_parameter: str,
    ) -> Table: ...


class Engine(ABC):
    """A place where mapped rows are stored and passes run."""

    name: str
    # True if models fitted with this engine use engine="auto" to predict tables without partitions
    supports_only_partitions: bool = False

    @abstractmethod
    def describe(self) -> str:
        """Return a description of the engine on this machine."""

    @abstractmethod
    def unsupported(self, stages: Sequence[Model], table: TableFacts) -> str:
        """Return why the engine cannot run all stages of this fit on this table; '' if it can."""

    @abstractmethod
    def place(
        self, stages: Sequence[Model], table: Table, n_threads: int | None, memory_limit: int | None
    ) -> BaseRows:
        """Map the rows of a table and store them on the engine's device or cluster."""

    def missing(self) -> str:
        """Return the missing dependency and how to install it, or ''. This imports nothing."""
        return ""

    def reported_name(self) -> str:
        """Return the value of `engine_` after a fit."""
        return self.name

    def reader(self, X: object) -> TableReader | None:
        """Return the reader for input that only this engine recognizes, or None for other input."""
        return None

    def is_default_for(self, table: TableFacts) -> bool:
        """Return whether engine="auto" considers this engine for the table.

        True if the engine runs where the rows are: on the host, on a GPU or in partitions.
        """
        return table.is_on_host and not table.is_partitioned

    def compiled_functions(self) -> CompiledFunctions:
        """Return compiled versions of functions of `scales`, which give the same bits."""
        return {}


def summarize_columns(engine: Engine, table: Table, n_threads: int | None) -> ColumnSummary:
    """Return the summary of a table's columns, computed by the engine's compiled functions."""
    summary = table.column_summary(n_threads)
    return replace(summary, compiled_functions=engine.compiled_functions())


def explain_unsupported_blocks(stages: Sequence[Model]) -> str:
    """Return why the models of a fit cannot read their rows in blocks; '' if they can."""
    for model in stages:
        kernel = model.kernel
        if not kernel.is_additive or kernel.statistics or kernel.learns_from_all_rows:
            name = kernel.name or type(kernel).__name__
            return (
                f"needs all rows at once for the kernel {name!r}, but X is not in memory. Pass a "
                f"table that is in memory."
            )
    return ""


def check_installed(engine: Engine) -> None:
    """Raise an ImportError if an engine is not installed."""
    if missing := engine.missing():
        what = missing.rstrip(".")
        raise ImportError(
            f"engine={engine.name!r} needs {what}; or choose another engine: "
            f"set_params(engine='auto')."
        )


def choose_engine(
    name: str, engines: Mapping[str, Engine], stages: Sequence[Model], table: TableFacts
) -> Engine:
    """Return the engine with this name, or for "auto" the first engine that supports the fit.

    "auto" tries the engines from the last entry to the first.
    """
    if name != "auto":
        check_installed(engines[name])
        if reason := engines[name].unsupported(stages, table):
            raise ValueError(f"engine={name!r} {reason}")
        return engines[name]
    reason = ""  # why the last engine cannot run the fit
    fastest: Engine | None = None  # the first engine that supports the fit, installed or not
    for engine in reversed(list(engines.values())):
        if not engine.is_default_for(table):
            continue
        if unsupported := engine.unsupported(stages, table):
            reason = f"engine={engine.name!r} {unsupported}"
            continue
        fastest = fastest or engine
        if engine.missing():
            continue
        if fastest is not engine:
            warnings.warn(
                f"rekmeans uses its slow engine {engine.name!r}, because {fastest.name!r} needs "
                f"{fastest.missing()}",
                stacklevel=caller_stacklevel(),
            )
        return engine
    raise ValueError(f"No engine supports this fit: {reason}")
