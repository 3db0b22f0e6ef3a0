"""Rows in the partitions of a Dask collection.

A pass runs tasks on the partitions. A tree of tasks adds their sums.
"""

from __future__ import annotations

import secrets
import statistics
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, cast

import numpy as np
from dask import array
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph

from ..._grid import Array, add_phase_sums
from ...model import Assignment, Centroids, FarthestRow, Loss, Model, Sums
from ...table import MemoryTable, Table, draw_goals
from ...table.empty_rows import mark_rows
from ...threads import lazy_property
from ..base import BaseRows, Engine, Run
from ..blocks import MAX_SEEDING_ROWS
from ..row_seeding import DrawSeeding, draw_goal
from .compute import Result, compute, current_client, futures_of
from .partition import (
    BYTES_PER_CELL,
    BYTES_PER_ROW,
    Partition,
    PartitionPass,
    PassRequest,
    assign_partitions,
)
from .sharing import compute_merged, memory_on_workers
from .table import DaskTable, with_largest_weight
from .worker_groups import WorkerGroups

if TYPE_CHECKING:
    from dask.typing import DaskCollection, Key
    from distributed import Client, Future

# intended duration of a task; each task costs the scheduler a few milliseconds
TASK_SECONDS = 1.0
PATIENCE = 20  # a fit fails if no task ends within PATIENCE times the median duration of a task


class DaskRows(BaseRows):
    """Partitions that workers map once and keep. If they do not fit, each pass maps them again."""

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
        """Whether the workers keep the mapped partitions: all raw and mapped rows fit in memory."""
        client = current_client()
        if client is None:
            return False
        row = 2 * BYTES_PER_CELL * self.table.n_columns + BYTES_PER_ROW
        return len(self) * row <= memory_on_workers(client, self._longest_wait)

    @lazy_property
    def partitions(self) -> Sequence[Delayed | Future[Partition]]:
        """The delayed partitions, or their futures if the workers keep them."""
        partitions = self._place(self.table.partitions, self.table.largest_weight, self.is_kept)
        if not self.is_kept:
            return partitions
        client = cast("Client", current_client())
        return futures_of(client.persist(partitions, optimize_graph=False))

    @lazy_property
    def groups(self) -> WorkerGroups:
        """The kept partitions, grouped by worker."""
        return WorkerGroups(cast("list[Future[Partition]]", self.partitions), self._longest_wait)

    def assign(self, request: PassRequest) -> PartitionPass:
        """Make a pass, on the workers that keep the partitions if there are any.

        In the first pass a task has one partition. Later tasks have as many partitions as take
        about TASK_SECONDS.
        """
        if self.is_kept:
            seconds = statistics.median(self.task_seconds) if self.task_seconds else TASK_SECONDS
            max_partitions = max(1, int(TASK_SECONDS / max(seconds, 1e-6)))
            client = cast("Client", current_client())
            found = self.groups.assign(client, request, max_partitions)
            if found is not None:
                return found
        # one task for each partition; the scheduler chooses the workers
        function = delayed(partial(assign_partitions, request), pure=False, traverse=False)
        tasks = [function([partition]) for partition in self.partitions]
        return self.merge_tasks(PartitionPass.merge, tasks)

    def _place(
        self, tables: Sequence[Delayed], largest: float | None = None, is_kept: bool = False
    ) -> list[Delayed]:
        """Return a delayed Partition for each delayed table."""
        # Dask's local scheduler already has one thread for each CPU.
        threads = self.n_threads if current_client() is not None else 1
        place = delayed(
            partial(_place_rows, self.engine, self.stages, threads, largest),
            pure=False,
            traverse=False,
        )
        return [delayed(Partition)(place, table, i, is_kept) for i, table in enumerate(tables)]

    def run_tasks(self, tasks: Sequence[Delayed]) -> list[Result]:
        return compute(tasks, self._longest_wait)

    def merge_tasks(
        self, merge: Callable[[Result, Result], Result], tasks: Sequence[Delayed]
    ) -> Result:
        return compute_merged(merge, tasks, self._longest_wait)

    def _longest_wait(self) -> float:
        return (
            PATIENCE * max(TASK_SECONDS, statistics.median(self.task_seconds))
            if self.task_seconds
            else 0.0
        )

    def weights(self) -> Array:
        found: list[Array] = self.run_tasks(
            [delayed(Partition.weights)(partition) for partition in self.partitions]
        )
        return np.concatenate(found)

    @lazy_property
    def _weight_counts(self) -> list[tuple[int, int]]:
        """The total weight and the number of uninformative rows of each partition."""
        return self.run_tasks(
            [delayed(Partition.weight_counts)(partition) for partition in self.partitions]
        )

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
        """Return the same row numbers as for a table in memory."""
        return self._draw_by_weight(words) if C is None else self._draw_by_loss(C, words)

    def _draw_by_weight(self, words: Array) -> Array:
        ends = np.cumsum([weight for weight, _ in self._weight_counts], dtype=np.int64)
        goals = draw_goals(int(ends[-1]), words)
        owners = np.searchsorted(ends, goals, side="right")
        before = np.append(0, ends[:-1])
        tasks = {
            i: delayed(Partition.rows_at_weights)(
                self.partitions[i], goals[owners == i] - before[i]
            )
            for i in np.unique(owners)
        }
        return self._numbers_of_rows(owners, tasks)

    def _draw_by_loss(self, C: Centroids, words: Array) -> Array:
        centroids = delayed(C, pure=False, traverse=False)
        losses: list[Loss] = self.run_tasks(
            [delayed(Partition.loss_total)(partition, centroids) for partition in self.partitions]
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
        sums = [delayed(Partition.overall_sums)(partition) for partition in self.partitions]
        return self.merge_tasks(add, sums)

    def nearest_masses(self, C: Centroids) -> Array:
        """Return the total weight of the rows nearest to each centroid, (k,)."""
        centroids = delayed(C, pure=False, traverse=False)
        task = delayed(Partition.nearest_masses)
        masses = [task(partition, centroids) for partition in self.partitions]
        return self.merge_tasks(add, masses)

    def _numbers_of_rows(self, owners: Array, tasks: dict[int, Delayed]) -> Array:
        """Return the row numbers of sampled rows in the table.

        `owners` has the partition of each sampled row. `tasks` return row numbers in a partition.
        """
        numbers = np.empty(len(owners), np.int64)
        first = np.append(0, self.table.ends[:-1])
        found: list[Array] = self.run_tasks(list(tasks.values()))
        for i, numbers_in_partition in zip(tasks, found, strict=True):
            numbers[owners == i] = first[i] + numbers_in_partition
        return numbers

    def farthest(self, C: Centroids) -> FarthestRow:
        starts = np.append(0, self.table.ends[:-1]).tolist()
        centroids = delayed(C, pure=False, traverse=False)
        pairs = zip(self.partitions, starts, strict=True)
        task = delayed(Partition.farthest)
        rows = [task(partition, centroids, start) for partition, start in pairs]
        return self.merge_tasks(FarthestRow.merge, rows)

    def label(self, model: Model, C: Centroids) -> Array:
        """Return the labels as a lazy Dask array, -1 for rows without an observed value.

        Its tasks depend only on the collection, not on partitions that this cluster keeps.
        """
        model_and_centroids = delayed((model, C), pure=False, traverse=False)
        placed = self._place(self.table.make_partitions())
        blocks = [delayed(_label)(partition, model_and_centroids) for partition in placed]
        return self._lazy(blocks, np.empty(0, np.int32))

    def map_blocks(self, function: Callable[[Array], Array]) -> Array:
        empty = function(self.kernel.embed(np.zeros((1, self.table.n_columns))))[:0]
        task = delayed(function, pure=False, traverse=False)
        placed = self._place(self.table.make_partitions())
        blocks = [delayed(_map_rows)(partition, task, empty) for partition in placed]
        return self._lazy(blocks, empty)

    def _lazy(self, blocks: list[Delayed], empty: Array) -> Array:
        """Return the concatenated blocks as a Dask array.

        Its length is known if the length of the table is known.
        """
        lengths: Sequence[float] = self.table.known_lengths() or [np.nan] * len(blocks)
        name = f"rekmeans-{secrets.token_hex(8)}"
        rest = (0,) * (empty.ndim - 1)
        layer = {(name, i, *rest): (_return_block, block.key) for i, block in enumerate(blocks)}
        graph = HighLevelGraph.from_collections(
            name,
            cast("dict[Key, object]", layer),
            dependencies=cast("list[DaskCollection]", blocks),
        )
        chunks = (tuple(lengths), *((width,) for width in empty.shape[1:]))
        return cast(Array, array.Array(graph, name, chunks, meta=empty))

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        blocks = cast(array.Array, labels).to_delayed().ravel()
        pairs = zip(self.partitions, blocks, strict=True)
        sums = [delayed(Partition.phase_sums)(partition, block, k) for partition, block in pairs]
        return self.merge_tasks(_add_phase_sums, sums)


class DaskRun(Run):
    """A run whose passes are tasks. The labels stay on the workers."""

    def __init__(self, rows: DaskRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.n_passes = 0
        self.name = secrets.token_hex(8)
        self.before: Centroids | None = None  # the centroids of the last pass

    def assign(self, C: Centroids) -> Assignment:
        found = self.rows.assign(PassRequest(self.name, self.n_passes, self.model, self.before, C))
        self.rows.n_uninformative_rows = found.n_uninformative
        self.rows.task_seconds = found.seconds
        self.before = C
        self.n_passes += 1
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
) -> BaseRows:
    return engine.place(stages, with_largest_weight(table, largest), n_threads, None)


def _label(partition: Partition, model_and_centroids: tuple[Model, Centroids]) -> Array:
    return mark_rows(partition.label(*model_and_centroids), partition.table.empty_rows)


def _map_rows(partition: Partition, function: Callable[[Array], Array], empty: Array) -> Array:
    return mark_rows(partition.map_rows(function, empty), partition.table.empty_rows)


def _return_block(block: Array) -> Array:
    return block


def _add_phase_sums(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return add_phase_sums((a, b))
