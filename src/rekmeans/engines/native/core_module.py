"""Access to the compiled module: constants, array conversion, compiled functions of `scales`.

The module accepts only contiguous and aligned arrays of the right dtype. Other arrays are copied.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from ..._grid import GRID, TURN, Array
from ...kernels.euler import MAX_INT64_COLUMNS
from ...kernels.laplace import AT_CENTROID
from ...scales import Scale, far_groups, record, robust, sorted_columns, tied
from ...scales.left_out import cells_left_out_by_row
from ...scales.robust import place_columns
from ...table import ColumnSummary, CompiledFunctions
from ...threads import MAX_THREADS, count_threads
from . import _core
from .formulas import MAX_ROWS

__all__ = [
    "COMPILED_FUNCTIONS",
    "_core",
    "core_array",
    "core_cells",
    "core_table",
    "instruction_set",
]

# constants that the core does not export: the positions in a record follow from its length
PYTHON_ONLY = {"MOMENT_ROWS", "LOW", "HIGH", "SHIFT", "UNIT", "LEFT_OUT"}
NUMBERS = {"GRID": GRID, "TURN": TURN, "MAX_COLUMNS": MAX_INT64_COLUMNS, "AT_CENTROID": AT_CENTROID}
LIMITS = {"MAX_ROWS": MAX_ROWS, "MAX_THREADS": MAX_THREADS}
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
    """Raise ImportError if a constant of the core differs from its value in Python."""
    different = [name for name, value in EXPECTED.items() if getattr(core, name, None) != value]
    if different:
        raise ImportError(
            f"The compiled core belongs to another version of rekmeans: it has different values "
            f"of {', '.join(different)}. Reinstall rekmeans."
        )


check_constants(_core)


def core_array(values: ArrayLike, dtype: DTypeLike) -> Array:
    """Return a contiguous and aligned array of this dtype. Dask may send unaligned arrays."""
    return np.require(values, dtype, ["C", "A"])


def core_table(X: Array) -> Array:
    """Return a dense table that the core can read, without a copy if possible.

    The cells must be aligned, and the strides must be multiples of the cell size.
    """
    is_readable = X.flags.aligned and not any(stride % X.itemsize for stride in X.strides)
    return X if is_readable else np.array(X, order="C")


def core_cells(X: sparse.csr_array | sparse.csc_array) -> tuple[Array, Array, Array]:
    """Return the data, indices and indptr of a sparse table, with the dtypes of the core."""
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
    """Call a function of the core with the rows of a summary, which are dense or in CSC form."""
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
    """Return the instruction set that REKMEANS_ISA names, or '' for the best of this machine."""
    return os.environ.get("REKMEANS_ISA", "")
