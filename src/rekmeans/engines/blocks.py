"""Rows of a table that is not in memory: each pass reads them once, block by block, and adds up what blocks leave."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np

from .._grid import ROOM, Array, integer_weights, mean_turns
from ..assignment import Hard
from ..centroids import rectified
from ..kernels.base import rectified_update
from ..model import Assignment, FarthestRow, Model, State, Stop
from ..seeding import Seeding, SeedingPlan
from ..table import MemoryTable, StreamTable, draw_goals
from .loss_draws import draw_goal, draw_parts, row_at_goal, running_totals

LABEL_SHARE = 4  # labels that take more than this part of the memory limit are written to a file
NO_LABEL = -1
LABELS_AT_ONCE = 1 << 20  # that are counted or written


def refuse_blocks(stages: Sequence[Model]) -> str:
    """'' or why the models of a fit cannot go over their rows block by block."""
    for model in stages:
        kernel = model.kernel
        if not kernel.is_additive or kernel.statistics:
            name = kernel.name or type(kernel).__name__
            return f"needs all rows at once for the kernel {name!r}, X is not in memory: pass a table that is."
        if not (kernel.is_exact and model.assignment.is_hard):
            return "takes an X that is not in memory for hard labels of the Euler kernel only: pass a table that is."
    return ""


class RowsElsewhere:
    """What rows that are not in memory have in common, wherever they are."""

    kernel: Any
    table: Any
    start_run: Callable[[Model], Any]
    phase_sums: Callable[[Any, int], tuple[Array, Array]]

    def concurrent_starts(self, k: int) -> int:
        return 1

    def start_seeding(self) -> BlockSeeding:
        return BlockSeeding(self)

    def best_of_drawn(self, model: Model, plan: SeedingPlan, words: Array, stop: Stop) -> State | None:
        return None

    def rows_as_centroids(self, numbers: Array) -> Any:
        F = self.kernel.embed(self.table.dense(numbers))
        return self.kernel.from_rows(F, self._overall if self.kernel.has_missing(F) else None)

    @cached_property
    def _overall(self) -> Any:
        """The rectified centroid of all rows."""
        start = self.kernel.from_points(self.kernel.scale.middle[None])
        sums = self.start_run(Model(self.kernel, Hard(), rectified)).assign(start).sums
        return rectified_update(self.kernel, sums, start)

    def mean_phases(self, labels: Any, k: int) -> Array:
        return mean_turns(*self.phase_sums(labels, k))


class BlockRows(RowsElsewhere):
    """Rows that are read anew in every pass; `place` puts a block of them on the engine."""

    def __init__(self, kernel: Any, table: StreamTable, place: Callable[[MemoryTable], Any]) -> None:
        self.kernel, self.table, self.place = kernel, table, place
        largest = table.largest_weight
        self.weight_bits = 0 if largest is None else integer_weights(np.ones(1), largest)[1]
        self.silent: int | None = None  # rows that count and take no part, once a pass has counted them

    def __len__(self) -> int:
        return self.table.n_rows

    def read_rows(self) -> Iterator[tuple[slice, Any]]:
        """Which rows a block has, and these on the engine."""
        n_silent = 0
        for block in self.table.read_blocks():
            rows = self.place(block.table)
            yield block.rows, rows
            n_silent += rows.n_silent()
        self.silent = n_silent

    def weights(self) -> Array:
        return np.concatenate([rows.weights() for _, rows in self.read_rows()])

    def has_weight(self) -> bool:
        return any(rows.has_weight() for _, rows in self.read_rows())

    def n_silent(self) -> int:
        if self.silent is None:
            for _ in self.read_rows():
                pass
        return int(self.silent or 0)

    def label_counts(self, labels: Array, k: int) -> Array:
        """Counted a part at a time, as they may be in a file."""
        parts = (np.bincount(labels[at], minlength=k) for at in self.table.blocks(LABELS_AT_ONCE))
        return reduce(add, parts)

    def sample(self, count: int, seed: int) -> Any:
        return self.place(self.table.sample(count, seed))

    def start_run(self, model: Model) -> BlockRun:
        return BlockRun(self, model)

    def in_memory(self) -> Any:
        return self.place(self.table.in_memory())

    def take(self, numbers: Array, weights: Array) -> Any:
        return self.place(self.table.take(numbers, weights))

    def draw_rows(self, words: Array) -> Array:
        """Row numbers drawn by weight, as from a table in memory."""
        goals = draw_goals(self._total_weight, words)
        order, found, before = np.argsort(goals, kind="stable"), [], 0
        for at, rows in self.read_rows():
            ends = before + np.cumsum(rows.weights(), dtype=np.int64)
            here = slice(*np.searchsorted(goals[order], [before, ends[-1]]))
            found.append(at.start + np.searchsorted(ends, goals[order][here], side="right"))
            before = int(ends[-1])
        numbers = np.empty(len(words), np.int64)
        numbers[order] = np.concatenate(found)
        return numbers

    @cached_property
    def _total_weight(self) -> int:
        """The weight of all rows that take part."""
        return sum(int(rows.weights().sum()) for _, rows in self.read_rows())

    def draw_by_loss(self, C: Any, words: Array) -> Array:
        """Row numbers drawn by weight times loss at C, as from a table in memory; by weight where all losses are 0."""
        losses: Any = None
        weights = None if self.table.largest_weight is None else self.row_numbers(np.int64)
        for at, rows in self.read_rows():
            w, found = rows.weights(), rows.nearest_losses(C)
            losses = self.row_numbers(found.dtype) if losses is None else losses
            losses[at] = np.where(w > 0, found, 0)
            if weights is not None:
                weights[at] = w
        weights = np.broadcast_to(np.int64(1), len(self)) if weights is None else weights
        parts = draw_parts(len(self))
        totals = running_totals(parts, weights, losses)
        if not totals[-1]:
            return self.draw_rows(words)
        goals = (draw_goal(totals[-1], word) for word in words.tolist())
        return np.array([row_at_goal(parts, totals, weights, losses, goal) for goal in goals])

    def label(self, model: Model, C: Any) -> Array:
        run = self.start_run(model)
        run.assign(C)
        return run.labels()

    def farthest(self, C: Any) -> FarthestRow:
        found = ((at, rows.farthest(C)) for at, rows in self.read_rows())
        return reduce(FarthestRow.merge, (replace(row, number=at.start + row.number) for at, row in found))

    def map_blocks(self, answer: Callable[[Array], Array]) -> Array:
        return np.concatenate([rows.map_blocks(answer) for _, rows in self.read_rows()])

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        """Sums of coordinates on the TURN grid and of observed weights of each cluster, (k, d) each."""
        sums = (rows.phase_sums(np.ascontiguousarray(labels[at]), k) for at, rows in self.read_rows())
        turns, observed = reduce(_add_pairs, (tuple(map(with_room, pair)) for pair in sums))
        return turns, observed

    def empty_labels(self) -> Array:
        """Labels of all rows, none of them known."""
        labels = self.row_numbers(np.int32)
        for at in self.table.blocks(LABELS_AT_ONCE):
            labels[at] = NO_LABEL
        return labels

    def row_numbers(self, kind: Any) -> Array:
        """An array of a number for each row; in a file without a name where they are too many for memory."""
        limit, size = self.table.memory_limit, np.dtype(kind).itemsize * len(self)
        if limit is None or size * LABEL_SHARE <= limit or np.dtype(kind).hasobject:
            return np.empty(len(self), kind)
        with tempfile.TemporaryFile(prefix="rekmeans-labels-") as file:
            if hasattr(os, "posix_fallocate"):  # a full disk is an error here, and not a crash at some later label
                os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, kind, "w+", shape=(len(self),))


class BlockRun:
    """Every pass goes over every row; labels are kept, to count those that change."""

    def __init__(self, rows: BlockRows, model: Model) -> None:
        self.rows, self.model, self.n_passes = rows, model, 0
        self.last: Array = rows.empty_labels()

    def assign(self, C: Any) -> Assignment:
        n_changed, sums = 0, None
        for at, rows in self.rows.read_rows():
            run = rows.start_run(self.model)
            left = sums_with_room(run.assign(C).sums.fetch())
            labels = run.labels()
            n_changed += int(np.count_nonzero(labels != self.last[at]))
            self.last[at] = labels
            sums = left if sums is None else sums + left
        self.n_passes += 1
        return Assignment(n_changed, sums)

    def update(self, sums: Any, C: Any) -> Any:
        return self.model.update(sums, C)

    def advance(self, state: State, stop: Stop, most_passes: int) -> None:
        return None

    def labels(self) -> Array:
        return self.last


class BlockSeeding(Seeding):
    """Draws over all blocks, by weight and then by loss; what needs more is done in memory, on the rows drawn."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.centroids: Any = None

    def sample(self, words: Array) -> Array:
        draw = self.rows.draw_rows if self.centroids is None else partial(self.rows.draw_by_loss, self.centroids)
        return draw(words)

    def add_all(self, numbers: Array) -> None:
        P = self.rows.rows_as_centroids(numbers)
        self.centroids = P if self.centroids is None else self.centroids.append(P)

    def add_best(self, numbers: Array) -> None:
        raise NotImplementedError("of rows elsewhere candidates are drawn, and compared in memory.")

    def swap_best(self, numbers: Array) -> bool:
        raise NotImplementedError("of rows elsewhere candidates are drawn, and compared in memory.")

    def nearest_masses(self) -> Array:
        run = self.rows.start_run(Model(self.rows.kernel, Hard(), rectified))
        return run.assign(self.centroids).sums.mass


def sums_with_room(sums: Any) -> Any:
    """Sums of a block to which a million others can be added without overflow."""
    parts = {field.name: getattr(sums, field.name) for field in fields(sums)}
    return replace(sums, **{name: with_room(part) for name, part in parts.items() if isinstance(part, np.ndarray)})


def with_room(values: Array) -> Array:
    """Integers of 64 bits as Python's, where a million of them might not add up inside."""
    is_large = values.dtype.kind == "i" and max(int(values.max(initial=0)), -int(values.min(initial=0))) >> ROOM
    return values.astype(object) if is_large else values


def _add_pairs(one: tuple[Any, ...], two: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(add, one, two))
