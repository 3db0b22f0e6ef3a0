"""Columns of the table: their spread, centres, circles, and what is missing or outside the bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_feature_names_in

from .._grid import Array
from .fit_analysis import FitAnalysis

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
MAX_COLUMNS_DESCRIBED = 100  # columns described one by one: tables of ten thousand columns stay readable
ROWS_ON_CIRCLE = 600  # rows drawn on each circle


def column_names(model: Any, names: ArrayLike | None) -> list[str]:
    """Column names: given, those of fit, or x0, x1, ..."""
    if names is None:
        return [str(name) for name in _check_feature_names_in(model)]
    if np.shape(names) != (model.n_features_in_,):
        got = np.shape(names)[0] if np.ndim(names) == 1 else f"{names!r:.60}"
        raise ValueError(f"names must be {model.n_features_in_}, one for each column, got {got}.")
    return [str(name) for name in np.asarray(names)]


def column_profile(analysis: FitAnalysis, names: list[str], column: int) -> dict[str, Any]:
    """One column: its overall spread, each cluster's centre in its units, and how well it separates."""
    x = analysis.column_values(column)
    spread = np.quantile(x, list(QUANTILES.values()), overwrite_input=True) if len(x) else [math.nan] * len(QUANTILES)
    return {
        "name": names[column],
        "column": int(column),
        "separation": analysis.separation[column],
        **dict(zip(QUANTILES, spread, strict=True)),
        "min": x.min() if len(x) else math.nan,
        "max": x.max() if len(x) else math.nan,
        "centres": analysis.model.cluster_centers_[:, column],
    }


def circle_coordinates(analysis: FitAnalysis, names: list[str], columns: Array) -> dict[str, Any]:
    """Phases in half-turns of the rows to draw, and the centroids a + ib, for each of these columns."""
    numbers = analysis.rows_to_draw(ROWS_ON_CIRCLE)
    phases = analysis.phases(numbers)[:, columns]  # (m, columns)
    return {
        "labels": analysis.labels[numbers],
        "features": [_circle(analysis, names[j], j, phases[:, at]) for at, j in enumerate(columns)],
    }


def _circle(analysis: FitAnalysis, name: str, column: int, phases: Array) -> dict[str, Any]:
    """One column's circle: phases and centroids, and which value has which angle."""
    kernel = analysis.kernel
    origin, half_turn = kernel.scale.origin[column], 1 / kernel.rates[column]
    return {
        "name": name,
        "column": int(column),
        "turns": np.round(np.mod(phases, 2), 4),
        "centroids": [[round(m.real, 6), round(m.imag, 6)] for m in analysis.model.centroids_[:, column]],
        "origin": origin,  # the value at angle 0
        "half_turn": half_turn,  # the step of values that turns half a circle
        "low": origin + np.fmin.reduce(phases) * half_turn,
        "high": origin + np.fmax.reduce(phases) * half_turn,
    }


def missing_and_beyond(analysis: FitAnalysis, names: list[str]) -> dict[str, Any]:
    """Values missing and outside the scale's bounds, per column that has any."""
    missing, beyond, scale = analysis.sums.missing, analysis.sums.beyond, analysis.kernel.scale
    low, high = scale.bounds
    most_affected = np.argsort(-(missing + beyond), kind="stable")[:MAX_COLUMNS_DESCRIBED]
    return {
        "missing": missing.sum(),
        "beyond": beyond.sum(),
        "cells": analysis.table.n_rows * analysis.table.n_columns,
        "rows": analysis.sums.uninformative,
        "rule": analysis.kernel.beyond,
        "columns": [
            {"name": names[j], "missing": missing[j], "beyond": beyond[j], "low": low[j], "high": high[j]}
            for j in most_affected
            if missing[j] + beyond[j]
        ],
        "columns_with_any": (missing + beyond > 0).sum(),
    }
