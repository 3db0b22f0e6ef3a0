"""One partition of a Dask collection on a worker: its mapped rows and the state of its run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from operator import add
from typing import NamedTuple, TypeVar

import numpy as np

from ..._grid import Array, widen
from ...model import Centroids, FarthestRow, Loss, Model, Sums
from ...table import MemoryTable
from ..base import BaseRows, Run
from ..row_seeding import draw_blocks, draw_weights, find_drawn_row, running_totals

Item = TypeVar("Item")

BYTES_PER_CELL = 8  # bytes of a mapped cell
BYTES_PER_ROW = 32  # bytes for the label and the bounds of a row
# number of runs whose labels a process keeps, for partitions that are mapped again in each pass
MAX_KEPT_RUNS = 2
NO_RUN: tuple[str, int, Run | None] = ("", 0, None)


class PartitionPass(NamedTuple):
    """The result of a pass over one or more partitions."""

    n_changed: int
    sums: Sums
    n_uninformative: int
    seconds: list[float]  # of each partition

    def merge(self, other: PartitionPass) -> PartitionPass:
        return PartitionPass(*map(add, self, other))


class PassRequest(NamedTuple):
    """The description of one pass, which is sent to the workers."""

    run: str  # name of the run
    number: int  # of the pass in its run
    model: Model
    before: Centroids | None  # centroids of the previous pass
    C: Centroids  # centroids of this pass


class Partition:
    """The rows of a partition, mapped by an inner engine.

    The state of a run is optional: without it, a pass assigns every row again.
    """

    def __init__(
        self,
        place: Callable[[MemoryTable], BaseRows],
        table: MemoryTable,
        number: int,
        is_kept: bool,
    ) -> None:
        self.place = place
        self.table = table
        self.number = number
        self.is_kept = is_kept
        self.rows = place(table) if table.n_rows else None
        self.last = NO_RUN  # name of the run, number of its next pass, its Run

    @cached_property
    def n_uninformative(self) -> int:
        """The number of rows of positive weight whose values are all ignored."""
        return self.rows.n_uninformative() if self.rows else 0

    def __reduce__(
        self,
    ) -> tuple[type[Partition], tuple[Callable[[MemoryTable], BaseRows], MemoryTable, int, bool]]:
        """Pickle only the raw rows. The worker that receives them maps them again."""
        return Partition, (self.place, self.table, self.number, self.is_kept)

    def __sizeof__(self) -> int:
        cells = self.table.n_rows * self.table.n_columns
        return int(self.table.X.nbytes + BYTES_PER_CELL * cells + BYTES_PER_ROW * self.table.n_rows)

    def assign(self, request: PassRequest) -> tuple[int, Sums, int] | None:
        """Return n_changed, the sums and n_uninformative of a pass; None if there are no rows."""
        if self.rows is None:
            return None
        if self.is_kept:
            # `pop` is atomic. A second thread with the same pass starts from `before` instead.
            name, number, run = vars(self).pop("last", NO_RUN)
            if run is None or (name, number) != (request.run, request.number):
                run = self.rows.start_run(request.model)
                if request.before is not None:
                    run.assign(request.before)
            assignment = run.assign(request.C)
            self.last = (request.run, request.number + 1, run)
            return (
                assignment.n_changed,
                assignment.sums.fetch().widen(),
                self.n_uninformative,
            )
        run = self.rows.start_run(request.model)
        before = kept_labels(request, self.number)
        if before is None and request.before is not None:
            run.assign(request.before)
            before = run.labels()
            run = self.rows.start_run(request.model)
        sums = run.assign(request.C).sums.fetch().widen()
        labels = run.labels()
        keep_labels(request, self.number, labels)
        n_changed = len(labels) if before is None else int(np.count_nonzero(labels != before))
        return n_changed, sums, self.n_uninformative

    def farthest(self, C: Centroids, start: int) -> FarthestRow | None:
        if self.rows is None:
            return None
        row = self.rows.farthest(C)
        return replace(row, number=start + row.number)

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array] | None:
        if self.rows is None:
            return None
        # rows without an observed value have the label -1, but no phases
        turns, observed = self.rows.phase_sums(np.maximum(labels, 0), k)
        return widen(turns), widen(observed)

    def weight_counts(self) -> tuple[int, int]:
        """Return the total weight of the rows, and the number of uninformative rows."""
        return (
            (int(draw_weights(self.rows.weights()).sum()), self.n_uninformative)
            if self.rows
            else (0, 0)
        )

    def rows_at_weights(self, goals: Array) -> Array:
        """Return the first row whose running sum of weights exceeds each goal.

        Row numbers count from the start of this partition.
        """
        ends = np.cumsum(draw_weights(self.weights()), dtype=np.int64)
        return np.searchsorted(ends, goals, side="right")

    def weights(self) -> Array:
        return self.rows.weights() if self.rows else np.empty(0, np.int64)

    def nearest_losses(self, C: Centroids) -> Array:
        return self.rows.nearest_losses(C) if self.rows else np.empty(0, np.int64)

    def overall_sums(self) -> Sums | None:
        return self.rows.overall_sums().widen() if self.rows else None

    def nearest_masses(self, C: Centroids) -> Array | None:
        return widen(self.rows.nearest_masses(C)) if self.rows else None

    def loss_total(self, C: Centroids) -> Loss:
        """Return the sum of weight times loss at the nearest centroid."""
        blocks = draw_blocks(self.table.n_rows)
        return running_totals(blocks, self.weights(), self.nearest_losses(C))[-1] if blocks else 0

    def rows_at_losses(self, C: Centroids, goals: list[Loss]) -> Array:
        """Return the first row whose running sum of weight times loss exceeds each goal.

        Row numbers count from the start of this partition.
        """
        blocks = draw_blocks(self.table.n_rows)
        w = self.weights()
        losses = self.nearest_losses(C)
        totals = running_totals(blocks, w, losses)
        return np.array([find_drawn_row(blocks, totals, w, losses, goal) for goal in goals])

    def label(self, model: Model, C: Centroids) -> Array:
        return self.rows.label(model, C) if self.rows else np.empty(0, np.int32)

    def map_rows(self, function: Callable[[Array], Array], empty: Array) -> Array:
        return self.rows.map_blocks(function) if self.rows else empty


def assign_partitions(
    request: PassRequest, partitions: Sequence[Partition]
) -> PartitionPass | None:
    """Make a pass over these partitions; return None if they have no rows."""
    passes = []
    for partition in partitions:
        started = time.perf_counter()
        if (found := partition.assign(request)) is not None:
            passes.append(PartitionPass(*found, [time.perf_counter() - started]))
    return merge_results(PartitionPass.merge, passes)


# labels of partitions that are mapped in each pass, by run and partition: (next pass, labels)
_KEPT_LABELS: dict[str, dict[int, tuple[int, Array]]] = {}


def kept_labels(request: PassRequest, number: int) -> Array | None:
    """Return the labels of a partition in the previous pass, if this process has kept them."""
    following, labels = _KEPT_LABELS.get(request.run, {}).get(number, (-1, None))
    return labels if following == request.number else None


def keep_labels(request: PassRequest, number: int, labels: Array) -> None:
    """Keep the labels of a partition for the next pass in this process."""
    _KEPT_LABELS.setdefault(request.run, {})[number] = (request.number + 1, labels)
    for run in list(_KEPT_LABELS)[:-MAX_KEPT_RUNS]:
        _KEPT_LABELS.pop(run, None)  # another thread may have deleted it


def merge_results(
    merge: Callable[[Item, Item], Item], results: Sequence[Item | None]
) -> Item | None:
    """Merge the results that are not None, in order; return None if all are None."""
    merged = None
    for result in results:
        if result is not None:
            merged = result if merged is None else merge(merged, result)
    return merged
