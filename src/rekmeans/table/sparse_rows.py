"""SciPy sparse tables as CSR rows; arrays that do not fit together are refused before compiled code follows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def csr_rows(X: Any) -> Any:
    """A sparse table as CSR of float64, columns sorted, each cell stored once; the caller's arrays stay as they are."""
    rows = sparse.csr_array(_checked_structure(X), dtype=np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _checked_structure(X: Any) -> Any:
    """The same sparse table once its index arrays are known to lie inside it: SciPy follows them without a check.

    What the table says of itself (sorted, each cell once) is found out anew, as it may be wrong.
    """
    try:
        if X.format in ("csr", "csc", "bsr"):
            X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
            X.check_format(full_check=True)
        elif X.format == "coo":
            X = type(X)((X.data, X.coords), shape=X.shape)
    except (ValueError, IndexError) as error:
        raise ValueError(f"X is a damaged sparse table ({error}): build it anew.") from None
    return X
