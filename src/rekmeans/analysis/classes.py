"""Known classes beside the clusters: the one place where a summary scores them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._grid import Array
from ..metrics import clustering_accuracy, normalized_mutual_info
from .fit_analysis import FitAnalysis

MAX_CLASSES = 60  # a larger table of classes against clusters is not readable
MISSING_TEXTS = {"None", "nan", "NaT", "<NA>"}  # str() of a missing class, in any library


def class_comparison(y: ArrayLike, analysis: FitAnalysis) -> dict[str, Any] | None:
    """Known classes beside the clusters: accuracy by best matching, NMI, and the table of both;
    None without any.

    Rows of unknown class count in none of them.
    """
    known = ~is_class_missing(y)
    k = len(analysis.sizes)
    if known.shape != analysis.labels.shape:
        raise ValueError(
            f"y must have one class for each of the {len(analysis.labels)} rows, got shape "
            f"{known.shape}."
        )
    if not known.any():
        return None
    classes = np.asarray(y)[known]
    labels = analysis.labels[known]
    names, codes = np.unique(
        classes.astype(str) if classes.dtype == object else classes, return_inverse=True
    )
    counts = np.zeros((len(names), k), np.int64)
    np.add.at(counts, (codes, labels), 1)
    is_readable = max(len(names), k) <= MAX_CLASSES
    return {
        "accuracy": clustering_accuracy(codes, labels),
        "nmi": normalized_mutual_info(codes, labels),
        "names": [str(name) for name in names] if is_readable else None,
        "counts": counts if is_readable else None,
        "number": len(names),
        "unknown": np.count_nonzero(~known),
    }


def is_class_missing(y: ArrayLike) -> Array:
    """Which rows have no class: masked, None, NaN or what else pandas writes for it, (n,)."""
    classes = np.asarray(y)
    if classes.dtype == object:
        texts = [not isinstance(v, str) and str(v) in MISSING_TEXTS for v in classes.ravel()]
        missing = np.reshape(texts, classes.shape)
    else:
        missing = classes != classes  # NaN differs from itself
    return missing | np.ma.getmaskarray(np.ma.asarray(y))
