"""Rows of an out-of-core table in the compiled core.

A run keeps labels and bounds. After its first pass it maps only the rows whose labels the bounds
do not prove.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..._grid import Array, add_phase_sums, integer_weights
from ...model import Assignment, Centroids, Model
from ...table import Block, ColumnCells, StreamTable, Table
from ...threads import count_threads
from ..base import BaseRows
from ..blocks import BlockRows, BlockRun
from .core_module import _core, core_array, core_table, instruction_set
from .exact import core_centroids, core_scale, fetch_sums, join_words
from .formulas import FORMULAS, MAX_ROWS

if TYPE_CHECKING:
    from ...kernels.base import Kernel

LABEL_AND_BOUNDS_BYTES = 12  # bytes for the label and the two bounds of a row
STATE_SHARE = 2  # labels and bounds are kept if they fit into memory_limit / STATE_SHARE


class NativeBlockRows(BlockRows):
    """Rows that every pass reads again.

    A pass maps only the rows whose labels the bounds do not prove.
    """

    def __init__(
        self,
        kernel: Kernel,
        table: StreamTable,
        place_block: Callable[[Table], BaseRows],
        n_threads: int | None,
    ) -> None:
        super().__init__(kernel, table, place_block)
        self.threads = count_threads(n_threads)

    def start_run(self, model: Model) -> BlockRun:
        limit = self.table.memory_limit
        fits = limit is None or LABEL_AND_BOUNDS_BYTES * len(self) * STATE_SHARE <= limit
        is_exact = FORMULAS[model.kernel.formula].is_on_grid and model.assignment.is_hard
        keeps_bounds = is_exact and fits and len(self) <= MAX_ROWS
        return NativeBlockRun(self, model) if keeps_bounds else BlockRun(self, model)

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        if not FORMULAS[self.kernel.formula].is_on_grid:
            return super().phase_sums(labels, k)
        scale = core_scale(self.kernel)

        def block_sums(block: Block, threads: int) -> tuple[Array, Array]:
            here = core_array(labels[block.rows], np.int32)
            arguments = (scale, _weights_in_core(block), here, k, threads, instruction_set())
            if isinstance(block.X, ColumnCells):
                turns, observed = _core.column_phase_sums(block.X.columns, *arguments)
            else:
                turns, observed = _core.row_phase_sums(core_table(block.X), *arguments)
            return join_words(turns), observed

        return add_phase_sums(self.table.map_blocks(block_sums, self.threads))


class NativeBlockRun(BlockRun):
    """A run whose first pass maps every row.

    Later passes map only the rows whose labels the bounds do not prove, and update the sums.
    """

    rows: NativeBlockRows

    def __init__(self, rows: NativeBlockRows, model: Model) -> None:
        super().__init__(rows, model)
        self.upper, self.lower = np.empty((2, len(rows)), np.float32)
        self.core: _core.BlockRun | None = None  # created by the first pass

    def assign(self, C: Centroids) -> Assignment:
        if self.core is None:
            scale = core_scale(self.rows.kernel)
            d = self.rows.table.n_columns
            self.core = _core.BlockRun(scale, len(C), d, instruction_set())
        self.core.start_pass(core_centroids(C))
        assign = partial(self._assign_block, self.core)
        n_changed = sum(self.rows.table.map_blocks(assign, self.rows.threads))
        self.rows.n_uninformative_rows = self.core.n_uninformative
        self.n_passes = self.core.n_passes
        return Assignment(n_changed, fetch_sums(self.core))

    def _assign_block(self, core: _core.BlockRun, block: Block, threads: int) -> int:
        at = block.rows
        state = (self.last[at], self.upper[at], self.lower[at])
        weights = _weights_in_core(block)
        if isinstance(block.X, ColumnCells):
            return core.assign_columns(block.X.columns, weights, *state, threads)
        return core.assign_rows(core_table(block.X), weights, *state, threads)


def _weights_in_core(block: Block) -> Array | None:
    return (
        None if block.weights is None else integer_weights(block.weights, block.largest_weight)[0]
    )
