"""The compiled module, checked against the constants of Python; arrays as it takes them, and its
versions of functions of `scales`, to the same bits.

Arrays have one type, are contiguous and aligned; they are copied only if they are not.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from ..._grid import GRID, TURN, Array
from ...kernels.euler import NARROW
from ...kernels.laplace import AT_CENTROID
from ...scales import Scale, far_groups, record, robust, sorted_columns, tied
from ...scales.left_out import cells_left_out_by_row
from ...scales.robust import place_columns
from ...table import ColumnSummary, CompiledFunctions
from ...threads import MOST_THREADS, count_threads
from . import _core
from .options import MOST_ROWS

__all__ = [
    "COMPILED_FUNCTIONS",
    "_core",
    "core_array",
    "core_cells",
    "core_table",
    "instruction_set",
]

# constants that only Python has: places in a record follow from its length
PYTHON_ONLY = {"MOMENT_ROWS", "LOW", "HIGH", "SHIFT", "UNIT", "LEFT_OUT"}
NUMBERS = {"GRID": GRID, "TURN": TURN, "MOST_COLUMNS": NARROW, "AT_CENTROID": AT_CENTROID}
LIMITS = {"MOST_ROWS": MOST_ROWS, "MOST_THREADS": MOST_THREADS}
EXPECTED = (
    NUMBERS
    | LIMITS
    | {
        name: value
        for module in (far_groups, record, robust, sorted_columns, tied)
        for name, value in vars(module).items()
        if isinstance(value, int | float | tuple) and name.isupper() and name not in PYTHON_ONLY
    }
)


def check_constants(core: object) -> None:
    """Raise ImportError for a core whose constants are not Python's."""
    different = [name for name, value in EXPECTED.items() if getattr(core, name, None) != value]
    if different:
        raise ImportError(
            f"the compiled core has another {', '.join(different)}: it is of another version, "
            f"build it anew."
        )


check_constants(_core)


def core_array(values: ArrayLike, dtype: DTypeLike) -> Array:
    """Return an array of this type, contiguous and aligned; Dask may send unaligned arrays."""
    return np.require(values, dtype, ["C", "A"])


def core_table(X: Array) -> Array:
    """Return a dense table; copy it if its cells are unaligned or its strides are not multiples of
    a cell.
    """
    is_on_grid = X.flags.aligned and not any(stride % X.itemsize for stride in X.strides)
    return X if is_on_grid else np.array(X, order="C")


def core_cells(X: sparse.csr_array | sparse.csc_array) -> tuple[Array, Array, Array]:
    """Return data, indices and indptr of a sparse table."""
    return (
        core_array(X.data, np.float64),
        core_array(X.indices, np.int64),
        core_array(X.indptr, np.int64),
    )


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


def instruction_set() -> str:
    """Return the instruction set of REKMEANS_ISA; '' for the best of this machine."""
    return os.environ.get("REKMEANS_ISA", "")
