"""Rows of a table that is not in memory: each pass reads them once, block by block, and adds up
what blocks leave.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from .._grid import ROOM, Array, integer_weight_bits, small_weight_bits
from .._lazy_property import lazy_property
from ..model import Assignment, Centroids, FarthestRow, Model, Sums
from ..table import MemoryTable, StreamTable, draw_goals
from .base import BaseRows, Run
from .row_seeding import DrawSeeding, draw_by_weighted_loss

if TYPE_CHECKING:
    from ..kernels.base import Kernel

LABEL_SHARE = 4  # labels that take more than this part of the memory limit are written to a file
NO_LABEL = -1
WEIGHT_BITS = 31  # of the largest weight by which rows are drawn
MAX_SEEDING_ROWS = 1 << 14  # rows that are brought into memory to choose starts from them
LABELS_AT_ONCE = 1 << 20  # that are counted or written


def refuse_blocks(stages: Sequence[Model]) -> str:
    """'' or why the models of a fit cannot go over their rows block by block."""
    for model in stages:
        kernel = model.kernel
        if not kernel.is_additive or kernel.statistics or kernel.learns_from_all_rows:
            name = kernel.name or type(kernel).__name__
            return (
                f"needs all rows at once for the kernel {name!r}, X is not in memory: pass "
                f"a table that is."
            )
    return ""


def weight_bits(kernel: Any, largest: float | None) -> int:
    """The power of two by which weights up to the largest are multiplied in the sums of this
    kernel.
    """
    bits = integer_weight_bits if kernel.is_exact else small_weight_bits
    return 0 if largest is None else bits(largest)


def draw_weights(rows: Any) -> Array:
    """Integer weights of rows, by which they are drawn, (n,); real ones are at most 1."""
    w = rows.weights()
    return w if w.dtype.kind == "i" else np.rint(np.ldexp(w, WEIGHT_BITS)).astype(np.int64)


class BlockRows(BaseRows):
    """Rows that are read again in every pass; `place_block` maps a block of them on the engine."""

    max_seeding_rows = MAX_SEEDING_ROWS

    def __init__(
        self, kernel: Kernel, table: StreamTable, place_block: Callable[[MemoryTable], BaseRows]
    ) -> None:
        super().__init__(kernel, table)
        self.place_block = place_block
        self.weight_bits = weight_bits(kernel, table.largest_weight)
        # rows that count and take no part, once a pass has counted them
        self.n_uninformative_rows: int | None = None

    def read_rows(self) -> Iterator[tuple[slice, Any]]:
        """Which rows a block has, and these on the engine."""
        n_uninformative = 0
        for block in self.table.read_blocks():
            rows = self.place_block(block.table)
            yield block.rows, rows
            n_uninformative += rows.n_uninformative()
        self.n_uninformative_rows = n_uninformative

    def weights(self) -> Array:
        return np.concatenate([rows.weights() for _, rows in self.read_rows()])

    def has_weight(self) -> bool:
        return any(rows.has_weight() for _, rows in self.read_rows())

    def n_uninformative(self) -> int:
        if self.n_uninformative_rows is None:
            for _ in self.read_rows():
                pass
        return int(self.n_uninformative_rows or 0)

    def place(self, table: MemoryTable) -> BaseRows:
        return self.place_block(table)

    def start_seeding(self) -> DrawSeeding:
        return DrawSeeding(self)

    def start_run(self, model: Model) -> Run:
        return BlockRun(self, model)

    def in_memory(self) -> BaseRows:
        return self.place_block(self.table.in_memory())

    def draw(self, words: Array, C: Centroids | None = None) -> Array:
        """Return the row numbers that a table in memory would give."""
        return self._draw_by_weight(words) if C is None else self._draw_by_loss(C, words)

    def _draw_by_weight(self, words: Array) -> Array:
        goals = draw_goals(self._total_weight, words)
        order = np.argsort(goals, kind="stable")
        found = []
        before = 0
        for at, rows in self.read_rows():
            ends = before + np.cumsum(draw_weights(rows), dtype=np.int64)
            here = slice(*np.searchsorted(goals[order], [before, ends[-1]]))
            found.append(at.start + np.searchsorted(ends, goals[order][here], side="right"))
            before = int(ends[-1])
        numbers = np.empty(len(words), np.int64)
        numbers[order] = np.concatenate(found)
        return numbers

    @lazy_property
    def _total_weight(self) -> int:
        """The weight of all rows that take part."""
        return sum(int(draw_weights(rows).sum()) for _, rows in self.read_rows())

    def _draw_by_loss(self, C: Centroids, words: Array) -> Array:
        losses: Any = None
        weights = None if self.table.largest_weight is None else self.row_numbers(self._weight_kind)
        for at, rows in self.read_rows():
            w = rows.weights()
            found = rows.nearest_losses(C)
            losses = self.row_numbers(found.dtype) if losses is None else losses
            losses[at] = np.where(w > 0, found, 0)
            if weights is not None:
                weights[at] = w
        weights = np.broadcast_to(self._weight_kind(1), len(self)) if weights is None else weights
        drawn = draw_by_weighted_loss(weights, losses, words)
        return self._draw_by_weight(words) if drawn is None else drawn

    def overall_sums(self) -> Sums:
        if self.kernel.is_exact:
            return super().overall_sums()
        return reduce(add, (rows.overall_sums() for _, rows in self.read_rows()))

    def nearest_masses(self, C: Any) -> Array:
        """Weight of the rows that each of these centroids is the nearest of, (k,)."""
        return reduce(add, (with_room(rows.nearest_masses(C)) for _, rows in self.read_rows()))

    def farthest(self, C: Any) -> FarthestRow:
        found = ((at, rows.farthest(C)) for at, rows in self.read_rows())
        return reduce(
            FarthestRow.merge, (replace(row, number=at.start + row.number) for at, row in found)
        )

    def map_blocks(self, answer: Callable[[Array], Array]) -> Array:
        answers: Any = None
        for at, rows in self.read_rows():
            found = rows.map_blocks(answer)
            answers = (
                self.row_numbers(found.dtype, *found.shape[1:]) if answers is None else answers
            )
            answers[at] = found
        return answers

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        """Sums of coordinates on the TURN grid and of observed weights of each cluster, (k, d)
        each.
        """
        return add_phase_sums(
            rows.phase_sums(np.ascontiguousarray(labels[at]), k) for at, rows in self.read_rows()
        )

    def empty_labels(self) -> Array:
        """Labels of all rows, none of them known."""
        labels = self.row_numbers(np.int32)
        for at in self.table.blocks(LABELS_AT_ONCE):
            labels[at] = NO_LABEL
        return labels

    @property
    def _weight_kind(self) -> Any:
        return np.int64 if self.kernel.is_exact else np.float64

    def row_numbers(self, kind: Any, *width: int) -> Array:
        """An array of numbers for each row; in a file without a name where they are too many for
        memory.
        """
        shape = (len(self), *width)
        limit = self.table.memory_limit
        size = np.dtype(kind).itemsize * math.prod(shape)
        if limit is None or size * LABEL_SHARE <= limit or np.dtype(kind).hasobject:
            return np.empty(shape, kind)
        with tempfile.TemporaryFile(prefix="rekmeans-labels-") as file:
            # a full disk is an error here, and not a crash at some later label
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            # Not a np.memmap, which other processes would look for by its name.
            return np.frombuffer(mmap.mmap(file.fileno(), size), kind).reshape(shape)


class BlockRun(Run):
    """Every pass goes over every row; labels are kept, to count those that change."""

    def __init__(self, rows: BlockRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.n_passes = 0
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

    def labels(self) -> Array:
        return self.last


def sums_with_room(sums: Any) -> Any:
    """Sums of a block to which a million others can be added without overflow."""
    parts = {field.name: getattr(sums, field.name) for field in fields(sums)}
    return replace(
        sums,
        **{name: with_room(part) for name, part in parts.items() if isinstance(part, np.ndarray)},
    )


def with_room(values: Array) -> Array:
    """Integers of 64 bits as Python's, where a million of them might not add up inside."""
    is_large = (
        values.dtype.kind == "i"
        and max(int(values.max(initial=0)), -int(values.min(initial=0))) >> ROOM
    )
    return values.astype(object) if is_large else values


def add_phase_sums(pairs: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Phase sums of all blocks, from those of each, in any order."""
    turns, observed = reduce(_add_pairs, (tuple(map(with_room, pair)) for pair in pairs))
    return turns, observed


def _add_pairs(one: tuple[Any, ...], two: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(add, one, two))
