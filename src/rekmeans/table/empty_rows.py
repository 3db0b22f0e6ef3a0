"""Rows without an observed value: they have weight 0 and the label -1."""

from __future__ import annotations

import numpy as np

from .._grid import Array
from .base import Cells, is_sparse

NO_LABEL = -1


def array_rows_with_values(X: Array) -> Array:
    """Return a mask of the rows with at least one value, reading each row up to its first value."""
    has_value: Array = ~np.isnan(X[:, 0])
    rows = np.flatnonzero(~has_value)
    for j in range(1, X.shape[1]):
        if not len(rows):
            break
        rows = rows[np.isnan(X[rows, j])]
    has_value[:] = True
    has_value[rows] = False
    return has_value


def find_empty_rows(X: Cells) -> Array:
    """Return the numbers of the rows without an observed value.

    Cells that a sparse array does not store are zeros, so they are observed.
    """
    if X.dtype.kind != "f":
        return np.empty(0, np.int64)
    if not is_sparse(X):
        return np.flatnonzero(~array_rows_with_values(X))
    full = np.flatnonzero(np.diff(X.indptr) == X.shape[1])
    return full[np.isnan(X[full].data.reshape(len(full), X.shape[1])).all(axis=1)]


def weights_without_rows(weights: Array | None, n: int, rows: Array) -> Array:
    """Return the weights of n rows, with 0 for these rows. None stands for equal weights."""
    changed = np.ones(n) if weights is None else weights.copy()
    changed[rows] = 0.0
    return changed


def mark_rows(values: Array, rows: Array) -> Array:
    """Return one value per row, with -1 for these rows if values are integers, NaN otherwise."""
    if not len(rows):
        return values
    marked = values.copy()
    marked[rows] = NO_LABEL if values.dtype.kind == "i" else np.nan
    return marked


def count_labels(labels: Array, k: int) -> Array:
    """Return the number of rows with each label, (k,). Rows with the label -1 are not counted."""
    return np.bincount(labels + 1, minlength=k + 1)[1:]


def empty_rows_message(n_empty: int, n_rows: int) -> str:
    """Return the warning for rows without an observed value."""
    rows, verbs = ("row", ("has", "gets")) if n_rows == 1 else ("rows", ("have", "get"))
    if n_empty == 1:
        verbs = ("has", "gets")
    return (
        f"{n_empty:,} of {n_rows:,} {rows} {verbs[0]} no observed value and {verbs[1]} the label "
        f"{NO_LABEL}."
    )
