"""Validate input: convert tables of any common type to numeric rows and weights.

Tables and weights are validated only in this module.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils.validation import validate_data

from .._grid import Array, integer_weights
from .base import Cells, ColumnAttributes, ColumnName, Table, dense, is_sparse
from .frames import frame_numbers, object_numbers, open_frame, read_frame
from .memory import CELLS_AT_ONCE, MemoryTable, PairwiseTable
from .schema import TableSchema
from .sparse_rows import csr_rows

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

# DLPack device types whose memory the CPU can read: CPU, pinned and managed
HOST_MEMORY = {1, 3, 11, 13}
MAX_SHAPE_COLUMNS = 500  # columns; the shape matrix of a Mahalanobis fit is 1000 x 1000 per cluster
MAX_PAIRED_ROWS = 50_000  # rows; for kernel means, an iteration over more pairs takes over 30 s
# squared differences of larger values overflow; float64 even in comparisons with float32
LARGEST_VALUE = np.float64(1e150)


class HasShape(Protocol):
    """An array of any library."""

    @property
    def shape(self) -> tuple[int, ...]: ...


def read_table(
    estimator: BaseEstimator,
    X: object,
    sample_weight: object = None,
    *,
    fitting: bool,
    k: int = 1,
    k_parameter: str = "",
) -> MemoryTable:
    """Convert the input of an estimator with k clusters to a table.

    Unless `fitting`, the columns are compared with those of the fit. `k_parameter` is the parameter
    that sets k, with its value, for error messages.
    """
    schema = None if fitting else getattr(estimator, "schema_", None)
    is_array = is_sparse(X) or type(X) is np.ndarray
    frame = None if is_array else open_frame(X)
    named: object
    if frame is None:
        rows, names = _numbers(X)
        named = rows
    else:
        rows, named, schema = read_frame(X, frame, schema, fitting=fitting)
        names = frame.columns if schema is None else schema.feature_names
    reject_empty(rows)
    reject_bad_values(rows, names)
    return input_table(
        rows, sample_weight, read_columns(estimator, named, fitting, schema), k, k_parameter
    )


def input_table(
    rows: Cells, sample_weight: object, columns: ColumnAttributes, k: int, k_parameter: str
) -> MemoryTable:
    """Return the table of valid numbers and row weights."""
    n = rows.shape[0]
    weights = None if sample_weight is None else read_weights(sample_weight, n)
    table = MemoryTable.of_input(rows, weights, columns)
    n_empty = len(table.empty_rows)
    reject_few_rows(n, n_empty, k, k_parameter)
    if n_empty and weights is not None:  # without their weights, the others may all be 0
        _reject_weight_range_of(np.asarray(table.weights))
    return table


def reject_few_rows(n: int, n_empty: int, k: int, k_parameter: str) -> None:
    """Raise ValueError if a table has no observed value, or fewer such rows than clusters."""
    if n_empty == n:
        rows = "its row contains" if n == 1 else f"all {n:,} rows contain"
        raise ValueError(
            f"X has no observed value: {rows} only NaN. Pass at least one row with a value."
        )
    n -= n_empty
    if k > n:
        raise ValueError(
            f"{k_parameter} requires at least {k} rows, got n_samples={n}. Use a smaller "
            f"{k_parameter.split('=')[0]} or add rows."
        )


def read_columns(
    estimator: BaseEstimator, named: object, fitting: bool, schema: TableSchema | None = None
) -> ColumnAttributes:
    """Return the column attributes defined by scikit-learn and the schema of a table.

    Unless `fitting`, the columns are compared with those of the fit, and the schema of the fit is
    returned.
    """
    if (
        fitting and schema is None and type(named) is np.ndarray
    ):  # NumPy arrays have no column names
        return {"n_features_in_": named.shape[1]}
    probe = copy(estimator)  # do not modify the estimator, since the fit may still fail
    validate_data(probe, named, reset=fitting, skip_check_array=True)
    columns = ColumnAttributes()
    if hasattr(probe, "n_features_in_"):
        columns["n_features_in_"] = probe.n_features_in_
    if hasattr(probe, "feature_names_in_"):
        columns["feature_names_in_"] = probe.feature_names_in_
    schema = schema if fitting else getattr(estimator, "schema_", None)
    if schema is not None:
        columns["schema_"] = schema
    return columns


def as_rows(X: object) -> Cells:
    """Convert any table to valid numbers without comparing its columns with a fit."""
    rows, names = _numbers(X)
    reject_empty(rows)
    reject_bad_values(rows, names)
    return rows


def number_rows(X: object) -> Cells:
    """Convert any table to numbers (n, d), without a copy if possible and without value checks."""
    return _numbers(X)[0]


def _numbers(X: object) -> tuple[Cells, Sequence[ColumnName]]:
    """Return the numbers of X (n, d), without a copy if possible, and its column names."""
    if is_sparse(X):
        rows = _sparse(X)
        return rows, list(range(rows.shape[1]))
    if type(X) is np.ndarray:
        return _array(X)
    frame = open_frame(X)
    if hasattr(X, "__dask_graph__"):
        raise TypeError(
            f"X must be in memory, got a Dask {type(X).__name__}. Pass X.compute() if it fits."
        )
    reject_device_array(X)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise TypeError(f"X must be in memory, got a lazy {type(X).__name__}. Pass X.collect().")
    if frame is not None:
        return frame_numbers(frame), frame.columns
    reject_what_is_no_table(X)
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        raw = np.asarray(X)
    except ValueError:
        raise ValueError(
            "X must be 2-D with rows of equal length, got a ragged list. Pad its rows with NaN."
        ) from None
    return _array(raw)


def _array(raw: Array) -> tuple[Array, Sequence[ColumnName]]:
    """Convert an array to numeric rows (n, d), and return its column numbers."""
    reject_array(raw.dtype.kind == "c", str(raw.dtype), raw.shape)
    names = list(range(raw.shape[1]))
    if raw.dtype.isnative and (raw.dtype.kind in "iub" or raw.dtype in (np.float32, np.float64)):
        return raw, names
    if raw.dtype.kind in "fiub":
        return raw.astype(np.float64), names
    return np.stack([object_numbers(raw[:, j], j) for j in names], axis=1) if names else raw.astype(
        np.float64
    ), names


def reject_array(is_complex: bool, dtype: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless an array is 2-D and real."""
    if is_complex:
        raise ValueError(
            f"Complex data not supported: X has dtype {dtype}. Pass X.real, X.imag or both."
        )
    if len(shape) != 2:
        raise ValueError(
            f"X must be 2-D (rows, columns), got {len(shape)}-D of shape {shape}. Reshape your "
            f"data: "
            "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
        )


def _sparse(X: sparse.sparray) -> sparse.csr_array:
    """Convert a sparse table to CSR of float64 with sorted columns and no duplicates."""
    if X.ndim != 2:
        raise ValueError(
            f"X must be 2-D (rows, columns), got {X.ndim}-D of shape {X.shape}. Reshape your data."
        )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}. Pass real numbers.")
    return csr_rows(X)


def reject_empty(X: HasShape) -> None:
    """Raise ValueError for a table without rows or columns."""
    shape = tuple(X.shape)
    n, d = shape
    if n == 0:
        raise ValueError(
            f"X has 0 sample(s) (shape={shape}) while a minimum of 1 is required. "
            "Pass at least one row."
        )
    if d == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required. "
            "Pass at least one column."
        )


def reject_bad_values(X: Cells, names: Sequence[ColumnName], first: int = 0) -> None:
    """Raise ValueError for values that are infinite or too large.

    `first` is the number of the first row.
    """
    if X.dtype.kind != "f":
        return
    cells = X.data if is_sparse(X) else X
    ends = _extremes(cells, np.minimum, np.maximum)
    if np.isnan(ends[0]):
        ends = _extremes(cells, np.fmin, np.fmax)
    if (np.abs(ends) > LARGEST_VALUE).any():
        i, j = (
            np.argwhere(abs(X) > LARGEST_VALUE)[0]
            if cells is X
            else np.transpose((abs(X) > LARGEST_VALUE).nonzero())[0]
        )
        what = "infinity" if np.isinf(X[i, j]) else f"a value too large ({X[i, j]:g})"
        raise ValueError(
            f"X must be finite, but contains {what} in row {first + i}, column {names[j]!r}. "
            f"Use NaN for missing values."
        )


def _extremes(cells: Array, *ends: np.ufunc) -> Array:
    """Reduce all cells and 0 with each function in `ends`, a few rows at a time."""
    size = max(1, CELLS_AT_ONCE // (cells[:1].size or 1))
    blocks = [cells[at : at + size] for at in range(0, len(cells), size)]
    found = [
        end.reduce([end.reduce(c, axis=None, initial=0) for c in blocks], initial=0) for end in ends
    ]
    return np.array(found, np.float64)


def read_weights(sample_weight: object, n: int) -> Array:
    """Return row weights as float64 (n,)."""
    try:
        weights: Array = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"sample_weight must be numeric, got {sample_weight!r:.60}. Pass one number per row."
        ) from None
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n,)}. Pass one weight "
            f"per row of X."
        )
    reject_bad_weights(weights)
    _reject_weight_range_of(weights)
    return weights


def _reject_weight_range_of(weights: Array) -> None:
    """Raise ValueError if all weights are 0, or if their ratio is too large."""
    reject_weight_range(float(weights.max()), float(weights[weights > 0].min(initial=np.inf)))


def reject_bad_weights(weights: Array) -> None:
    """Raise ValueError for weights that are negative or not finite."""
    if not np.isfinite(weights).all() or weights.min() < 0:
        bad = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise ValueError(
            f"sample_weight must be finite and not negative, got {bad}. Use 0 to ignore a row."
        )


def reject_weight_range(largest: float, smallest: float) -> None:
    """Raise ValueError if all weights are 0, or if rounding would make a positive weight 0."""
    if largest == 0:
        raise ValueError(
            "sample_weight must not be all zero. Give at least one row a positive weight."
        )
    if not integer_weights(np.array([smallest]), largest)[0][0]:
        ratio = largest / smallest
        raise ValueError(
            f"The ratio of the largest to the smallest sample_weight is {ratio:.2g}, but at most "
            f"2**31 is supported. Set the smallest weights to 0."
        )


def circle_points(X: object, d: int) -> Array:
    """Return mapped rows [cos | sin] of d features as a dense array."""
    F = as_rows(X)
    if F.shape[1] != 2 * d:
        raise ValueError(
            f"X must have {2 * d} columns ([cos | sin] of {d} features), got {F.shape[1]}."
        )
    return dense(F)


def reject_many_pairs(n: int, kernel: str) -> None:
    """Raise ValueError if there are too many rows for kernel means, whose cost is quadratic."""
    if n > MAX_PAIRED_ROWS:
        raise ValueError(
            f"centroids='mean' with kernel={kernel!r} computes the kernel values of all pairs of "
            f"rows in each pass and supports at most {MAX_PAIRED_ROWS} rows, got {n} (the matrix "
            f"would take {8e-9 * n * n:.3g} GB). Use a sample of the rows, or "
            f"centroids='rectified', whose cost is linear in the number of rows."
        )


def pairwise_table(table: MemoryTable, fitting: bool) -> PairwiseTable:
    """Append a column with the kernel value of each row with itself.

    New rows have 0 there.
    """
    reject_table_elsewhere(table, "kernel='precomputed'")
    if table.has_missing():
        raise ValueError(
            "kernel='precomputed' requires all kernel values, but X has NaN. Fill them, or "
            "drop these rows."
        )
    if fitting and table.n_rows != table.n_columns:
        raise ValueError(
            f"kernel='precomputed' requires X of shape (n_samples, n_samples), got {table.X.shape}."
        )
    K = np.empty((table.n_rows, table.n_columns + 1))
    blocks = list(table.blocks(max(1, CELLS_AT_ONCE // table.n_columns)))
    for at in blocks:
        K[at, :-1] = table.dense(at)
        K[at, -1] = K[at, at].diagonal() if fitting else 0.0
    if fitting and not (_is_symmetric(K[:, :-1], blocks) and (K[:, -1] >= 0).all()):
        raise ValueError(
            "kernel='precomputed' requires a symmetric X without negative values on its diagonal."
        )
    return PairwiseTable(K, table.weights, table.columns)


def _is_symmetric(K: Array, blocks: list[slice]) -> bool:
    """Return whether a matrix is symmetric up to rounding."""
    tolerance = 1e-9 * max(float(np.abs(K[at]).max()) for at in blocks)
    return all(np.allclose(K[at], K[:, at].T, rtol=1e-6, atol=tolerance) for at in blocks)


def reject_table_elsewhere(table: Table, who: str) -> None:
    """Raise an error for a table that is read in blocks or is on a GPU."""
    if not table.is_in_memory:
        raise ValueError(
            f"{who} requires all rows at once, but X is not in memory. Pass a table in memory."
        )
    reject_table_on_device(table, who)


def reject_table_on_device(table: Table, who: str) -> None:
    """Raise an error for a table whose rows are on a device."""
    if not table.is_on_host:
        raise ValueError(
            f"{who} requires rows on the host, but X is a tensor for engine='torch'. Pass a "
            f"NumPy array."
        )


def reject_missing_values(table: Table, who: str, kernel: str = "") -> None:
    """Raise ValueError if a table has missing values and the kernel does not support them."""
    if table.has_missing():
        kernel_text = f" with kernel={kernel!r}" if kernel else ""
        way_out = "use a kernel that supports them" if kernel else "use FuzzyCMeans"
        raise ValueError(
            f"{who}{kernel_text} does not support missing values, but X contains NaN. Fill them, "
            f"or {way_out}."
        )


def reject_missing_coordinates(X: Array, Z: Array, kernel: str, beyond: str) -> None:
    """Raise ValueError if scaled rows have missing cells, which the kernel does not support."""
    missing = np.isnan(Z)
    if not missing.any():
        return
    row, column = np.argwhere(missing)[0]
    value = X[row, column]
    if np.isnan(value):
        raise ValueError(
            f"the kernel {kernel!r} does not support missing values, but column {column} of X "
            f"contains NaN. Fill the missing values."
        )
    raise ValueError(
        f"the kernel {kernel!r} does not support missing values, and beyond={beyond!r} makes a "
        f"value outside the kept intervals missing ({value:g} in column {column} of X). Use "
        f"beyond='clip'."
    )


def reject_wide_shapes(d: int) -> None:
    """Raise ValueError for more columns than a Mahalanobis fit supports."""
    if d > MAX_SHAPE_COLUMNS:
        raise ValueError(
            f"MahalanobisFuzzyCMeans supports at most {MAX_SHAPE_COLUMNS} features, got {d}. "
            f"Select a subset."
        )


def is_device_array(X: object) -> bool:
    """Return whether X is an array in the memory of a GPU or another device, as DLPack reports."""
    if not hasattr(X, "__dlpack_device__"):
        return False
    try:
        return int(X.__dlpack_device__()[0]) not in HOST_MEMORY
    except (BufferError, ValueError):  # DLPack has no code for this device
        return True


def reject_device_array(X: object) -> None:
    """Raise an error for an array on a GPU or other device where rows on the host are required."""
    if is_device_array(X):
        device = str(getattr(X, "device", "a GPU"))
        raise TypeError(
            f"X must be in host memory, got a {type(X).__name__} on {device}. Pass X.cpu()."
        )


def reject_what_is_no_table(X: object) -> None:
    """Raise TypeError for paths, functions and readers where rows in memory are required."""
    kind = type(X).__name__
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X must be in memory, got the path {str(X)!r:.60}. Read the file and pass the table."
        )
    if isinstance(X, list | tuple) and X and isinstance(X[0], str | os.PathLike):
        raise TypeError(
            f"X must be a table or a path, got a {kind} of {len(X)} paths. Pass a glob pattern, "
            f"their folder, or pyarrow.dataset.dataset(paths)."
        )
    if isinstance(X, Iterator):
        raise TypeError(
            f"X must be readable more than once, got a {kind}. Pass a function that returns a "
            f"new iterator."
        )
    if hasattr(X, "__array__"):
        return
    if callable(X):
        raise TypeError(f"X must be in memory, got a {kind}. Pass a table.")
    if type(X).__module__.startswith("pyarrow"):
        raise TypeError(
            f"X must be a pyarrow table, a dataset or a path, got a {kind}. Pass the path, "
            f"or read it into a table."
        )


def reject_gathering(estimator: BaseEstimator, X: object) -> None:
    """Raise ValueError if `set_output` would load a Dask collection into memory."""
    container = (
        getattr(estimator, "_sklearn_output_config", {}).get("transform")
        or get_config()["transform_output"]
    )
    if hasattr(X, "__dask_graph__") and container != "default":
        raise ValueError(
            f"set_output(transform={container!r}) would load all rows of X into memory. Use "
            f"transform='default' for a lazy result."
        )
