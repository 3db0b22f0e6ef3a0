"""Known classes beside the clusters: the one place where a report scores them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._grid import Array
from ..metrics import clustering_accuracy, normalized_mutual_info
from .look import Look

CLASSES = 60  # a larger table of classes against clusters is not readable
GAPS = {"None", "nan", "NaT", "<NA>"}  # how a missing class of any library writes itself


def classes(y: ArrayLike, look: Look) -> dict[str, Any] | None:
    """Known classes beside the clusters: accuracy by best matching, NMI, and the table of both; None without any.

    Rows of unknown class count in none of them.
    """
    known = ~unknown(y)
    if known.shape != look.labels.shape:
        raise ValueError(f"y must have one class for each of the {len(look.labels)} rows, got shape {known.shape}.")
    if not known.any():
        return None
    own, labels = np.asarray(y)[known], look.labels[known]
    found, codes = np.unique(own.astype(str) if own.dtype == object else own, return_inverse=True)
    small = max(len(found), len(look.sizes)) <= CLASSES
    counts = np.zeros((len(found), len(look.sizes)), np.int64)
    np.add.at(counts, (codes, labels), 1)
    return {
        "accuracy": clustering_accuracy(codes, labels),
        "nmi": normalized_mutual_info(codes, labels),
        "names": [str(name) for name in found] if small else None,
        "counts": counts if small else None,
        "number": len(found),
        "unknown": np.count_nonzero(~known),
    }


def unknown(y: ArrayLike) -> Array:
    """Which rows have no class: masked, None, NaN or what else pandas writes for it, (n,)."""
    bare = np.asarray(y)
    if bare.dtype == object:
        gaps = np.reshape([not isinstance(v, str) and str(v) in GAPS for v in bare.ravel()], bare.shape)
    else:
        gaps = bare != bare  # NaN differs from itself
    return gaps | np.ma.getmaskarray(np.ma.asarray(y))
