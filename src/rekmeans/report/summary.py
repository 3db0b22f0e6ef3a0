"""The summary: what a fitted model found in a table, as a plain dict of bounded size that JSON can hold."""

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
from sklearn.utils.validation import _check_feature_names_in

from .. import __version__
from .._grid import GRID, Array
from ..assign import Hard
from ..metrics import deviation_degree
from .classes import classes
from .look import Look, looked, workers

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
COLUMNS = 100  # columns described one by one, the most separating first: tables of ten thousand columns stay readable
CIRCLES = 6  # columns drawn on their circle
ON_CIRCLE = 600  # rows drawn on each circle
LISTED = 8  # rows named in each list
MOST = 26  # clusters with a typical row of their own, the largest
VALUES = 5  # values shown of a named row

METHODS = {"rectified": "Rectified Euler k-means", "mean": "Euler k-means"}


def summary(
    model: Any, X: Any, *, names: ArrayLike | None = None, y: ArrayLike | None = None, title: str | None = None
) -> dict[str, Any]:
    """What the model finds in X: sizes, profiles, separating columns, rows to look at, settings.

    Parameters
    ----------
    model : fitted EulerKMeans or RectifiedEulerKMeans
    X : table
        The table it was fitted on, or another with the same columns.
    names : (n_features,) column names; by default those the model saw, else x0, x1, ...
    y : (n_samples,) known classes, to compare the clusters with; masked, None or NaN where a row has none; or None
    title : text at the head of the report

    Returns
    -------
    dict
        Of numbers, text, lists and dicts. Its size does not grow with the rows: figures get at most 1200 of them.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.report.summary import summary
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> summary(RectifiedEulerKMeans(2, random_state=0).fit(X), X)["sizes"]
    [2, 2]
    """
    look = looked(model, X)
    if not isinstance(model._assign(), Hard):
        raise TypeError(f"a report tells of hard clusters only; got {type(model).__name__}: draw its displays.")
    own = own_fit(model, look)
    columns = column_names(model, names)
    order = look.columns(None, COLUMNS)  # most separating first
    with workers(model) as pool:
        features = list(pool.map(lambda j: feature(model, look, columns, j), order))
    told = {
        "title": title or f"{len(look.sizes)} clusters of {len(look.labels):,} rows",
        "table": table(look),
        "own_fit": own,
        "method": method(model, look, own),
        "sizes": look.sizes,
        "features": features,
        "circles": circles(model, look, columns, order[:CIRCLES]),
        "map": plane(look),
        "history": {name: values[:1000] for name, values in model.history_.items()} if own else {},
        "kappa": {"model": model.deviation_, "mean": deviation_degree(look.lengths)},
        "rows": listed(look, columns, order[:VALUES]),
        "left_out": left_out(look, columns),
        "classes": None if y is None else classes(y, look),
        "repeat": repeat(model, own),
    }
    return plain(told)


def table(look: Look) -> dict[str, Any]:
    """Size of the table and of what figures draw of it."""
    n, d = look.X.shape
    return {"rows": n, "columns": d, "described": min(d, COLUMNS), "drawn": len(look.drawn())}


def own_fit(model: Any, look: Look) -> bool:
    """Whether this is the table that the model was fitted on: its labels and its objective, bit for bit.

    Labels alone do not tell: with one cluster all tables of a length share them. The objective alone does not see the
    order of rows. A fit with row weights has another objective, and its report would tell of a run without them.
    """
    fitted = hasattr(model, "labels_") and hasattr(model, "history_")
    return fitted and np.array_equal(model.labels_, look.labels) and model.inertia_ == look.objective


def method(model: Any, look: Look, own: bool) -> dict[str, Any]:
    """How the rows were clustered, and how it went if that was in the model's own fit."""
    return {
        "name": METHODS[model.centroids],
        "estimator": type(model).__name__,
        "clusters": len(look.sizes),
        "alpha": model.alpha_,
        "scale": model.scale,
        "beyond": look.kernel.beyond,
        "init": model.init if isinstance(model.init, str) else "given",
        "n_init": model.n_init,
        "passes": model.n_iter_ if own else None,
        "seconds": sum(model.history_["seconds"]) if own else None,
        "objective": look.objective,
    }


def feature(model: Any, look: Look, columns: list[str], j: int) -> dict[str, Any]:
    """One column: its overall spread, each cluster's centre in its units, and how well it separates."""
    x = look.column(j)
    spread = np.quantile(x, list(QUANTILES.values()), overwrite_input=True) if len(x) else [math.nan] * len(QUANTILES)
    return {
        "name": columns[j],
        "column": int(j),
        "separation": look.separation[j],
        **dict(zip(QUANTILES, spread, strict=True)),
        "min": x.min() if len(x) else math.nan,
        "max": x.max() if len(x) else math.nan,
        "centres": model.cluster_centers_[:, j],
    }


def circles(model: Any, look: Look, columns: list[str], features: Array) -> dict[str, Any]:
    """Phases in half-turns of the drawn rows and the centroids a + ib, for these columns."""
    numbers = look.drawn(ON_CIRCLE)
    kernel, scale = look.kernel, look.kernel.scale
    phases = kernel.position(look.rows(numbers))[:, features]  # (m, f)
    low, high = (end.reduce(phases, axis=0) for end in (np.fmin, np.fmax))
    return {
        "labels": look.labels[numbers],
        "features": [
            {
                "name": columns[j],
                "column": int(j),
                "turns": np.round(np.mod(phases[:, at], 2), 4),
                "centroids": [[round(m.real, 6), round(m.imag, 6)] for m in model.centroids_[:, j]],
                "origin": scale.centre[j],  # the value at angle 0
                "half_turn": scale.unit[j] / kernel.alpha,  # the step of values that turns half a circle
                "low": scale.centre[j] + low[at] * scale.unit[j] / kernel.alpha,
                "high": scale.centre[j] + high[at] * scale.unit[j] / kernel.alpha,
            }
            for at, j in enumerate(features)
        ],
    }


def plane(look: Look) -> dict[str, Any]:
    """The first two principal components of the drawn mapped rows; a missing value counts as its centroid's."""
    numbers = look.drawn()
    own = look.labels[numbers]
    F = look.kernel.whole(look.kernel.embed(look.rows(numbers)), look.C[own]) / GRID  # (m, 2d)
    middle = F.mean(axis=0)
    A = F - middle
    S = A @ A.T if len(A) < A.shape[1] else A.T @ A  # the smaller of the two; their eigenvalues are the same
    values, vectors = eigh(S, subset_by_index=[max(len(S) - 2, 0), len(S) - 1])
    axes = (vectors if len(S) == A.shape[1] else A.T @ vectors)[:, ::-1]  # (2d, 2)
    axes = axes / np.maximum(np.linalg.norm(axes, axis=0), 1e-300)
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])  # of two mirror images always the same
    axes = np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))
    share = np.maximum(values[::-1], 0) / max(np.trace(S), 1e-300)
    return {
        "labels": own,
        "points": np.round(A @ axes, 4),
        "centroids": np.round((look.C / GRID - middle) @ axes, 4),
        "share": np.pad(share, (0, 2 - len(share))),
    }


def listed(look: Look, columns: list[str], features: Array) -> dict[str, Any]:
    """Rows to look at: typical of each cluster, doubtful between two, unlike any centre."""
    k = len(look.sizes)
    each = max(1, LISTED // k)
    largest = np.argsort(-look.sizes, kind="stable")[:MOST]
    typical = [np.flatnonzero(look.labels == c) for c in np.sort(largest)]
    typical = [own[_first(-look.score[own], each)] for own in typical]
    doubtful = _first(look.margin, LISTED) if k > 1 else np.empty(0, np.intp)
    unusual = _first(look.score, LISTED)
    chosen = {"typical": np.concatenate(typical), "doubtful": doubtful, "unusual": unusual}
    return {
        "columns": [columns[j] for j in features],
        **{name: [_row(look, features, i) for i in numbers] for name, numbers in chosen.items()},
    }


def _row(look: Look, features: Array, i: Any) -> dict[str, Any]:
    """One row of the table: its number, cluster, score, margin, runner-up and some values."""
    F = look.kernel.embed(look.rows(np.array([i])))
    near = np.argsort(look.kernel.distance(F, look.C)[0], kind="stable")
    return {
        "row": int(i),
        "cluster": int(look.labels[i]),
        "next": int(near[1]) if len(near) > 1 else None,
        "score": look.score[i],
        "margin": look.margin[i],
        "values": look.rows(np.array([i]))[0, features],
    }


def _first(values: Array, count: int) -> Array:
    """Places of the smallest values, in order, the first of several first; without sorting them all."""
    if len(values) <= count:
        return np.argsort(values, kind="stable")
    bound = np.partition(values, count - 1)[count - 1]
    some = np.flatnonzero(values <= bound)
    return some[np.argsort(values[some], kind="stable")][:count]


def left_out(look: Look, columns: list[str]) -> dict[str, Any]:
    """Values missing and beyond the scale's bounds, per column that has any."""
    missing, beyond, scale = look.sums.missing, look.sums.beyond, look.kernel.scale
    worst = np.argsort(-(missing + beyond), kind="stable")[:COLUMNS]
    return {
        "missing": missing.sum(),
        "beyond": beyond.sum(),
        "cells": look.X.shape[0] * look.X.shape[1],
        "rows": look.sums.silent,
        "rule": look.kernel.beyond,
        "columns": [
            {"name": columns[j], "missing": missing[j], "beyond": beyond[j], "low": scale.low[j], "high": scale.high[j]}
            for j in worst
            if missing[j] + beyond[j]
        ],
        "columns_with_any": (missing + beyond > 0).sum(),
    }


def repeat(model: Any, own: bool) -> dict[str, Any]:
    """Settings, versions and the lines of Python that make the same clusters again."""
    settings = {name: _shown(value) for name, value in model.get_params(deep=False).items()}
    defaults = {name: p.default for name, p in inspect.signature(type(model)).parameters.items()}
    given = [f"{name}={value!r}" for name, value in settings.items() if _shown(defaults[name]) != value]
    kind = type(model).__name__
    fit = [f"from rekmeans import {kind}", "", f"model = {kind}({', '.join(given)}).fit(X)", "model.labels_"]
    use = ["from rekmeans import load", "", 'model = load("model.safetensors")', "labels = model.predict(X)"]
    return {
        "settings": settings,
        "python": fit if own else use,
        "exact": not own or (model.random_state is not None and isinstance(model.init, str)),
        "versions": {
            "rekmeans": __version__,
            "Python": platform.python_version(),
            "NumPy": np.__version__,
            "SciPy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "system": f"{platform.system()} {platform.machine()}",
        },
    }


def _shown(value: Any) -> Any:
    """A setting as plain data; what is not, by the name of its type."""
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else f"<{type(value).__name__}>"


def column_names(model: Any, names: ArrayLike | None) -> list[str]:
    """Column names: given, those of fit, or x0, x1, ..."""
    if names is None:
        return [str(name) for name in _check_feature_names_in(model)]
    if np.shape(names) != (model.n_features_in_,):
        came = np.shape(names)[0] if np.ndim(names) == 1 else f"{names!r:.60}"
        raise ValueError(f"names must be {model.n_features_in_}, one for each column, got {came}.")
    return [str(name) for name in np.asarray(names)]


def plain(value: Any) -> Any:
    """Lists, dicts, numbers and text of it; None for what is no finite number."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item) for item in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
