"""Rows of a stream in the compiled core: labels and bounds are kept, and only rows that these leave
open are mapped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._grid import Array, integer_weights
from ...model import Assignment, Centroids, Model
from ...table import Block, ColumnCells
from ...threads import count_threads
from ..blocks import BlockRows, BlockRun
from ..wide_sums import add_phase_sums
from .arrays import core_array, core_table
from .core_module import _core
from .exact import core_centroids, core_scale, fetch_sums, join_words
from .options import FORMULAS, MOST_ROWS, instruction_set

LABEL_AND_BOUNDS_BYTES = 12  # of a row: its label and two bounds
STATE_SHARE = 2  # where these take more than this part of the memory limit, bounds are not kept


class NativeBlockRows(BlockRows):
    """Rows that every pass reads again; it maps those whose label the bounds leave open."""

    def __init__(self, *arguments: Any, n_threads: int | None) -> None:
        super().__init__(*arguments)
        self.threads = count_threads(n_threads)

    def start_run(self, model: Model) -> BlockRun:
        limit = self.table.memory_limit
        has_room = limit is None or LABEL_AND_BOUNDS_BYTES * len(self) * STATE_SHARE <= limit
        is_exact = FORMULAS[model.kernel.formula].is_on_grid and model.assignment.is_hard
        keeps_bounds = is_exact and has_room and len(self) <= MOST_ROWS
        return NativeBlockRun(self, model) if keeps_bounds else BlockRun(self, model)

    def phase_sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        if not FORMULAS[self.kernel.formula].is_on_grid:
            return super().phase_sums(labels, k)
        scale = core_scale(self.kernel)

        def block_sums(block: Block, threads: int) -> tuple[Array, Array]:
            of_block, cells = find_cells(block, _core.column_phase_sums, _core.row_phase_sums)
            here = core_array(labels[block.rows], np.int32)
            turns, observed = of_block(
                cells, scale, _weights_in_core(block), here, k, threads, instruction_set()
            )
            return join_words(turns), observed

        return add_phase_sums(self.table.map_blocks(block_sums, self.threads))


class NativeBlockRun(BlockRun):
    """The first pass maps every row; each later one those that their bounds leave open, and adds
    what they change.
    """

    rows: NativeBlockRows

    def __init__(self, rows: NativeBlockRows, model: Model) -> None:
        super().__init__(rows, model)
        self.upper, self.lower = np.empty((2, len(rows)), np.float32)
        self.core: Any = None

    def assign(self, C: Centroids) -> Assignment:
        if self.core is None:
            scale = core_scale(self.rows.kernel)
            d = self.rows.table.n_columns
            self.core = _core.BlockRun(scale, len(C), d, instruction_set())
        self.core.start_pass(core_centroids(C))
        n_changed = sum(self.rows.table.map_blocks(self._assign_block, self.rows.threads))
        self.rows.n_uninformative_rows = self.core.n_silent
        self.n_passes = self.core.n_passes
        return Assignment(n_changed, fetch_sums(self.core))

    def _assign_block(self, block: Block, threads: int) -> int:
        state = (values[block.rows] for values in (self.last, self.upper, self.lower))
        assign, cells = find_cells(block, self.core.assign_columns, self.core.assign_rows)
        return int(assign(cells, _weights_in_core(block), *state, threads))


def find_cells(
    block: Block, of_columns: Callable[..., Any], of_rows: Callable[..., Any]
) -> tuple[Any, Any]:
    """The function for the cells of this block, by columns or by rows, and these cells."""
    if isinstance(block.X, ColumnCells):
        return of_columns, list(block.X.columns)
    return of_rows, core_table(block.X)


def _weights_in_core(block: Block) -> Array | None:
    return (
        None if block.weights is None else integer_weights(block.weights, block.largest_weight)[0]
    )
