"""Rows in the partitions of a Dask collection: a task for each partition and pass, their sums added
up in a tree.
"""

from __future__ import annotations

import secrets
import statistics
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from operator import add
from typing import Any, cast

import numpy as np
from dask import array
from dask.delayed import delayed
from dask.highlevelgraph import HighLevelGraph

from ..._grid import Array
from ..._lazy_property import lazy_property
from ...model import Assignment, Centroids, FarthestRow, Model, Sums
from ...table import MemoryTable, Table, draw_goals
from ..base import BaseRows, Engine, Run
from ..blocks import MAX_SEEDING_ROWS
from ..row_seeding import DrawSeeding, draw_goal
from .compute import compute, current_client, futures_of
from .partition import BYTES_PER_CELL, BYTES_PER_ROW, Partition, PartPass, RunPass, assign_parts
from .sharing import compute_merged, room_on_workers
from .table import DaskTable, part_of
from .worker_groups import WorkerGroups

# of partitions that one task goes over: a task costs the scheduler some milliseconds
TASK_SECONDS = 1.0
PATIENCE = 20  # times the median task without any task ending, and a cluster is given up


class DaskRows(BaseRows):
    """Partitions that are mapped once and kept on the workers where they fit, and else in every
    pass.
    """

    max_seeding_rows = MAX_SEEDING_ROWS
    table: DaskTable

    def __init__(
        self, stages: Sequence[Model], table: DaskTable, engine: Engine, n_threads: int | None
    ) -> None:
        super().__init__(stages[-1].kernel, table)
        self.stages = tuple(stages)
        self.engine = engine
        self.n_threads = n_threads
        self.n_uninformative_rows: int | None = None
        self.task_seconds: list[float] = []

    @lazy_property
    def is_kept(self) -> bool:
        """Whether the partitions stay on the workers."""
        return self._fit_in_memory()

    @lazy_property
    def partitions(self) -> list[Any]:
        """A delayed Partition each; or its future, on the workers from now on, where they fit
        there.
        """
        parts = self._place(self.table.parts, self.table.largest_weight, self.is_kept)
        return (
            futures_of(current_client().persist(parts, optimize_graph=False))
            if self.is_kept
            else parts
        )

    @lazy_property
    def groups(self) -> WorkerGroups:
        """The partitions by the workers that keep them."""
        return WorkerGroups(self.partitions, self._longest_wait)

    def assign(self, one: RunPass) -> PartPass:
        """A pass by tasks where partitions are kept: of one each at first, then of as many as take
        a second.
        """
        found = None
        if self.is_kept:
            seconds = statistics.median(self.task_seconds) if self.task_seconds else TASK_SECONDS
            found = self.groups.assign(
                current_client(), one, max(1, int(TASK_SECONDS / max(seconds, 1e-6)))
            )
        return self._assign_anywhere(one) if found is None else found

    def _assign_anywhere(self, one: RunPass) -> PartPass:
        """A pass by a task for each partition, wherever the scheduler runs it."""
        function = delayed(partial(assign_parts, one), pure=False, traverse=False)
        parts = [function([part]) for part in self.partitions]
        found: PartPass = self.merge_tasks(PartPass.merge, parts)
        return found

    def _place(
        self, parts: Sequence[Any], largest: float | None = None, is_kept: bool = False
    ) -> list[Any]:
        # Dask's local threads are as many as CPUs
        threads = self.n_threads if current_client() is not None else 1
        place = delayed(
            partial(_place_rows, self.engine, self.stages, threads, largest),
            pure=False,
            traverse=False,
        )
        return [delayed(Partition)(place, part, i, is_kept) for i, part in enumerate(parts)]

    def _fit_in_memory(self) -> bool:
        """Whether the workers can keep all rows, raw and mapped."""
        client = current_client()
        if client is None:
            return False
        row = 2 * BYTES_PER_CELL * self.table.n_columns + BYTES_PER_ROW
        return len(self) * row <= room_on_workers(client, self._longest_wait)

    def run_tasks(self, tasks: Sequence[Any]) -> list[Any]:
        return compute(tasks, self._longest_wait)

    def merge_tasks(self, merge: Callable[[Any, Any], Any], tasks: Sequence[Any]) -> Any:
        return compute_merged(merge, tasks, self._longest_wait)

    def _longest_wait(self) -> float:
        return (
            PATIENCE * max(TASK_SECONDS, statistics.median(self.task_seconds))
            if self.task_seconds
            else 0.0
        )

    def weights(self) -> Array:
        return np.concatenate(self.run_tasks([delayed(_weights)(part) for part in self.partitions]))

    @lazy_property
    def _weight_counts(self) -> list[tuple[int, int]]:
        """Of each partition: weight that takes part, and rows that do not."""
        return self.run_tasks([delayed(Partition.weight_counts)(part) for part in self.partitions])

    def has_weight(self) -> bool:
        return any(weight for weight, _ in self._weight_counts)

    def n_uninformative(self) -> int:
        return (
            sum(count for _, count in self._weight_counts)
            if self.n_uninformative_rows is None
            else self.n_uninformative_rows
        )

    def place(self, table: Table) -> BaseRows:
        return self.engine.place(self.stages, table, self.n_threads, None)

    def in_memory(self) -> BaseRows:
        return self.place(self.table.in_memory())

    def start_seeding(self) -> DrawSeeding:
        return DrawSeeding(self)

    def start_run(self, model: Model) -> DaskRun:
        return DaskRun(self, model)

    def draw(self, words: Array, C: Centroids | None = None) -> Array:
        """Return the row numbers that a table in memory would give."""
        return self._draw_by_weight(words) if C is None else self._draw_by_loss(C, words)

    def _draw_by_weight(self, words: Array) -> Array:
        ends = np.cumsum([weight for weight, _ in self._weight_counts], dtype=np.int64)
        goals = draw_goals(int(ends[-1]), words)
        owners = np.searchsorted(ends, goals, side="right")
        before = np.append(0, ends[:-1])
        tasks = {
            i: delayed(Partition.row_numbers)(self.partitions[i], goals[owners == i] - before[i])
            for i in np.unique(owners)
        }
        return self._numbers_of_rows(owners, tasks)

    def _draw_by_loss(self, C: Centroids, words: Array) -> Array:
        centroids = delayed(C, pure=False, traverse=False)
        losses = self.run_tasks(
            [delayed(Partition.loss_total)(part, centroids) for part in self.partitions]
        )
        ends = list(accumulate(losses))
        if not ends[-1]:
            return self._draw_by_weight(words)
        goals = [draw_goal(ends[-1], word) for word in words.tolist()]
        owners = np.array([min(bisect_right(ends, goal), len(ends) - 1) for goal in goals])
        tasks = {}
        for i in np.unique(owners):
            here = [
                goal - (ends[i - 1] if i else 0)
                for goal, owner in zip(goals, owners, strict=True)
                if owner == i
            ]
            tasks[i] = delayed(Partition.rows_at_losses)(self.partitions[i], centroids, here)
        return self._numbers_of_rows(owners, tasks)

    def overall_sums(self) -> Sums:
        if self.kernel.has_exact_arithmetic and self.kernel.pull_is_weight:
            return super().overall_sums()
        sums = [delayed(Partition.overall_sums)(part) for part in self.partitions]
        return self.merge_tasks(add, sums)

    def nearest_masses(self, C: Centroids) -> Array:
        """Weight of the rows that each of these centroids is the nearest of, (k,)."""
        centroids = delayed(C, pure=False, traverse=False)
        masses = [delayed(Partition.nearest_masses)(part, centroids) for part in self.partitions]
        return self.merge_tasks(add, masses)

    def _numbers_of_rows(self, owners: Array, tasks: dict[int, Any]) -> Array:
        """Numbers of drawn rows in the table, by the partition of each, and the task that finds
        them there.
        """
        numbers = np.empty(len(owners), np.int64)
        first = np.append(0, self.table.ends[:-1])
        for i, found in zip(tasks, self.run_tasks(list(tasks.values())), strict=True):
            numbers[owners == i] = first[i] + found
        return numbers

    def farthest(self, C: Centroids) -> FarthestRow:
        starts = np.append(0, self.table.ends[:-1]).tolist()
        centroids = delayed(C, pure=False, traverse=False)
        pairs = zip(self.partitions, starts, strict=True)
        rows = [delayed(Partition.farthest)(part, centroids, start) for part, start in pairs]
        return self.merge_tasks(FarthestRow.merge, rows)

    def label(self, model: Model, C: Centroids) -> Array:
        """A lazy array: it needs the collection, and neither this cluster nor what it keeps."""
        both = delayed((model, C), pure=False, traverse=False)
        blocks = [delayed(_label)(part, both) for part in self._place(self.table.make_parts())]
        return self._lazy(blocks, np.empty(0, np.int32))

    def map_blocks(self, function: Callable[[Array], Array]) -> Array:
        empty = function(self.kernel.embed(np.zeros((1, self.table.n_columns))))[:0]
        task = delayed(function, pure=False, traverse=False)
        placed = self._place(self.table.make_parts())
        blocks = [delayed(Partition.map_rows)(part, task, empty) for part in placed]
        return self._lazy(blocks, empty)

    def _lazy(self, blocks: list[Any], empty: Array) -> Any:
        """Blocks below one another as a Dask array; its length is known where that of the table
        is.
        """
        lengths: Any = self.table.known_lengths() or [np.nan] * len(blocks)
        name = f"rekmeans-{secrets.token_hex(8)}"
        rest = (0,) * (empty.ndim - 1)
        layer: Any = {(name, i, *rest): (_same, block.key) for i, block in enumerate(blocks)}
        graph = HighLevelGraph.from_collections(name, layer, dependencies=blocks)
        return array.Array(
            graph, name, (tuple(lengths), *((width,) for width in empty.shape[1:])), meta=empty
        )

    def phase_sums(self, labels: Any, k: int) -> tuple[Array, Array]:
        pairs = zip(self.partitions, labels.to_delayed().ravel(), strict=True)
        sums = [delayed(Partition.phase_sums)(part, block, k) for part, block in pairs]
        turns, observed = self.merge_tasks(_add_both, sums)
        return turns, observed


class DaskRun(Run):
    """A pass is a task for each partition; labels stay where they are."""

    def __init__(self, rows: DaskRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.n_passes = 0
        self.name = secrets.token_hex(8)
        self.before: Centroids | None = None  # of the last pass

    def assign(self, C: Centroids) -> Assignment:
        one = RunPass(self.name, self.n_passes, self.model, self.before, C)
        found = self.rows.assign(one)
        self.rows.n_uninformative_rows = found.n_uninformative
        self.rows.task_seconds = found.seconds
        self.before = C
        self.n_passes = self.n_passes + 1
        return Assignment(found.n_changed, found.sums)

    def labels(self) -> Array:
        return self.rows.label(self.model, cast(Centroids, self.before))


# tasks


def _place_rows(
    engine: Engine,
    stages: tuple[Model, ...],
    n_threads: int | None,
    largest: float | None,
    table: MemoryTable,
) -> Any:
    return engine.place(stages, part_of(table, largest), n_threads, None)


def _weights(part: Partition) -> Array:
    return part.rows.weights() if part.rows else np.empty(0, np.int64)


def _label(part: Partition, both: tuple[Model, Any]) -> Array:
    return part.label(*both)


def _same(block: Array) -> Array:
    return block


def _add_both(one: tuple[Any, Any], two: tuple[Any, Any]) -> tuple[Any, Any]:
    return one[0] + two[0], one[1] + two[1]
