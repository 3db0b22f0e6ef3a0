"""The analysis of a fit: labels, scores and sums from one pass of a fitted model over a table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .._grid import GRID, Array
from ..assignment import Hard
from ..estimators.placement import fitted_centroids, place_fitted
from ..kernels.euler import CircleSums, OnCircles
from ..table.validation import reject_table_on_device
from ..threads import count_threads

BLOCK_CELLS = 1 << 19  # cells of a block: small, because each thread makes a few copies
MAX_THREADS = 8  # blocks at a time; more blocks only use more memory
MAX_ROWS_DRAWN = 1200  # rows drawn in a figure; more rows only make it darker


@dataclass(frozen=True)
class TableSums:
    """Sums over all rows."""

    totals: Array  # (k, 2d) sums of the mapped rows of each cluster, in grid units
    observed: Array  # (k, d) number of values of each cluster that are not ignored
    missing: Array  # (d,) number of missing values
    beyond: Array  # (d,) number of values outside the kept intervals of the scale
    in_several: int  # number of rows with such values in two columns or more
    uninformative: int  # number of rows without a kept value


@dataclass(frozen=True)
class FitAnalysis:
    """Labels, scores and sums of a fitted model on a table X of n rows and d columns."""

    model: Any
    kernel: Any  # the fitted kernel
    table: Any  # (n, d), in memory
    C: OnCircles
    is_hard: bool  # each row belongs to one cluster
    labels: Array  # (n,) int32
    scores: Array  # (n,) cosine of a row and its centroid, 1 at the centroid
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
        """Return the numbers of rows to draw: all rows, or a share of each cluster.

        The share consists of evenly spaced rows after sorting by cluster.
        """
        n = len(self.labels)
        if n <= most:
            return np.arange(n)
        order = np.argsort(self.labels, kind="stable")
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
    blocks = (table.dense(at) for at in table.blocks(max(1, BLOCK_CELLS // table.n_columns)))
    with threadpool_limits(1), thread_pool(model) as pool:
        counts = list(pool.map(partial(_missing_and_beyond, kernel), blocks))
        scores, margins = rows.map_blocks(scores_and_margins).T
    missing, beyond, in_several = (sum(parts) for parts in zip(*counts, strict=True))
    n_uninformative = int((rows.weights() == 0).sum())
    labels = run.labels()
    return FitAnalysis(
        model=model,
        kernel=kernel,
        table=table,
        C=C,
        is_hard=placed.model.assignment.is_hard,
        labels=labels,
        scores=scores,
        margins=margins,
        sizes=np.bincount(labels, minlength=len(C)),
        inertia=float(found.loss * kernel.loss_unit),
        sums=TableSums(found.totals, found.observed, missing, beyond, in_several, n_uninformative),
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
