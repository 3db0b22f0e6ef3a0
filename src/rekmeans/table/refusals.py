"""The one room that refuses input: any common table becomes rows of numbers and weights, or one
clear sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy import sparse
from sklearn.utils.validation import validate_data

from .._grid import Array, integer_weights
from .base import Table, dense
from .memory import CELLS_AT_ONCE, MemoryTable, PairwiseTable
from .other_input import refuse_device_array, refuse_what_is_no_table
from .sparse_rows import csr_rows

COLUMNS = ("n_features_in_", "feature_names_in_")
MOST_SHAPED = 500  # columns whose shapes, 1000 x 1000 numbers a cluster, are still fast enough
MOST_PAIRED = 50_000  # rows whose pairs are still fast enough: half a minute a pass
WHOLE_NUMBERS = {nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64}
# of columns that NumPy takes side by side
PLAIN_TYPES = {nw.Float64, nw.Float32, nw.Boolean} | WHOLE_NUMBERS
# above it differences and squares overflow; float64 beside float32 cells too
LARGEST_VALUE = np.float64(1e150)


def read_table(
    estimator: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    fitting: bool,
    k: int = 1,
    k_parameter: str = "",
) -> MemoryTable:
    """The table of an estimator's input, for k clusters; columns are compared with those of fit
    unless fitting.

    `k_parameter` is the parameter that sets k, with its value.
    """
    rows = as_rows(X)
    weights = None if sample_weight is None else read_weights(sample_weight, rows.shape[0])
    refuse_few_rows(rows.shape[0], k, k_parameter)
    return MemoryTable(
        rows, weights, read_columns(estimator, X if hasattr(X, "columns") else rows, fitting)
    )


def refuse_few_rows(n: int, k: int, k_parameter: str) -> None:
    if k > n:
        raise ValueError(
            f"{k_parameter} needs at least {k} rows, got n_samples={n}: lower "
            f"{k_parameter.split('=')[0]} or add rows."
        )


def read_columns(estimator: Any, named: Any, fitting: bool) -> dict[str, Any]:
    """scikit-learn's attributes of the columns of a table, compared with those of fit unless
    fitting.
    """
    if fitting and type(named) is np.ndarray:  # which has no names to look for
        return {"n_features_in_": named.shape[1]}
    probe = copy(estimator)  # so that a fit that fails later has changed nothing
    validate_data(probe, named, reset=fitting, skip_check_array=True)
    return {name: getattr(probe, name) for name in COLUMNS if hasattr(probe, name)}


def as_rows(X: Any) -> Any:
    """Any table as rows of numbers, unchecked against an estimator's columns."""
    rows, names = _numbers(X)
    refuse_empty(rows)
    refuse_bad_rows(rows, names)
    return rows


def number_rows(X: Any) -> Any:
    """Any table as numbers (n, d), uncopied where it can be; its values are not looked at."""
    return _numbers(X)[0]


def _numbers(X: Any) -> tuple[Any, list[Any]]:
    """X as numbers (n, d), uncopied where it can be, with its column names."""
    if sparse.issparse(X):
        rows = _sparse(X)
        return rows, list(range(rows.shape[1]))
    if type(X) is np.ndarray:
        return _array(X)
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError:
        raise ValueError(f"X must have different column names, got {list(X.columns)}.") from None
    if hasattr(X, "__dask_graph__"):
        raise TypeError(
            f"X must be in memory here, got a {type(X).__name__} of Dask: pass X.compute() if it "
            f"fits."
        )
    refuse_device_array(X)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"X must be in memory, got a lazy {type(X).__name__}: pass X.collect().")
    if isinstance(frame, nw.DataFrame):
        return _frame(frame), frame.columns
    refuse_what_is_no_table(X)
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        raw = np.asarray(X)
    except ValueError:
        raise ValueError(
            "X must be 2-D with rows of one length, got a ragged list: pad its rows with NaN."
        ) from None
    return _array(raw)


def _array(raw: Array) -> tuple[Array, list[Any]]:
    """An array as numbers (n, d), and the numbers of its columns."""
    refuse_array(raw.dtype.kind == "c", str(raw.dtype), raw.shape)
    names = list(range(raw.shape[1]))
    if raw.dtype.isnative and (raw.dtype.kind in "iub" or raw.dtype in (np.float32, np.float64)):
        return raw, names
    if raw.dtype.kind in "fiub":
        return raw.astype(np.float64), names
    return np.stack([_cells(raw[:, j], j) for j in names], axis=1) if names else raw.astype(
        np.float64
    ), names


def refuse_array(is_complex: bool, dtype: str, shape: tuple[int, ...]) -> None:
    """Refuse an array that is not of real numbers in rows and columns."""
    if is_complex:
        raise ValueError(
            f"Complex data not supported: X has dtype {dtype}; pass X.real, X.imag or both."
        )
    if len(shape) != 2:
        raise ValueError(
            f"X must be 2-D (rows, columns), got {len(shape)}-D of shape {shape}. Reshape your "
            f"data: "
            "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
        )


def _sparse(X: Any) -> Any:
    """A sparse table as CSR of float64 with sorted columns, each cell stored once."""
    if X.ndim != 2:
        raise ValueError(
            f"X must be 2-D (rows, columns), got {X.ndim}-D of shape {X.shape}. Reshape your data."
        )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}; pass real numbers.")
    return csr_rows(X)


def _frame(frame: Any) -> Array:
    """A data frame as float64 (n, d), null as NaN: all at once where its columns are plain numbers,
    else one by one.
    """
    if (
        frame.columns
        and set(frame.schema.values()) <= PLAIN_TYPES
        and (cells := frame.to_numpy()).dtype.kind in "fiub"
    ):
        return np.asarray(cells, np.float64, order="C")
    columns = [_column(series, series.name) for series in frame.iter_columns()]
    return np.stack(columns, axis=1) if columns else np.empty((len(frame), 0))


def _column(series: Any, name: Any) -> Array:
    """A data-frame column as float64, null as NaN."""
    if series.dtype in PLAIN_TYPES and (cells := series.to_numpy()).dtype.kind in "fiub":
        return np.asarray(cells, np.float64)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return _cells(series.to_numpy(), name)


def _cells(values: Array, name: Any) -> Array:
    """Objects that are numbers as float64; text is refused even where it spells one."""
    kind = next((type(v).__name__ for v in values.ravel() if isinstance(v, str | bytes)), "")
    try:
        if kind or values.dtype.kind in "mMc":
            raise ValueError(f"found {kind or values.dtype}")
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"X must be numeric, column {name!r} is not: {error}; drop or encode it."
        ) from None


def refuse_empty(X: Any) -> None:
    n, d = shape = tuple(X.shape)
    if n == 0:
        raise ValueError(
            f"X has 0 sample(s) (shape={shape}) while a minimum of 1 is required: pass a row."
        )
    if d == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required: pass a column."
        )


def refuse_bad_rows(X: Any, names: Sequence[Any], first: int = 0) -> None:
    """Refuse rows without a value and values that are not finite; `first` is the number of the
    first row.
    """
    if X.dtype.kind != "f":
        return
    cells = X.data if sparse.issparse(X) else X
    ends = _extremes(cells, np.minimum, np.maximum)
    if np.isnan(ends[0]):
        ends = _extremes(cells, np.fmin, np.fmax)
        gaps = np.isnan(X).sum(axis=1) if cells is X else _row_sums(X, np.isnan(cells))
        if len(empty := np.flatnonzero(gaps == X.shape[1])):
            raise ValueError(
                f"every row of X needs at least one value: row {first + empty[0]} has only NaN; "
                f"drop it."
            )
    if (np.abs(ends) > LARGEST_VALUE).any():
        i, j = (
            np.argwhere(abs(X) > LARGEST_VALUE)[0]
            if cells is X
            else np.transpose((abs(X) > LARGEST_VALUE).nonzero())[0]
        )
        what = "infinity" if np.isinf(X[i, j]) else f"a value too large ({X[i, j]:g})"
        raise ValueError(
            f"X must be finite: {what} in row {first + i}, column {names[j]!r}; use NaN for a "
            f"missing value."
        )


def _extremes(cells: Array, *ends: np.ufunc) -> Array:
    """The least and the largest cell, or 0, some rows at a time."""
    size = max(1, CELLS_AT_ONCE // (cells[:1].size or 1))
    blocks = [cells[at : at + size] for at in range(0, len(cells), size)]
    found = [
        end.reduce([end.reduce(c, axis=None, initial=0) for c in blocks], initial=0) for end in ends
    ]
    return np.array(found, np.float64)


def _row_sums(X: Any, values: Array) -> Array:
    """Sums over the stored cells of each row of a CSR table."""
    return np.bincount(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), values, X.shape[0])


def read_weights(sample_weight: Any, n: int) -> Array:
    """Row weights as float64 (n,)."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be numbers, got {sample_weight!r:.60}.") from None
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n,)}: one weight for each row of "
            f"X."
        )
    refuse_bad_weights(weights)
    refuse_weight_range(float(weights.max()), float(weights[weights > 0].min(initial=np.inf)))
    return weights


def refuse_bad_weights(weights: Array) -> None:
    if not np.isfinite(weights).all() or weights.min() < 0:
        bad = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise ValueError(
            f"sample_weight must be finite and not negative, got {bad}: use 0 to leave a row out."
        )


def refuse_weight_range(largest: float, smallest: float) -> None:
    """Refuse weights of which the largest is 0, or the smallest that is not 0 would be lost beside
    it.
    """
    if largest == 0:
        raise ValueError("sample_weight must not be all zero: at least one row has to count.")
    if not integer_weights(np.array([smallest]), largest)[0][0]:
        ratio = largest / smallest
        raise ValueError(
            f"sample_weight spans a ratio of {ratio:.2g}, at most 2**31 fits: set the smallest to "
            f"0."
        )


def circle_points(X: Any, d: int) -> Array:
    """Mapped rows [cos | sin] of d features, dense."""
    F = as_rows(X)
    if F.shape[1] != 2 * d:
        raise ValueError(
            f"X must have {2 * d} columns, [cos | sin] of {d} features; got {F.shape[1]}."
        )
    return dense(F)


def refuse_many_pairs(n: int, kernel: str) -> None:
    """Means of a kernel without an explicit map take the square of the rows."""
    if n > MOST_PAIRED:
        raise ValueError(
            f"centroids='mean' with kernel={kernel!r} needs the kernel values of all pairs of "
            f"rows in each pass, so at "
            f"most {MOST_PAIRED} rows; got {n}, whose matrix would take {8e-9 * n * n:.3g} GB: "
            f"use a sample of them, "
            "or centroids='rectified', whose cost is linear in the rows."
        )


def pairwise_table(table: MemoryTable, fitting: bool) -> PairwiseTable:
    """The table of kernel values with one more column: those of each row with itself, which new
    rows do not have.
    """
    refuse_table_elsewhere(table, "kernel='precomputed'")
    if table.has_missing():
        raise ValueError(
            "kernel='precomputed' needs all kernel values, X has NaN: fill them, or leave those "
            "rows out."
        )
    if fitting and table.n_rows != table.n_columns:
        raise ValueError(
            f"kernel='precomputed' needs X square, (n_samples, n_samples); got {table.X.shape}."
        )
    K = np.empty((table.n_rows, table.n_columns + 1))
    blocks = list(table.blocks(max(1, CELLS_AT_ONCE // table.n_columns)))
    for at in blocks:
        K[at, :-1] = table.dense(at)
        K[at, -1] = K[at, at].diagonal() if fitting else 0.0
    if fitting and not (_is_symmetric(K[:, :-1], blocks) and (K[:, -1] >= 0).all()):
        raise ValueError(
            "kernel='precomputed' needs a symmetric X with no negative value on its diagonal."
        )
    return PairwiseTable(K, table.weights, table.columns)


def _is_symmetric(K: Array, blocks: list[slice]) -> bool:
    """Whether a matrix is its own transpose, but for rounding."""
    room = 1e-9 * max(float(np.abs(K[at]).max()) for at in blocks)
    return all(np.allclose(K[at], K[:, at].T, rtol=1e-6, atol=room) for at in blocks)


def refuse_table_elsewhere(table: Table, who: str) -> None:
    """Raise an error for a table whose rows are not all in memory on the host."""
    if not table.is_in_memory:
        raise ValueError(f"{who} needs all rows at once, X is not in memory: pass a table that is.")
    refuse_table_on_device(table, who)


def refuse_table_on_device(table: Table, who: str) -> None:
    """Raise an error for a table whose rows are on a device."""
    if not table.is_on_host:
        raise ValueError(
            f"{who} needs all rows on the host, X is a tensor for engine='torch': pass a NumPy "
            f"array."
        )


def refuse_missing_values(table: Table, who: str, kernel: str = "") -> None:
    """Raise ValueError if the table has missing values, which a kernel of this name excludes."""
    if table.has_missing():
        kernel_text = f" with kernel={kernel!r}" if kernel else ""
        way_out = "choose a kernel that supports them" if kernel else "use FuzzyCMeans"
        raise ValueError(
            f"{who} takes no missing values{kernel_text}, X contains NaN: fill them, or {way_out}."
        )


def refuse_missing_coordinates(X: Array, Z: Array, kernel: str, beyond: str) -> None:
    """Raise ValueError if scaled rows have missing cells, which the kernel does not support."""
    missing = np.isnan(Z)
    if not missing.any():
        return
    row, column = np.argwhere(missing)[0]
    value = X[row, column]
    if np.isnan(value):
        raise ValueError(
            f"the kernel {kernel!r} does not support missing values, column {column} of X has "
            f"some: fill them."
        )
    raise ValueError(
        f"the kernel {kernel!r} does not support missing values, and beyond={beyond!r} makes a "
        f"value outside the scale missing ({value:g} in column {column} of X): use beyond='clip'."
    )


def refuse_wide_shapes(d: int) -> None:
    if d > MOST_SHAPED:
        raise ValueError(
            f"a shape has the square of its columns, at most {MOST_SHAPED} are taken; got {d}: "
            f"select some."
        )
