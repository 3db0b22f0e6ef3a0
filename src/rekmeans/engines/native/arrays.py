"""Arrays as the compiled core takes them: of one type, contiguous and aligned; copied only where
they are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._grid import Array


def core_array(values: Any, dtype: Any) -> Array:
    """Return an array of this type; those that Dask sends to a worker need not be aligned."""
    return np.require(values, dtype, ["C", "A"])


def core_table(X: Array) -> Array:
    """Return a dense table; copy it if its cells are unaligned or its strides are not multiples of
    a cell.
    """
    is_on_grid = X.flags.aligned and not any(stride % X.itemsize for stride in X.strides)
    return X if is_on_grid else np.array(X, order="C")


def core_cells(X: Any) -> tuple[Array, Array, Array]:
    """Return data, indices and indptr of a sparse table."""
    return (
        core_array(X.data, np.float64),
        core_array(X.indices, np.int64),
        core_array(X.indptr, np.int64),
    )
