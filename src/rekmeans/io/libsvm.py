"""libsvm (svmlight) files as sparse file tables."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from .file_table import ColumnSelection, FileTable, UnreadableFileError
from .numpy import table_of_array


def read_libsvm(path: Path, selection: ColumnSelection) -> FileTable:
    try:
        X, y = load_svmlight_file(str(path), zero_based=True)
    except OverflowError:
        what = f"{path.name} has a column number that does not fit into 32 bits: is it damaged?"
        raise UnreadableFileError(what) from None
    if from_0 := 0 in X.indices:
        warnings.warn(
            f"{path.name} counts its columns from 0: a file without a column 0 is taken to count "
            f"from 1, "
            "and all its columns would be one too far left; write such files from 1",
            stacklevel=2,
        )
    d = X.shape[1] - (not from_0)
    selection.refuse_many_columns(path, d)
    X = sparse.csr_array((X.data, X.indices - (not from_0), X.indptr), shape=(X.shape[0], d))
    return table_of_array(path, X, y.astype(np.int64) if (y == np.rint(y)).all() else y, selection)
