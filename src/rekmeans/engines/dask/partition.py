"""One partition of a table on a worker: its rows on an engine, and what is left of the last pass
over them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from operator import add
from typing import Any, NamedTuple

import numpy as np

from ..._grid import Array
from ...model import FarthestRow, Model
from ...table import MemoryTable
from ..row_seeding import draw_blocks, draw_weights, find_drawn_row, running_totals
from ..wide_sums import widen, widen_sums

# of the mapped copy of a row, and of its labels and bounds
BYTES_PER_CELL = 8
BYTES_PER_ROW = 32
MOST_LABELS_KEPT = 2  # runs whose labels a process keeps for partitions that are mapped anew
NO_RUN: tuple[str, int, Any] = ("", 0, None)


class PartPass(NamedTuple):
    """What a pass over some partitions leaves."""

    n_changed: int
    sums: Any
    n_uninformative: int
    seconds: list[float]

    def merge(self, other: PartPass) -> PartPass:
        return PartPass(*map(add, self, other))


class RunPass(NamedTuple):
    """Which pass of which run: its centroids, and those of the pass before."""

    run: str
    number: int
    model: Model
    before: Any
    C: Any


class Partition:
    """Rows of a partition on an engine.

    What it remembers of a run only saves work: without it the pass is plain.
    """

    def __init__(
        self, place: Callable[[MemoryTable], Any], table: MemoryTable, number: int, is_kept: bool
    ) -> None:
        self.place = place
        self.table = table
        self.number = number
        self.is_kept = is_kept
        self.rows: Any = place(table) if table.n_rows else None
        self.last = NO_RUN  # run, its next pass, its state on the engine

    @cached_property
    def n_uninformative(self) -> int:
        """Rows that count and take no part."""
        return int(self.rows.n_uninformative()) if self.rows else 0

    def __reduce__(self) -> Any:
        """Sent to another worker, or to disk, as raw rows: they are mapped again there."""
        return Partition, (self.place, self.table, self.number, self.is_kept)

    def __sizeof__(self) -> int:
        cells = self.table.n_rows * self.table.n_columns
        return int(self.table.X.nbytes + BYTES_PER_CELL * cells + BYTES_PER_ROW * self.table.n_rows)

    def assign(self, one: RunPass) -> tuple[int, Any, int] | None:
        """n_changed, sums and uninformative rows of this pass; of no rows nothing."""
        if self.rows is None:
            return None
        if self.is_kept:
            # Taken out in one step: another thread with the same pass starts from `before` instead.
            name, number, run = vars(self).pop("last", NO_RUN)
            if (name, number) != (one.run, one.number):
                run = self.rows.start_run(one.model)
                if one.number:
                    run.assign(one.before)
            assignment = run.assign(one.C)
            self.last = (one.run, one.number + 1, run)
            return (
                assignment.n_changed,
                widen_sums(assignment.sums.fetch()),
                self.n_uninformative,
            )
        run = self.rows.start_run(one.model)
        before = kept_labels(one, self.number)
        if before is None and one.number:
            run.assign(one.before)
            before = run.labels()
            run = self.rows.start_run(one.model)
        sums = widen_sums(run.assign(one.C).sums.fetch())
        labels = run.labels()
        keep_labels(one, self.number, labels)
        n_changed = len(labels) if before is None else int(np.count_nonzero(labels != before))
        return n_changed, sums, self.n_uninformative

    def farthest(self, C: Any, start: int) -> FarthestRow | None:
        if self.rows is None:
            return None
        row = self.rows.farthest(C)
        return replace(row, number=start + row.number)

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array] | None:
        if self.rows is None:
            return None
        turns, observed = self.rows.phase_sums(np.ascontiguousarray(labels), k)
        return widen(turns), widen(observed)

    def weight_counts(self) -> tuple[int, int]:
        """Weight of the rows that take part, and how many that count do not."""
        return (
            (int(draw_weights(self.rows.weights()).sum()), self.n_uninformative)
            if self.rows
            else (0, 0)
        )

    def row_numbers(self, goals: Array) -> Array:
        """Numbers in this partition of the rows whose running sum of weights first exceeds these
        goals.
        """
        return np.searchsorted(
            np.cumsum(draw_weights(self.rows.weights()), dtype=np.int64), goals, side="right"
        )

    def weighted_losses(self, C: Any) -> tuple[Array, Array]:
        """Weight of each row, and its loss at the nearest of these centroids."""
        return self.rows.weights(), self.rows.nearest_losses(C)

    def overall_sums(self) -> Any:
        return widen_sums(self.rows.overall_sums()) if self.rows else None

    def nearest_masses(self, C: Any) -> Array | None:
        return widen(self.rows.nearest_masses(C)) if self.rows else None

    def loss_total(self, C: Any) -> Any:
        """Weight times loss of all rows."""
        parts = draw_blocks(self.table.n_rows)
        return running_totals(parts, *self.weighted_losses(C))[-1] if parts else 0

    def rows_at_losses(self, C: Any, goals: list[Any]) -> Array:
        """Numbers in this partition of the rows whose running sum of weight times loss first
        exceeds these goals.
        """
        parts = draw_blocks(self.table.n_rows)
        (w, losses) = self.weighted_losses(C)
        totals = running_totals(parts, w, losses)
        return np.array([find_drawn_row(parts, totals, w, losses, goal) for goal in goals])

    def label(self, model: Model, C: Any) -> Array:
        return self.rows.label(model, C) if self.rows else np.empty(0, np.int32)

    def map_rows(self, answer: Callable[[Array], Array], empty: Array) -> Array:
        return self.rows.map_blocks(answer) if self.rows else empty


def assign_parts(one: RunPass, parts: Sequence[Partition]) -> PartPass | None:
    """A pass over some partitions; None where they have no rows."""
    return merge_some(PartPass.merge, [_timed_pass(one, part) for part in parts])


def _timed_pass(one: RunPass, part: Partition) -> PartPass | None:
    started = time.perf_counter()
    found = part.assign(one)
    return None if found is None else PartPass(*found, [time.perf_counter() - started])


# Labels of partitions that are mapped anew in each pass, by run and partition: (next pass, labels).
_KEPT_LABELS: dict[str, dict[int, tuple[int, Array]]] = {}


def kept_labels(one: RunPass, number: int) -> Array | None:
    """The labels of a partition in the pass before, if this process made it."""
    following, labels = _KEPT_LABELS.get(one.run, {}).get(number, (-1, None))
    return labels if following == one.number else None


def keep_labels(one: RunPass, number: int, labels: Array) -> None:
    _KEPT_LABELS.setdefault(one.run, {})[number] = (one.number + 1, labels)
    for run in list(_KEPT_LABELS)[:-MOST_LABELS_KEPT]:
        _KEPT_LABELS.pop(run, None)  # another thread may have deleted it


def merge_some(merge: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """All of these that are not None as one, in their order; None where none is."""
    found = None
    for part in parts:
        if part is not None:
            found = part if found is None else merge(found, part)
    return found
