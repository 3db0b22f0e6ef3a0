"""Exact passes over rows on circles in the compiled core, and their seeding.

Float32 scores prove the nearest centroid of most rows. Integers decide the remaining rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from ..._grid import GRID, Array, integer_weights
from ...centroids import rectified
from ...kernels.euler import CircleSums, Euler, OnCircles
from ...model import Assignment, Centroids, FarthestRow, Loss, Model, Pass, PassSums, State, Stop
from ...seeding import SWAP_PATIENCE, Seeding, SeedingPlan
from ...table import MemoryTable, Table
from ...table.base import is_sparse
from ...threads import count_threads
from ..base import BaseRows, Run
from .core_module import _core, core_array, core_cells, core_table, instruction_set
from .float import FloatRun

if TYPE_CHECKING:
    from ...kernels.base import Kernel

ROWS_PER_BLOCK = 4096  # rows that `map_blocks` maps at a time
# largest n * d * candidates of one seeding call, so that Python checks for Ctrl-C between calls
SEEDING_CALL_WORK = 1 << 30
# largest n * d * k for which a whole run is one call: a pass takes about a millisecond
CALL_FIT_WORK = 1 << 25
MAX_SHORT_FIT_WORK = 1 << 26  # largest n * d * k for which all short fits take less than a second
ZERO_SAMPLE = 256  # rows of the sample in which zeros are counted
# largest share of nonzero cells for which a dense table is stored in sparse form
SPARSE_SHARE = 0.25
MIN_SAMPLED_CELLS = 1 << 12  # tables with a smaller sample keep their storage format
SPARSE_CELL_BYTES = 16  # bytes of a nonzero cell: its column, two 16-bit values, two float32 values
PART_ROWS = 1 << 16  # rows mapped at a time if the mapped rows are not stored
ROW_STATE_BYTES = 32  # bytes of a row in addition to its mapped copy


class NativeRows(BaseRows):
    """Mapped rows in the compiled core."""

    def __init__(
        self,
        kernel: Kernel,
        table: Table,
        threads: int | None = None,
        memory_limit: int | None = None,
        skip: bool = True,
    ) -> None:
        super().__init__(kernel, table)
        self.skip = skip
        self.memory_limit = memory_limit
        self.n_threads = threads
        X = cast(MemoryTable, table).X
        self.n, self.d = X.shape
        weights = None
        if table.weights is not None:
            weights, _ = integer_weights(table.weights, table.largest_weight)
        columns = core_scale(kernel)
        self.threads = count_threads(threads)
        self.n_parallel_runs = self.threads
        self.keep = memory_limit is None or self.n * (8 * self.d + ROW_STATE_BYTES) <= memory_limit
        common = (self.threads, instruction_set())
        self.core: _core.Rows
        if is_sparse(X):
            self.core = _core.SparseRows(*core_cells(X), self.d, columns, weights, *common)
        else:
            X = core_table(X)
            if _is_mostly_zero(X, memory_limit):
                self.core = _core.SparseRows(X, columns, weights, *common)
            else:
                self.core = _core.DenseRows(X, columns, weights, self.keep, *common)

    def weights(self) -> Array:
        return self.core.weights()

    def place(self, table: Table) -> NativeRows:
        return NativeRows(self.kernel, table, self.n_threads, self.memory_limit, self.skip)

    def start_run(self, model: Model) -> Run:
        return NativeRun(self, model) if model.assignment.is_hard else FloatRun(self, model)

    def float_parts(self) -> Iterator[tuple[Array, Array]]:
        """Yield mapped rows as float32 with NaN in missing cells, and their weights.

        If the mapped rows are stored, all of them are one part.
        """
        for at in self._parts:
            F = self._all_floats if self._all_floats is not None else self._floats(at)
            yield F, self.weights()[at].astype(np.float64)

    def _floats(self, at: slice) -> Array:
        F = self.core.grid(np.arange(at.start, at.stop)).astype(np.float32) / np.float32(GRID)
        if not self.core.is_complete:
            F[np.tile((F[:, : self.d] == 0) & (F[:, self.d :] == 0), 2)] = np.nan
        return F

    @cached_property
    def _all_floats(self) -> Array | None:
        return self._floats(slice(0, self.n)) if self.keep else None

    @property
    def _parts(self) -> list[slice]:
        size = self.n if self.keep else PART_ROWS
        return [slice(at, min(at + size, self.n)) for at in range(0, self.n, size)]

    def start_seeding(self) -> NativeSeeding:
        return NativeSeeding(self)

    @property
    def missing_cells_centroid(self) -> Array | None:
        """The values that replace missing cells if a row becomes a centroid, (p,).

        None if no cell is missing.
        """
        return None if self.core.is_complete else self._overall.f[0]

    def rows_as_centroids(self, numbers: Array) -> OnCircles:
        F = self.core.grid(np.asarray(numbers, np.int64))
        return self.kernel.from_rows(F, None if self.core.is_complete else self._overall)

    @cached_property
    def _overall(self) -> OnCircles:
        """The rectified centroid of all rows."""
        core = _core.Run(self.core, 1, False)
        nowhere = np.zeros((1, 2 * self.d), np.int32)
        core.assign(nowhere)
        f = core.centroids(True, nowhere)
        # A sum of 0 has no angle. Take the angle of the middle of the scale.
        if ((f[:, : self.d] | f[:, self.d :]) == 0).any():
            f = core.centroids(
                True, core_centroids(self.kernel.from_points(self.kernel.scale.middle[None]))
            )
        return OnCircles(f)

    def nearest_losses(self, C: Centroids) -> Array:
        core = _core.Run(self.core, len(C), False)
        core.assign(core_centroids(C))
        return self.core.distances(core_centroids(C), core.labels())

    def farthest(self, C: Centroids) -> FarthestRow:
        least = np.where(self.weights() > 0, self.nearest_losses(C), -1)
        row = int(least.argmax())
        return FarthestRow(least[row], row, self.core.grid(np.array([row]))[0])

    def map_blocks(self, function: Callable[[Array], Array]) -> Array:
        blocks = [
            np.arange(at, min(at + ROWS_PER_BLOCK, self.n))
            for at in range(0, self.n, ROWS_PER_BLOCK)
        ]
        if len(blocks) == 1:
            return function(self.core.grid(blocks[0]))
        with ThreadPoolExecutor(self.threads) as pool:
            return np.concatenate(
                list(pool.map(lambda block: function(self.core.grid(block)), blocks))
            )

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        turns, observed = self.core.phase_sums(core_array(labels, np.int32), k)
        return join_words(turns), observed


class CoreSums:
    """The sums of a pass in the core. Mass and loss are copied at once, the rest by `fetch`.

    The next pass of the run overwrites them.
    """

    def __init__(self, core: _core.Run) -> None:
        self.core = core
        self.number = core.n_passes
        self.mass = core.mass()
        self.loss = cast(Loss, core.loss)

    def fetch(self) -> CircleSums:
        """Copy all sums into arrays."""
        return fetch_sums(self.current_core())

    def current_core(self) -> _core.Run:
        """Return the core's run, or raise RuntimeError if it no longer has these sums."""
        if self.core.n_passes != self.number:
            raise RuntimeError(
                "A later pass has overwritten these sums. Call fetch() before the next pass."
            )
        return self.core


class NativeRun(Run):
    """A run whose labels, bounds and sums are in the core."""

    def __init__(self, rows: NativeRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.is_rectified = model.centroids is rectified
        self.n_passes = 0
        self.core: _core.Run | None = None  # created by the first pass

    def assign(self, C: Centroids) -> Assignment:
        if self.core is None:
            self.core = _core.Run(self.rows.core, len(C), self.rows.skip)
        n_changed = self.core.assign(core_centroids(C))
        self.n_passes = self.core.n_passes
        return Assignment(n_changed, CoreSums(self.core))

    def update(self, sums: PassSums, C: Centroids) -> Centroids:
        if not isinstance(sums, CoreSums):
            return self.model.update(sums, C)
        return OnCircles(sums.current_core().centroids(self.is_rectified, core_centroids(C)))

    def advance(self, state: State, stop: Stop, max_passes: int) -> State | None:
        """Make all passes of a run in one call if they are short; otherwise return None."""
        C = state.candidate
        work = self.rows.n * self.rows.d * len(C)
        if state.passes or max_passes <= stop.max_iter or work > CALL_FIT_WORK:
            return None
        found = _core.fit_starts(
            self.rows.core,
            core_centroids(C),
            len(C),
            self.is_rectified,
            self.rows.skip,
            stop.max_iter,
            float(stop.tol),
        )
        return _end_of_fit(*found)

    def fit_drawn_starts(self, plan: SeedingPlan, words: Array, stop: Stop) -> State | None:
        rows = self.rows
        if not self.model.assignment.is_hard or rows.n * rows.d * plan.k > MAX_SHORT_FIT_WORK:
            return None
        core_plan = _core.SeedingPlan(
            plan.k, plan.candidates, plan.batches, plan.swap_candidates, SWAP_PATIENCE
        )
        found = _core.fit_drawn_starts(
            rows.core,
            rows.missing_cells_centroid,
            words,
            core_plan,
            self.is_rectified,
            rows.skip,
            stop.max_iter,
            float(stop.tol),
        )
        return _end_of_fit(*found)

    def labels(self) -> Array:
        return cast(_core.Run, self.core).labels()


class NativeSeeding(Seeding):
    """Seeding in the core, which keeps the two nearest centroids of each row."""

    def __init__(self, rows: NativeRows) -> None:
        self.rows = rows
        self.core = _core.Seeding(rows.core, rows.missing_cells_centroid)

    @property
    def centroids(self) -> OnCircles:
        return OnCircles(self.core.centroids())

    def sample(self, words: Array) -> Array:
        return self.core.sample(words[None])

    def add_best(self, numbers: Array) -> None:
        self.core.add_best(self._candidates(numbers))

    def add_all(self, numbers: Array) -> None:
        self.core.add_all(self._candidates(numbers))

    def swap_best(self, numbers: Array) -> bool:
        return self.core.swap_best(self._candidates(numbers))

    def nearest_masses(self) -> Array:
        return self.core.nearest_masses()

    def _candidates(self, numbers: Array) -> Array:
        return core_array(self.rows.rows_as_centroids(numbers).f, np.int32)

    def add_rows(self, words: Array) -> None:
        steps = max(1, SEEDING_CALL_WORK // (self.rows.n * self.rows.d * words.shape[1]))
        for at in range(0, len(words), steps):
            self.core.add_rows(words[at : at + steps])

    def add_drawn(self, words: Array) -> None:
        steps = max(1, SEEDING_CALL_WORK // (self.rows.n * self.rows.d))
        for at in range(0, len(words), steps):
            self.core.add_drawn(words[None, at : at + steps])

    def swap_rows(self, words: Array, patience: int) -> None:
        self.core.swap_rows(words, patience)


def core_scale(kernel: Kernel) -> _core.Scale:
    """Return the scale and the rates of a kernel on circles as an object of the core."""
    scale = kernel.scale
    rates = cast(Euler, kernel).rates
    arrays = (scale.low, scale.high, scale.shift, rates, scale.period)
    low, high, shift, rate, period = (core_array(array, np.float64).ravel() for array in arrays)
    return _core.Scale(low, high, shift, rate, period, kernel.beyond)


def core_centroids(C: Centroids) -> Array:
    """Return the grid integers of centroids on circles, (k, p) int32."""
    return core_array(cast(OnCircles, C).f, np.int32)


def _end_of_fit(f: Array, labels: Array, _: int, losses: list[int], *counts: Array) -> State:
    """Return the final state of a fit that the core made in one call.

    `counts` are the arrays n_changed, n_relocated and seconds, one entry for each pass.
    """
    passes = (
        Pass(*record) for record in zip(losses, *(count.tolist() for count in counts), strict=True)
    )
    return State(OnCircles(f), OnCircles(f), losses[-1], tuple(passes), is_done=True, labels=labels)


def _is_mostly_zero(X: Array, memory_limit: int | None) -> bool:
    """Return whether the table has so few nonzero cells that sparse storage is better."""
    sample = X[:: max(1, len(X) // ZERO_SAMPLE)]
    share = np.count_nonzero(sample) / sample.size
    fits_in_memory = memory_limit is None or share * X.size * SPARSE_CELL_BYTES <= memory_limit
    return bool(sample.size >= MIN_SAMPLED_CELLS and share <= SPARSE_SHARE and fits_in_memory)


def fetch_sums(core: _core.Run | _core.BlockRun) -> CircleSums:
    """Return the sums of the core's last pass."""
    mass = core.mass()
    missing = core.missing_mass()
    half = join_words(core.totals())
    observed = np.repeat(mass[:, None], half.shape[1] // 2, axis=1)
    observed = observed - missing if len(missing) else observed
    return CircleSums(mass=mass, loss=cast(Loss, core.loss), totals=half, observed=observed)


def join_words(sums: object) -> Array:
    """Return 128-bit sums of the core as int64 if they fit, otherwise as Python integers.

    The core returns one array if they fit, otherwise the high and the low words.
    """
    if isinstance(sums, np.ndarray):
        return sums
    high, low = cast(tuple[Array, Array], sums)
    return (high.astype(object) << 64) + low.astype(object)
