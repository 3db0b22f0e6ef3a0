"""Convert SciPy sparse tables to CSR.

Inconsistent arrays are rejected before compiled code reads them. SciPy's `check_format` accepted
2 of 2000 corrupt tables in `fuzz/`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from .._grid import Array


def csr_rows(X: sparse.sparray) -> sparse.csr_array:
    """Convert a sparse table to CSR of float64 with sorted columns and no duplicates.

    The caller's arrays are not modified. The flags of the table (sorted, canonical) are recomputed,
    because they may be wrong.
    """
    X = X if X.format in FORMATS else X.tocoo()
    if what := FORMATS[X.format](X):
        raise ValueError(f"X is an invalid {X.format} array: {what}. Create it again.")
    if X.format == "csr":
        rows = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape, dtype=np.float64)
    else:
        rows = sparse.csr_array(X, dtype=np.float64)
        rows = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _compressed_fault(X: sparse.csr_array | sparse.csc_array | sparse.bsr_array) -> str:
    """Describe an inconsistency in the arrays of a CSR, CSC or BSR table; '' if there is none."""
    lines, across = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        if (
            X.data.ndim != 3
            or 0 in X.blocksize
            or lines % X.blocksize[0]
            or across % X.blocksize[1]
        ):
            return f"shape {X.shape} is not a multiple of the block shape {X.data.shape[1:]}"
        lines //= X.blocksize[0]
        across //= X.blocksize[1]
    if X.indptr.ndim != 1 or X.indptr.dtype.kind not in "iu" or len(X.indptr) != lines + 1:
        return (
            f"indptr has shape {X.indptr.shape} and dtype {X.indptr.dtype}, expected {lines + 1} "
            f"integers"
        )
    if X.indptr[0] != 0 or (X.indptr[1:] < X.indptr[:-1]).any():
        return "indptr must start at 0 and must not decrease"
    stored = int(X.indptr[-1])
    if stored > len(X.indices) or len(X.indices) != len(X.data):
        return f"{len(X.indices)} indices and {len(X.data)} values, but indptr ends at {stored}"
    return _index_fault(X.indices[:stored], across)


def _coordinate_fault(X: sparse.coo_array) -> str:
    """Describe an inconsistency in the arrays of a COO table; '' if there is none."""
    if len(X.row) != len(X.data) or len(X.col) != len(X.data):
        return f"{len(X.row)} row and {len(X.col)} column indices for {len(X.data)} values"
    return _index_fault(X.row, X.shape[0]) or _index_fault(X.col, X.shape[1])


def _index_fault(indices: Array, size: int) -> str:
    """Describe the first problem with the indices, which must be integers from 0 to `size` - 1.

    Return '' if all are valid.
    """
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        return (
            f"indices have shape {indices.shape} and dtype {indices.dtype}, expected 1-D integers"
        )
    low = int(indices.min()) if len(indices) else 0
    high = int(indices.max()) if len(indices) else 0
    return (
        f"index {low if low < 0 else high} is out of range for size {size}"
        if low < 0 or high >= max(size, 1)
        else ""
    )


FORMATS: dict[str, Callable[[sparse.sparray], str]] = {
    "csr": _compressed_fault,
    "csc": _compressed_fault,
    "bsr": _compressed_fault,
    "coo": _coordinate_fault,
}
