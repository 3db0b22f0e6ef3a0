"""Compiled functions of `scales`, on several threads, to the same bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from ..._grid import Array
from ...scales import Scale
from ...scales.left_out import cells_left_out_by_row
from ...scales.robust import place_columns
from ...table import ColumnSummary, CompiledFunctions
from ...threads import count_threads
from .core_module import _core, core_array, core_cells, core_table


def _place_all_columns(summary: ColumnSummary) -> Array:
    return _call_core(_core.place_columns, summary, summary.rows.weights, summary.rows.row_weight)


def _count_left_out(summary: ColumnSummary, scale: Scale) -> Array:
    low, high = (core_array(ends.T, np.float64) for ends in (scale.low, scale.high))
    return _call_core(_core.cells_left_out_by_row, summary, low, high)


def _call_core(
    function: Callable[..., Array], summary: ColumnSummary, *arguments: Array | float | None
) -> Array:
    """Call a function of the core with the rows of a summary, dense or by columns."""
    X = summary.rows.X
    threads = count_threads(summary.n_threads)
    if sparse.issparse(X):
        return function(*core_cells(X), X.shape[0], *arguments, threads)
    return function(core_table(X), summary.rows.numbers, *arguments, threads)


COMPILED_FUNCTIONS: CompiledFunctions = {
    place_columns: _place_all_columns,
    cells_left_out_by_row: _count_left_out,
}
