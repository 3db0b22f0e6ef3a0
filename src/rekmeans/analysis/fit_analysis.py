"""The analysis of a fit: labels, scores and sums from one pass over a table, and its columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted
from threadpoolctl import threadpool_limits

from .. import lloyd
from .._grid import GRID, Array
from ..assignment import Hard
from ..estimators.placement import fitted_centroids, place_fitted
from ..kernels.euler import CircleSums, OnCircles
from ..scales.left_out import IgnoredValues
from ..table.empty_rows import NO_LABEL, count_labels
from ..table.validation import reject_table_on_device
from ..threads import count_threads

BLOCK_CELLS = 1 << 19  # cells per block; kept small, because each thread makes a few copies
MAX_THREADS = 8  # blocks at a time; more blocks only use more memory
MAX_ROWS_DRAWN = 1200  # rows drawn in a figure; more rows only make it darker
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
# columns that are described one by one, to keep the report on a wide table readable
MAX_COLUMNS_DESCRIBED = 100
ROWS_ON_CIRCLE = 600  # rows drawn on each circle
MAX_HISTOGRAMS = 4  # columns with a histogram of kept and ignored values
ROUNDING = 1e-9  # half-turns: bound of the rounding error of a value
HISTOGRAM_BINS = 48  # bins of all kept intervals of a column together


@dataclass(frozen=True)
class TableSums:
    """Sums over all rows."""

    totals: Array  # (k, 2d) sums of the mapped rows of each cluster, in grid units
    observed: Array  # (k, d) number of values of each cluster that are not ignored
    missing: Array  # (d,) number of missing values
    beyond: Array  # (d,) number of values outside the kept intervals of the scale
    in_several: int  # number of rows with such values in two columns or more
    uninformative: int  # number of rows with values, all of them ignored
    empty: int  # number of rows without an observed value


@dataclass(frozen=True)
class FitAnalysis:
    """Labels, scores and sums of a fitted model on a table X of n rows and d columns."""

    model: Any
    kernel: Any  # the fitted kernel
    table: Any  # (n, d), in memory
    C: OnCircles
    is_hard: bool  # each row belongs to one cluster
    labels: Array  # (n,) int32, -1 for rows without an observed value
    # (n,) cosine of a row and its centroid, 1 at the centroid, NaN without an observed value
    scores: Array
    # (n,) 1 - (nearest distance)/(second nearest): 0 between two clusters, NaN for k = 1
    margins: Array
    sizes: Array  # (k,) number of rows of each cluster
    inertia: float  # sum of squared distances of the rows to their centroids
    sums: TableSums

    @cached_property
    def resultant_lengths(self) -> Array:
        """The mean resultant length R of each cluster and column, (k, d), 1 without values."""
        totals = self.sums.totals.astype(np.float64) / GRID
        observed = self.sums.observed.astype(np.float64)
        d = observed.shape[1]
        lengths = np.hypot(totals[:, :d], totals[:, d:]) / np.where(observed > 0, observed, 1)
        return np.where(observed > 0, lengths, 1.0)

    @cached_property
    def separation(self) -> Array:
        """The share of the circular variance 1 - R of each column between the clusters, (d,).

        It is 1 - (1 - sum_c n_c R_c / n)/(1 - R): 0 if the clusters are alike, 1 if the rows of
        each cluster have the same angle.
        """
        totals = self.sums.totals.sum(axis=0).astype(np.float64) / GRID  # (2d,)
        observed = self.sums.observed.astype(np.float64)  # (k, d)
        d = observed.shape[1]
        counts = np.maximum(observed.sum(axis=0), 1)
        spread = 1 - np.minimum(np.hypot(totals[:d], totals[d:]) / counts, 1)
        within = 1 - (observed * self.resultant_lengths).sum(axis=0) / counts
        # a smaller spread is due to rounding to the grid
        has_spread = (spread > 1 / GRID) & (observed.sum(axis=0) > 0)
        return np.where(
            has_spread, np.clip(1 - within / np.where(has_spread, spread, 1.0), 0, 1), 0.0
        )

    def column_numbers(self, features: Any, most: int) -> Array:
        """Return the given column numbers, or those with the largest separation."""
        if features is None:
            return np.argsort(-self.separation, kind="stable")[:most]
        d = self.table.n_columns
        numbers = np.atleast_1d(features)
        are_integers = numbers.ndim == 1 and numbers.dtype.kind in "iu" and len(numbers) > 0
        if not are_integers or numbers.min() < 0 or numbers.max() >= d:
            raise ValueError(
                f"features must be column numbers from 0 to {d - 1}, got {features!r}: pass one "
                f"or more."
            )
        return numbers

    def rows_to_draw(self, most: int = MAX_ROWS_DRAWN) -> Array:
        """Return the numbers of rows to draw: all rows with a label, or a share of each cluster.

        The share consists of evenly spaced rows after sorting by cluster.
        """
        labelled = np.flatnonzero(self.labels != NO_LABEL)
        n = len(labelled)
        if n <= most:
            return labelled
        order = labelled[np.argsort(self.labels[labelled], kind="stable")]
        return np.sort(order[np.linspace(0, n - 1, most).round().astype(np.intp)])

    def dense_rows(self, numbers: Array) -> Array:
        """Return these rows of the table, (m, d) float64."""
        return np.asarray(self.table.dense(numbers), np.float64)

    def column_values(self, column: int) -> Array:
        """Return the values of a column that are neither missing nor ignored."""
        x = self.table.column(column)
        if self.kernel.beyond != "ignore":
            return x[~np.isnan(x)]
        return x[self.kernel.scale.take([column]).inside(x[:, None])[:, 0]]

    def mapped_rows(self, numbers: Array) -> Array:
        """Return these mapped rows, (m, 2d), with missing values replaced by the centroid's."""
        F = self.kernel.embed(self.dense_rows(numbers))
        return self.kernel.from_rows(F, self.C.take(self.labels[numbers])).f / GRID


def check_euler_model(model: Any) -> None:
    """Raise TypeError unless the model is fitted and has the Euler kernel."""
    check_is_fitted(model)
    if not (model.kernel_.is_circular and model.kernel_.has_exact_arithmetic):
        raise TypeError(
            f"the report and its displays support only the Euler kernel; got a fitted "
            f"{type(model).__name__} with another kernel."
        )


def analyse_fit(model: Any, X: Any) -> FitAnalysis:
    """Analyse the rows of X in one pass of a fitted model, on its engine."""
    check_euler_model(model)
    placed = place_fitted(model, X)
    C = fitted_centroids(model)
    kernel = placed.model.kernel
    table = placed.table
    rows = placed.rows
    reject_table_on_device(table, "an analysis")

    def scores_and_margins(F: Array) -> Array:
        D = kernel.distance(F, C)  # (m, k)
        labels = D.argmin(axis=1)
        return np.stack([kernel.centroid_similarity(F, C, labels), row_margins(D, labels)], axis=1)

    with threadpool_limits(model.n_threads):
        run = rows.start_run(replace(placed.model, assignment=Hard()))
        found = cast(CircleSums, run.assign(C).sums.fetch())
    inertia = lloyd.inertia(rows, found.loss)
    unit = 1 << rows.weight_bits  # the weight of a row in the sums
    blocks = (table.dense(at) for at in table.blocks(max(1, BLOCK_CELLS // table.n_columns)))
    with threadpool_limits(1), thread_pool(model) as pool:
        counts = list(pool.map(partial(_missing_and_beyond, kernel), blocks))
        scores, margins = rows.map_blocks(scores_and_margins).T
    missing, beyond, in_several = (sum(parts) for parts in zip(*counts, strict=True))
    labels = table.mark_empty_rows(run.labels())
    n_empty = len(table.empty_rows)
    return FitAnalysis(
        model=model,
        kernel=kernel,
        table=table,
        C=C,
        is_hard=placed.model.assignment.is_hard,
        labels=labels,
        scores=table.mark_empty_rows(scores),
        margins=table.mark_empty_rows(margins),
        sizes=count_labels(labels, len(C)),
        inertia=inertia,
        sums=TableSums(
            found.totals // unit,
            found.observed // unit,
            missing,
            beyond,
            in_several,
            rows.n_uninformative(),
            n_empty,
        ),
    )


def thread_pool(model: Any) -> ThreadPoolExecutor:
    """Return a thread pool for NumPy operations on blocks or columns."""
    return ThreadPoolExecutor(min(count_threads(model.n_threads), MAX_THREADS))


def _missing_and_beyond(kernel: Any, X: Array) -> tuple[Array, Array, int]:
    """Return counts of missing and of outside values by column, (d,), and of rows with several.

    A row is counted if it has at least two values outside the kept intervals.
    """
    missing = np.isnan(X)
    beyond = ~missing & ~kernel.scale.inside(X)
    return (
        missing.sum(axis=0),
        beyond.sum(axis=0),
        int((np.count_nonzero(beyond, axis=1) > 1).sum()),
    )


def row_margins(D: Array, labels: Array) -> Array:
    """Return 1 - sqrt(nearest/second nearest) of squared distances D (n, k), (n,).

    It is 0 if both are 0, and NaN with one cluster.
    """
    if D.shape[1] == 1:
        return np.full(len(D), np.nan)
    nearest = np.take_along_axis(D, labels[:, None], 1)[:, 0].astype(np.float64)
    others = D.astype(np.float64)
    np.put_along_axis(others, labels[:, None], np.inf, 1)
    second = others.min(axis=1)
    return 1 - np.sqrt(np.where(second > 0, nearest / np.where(second > 0, second, 1.0), 1.0))


# columns


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
            "arcs": list(_arcs(kernel, j, phases[:, j])),
        }
        for j in columns
    ]
    return {"labels": analysis.labels[numbers], "features": circles}


def _arcs(kernel: Any, column: int, phases: Array) -> Iterator[dict[str, float]]:
    """Yield the smallest and largest value of each kept interval that has rows, and its map.

    A value of the interval lies at the angle pi (value - origin)/half_turn.
    """
    scale = kernel.scale
    ends = (scale.low, scale.high, scale.shift, 1 / kernel.rates)
    intervals = np.stack([values[column] for values in ends], axis=1)
    if kernel.beyond == "wrap":
        intervals = np.array([[-np.inf, np.inf, *intervals[0, 2:]]])
    for low, high, shift, half_turn in intervals:
        values = shift + phases * half_turn
        tolerance = ROUNDING * half_turn
        inside = values[(values >= low - tolerance) & (values <= high + tolerance)]
        if len(inside):
            ends_of_rows = {"low": inside.min(), "high": inside.max()}
            yield {"origin": shift, "half_turn": half_turn} | ends_of_rows


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
    # the columns with the most kept ranges, then those with the most values outside them
    scale = analysis.kernel.scale
    n_ranges = np.array([len(scale.kept_ranges(column)) for column in range(scale.n_columns)])
    order = np.lexsort((-beyond, -n_ranges))
    drawn = order[(n_ranges > 1)[order] | (beyond > 0)[order]][:MAX_HISTOGRAMS]
    return {
        "missing": missing.sum(),
        "beyond": beyond.sum(),
        "cells": n * analysis.table.n_columns,
        "rows": analysis.sums.uninformative,
        "rows_without_values": analysis.sums.empty,
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
    """Return the kept ranges of a column, and its numbers of missing and outside values."""
    ranges = analysis.kernel.scale.kept_ranges(column)
    return {
        "name": names[column],
        "missing": analysis.sums.missing[column],
        "beyond": analysis.sums.beyond[column],
        "low": ranges[0][0],
        "high": ranges[-1][1],
        "kept": ranges,
    }


def column_histogram(analysis: FitAnalysis, names: list[str], column: int) -> dict[str, Any]:
    """Return counts of values in bins of the kept intervals, and below, between and above them."""
    x = analysis.table.column(column)
    x = np.sort(x[~np.isnan(x)])
    if not len(x):
        return {"name": names[column], "column": int(column), "intervals": [], "left_out": []}
    intervals = [
        (max(low, x[0]), min(high, x[-1]))
        for low, high in analysis.kernel.scale.kept_ranges(column)
        if low <= x[-1] and high >= x[0]
    ]
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
