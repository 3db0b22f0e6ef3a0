"""The summary of a fitted model on a table: a dict of bounded size that can be saved as JSON."""

from __future__ import annotations

import inspect
import math
import platform
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from .. import __version__
from .._grid import GRID, Array
from ..engines import host_values
from ..estimators.placement import has_hard_labels
from ..kernels.euler import deviation_from_circle
from ..metrics import clustering_accuracy, normalized_mutual_info
from ..table.empty_rows import NO_LABEL
from .fit_analysis import (
    MAX_COLUMNS_DESCRIBED,
    FitAnalysis,
    analyse_fit,
    check_euler_model,
    circle_coordinates,
    column_names,
    column_profile,
    missing_and_beyond,
    thread_pool,
)

MAX_CIRCLES = 6  # columns that are drawn on a circle
MAX_VALUES = 5  # values listed for a notable row
LIST_LENGTH = 8  # rows in each list
# number of clusters (the largest ones) for which typical rows are listed
MAX_TYPICAL_CLUSTERS = 26
MAX_PASSES = 1000  # passes listed in a history

METHOD_NAMES = {"rectified": "Rectified Euler k-means", "mean": "Euler k-means"}
MAX_CLASSES = 60  # a larger table of classes by clusters would not be readable
MISSING_TEXTS = {"None", "nan", "NaT", "<NA>"}  # str() of a missing class, in any library
SMALLEST_DIVISOR = 1e-300  # avoids a division by zero


def summary(
    model: Any,
    X: Any,
    *,
    names: ArrayLike | None = None,
    y: ArrayLike | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """Summarize a fitted model on X: sizes, profiles, separating columns, notable rows, settings.

    Parameters
    ----------
    model : fitted EulerKMeans or RectifiedEulerKMeans
        The model to summarize.
    X : table of shape (n_samples, n_features)
        The table of the fit, or another table with the same columns.
    names : array of str or None
        Names of the columns; by default those of the fit, or else x0, x1, ...
    y : array of shape (n_samples,) or None
        Known classes, which are compared with the clusters. The class of a row may be missing
        (masked, None or NaN).
    title : str or None
        Title of the report.

    Returns
    -------
    dict
        Numbers, text, lists and dicts. The size does not grow with the number of rows: figures show
        at most 1200 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.analysis.summary import summary
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> summary(RectifiedEulerKMeans(2, random_state=0).fit(X), X)["sizes"]
    [2, 2]
    """
    check_has_report(model)
    analysis = analyse_fit(model, X)
    columns = column_names(model, names)
    is_own = is_fit_table(analysis)
    n, d = analysis.table.n_rows, analysis.table.n_columns
    k = len(analysis.sizes)
    order = analysis.column_numbers(None, MAX_COLUMNS_DESCRIBED)  # by separation
    with thread_pool(model) as pool:
        profiles = list(pool.map(lambda j: column_profile(analysis, columns, j), order))
    sections = {
        "title": title or f"{k} cluster{'s' if k != 1 else ''} of {n:,} row{'s' if n != 1 else ''}",
        "table": {
            "rows": n,
            "columns": d,
            "described": min(d, MAX_COLUMNS_DESCRIBED),
            "drawn": len(analysis.rows_to_draw()),
        },
        "own_fit": is_own,
        "method": method_settings(analysis, is_own),
        "sizes": analysis.sizes,
        "features": profiles,
        "circles": circle_coordinates(analysis, columns, order[:MAX_CIRCLES]),
        "map": principal_projection(analysis),
        "history": {name: values[:MAX_PASSES] for name, values in model.history_.items()}
        if is_own
        else {},
        "kappa": {
            "model": model.deviation_,
            "mean": deviation_from_circle(analysis.resultant_lengths),
        },
        "rows": notable_rows(analysis, columns, order[:MAX_VALUES]),
        "left_out": missing_and_beyond(analysis, columns),
        "classes": None if y is None else class_comparison(y, analysis),
        "repeat": provenance(model, is_own),
    }
    return json_value(sections)


def check_has_report(model: Any) -> None:
    """Raise TypeError unless a report supports this fitted model."""
    check_euler_model(model)
    if not has_hard_labels(model):
        raise TypeError(
            f"reports support only hard clustering, got {type(model).__name__}. Use the displays "
            f"of this estimator instead."
        )


def is_fit_table(analysis: FitAnalysis) -> bool:
    """Return whether the model was fitted on this table: labels and objective are bit-identical.

    Labels are not enough, because with one cluster all tables of equal length have the same labels.
    The objective is not enough, because it does not depend on the order of the rows. A fit with row
    weights has a different objective, so its report does not describe the fit.
    """
    model = analysis.model
    has_fit = hasattr(model, "labels_") and hasattr(model, "history_")
    return (
        has_fit
        and np.array_equal(host_values(model.labels_), analysis.labels)
        and model.inertia_ == analysis.inertia
    )


def method_settings(analysis: FitAnalysis, is_own: bool) -> dict[str, Any]:
    """Return the settings of the method, and the passes and time of the fit if X is its table."""
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
    """Return the value as lists, dicts, numbers and text, with None for NaN and infinity."""
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
    """Return accuracy, NMI and a contingency table of known classes and clusters.

    Rows without a class or a label are excluded. Without any class, the result is None.
    """
    known = ~is_class_missing(y)
    k = len(analysis.sizes)
    if known.shape != analysis.labels.shape:
        raise ValueError(
            f"y must have one class for each of the {len(analysis.labels)} rows, got an array of "
            f"shape {known.shape}."
        )
    unknown = np.count_nonzero(~known)
    known = known & (analysis.labels != NO_LABEL)
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
        "unknown": unknown,
    }


def is_class_missing(y: ArrayLike) -> Array:
    """Return a mask of the rows without a class: masked, None, NaN or pandas' NA and NaT, (n,)."""
    classes = np.asarray(y)
    if classes.dtype == object:
        texts = [not isinstance(v, str) and str(v) in MISSING_TEXTS for v in classes.ravel()]
        missing = np.reshape(texts, classes.shape)
    else:
        missing = classes != classes  # NaN differs from itself
    return missing | np.ma.getmaskarray(np.ma.asarray(y))


def principal_projection(analysis: FitAnalysis) -> dict[str, Any]:
    """Return the first two principal components of the mapped rows to draw.

    Missing values are replaced by those of the centroid.
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
    """Return two principal axes of centred rows A (m, p), (p, 2), and their shares of the variance.

    For p < 2, the missing axes are zero.
    """
    # the smaller of A A' and A' A, which have the same nonzero eigenvalues
    S = A @ A.T if len(A) < A.shape[1] else A.T @ A
    values, vectors = eigh(S, subset_by_index=[max(len(S) - 2, 0), len(S) - 1])
    axes = (vectors if len(S) == A.shape[1] else A.T @ vectors)[:, ::-1]  # (p, 2)
    axes = axes / np.maximum(np.linalg.norm(axes, axis=0), SMALLEST_DIVISOR)
    # fix the signs
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    shares = np.maximum(values[::-1], 0) / max(np.trace(S), SMALLEST_DIVISOR)
    lacking = 2 - len(shares)
    return np.pad(axes, ((0, 0), (0, lacking))), np.pad(shares, (0, lacking))


def notable_rows(analysis: FitAnalysis, names: list[str], columns: Array) -> dict[str, Any]:
    """Return the rows of each list, with their values in these columns."""
    has_margins = len(analysis.sizes) > 1
    lists: dict[str, Any] = {
        "typical": typical_rows(analysis),
        "doubtful": smallest_first(analysis.margins, LIST_LENGTH) if has_margins else [],
        "unusual": smallest_first(analysis.scores, LIST_LENGTH),
    }
    return {
        "columns": [names[j] for j in columns],
        **{
            name: [_row_record(analysis, columns, i) for i in numbers]
            for name, numbers in lists.items()
        },
    }


def typical_rows(analysis: FitAnalysis) -> Array:
    """Return the numbers of the rows with the highest scores in each of the largest clusters."""
    sizes = analysis.sizes
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MAX_TYPICAL_CLUSTERS])
    members = [np.flatnonzero(analysis.labels == c) for c in largest]
    each = max(1, LIST_LENGTH // len(sizes))
    return np.concatenate([rows[smallest_first(-analysis.scores[rows], each)] for rows in members])


def smallest_first(values: Array, count: int) -> Array:
    """Return the indices of the smallest values in ascending order, without a full sort.

    Ties keep their order. NaN is ignored.
    """
    if (missing := np.isnan(values)).any():
        numbers = np.flatnonzero(~missing)
        return numbers[smallest_first(values[numbers], count)]
    if len(values) <= count:
        return np.argsort(values, kind="stable")
    bound = np.partition(values, count - 1)[count - 1]
    small = np.flatnonzero(values <= bound)
    return small[np.argsort(values[small], kind="stable")][:count]


def _row_record(analysis: FitAnalysis, columns: Array, row: Any) -> dict[str, Any]:
    """Return the number, clusters, score, margin and some values of one row."""
    values = analysis.dense_rows(np.array([row]))  # (1, d)
    D = analysis.kernel.distance(analysis.kernel.embed(values), analysis.C)
    clusters = np.argsort(D[0], kind="stable")  # the nearest first
    return {
        "row": int(row),
        "cluster": int(analysis.labels[row]),
        "next": int(clusters[1]) if len(clusters) > 1 else None,
        "score": analysis.scores[row],
        "margin": analysis.margins[row],
        "values": values[0, columns],
    }


def provenance(model: Any, is_fit_table: bool) -> dict[str, Any]:
    """Return the settings, the versions, and Python code that reproduces the clusters."""
    settings = {name: json_setting(value) for name, value in model.get_params(deep=False).items()}
    has_fixed_start = model.random_state is not None and isinstance(model.init, str)
    return {
        "settings": settings,
        "python": fit_lines(model, settings) if is_fit_table else load_lines(),
        "exact": has_fixed_start if is_fit_table else True,
        "versions": {
            "rekmeans": __version__,
            "Python": platform.python_version(),
            "NumPy": np.__version__,
            "SciPy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "system": f"{platform.system()} {platform.machine()}",
        },
    }


def fit_lines(model: Any, settings: dict[str, Any]) -> list[str]:
    """Return Python code that repeats the fit, with all settings that are not defaults."""
    defaults = {
        name: json_setting(p.default)
        for name, p in inspect.signature(type(model)).parameters.items()
    }
    arguments = ", ".join(
        f"{name}={value!r}" for name, value in settings.items() if defaults[name] != value
    )
    estimator = type(model).__name__
    return [
        f"from rekmeans import {estimator}",
        "",
        f"model = {estimator}({arguments}).fit(X)",
        "model.labels_",
    ]


def load_lines() -> list[str]:
    """Return Python code that labels rows with a model file."""
    return [
        "from rekmeans import load",
        "",
        'model = load("model.safetensors")',
        "labels = model.predict(X)",
    ]


def json_setting(value: Any) -> Any:
    """Return a setting in a type that JSON supports, or else the name of its type."""
    if isinstance(value, np.generic):
        return value.item()
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return value if is_plain else f"<{type(value).__name__}>"
