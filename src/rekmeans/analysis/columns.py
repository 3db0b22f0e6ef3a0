"""Columns of a table: their spread, centres, circles, and missing or ignored values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_feature_names_in

from .._grid import Array
from ..scales.left_out import IgnoredValues
from .fit_analysis import FitAnalysis

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
# columns that are described one by one, to keep the report on a wide table readable
MAX_COLUMNS_DESCRIBED = 100
ROWS_ON_CIRCLE = 600  # rows drawn on each circle
MAX_HISTOGRAMS = 4  # columns with a histogram of kept and ignored values
ROUNDING = 1e-9  # half-turns: bound of the rounding error of a value
HISTOGRAM_BINS = 48  # bins of all kept intervals of a column together


def column_names(model: Any, names: ArrayLike | None) -> list[str]:
    """Return the given column names, those of the fit, or x0, x1, ..."""
    if names is None:
        return [str(name) for name in _check_feature_names_in(model)]
    if np.shape(names) != (model.n_features_in_,):
        got = f"{np.shape(names)[0]} names" if np.ndim(names) == 1 else f"{names!r:.60}"
        raise ValueError(
            f"names must have one name for each of the {model.n_features_in_} columns, got {got}."
        )
    return [str(name) for name in np.asarray(names)]


def column_profile(analysis: FitAnalysis, names: list[str], column: int) -> dict[str, Any]:
    """Return the spread of a column, its cluster centres in its units, and its separation."""
    x = analysis.column_values(column)
    spread = (
        np.quantile(x, list(QUANTILES.values()), overwrite_input=True)
        if len(x)
        else [math.nan] * len(QUANTILES)
    )
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
    """Return the phases of the rows to draw, in half-turns, and the centroids of each column."""
    kernel = analysis.kernel
    numbers = analysis.rows_to_draw(ROWS_ON_CIRCLE)
    phases = kernel.coordinates(analysis.dense_rows(numbers))  # (m, d)
    circles = [
        {
            "name": names[j],
            "column": int(j),
            "turns": np.round(np.mod(phases[:, j], 2), 4),
            "centroids": [
                [round(m.real, 6), round(m.imag, 6)] for m in analysis.model.centroids_[:, j]
            ],
            # the difference of values that is half a turn
            "half_turn": 1 / kernel.rates[j],
            "arcs": list(_arcs(kernel, j, phases[:, j])),
        }
        for j in columns
    ]
    return {"labels": analysis.labels[numbers], "features": circles}


def _arcs(kernel: Any, column: int, phases: Array) -> Iterator[dict[str, float]]:
    """Yield the smallest and largest value of each kept interval that has rows, and its origin.

    The origin is the value at angle 0 if the interval extends to it.
    """
    half_turn = 1 / kernel.rates[column]
    scale = kernel.scale
    intervals = zip(scale.low[column], scale.high[column], scale.shift[column], strict=True)
    for low, high, shift in (
        intervals if kernel.beyond != "wrap" else [(-np.inf, np.inf, scale.origin[column])]
    ):
        values = shift + phases * half_turn
        tolerance = ROUNDING * half_turn
        inside = values[(values >= low - tolerance) & (values <= high + tolerance)]
        if len(inside):
            yield {"origin": shift, "low": inside.min(), "high": inside.max()}


def missing_and_beyond(analysis: FitAnalysis, names: list[str]) -> dict[str, Any]:
    """Return counts of missing values and of values outside the kept intervals, with notes."""
    missing = analysis.sums.missing
    beyond = analysis.sums.beyond
    n = analysis.table.n_rows
    most_affected = np.argsort(-(missing + beyond), kind="stable")[:MAX_COLUMNS_DESCRIBED]
    ignored = IgnoredValues(
        analysis.kernel.scale,
        shares=beyond / np.maximum(n - missing, 1),
        n_rows=n,
        n_in_several=analysis.sums.in_several,
        n_uninformative=analysis.sums.uninformative,
    )
    is_ignored = analysis.kernel.beyond == "ignore"
    # the columns with the most kept intervals, then those with the most values outside them
    n_intervals = np.count_nonzero(~np.isnan(analysis.kernel.scale.low), axis=1)
    order = np.lexsort((-beyond, -n_intervals))
    drawn = order[(n_intervals > 1)[order] | (beyond > 0)[order]][:MAX_HISTOGRAMS]
    return {
        "missing": missing.sum(),
        "beyond": beyond.sum(),
        "cells": n * analysis.table.n_columns,
        "rows": analysis.sums.uninformative,
        "rows_in_several_columns": analysis.sums.in_several,
        "rule": analysis.kernel.beyond,
        "notes": ignored.messages(names) if is_ignored else [],
        "columns": [
            _column_counts(analysis, names, j) for j in most_affected if missing[j] + beyond[j]
        ],
        "columns_with_any": (missing + beyond > 0).sum(),
        "histograms": [column_histogram(analysis, names, j) for j in drawn if is_ignored],
    }


def _column_counts(analysis: FitAnalysis, names: list[str], column: int) -> dict[str, Any]:
    """Return the kept intervals of a column, and its numbers of missing and outside values."""
    intervals = kept_intervals(analysis, column)
    return {
        "name": names[column],
        "missing": analysis.sums.missing[column],
        "beyond": analysis.sums.beyond[column],
        "low": intervals[0][0],
        "high": intervals[-1][1],
        "kept": intervals,
    }


def kept_intervals(analysis: FitAnalysis, column: int) -> list[tuple[float, float]]:
    """Return the kept intervals of a column in ascending order."""
    scale = analysis.kernel.scale
    ends = zip(scale.low[column].tolist(), scale.high[column].tolist(), strict=True)
    return sorted((low, high) for low, high in ends if not math.isnan(low))


def column_histogram(analysis: FitAnalysis, names: list[str], column: int) -> dict[str, Any]:
    """Return counts of values in bins of the kept intervals, and below, between and above them."""
    x = analysis.table.column(column)
    x = np.sort(x[~np.isnan(x)])
    if not len(x):
        return {"name": names[column], "column": int(column), "intervals": [], "left_out": []}
    intervals = [
        (max(low, x[0]), min(high, x[-1])) for low, high in kept_intervals(analysis, column)
    ]
    intervals = [(low, high) for low, high in intervals if low <= high]
    first = np.searchsorted(x, [low for low, _ in intervals], side="left")
    last = np.searchsorted(x, [high for _, high in intervals], side="right")
    whole = sum(high - low for low, high in intervals)
    return {
        "name": names[column],
        "column": int(column),
        "intervals": [
            {"low": low, "high": high, "counts": _bin_counts(x[a:b], low, high, whole)}
            for (low, high), a, b in zip(intervals, first, last, strict=True)
        ],
        "left_out": np.append(first, len(x)) - np.insert(last, 0, 0),
    }


def _bin_counts(values: Array, low: float, high: float, whole: float) -> Array:
    """Return counts in equal bins of an interval; `whole` is the width of all intervals."""
    n_bins = max(1, round(HISTOGRAM_BINS * (high - low) / whole)) if whole > 0 else 1
    edges = np.linspace(low, high, n_bins + 1)
    return np.diff(
        np.searchsorted(values, edges[1:-1], side="right"), prepend=0, append=len(values)
    )
