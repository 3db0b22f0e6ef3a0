"""The reference engine, written in NumPy with exact integers.

It defines the results. Where arithmetic is exact, all other engines must return the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from .._grid import Array, integer_weights, small_weights
from ..assignment import nearest
from ..kernels.base import with_statistics
from ..model import Assignment, Centroids, Model, PassSums
from ..seeding import Seeding
from ..table import StreamTable, Table, TableFacts
from .base import HOST_ONLY, BaseRows, Engine, Run, explain_unsupported_blocks
from .blocks import BlockRows
from .row_seeding import RowSeeding

if TYPE_CHECKING:
    from ..kernels.base import Kernel


class Reference(Engine):
    """The NumPy engine, which supports every model on every table on the host."""

    name = "reference"

    def describe(self) -> str:
        return "NumPy, slow; it defines the results"

    def unsupported(self, stages: Sequence[Model], table: TableFacts) -> str:
        if table.is_partitioned:
            return "does not support Dask collections. Use engine='dask'."
        if not table.is_on_host:
            return HOST_ONLY
        return "" if table.is_in_memory else explain_unsupported_blocks(stages)

    def place(
        self,
        stages: Sequence[Model],
        table: Table,
        n_threads: int | None = None,
        memory_limit: int | None = None,
    ) -> BaseRows:
        kernel = stages[-1].kernel
        place = partial(ReferenceRows, kernel)
        if table.is_in_memory:
            return place(table)
        return BlockRows(kernel, cast("StreamTable", table), place)


class ReferenceRows(BaseRows):
    """Mapped rows in memory, processed in blocks.

    `cuts` has the first row of each block, and n. The results do not depend on it.
    """

    def __init__(self, kernel: Kernel, table: Table, cuts: Array | None = None) -> None:
        super().__init__(kernel, table)
        n = table.n_rows
        self.cuts = np.array([at.start for at in super().blocks()] + [n]) if cuts is None else cuts
        blocks = [kernel.embed(table.dense(at)) for at in self.blocks()]
        self.F = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)  # (n, p)
        informative = ~np.concatenate(
            [kernel.uninformative_rows(table.dense(at)) for at in self.blocks()]
        )
        self.w: Array = np.ones(n, np.int64 if kernel.has_exact_arithmetic else np.float64)
        if table.weights is not None:
            scale_weights = integer_weights if kernel.has_exact_arithmetic else small_weights
            self.w, _ = scale_weights(table.weights, table.largest_weight)
        self.w = self.w * informative

    def blocks(self) -> Iterator[slice]:
        return (slice(a, b) for a, b in zip(self.cuts[:-1], self.cuts[1:], strict=True))

    def mapped_blocks(self) -> Iterator[tuple[slice, Array]]:
        return ((at, self.F[at]) for at in self.blocks())

    def weighted_blocks(self) -> Iterator[tuple[Array, Array]]:
        """Yield mapped rows and their weights, block by block."""
        return ((self.F[at], self.w[at]) for at in self.blocks())

    def weights(self) -> Array:
        return self.w

    def place(self, table: Table) -> Self:
        return type(self)(self.kernel, table)

    def start_run(self, model: Model) -> Run:
        return ReferenceRun(self, model)

    def start_seeding(self) -> Seeding:
        return RowSeeding(self, self.F)

    def rows_as_centroids(self, numbers: Array) -> Centroids:
        F = self.F[numbers]
        return self.kernel.from_rows(F, self._overall if self.kernel.has_missing(F) else None)

    def label(self, model: Model, C: Centroids) -> Array:
        if model.assignment.labels_are_nearest:
            return self.map_blocks(lambda F: nearest(self.kernel.distance(F, C)))
        labels = [
            model.assignment(self.kernel.distance(F, C), self.kernel.loss, w).labels
            for F, w in self.weighted_blocks()
        ]
        return np.concatenate(labels)


class ReferenceRun(Run):
    """A run whose passes go over all rows. It keeps the labels to count how many change."""

    def __init__(self, rows: ReferenceRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.last = np.full(len(rows), -1, np.int32)
        self.n_passes = 0
        # the weights of the rows in the last pass, by block, if the kernel needs statistics
        self.weights: list[Array | None] = []

    def assign(self, C: Centroids) -> Assignment:
        blocks = [self.model.assign_block(F, w, C) for F, w in self.rows.weighted_blocks()]
        labels = np.concatenate([block[0] for block in blocks])
        n_changed = int((labels != self.last).sum())
        self.last = labels
        self.weights = [block[2] for block in blocks]
        self.n_passes += 1
        return Assignment(n_changed, reduce(add, (block[1] for block in blocks)))

    def update(self, sums: PassSums, C: Centroids) -> Centroids:
        blocks = [
            (F, V) for (F, _), V in zip(self.rows.weighted_blocks(), self.weights, strict=True)
        ]
        return self.model.update(with_statistics(self.model.kernel, blocks, sums, C), C)

    def labels(self) -> Array:
        return self.last
