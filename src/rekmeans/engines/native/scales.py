"""Functions of `scales` in the compiled core, on several threads: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._grid import Array
from ...scales import Scale
from ...scales.left_out import cells_left_out_by_row
from ...scales.robust import place_columns
from ...table import ColumnSummary, Twins
from ...threads import count_threads
from .core_module import _core


def on_grid_of_cells(X: Array) -> Array:
    """The table, or a copy where its strides are not multiples of a cell: a field of records."""
    return np.ascontiguousarray(X) if any(stride % X.itemsize for stride in X.strides) else X


def _cells_of(summary: ColumnSummary) -> tuple[Any, ...]:
    """The rows of a summary as the core takes them."""
    X, numbers = summary.rows.X, summary.rows.numbers
    if sparse.issparse(X):
        return X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64), X.shape[0]
    return on_grid_of_cells(X), numbers


def _place_all_columns(summary: ColumnSummary) -> Array:
    rows, threads = summary.rows, count_threads(summary.n_threads)
    return _core.place_columns(*_cells_of(summary), rows.weights, rows.row_weight, threads)


def _count_left_out(summary: ColumnSummary, scale: Scale) -> Array:
    bounds = (np.ascontiguousarray(ends) for ends in (scale.low, scale.high))
    return _core.cells_left_out_by_row(*_cells_of(summary), *bounds, count_threads(summary.n_threads))


TWINS: Twins = {place_columns: _place_all_columns, cells_left_out_by_row: _count_left_out}
