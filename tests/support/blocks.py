"""Example tables, and several ways to split their rows into blocks."""

import numpy as np

from rekmeans.table import MemoryTable
from support.models import euler, scale_of


def example(name, n=900):
    """Return the kernel and the table of an example.

    Most rows are close together, so that their weighted sums need more than 64 bits.
    """
    rng = np.random.default_rng(5)
    n, d = (300, 400) if name == "many columns" else (n, 3)
    X = rng.uniform(0, 2, (5, d))[np.minimum(rng.geometric(0.8, n) - 1, 4)] + 0.3 * rng.standard_t(
        3, (n, d)
    )
    if "gaps" in name:
        X[rng.uniform(size=X.shape) < 0.2] = np.nan
        X[np.isnan(X).all(axis=1)] = 1.0
    weights = rng.uniform(0.9, 1, n) if "weights" in name else None
    if "scaled" in name:
        return euler(0.75, scale_of("robust", X, weights), "ignore"), MemoryTable(X, weights)
    return euler(
        {"small alpha": 1e-3, "many columns": 1.0}.get(name, 0.3), scale_of(None, X)
    ), MemoryTable(X, weights)


def borders(n, kind):
    """Return the block borders of a table of n rows."""
    inner = {
        "one block": [],
        "seven rows a block": range(7, n, 7),
        "hundred rows a block": range(100, n, 100),
        "uneven": np.unique(np.random.default_rng(1).integers(1, n, 6)),
    }[kind]
    return np.array([0, *inner, n])


CUTS = ["seven rows a block", "hundred rows a block", "uneven"]
