"""The summary: what a fitted model finds in a table, as a plain dict of bounded size that JSON can
hold.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..engines import host_values
from ..metrics import deviation_degree
from .classes import class_comparison
from .columns import (
    MAX_COLUMNS_DESCRIBED,
    circle_coordinates,
    column_names,
    column_profile,
    missing_and_beyond,
)
from .fit_analysis import FitAnalysis, analyse_fit, thread_pool
from .notable_rows import notable_rows
from .projection import principal_projection
from .provenance import provenance

MAX_CIRCLES = 6  # columns drawn on their circle
MAX_VALUES = 5  # values listed of a notable row
MAX_PASSES = 1000  # passes of a history

METHOD_NAMES = {"rectified": "Rectified Euler k-means", "mean": "Euler k-means"}


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
