"""What tells a fit from others when it goes on from a checkpoint, and what its starts are drawn with."""

from __future__ import annotations

import hashlib
import numbers
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..table import Table
from .placement import Placement

WITHOUT_INFLUENCE = (
    "checkpoint",
    "verbose",
    "n_threads",
    "memory_limit",
    "half_life",
    "engine",
)  # the engine itself is compared
SAMPLE_ROWS_COMPARED, SAMPLE_SEED = 1000, 0  # of the sample that stands for the table
DIGEST_SHOWN, LONGEST_VALUE = 16, 100  # letters


class StartDraws(NamedTuple):
    """What the starts of a fit are drawn with, and how many of them an interrupted fit has begun."""

    random: np.random.RandomState | None  # for a callable init
    entropy: list[int]
    n_begun: int = 0


def fit_identity(estimator: Any, placed: Placement) -> dict[str, str]:
    """What an interrupted fit and the one that goes on must have in common, as text."""
    parameters = {
        name: _value_text(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in WITHOUT_INFLUENCE
    }
    if not isinstance(estimator.random_state, numbers.Integral):
        parameters["random_state"] = "not an integer"
    table = placed.table
    names = table.columns.get("feature_names_in_", [])
    return {
        "estimator": type(estimator).__name__,
        **parameters,
        "engine": placed.engine,
        "number of rows": str(table.n_rows),
        "number of columns": str(table.n_columns),
        "column names": _digest(*(str(name).encode() + b"\n" for name in names)),
        "sample of rows": _sample_digest(table),
    }


def _value_text(value: Any) -> str:
    """A parameter as text: a digest of an array, the name of a function."""
    if callable(value):
        return str(getattr(value, "__qualname__", type(value).__name__))
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return f"{array.shape} {_digest(str(array.dtype).encode(), np.ascontiguousarray(array).tobytes())}"
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else _digest(text.encode())


def _sample_digest(table: Table) -> str:
    """The digest of a small sample of the rows, by the one rule of draws, and of their weights."""
    sample: Any = table.sample(SAMPLE_ROWS_COMPARED, SAMPLE_SEED)
    rows = sample.X
    parts = [rows.data, rows.indices, rows.indptr] if sparse.issparse(rows) else [sample.dense()]
    weights = [] if sample.weights is None else [sample.weights]
    return _digest(*(np.ascontiguousarray(part, np.float64).tobytes() for part in [*parts, *weights]))


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:DIGEST_SHOWN]
