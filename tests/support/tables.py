"""Tables with missing cells, and the contents of folders for comparison."""

import numpy as np


def with_missing_cells(X, share=0.15, seed=1):
    """Make a share of the cells missing, but never all cells of a row."""
    missing = np.random.default_rng(seed).random(X.shape) < share
    missing[np.arange(len(X)), np.arange(len(X)) % X.shape[1]] = False
    return np.where(missing, np.nan, X)


def file_bytes(folder):
    """Return {path: bytes} of all files below a folder."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
