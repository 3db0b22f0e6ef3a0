"""The summary: what a fitted model finds in a table, as a plain dict of bounded size that JSON can
hold.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from .._grid import GRID, Array
from ..engines import host_values
from ..metrics import clustering_accuracy, deviation_degree, normalized_mutual_info
from .columns import (
    MAX_COLUMNS_DESCRIBED,
    circle_coordinates,
    column_names,
    column_profile,
    missing_and_beyond,
)
from .fit_analysis import FitAnalysis, analyse_fit, thread_pool
from .notable_rows import notable_rows
from .provenance import provenance

MAX_CIRCLES = 6  # columns drawn on their circle
MAX_VALUES = 5  # values listed of a notable row
MAX_PASSES = 1000  # passes of a history

METHOD_NAMES = {"rectified": "Rectified Euler k-means", "mean": "Euler k-means"}
MAX_CLASSES = 60  # a larger table of classes against clusters is not readable
MISSING_TEXTS = {"None", "nan", "NaT", "<NA>"}  # str() of a missing class, in any library
SMALLEST_DIVISOR = 1e-300  # keeps a division by a length or a trace of zero finite


def summary(
    model: Any,
    X: Any,
    *,
    names: ArrayLike | None = None,
    y: ArrayLike | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """What the model finds in X: sizes, profiles, separating columns, notable rows, settings.

    Parameters
    ----------
    model : fitted EulerKMeans or RectifiedEulerKMeans
    X : table
        The table it was fitted on, or another with the same columns.
    names : (n_features,) column names; by default those of the fit, else x0, x1, ...
    y : (n_samples,) known classes, to compare the clusters with; masked, None or NaN where a row
    has none; or None
    title : text at the head of the report

    Returns
    -------
    dict
        Of numbers, text, lists and dicts. Its size does not grow with the rows: figures get at most
        1200 of them.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.analysis.summary import summary
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> summary(RectifiedEulerKMeans(2, random_state=0).fit(X), X)["sizes"]
    [2, 2]
    """
    analysis = analyse_fit(model, X)
    if not analysis.is_hard:
        raise TypeError(
            f"a report describes hard clusters only; got {type(model).__name__}: draw its displays."
        )
    return json_value(_sections(analysis, column_names(model, names), y, title))


def _sections(
    analysis: FitAnalysis, names: list[str], y: ArrayLike | None, title: str | None
) -> dict[str, Any]:
    """The summary with its arrays as they are."""
    model = analysis.model
    is_own = is_fit_table(analysis)
    order = analysis.column_numbers(None, MAX_COLUMNS_DESCRIBED)  # most separating first
    with thread_pool(model) as pool:
        profiles = list(pool.map(lambda j: column_profile(analysis, names, j), order))
    return {
        "title": title or f"{len(analysis.sizes)} clusters of {len(analysis.labels):,} rows",
        "table": table_size(analysis),
        "own_fit": is_own,
        "method": method_settings(analysis, is_own),
        "sizes": analysis.sizes,
        "features": profiles,
        "circles": circle_coordinates(analysis, names, order[:MAX_CIRCLES]),
        "map": principal_projection(analysis),
        "history": {name: values[:MAX_PASSES] for name, values in model.history_.items()}
        if is_own
        else {},
        "kappa": {"model": model.deviation_, "mean": deviation_degree(analysis.resultant_lengths)},
        "rows": notable_rows(analysis, names, order[:MAX_VALUES]),
        "left_out": missing_and_beyond(analysis, names),
        "classes": None if y is None else class_comparison(y, analysis),
        "repeat": provenance(model, is_own),
    }


def table_size(analysis: FitAnalysis) -> dict[str, Any]:
    """Size of the table and of what figures draw of it."""
    n, d = analysis.table.n_rows, analysis.table.n_columns
    return {
        "rows": n,
        "columns": d,
        "described": min(d, MAX_COLUMNS_DESCRIBED),
        "drawn": len(analysis.rows_to_draw()),
    }


def is_fit_table(analysis: FitAnalysis) -> bool:
    """Whether this is the table that the model was fitted on: its labels and its objective, bit for
    bit.

    Labels alone do not show it: with one cluster all tables of a length share them. The objective
    alone does not depend on the order of rows. A fit with row weights has another objective: its
    report would describe a run without them.
    """
    model = analysis.model
    has_fit = hasattr(model, "labels_") and hasattr(model, "history_")
    return (
        has_fit
        and np.array_equal(host_values(model.labels_), analysis.labels)
        and model.inertia_ == analysis.inertia
    )


def method_settings(analysis: FitAnalysis, is_own: bool) -> dict[str, Any]:
    """How the rows were clustered, and how it went if that was in the model's own fit."""
    model = analysis.model
    return {
        "name": METHOD_NAMES[model.centroids],
        "estimator": type(model).__name__,
        "clusters": len(analysis.sizes),
        "alpha": model.alpha_,
        "scale": model.scale,
        "beyond": analysis.kernel.beyond,
        "init": model.init if isinstance(model.init, str) else "given",
        "n_init": model.n_init,
        "passes": model.n_iter_ if is_own else None,
        "seconds": sum(model.history_["seconds"]) if is_own else None,
        "objective": analysis.inertia,
    }


def json_value(value: Any) -> Any:
    """The value in lists, dicts, numbers and text; None for what is not a finite number."""
    if isinstance(value, dict):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [
            json_value(item)
            for item in (value.tolist() if isinstance(value, np.ndarray) else value)
        ]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


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


def principal_projection(analysis: FitAnalysis) -> dict[str, Any]:
    """The first two principal components of the rows to draw, mapped; a missing value counts as its
    centroid's.
    """
    numbers = analysis.rows_to_draw()
    F = analysis.mapped_rows(numbers)  # (m, 2d)
    mean = F.mean(axis=0)
    axes, shares = principal_axes(F - mean)
    return {
        "labels": analysis.labels[numbers],
        "points": np.round((F - mean) @ axes, 4),
        "centroids": np.round((analysis.C.f / GRID - mean) @ axes, 4),
        "share": shares,
    }


def principal_axes(A: Array) -> tuple[Array, Array]:
    """The two principal axes (p, 2) of centred rows A (m, p), and their shares of the variance;
    zeros where p < 2.
    """
    # the smaller of the two; their eigenvalues are the same
    S = A @ A.T if len(A) < A.shape[1] else A.T @ A
    values, vectors = eigh(S, subset_by_index=[max(len(S) - 2, 0), len(S) - 1])
    axes = (vectors if len(S) == A.shape[1] else A.T @ vectors)[:, ::-1]  # (p, 2)
    axes = axes / np.maximum(np.linalg.norm(axes, axis=0), SMALLEST_DIVISOR)
    # of two mirror images always the same
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    shares = np.maximum(values[::-1], 0) / max(np.trace(S), SMALLEST_DIVISOR)
    lacking = 2 - len(shares)
    return np.pad(axes, ((0, 0), (0, lacking))), np.pad(shares, (0, lacking))
