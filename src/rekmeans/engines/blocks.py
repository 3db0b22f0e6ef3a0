"""Rows of an out-of-core table: each pass reads every block once and adds its sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from .._grid import Array, add_phase_sums, widen
from ..model import Assignment, Centroids, FarthestRow, Model, Sums
from ..table import StreamTable, Table, draw_goals
from ..table.stream import allocate_rows
from ..threads import lazy_property
from .base import BaseRows, Run
from .row_seeding import DrawSeeding, draw_by_weighted_loss, draw_weights

if TYPE_CHECKING:
    from ..kernels.base import Kernel

NO_LABEL = -1
MAX_SEEDING_ROWS = 1 << 14  # rows that are loaded into memory to choose the starts from
LABELS_AT_ONCE = 1 << 20  # labels that are initialized at a time


class BlockRows(BaseRows):
    """Rows that every pass reads again. `place_block` maps one block on the engine."""

    max_seeding_rows = MAX_SEEDING_ROWS

    table: StreamTable

    def __init__(
        self, kernel: Kernel, table: StreamTable, place_block: Callable[[Table], BaseRows]
    ) -> None:
        super().__init__(kernel, table)
        self.place_block = place_block
        # rows of positive weight whose values are all ignored; None until a pass has counted them
        self.n_uninformative_rows: int | None = None

    def read_rows(self) -> Iterator[tuple[slice, BaseRows]]:
        """Yield the slice of each block and its mapped rows."""
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

    def place(self, table: Table) -> BaseRows:
        return self.place_block(table)

    def start_seeding(self) -> DrawSeeding:
        return DrawSeeding(self)

    def start_run(self, model: Model) -> Run:
        return BlockRun(self, model)

    def in_memory(self) -> BaseRows:
        return self.place_block(self.table.in_memory())

    def draw(self, words: Array, C: Centroids | None = None) -> Array:
        """Return the same row numbers as for a table in memory."""
        return self._draw_by_weight(words) if C is None else self._draw_by_loss(C, words)

    def _draw_by_weight(self, words: Array) -> Array:
        goals = draw_goals(self._total_weight, words)
        order = np.argsort(goals, kind="stable")
        found = []
        before = 0
        for at, rows in self.read_rows():
            ends = before + np.cumsum(draw_weights(rows.weights()), dtype=np.int64)
            here = slice(*np.searchsorted(goals[order], [before, ends[-1]]))
            found.append(at.start + np.searchsorted(ends, goals[order][here], side="right"))
            before = int(ends[-1])
        numbers = np.empty(len(words), np.int64)
        numbers[order] = np.concatenate(found)
        return numbers

    @lazy_property
    def _total_weight(self) -> int:
        """The total weight of the informative rows."""
        return sum(int(draw_weights(rows.weights()).sum()) for _, rows in self.read_rows())

    def _draw_by_loss(self, C: Centroids, words: Array) -> Array:
        losses: Array = np.empty(0)
        weights = None if self.table.largest_weight is None else self.row_values(self._weight_kind)
        for at, rows in self.read_rows():
            w = rows.weights()
            found = rows.nearest_losses(C)
            if at.start == 0:
                losses = self.row_values(found.dtype)
            losses[at] = np.where(w > 0, found, 0)
            if weights is not None:
                weights[at] = w
        weights = np.broadcast_to(self._weight_kind(1), len(self)) if weights is None else weights
        drawn = draw_by_weighted_loss(weights, losses, words)
        return self._draw_by_weight(words) if drawn is None else drawn

    def overall_sums(self) -> Sums:
        if self.kernel.has_exact_arithmetic and self.kernel.pull_is_weight:
            return super().overall_sums()
        return reduce(add, (rows.overall_sums().widen() for _, rows in self.read_rows()))

    def nearest_masses(self, C: Centroids) -> Array:
        """Return the total weight of the rows nearest to each centroid, (k,)."""
        return reduce(add, (widen(rows.nearest_masses(C)) for _, rows in self.read_rows()))

    def farthest(self, C: Centroids) -> FarthestRow:
        found = ((at, rows.farthest(C)) for at, rows in self.read_rows())
        return reduce(
            FarthestRow.merge, (replace(row, number=at.start + row.number) for at, row in found)
        )

    def map_blocks(self, function: Callable[[Array], Array]) -> Array:
        results: Array = np.empty(0)
        for at, rows in self.read_rows():
            found = rows.map_blocks(function)
            if at.start == 0:
                results = self.row_values(found.dtype, *found.shape[1:])
            results[at] = found
        return results

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        """Return the sums of coordinates on the TURN grid and of observed weights, both (k, d)."""
        return add_phase_sums(
            rows.phase_sums(np.ascontiguousarray(labels[at]), k) for at, rows in self.read_rows()
        )

    @property
    def _weight_kind(self) -> type[np.int64 | np.float64]:
        return np.int64 if self.kernel.has_exact_arithmetic else np.float64

    def row_values(self, dtype: DTypeLike, *width: int) -> Array:
        """Return an uninitialized array (n, *width). It is in an unnamed file if it is large."""
        return allocate_rows((len(self), *width), dtype, self.table.memory_limit)


class BlockRun(Run):
    """A run whose passes go over all rows. It keeps the labels to count how many change."""

    def __init__(self, rows: BlockRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.n_passes = 0
        self.last: Array = rows.row_values(np.int32)
        for at in rows.table.blocks(LABELS_AT_ONCE):
            self.last[at] = NO_LABEL

    def assign(self, C: Centroids) -> Assignment:
        n_changed = 0

        def assign_block(at: slice, rows: BaseRows) -> Sums:
            nonlocal n_changed
            run = rows.start_run(self.model)
            sums = run.assign(C).sums.fetch().widen()
            labels = run.labels()
            n_changed += int(np.count_nonzero(labels != self.last[at]))
            self.last[at] = labels
            return sums

        sums = reduce(add, (assign_block(at, rows) for at, rows in self.rows.read_rows()))
        self.n_passes += 1
        return Assignment(n_changed, sums)

    def labels(self) -> Array:
        return self.last
