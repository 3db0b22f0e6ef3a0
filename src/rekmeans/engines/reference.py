"""The reference engine:

NumPy blocks, exact integers. It defines the answer; other engines must give its bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._grid import Array, integer_weights, small_weights
from ..assignment import nearest
from ..kernels.base import with_statistics
from ..model import Assignment, Centroids, Model, PassSums
from ..seeding import Seeding
from ..table import CompiledFunctions, Table
from .base import BaseRows, Run, TableReader, refuse_device
from .blocks import BlockRows, refuse_blocks
from .row_seeding import RowSeeding

if TYPE_CHECKING:
    from ..kernels.base import Kernel


class Reference:
    """NumPy, for every model on tables that can give their rows."""

    name = "reference"

    def missing(self) -> str:
        return ""

    def describe(self) -> str:
        return "NumPy, slow; it defines the answer"

    def reported_name(self) -> str:
        return self.name

    def is_home_of(self, table: Table) -> bool:
        return table.is_on_host and not table.is_partitioned

    def reader(self, X: object) -> TableReader | None:
        return None

    def unsupported(self, stages: Sequence[Model], table: Table) -> str:
        if table.is_partitioned:
            return "takes no collection of Dask's: use engine='dask'."
        if reason := refuse_device(table):
            return reason
        return "" if table.is_in_memory else refuse_blocks(stages)

    def compiled_functions(self) -> CompiledFunctions:
        return {}

    def place(
        self,
        stages: Sequence[Model],
        table: Table,
        n_threads: int | None = None,
        memory_limit: int | None = None,
    ) -> BaseRows:
        kernel = stages[-1].kernel
        place = partial(ReferenceRows, kernel)
        return place(table) if table.is_in_memory else BlockRows(kernel, table, place)


class ReferenceRows(BaseRows):
    """Mapped rows in memory, in blocks; `cuts` are the block borders, any will do."""

    def __init__(self, kernel: Kernel, table: Table, cuts: Array | None = None) -> None:
        super().__init__(kernel, table)
        n = table.n_rows
        self.cuts = np.array([at.start for at in super().blocks()] + [n]) if cuts is None else cuts
        parts = [kernel.embed(table.dense(at)) for at in self.blocks()]
        self.F = parts[0] if len(parts) == 1 else np.concatenate(parts)  # (n, p)
        informative = ~np.concatenate(
            [kernel.uninformative_rows(table.dense(at)) for at in self.blocks()]
        )
        self.w: Array = np.ones(n, np.int64 if kernel.is_exact else np.float64)
        if table.weights is not None:
            scale_weights = integer_weights if kernel.is_exact else small_weights
            self.w, self.weight_bits = scale_weights(table.weights, table.largest_weight)
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
        parts = [
            model.assignment(self.kernel.distance(F, C), self.kernel.loss, w).labels
            for F, w in self.weighted_blocks()
        ]
        return np.concatenate(parts)


class ReferenceRun(Run):
    """Every pass goes over every row; only the labels are remembered, to count those that
    change.
    """

    def __init__(self, rows: ReferenceRows, model: Model) -> None:
        self.rows = rows
        self.model = model
        self.last = np.full(len(rows), -1, np.int32)
        self.n_passes = 0
        # of the rows in the last pass, by block, where the kernel has statistics
        self.weights: list[Any] = []

    def assign(self, C: Centroids) -> Assignment:
        parts = [self.model.assign_block(F, w, C) for F, w in self.rows.weighted_blocks()]
        labels = np.concatenate([part[0] for part in parts])
        n_changed = int((labels != self.last).sum())
        self.last = labels
        self.weights = [part[2] for part in parts]
        self.n_passes = self.n_passes + 1
        return Assignment(n_changed, reduce(add, (part[1] for part in parts)))

    def update(self, sums: PassSums, C: Centroids) -> Centroids:
        blocks = [
            (F, V) for (F, _), V in zip(self.rows.weighted_blocks(), self.weights, strict=True)
        ]
        return self.model.update(with_statistics(self.model.kernel, blocks, sums, C), C)

    def labels(self) -> Array:
        return self.last
