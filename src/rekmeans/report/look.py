"""One look at a table through a fitted model: sums over blocks that add, and what each row says of itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from os import cpu_count
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .. import _table
from .._grid import GRID, Array, grid_centroids
from .._sums import Sums
from ..assign import Hard
from ..kernels.euler import Euler

CELLS = 1 << 19  # cells mapped at a time by one thread: some ten copies of a block stay below 100 MB
WORKERS = 8  # blocks at a time; more only take memory
DRAWN = 1200  # rows drawn in a figure; more only darken it


@dataclass(frozen=True)
class Look:
    """What a model sees in a table X of n rows and d columns."""

    X: Any  # (n, d), dense or CSR
    labels: Array  # (n,) int32
    score: Array  # (n,) cosine between a row and its centroid: 1 at the centroid
    margin: Array  # (n,) 1 - nearest/second nearest distance: 0 on the border between two clusters; NaN for k = 1
    sums: Sums  # totals (k, 2d), seen (k, d), mass (k,), loss; missing (d,), beyond (d,), silent
    kernel: Any
    C: Array  # (k, 2d) centroids on the grid

    @cached_property
    def sizes(self) -> Array:
        """Rows of each cluster, (k,)."""
        return np.bincount(self.labels, minlength=len(self.C))

    @property
    def objective(self) -> float:
        """Sum of squared distances of the rows to their centroids."""
        return float(self.sums.loss * self.kernel.worth)

    @cached_property
    def lengths(self) -> Array:
        """Mean resultant length R of each cluster and column, (k, d); 1 where no value says anything."""
        totals, seen = self.sums.totals.astype(np.float64) / GRID, self.sums.seen.astype(np.float64)
        d = seen.shape[1]
        return np.where(seen > 0, np.hypot(totals[:, :d], totals[:, d:]) / np.where(seen > 0, seen, 1), 1.0)

    @cached_property
    def separation(self) -> Array:
        """Share of each column's circular variance 1 - R that lies between the clusters, (d,) in [0, 1].

        1 - (1 - sum_c n_c R_c / n)/(1 - R): 0 where clusters look alike, 1 where each sits on one angle of its own.
        """
        totals, seen = self.sums.totals.sum(axis=0).astype(np.float64) / GRID, self.sums.seen.astype(np.float64)
        d = seen.shape[1]
        rows = np.maximum(seen.sum(axis=0), 1)
        spread = 1 - np.minimum(np.hypot(totals[:d], totals[d:]) / rows, 1)
        within = 1 - (seen * self.lengths).sum(axis=0) / rows
        some = (spread > 1 / GRID) & (seen.sum(axis=0) > 0)  # less is the grid's rounding, not spread
        return np.where(some, np.clip(1 - within / np.where(some, spread, 1.0), 0, 1), 0.0)

    def columns(self, features: Any, most: int) -> Array:
        """Column numbers: those given, or the most separating where none are."""
        if features is None:
            return np.argsort(-self.separation, kind="stable")[:most]
        d, chosen = self.X.shape[1], np.atleast_1d(features)
        if (
            chosen.ndim != 1
            or chosen.dtype.kind not in "iu"
            or not len(chosen)
            or chosen.min() < 0
            or chosen.max() >= d
        ):
            raise ValueError(f"features must be column numbers from 0 to {d - 1}, got {features!r}: give one or more.")
        return chosen

    def drawn(self, most: int = DRAWN) -> Array:
        """Row numbers to draw: all, or evenly spaced ones of the rows sorted by cluster, so each has its share."""
        n = len(self.labels)
        if n <= most:
            return np.arange(n)
        order = np.argsort(self.labels, kind="stable")
        return np.sort(order[np.linspace(0, n - 1, most).round().astype(np.intp)])

    def rows(self, numbers: Array) -> Array:
        """These rows of the table, dense float64."""
        rows = self.X[numbers]
        return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)

    def column(self, feature: int) -> Array:
        """The values of a column that count: observed, and inside the bounds where those beyond are ignored."""
        x = self.X[:, [feature]].toarray().ravel() if sparse.issparse(self.X) else self.X[:, feature]
        x = np.asarray(x, dtype=np.float64)
        scale = self.kernel.scale
        counts = (
            (x >= scale.low[feature]) & (x <= scale.high[feature]) if self.kernel.beyond == "ignore" else ~np.isnan(x)
        )
        return x[counts]


def looked(model: Any, X: Any) -> Look:
    """One pass over the rows of X, in blocks."""
    check_is_fitted(model)
    if not isinstance(model.kernel_, Euler):
        what = f"a fitted {type(model).__name__} with a kernel of its own"
        raise TypeError(f"the report and its displays show rows on circles, so kernel='euler' only; got {what}.")
    rows = _table.read(model, X, fitting=False).X
    kernel, C = model.kernel_, grid_centroids(model.centroids_)
    n, d = rows.shape
    size = max(1, CELLS // d)
    with threadpool_limits(1), workers(model) as pool:
        blocks = pool.map(lambda at: _block(model, C, rows[at : at + size]), range(0, n, size))
        own, sums = zip(*blocks, strict=True)
    labels, score, margin = (np.concatenate(parts) for parts in zip(*own, strict=True))
    return Look(rows, labels, score, margin, reduce(add, sums), kernel, C)


def workers(model: Any) -> ThreadPoolExecutor:
    """Threads for NumPy's work on blocks or columns."""
    return ThreadPoolExecutor(min(model.n_threads or cpu_count() or 1, WORKERS))


def _block(model: Any, C: Array, block: Any) -> tuple[tuple[Array, Array, Array], Sums]:
    """(labels, score, margin) of these rows, and their sums."""
    kernel = model.kernel_
    X = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
    F = model._place(kernel, _table.Table(X))[0].each(np.asarray)  # (m, 2d) by the model's engine
    silent, missing, D = kernel.silent(X), np.isnan(X), kernel.distance(F, C)
    labels, W = Hard()(D, kernel.loss, (~silent).astype(np.int64))
    beyond = (~missing & ~kernel.scale.inside(X)).sum(axis=0)
    counts = Sums(missing=missing.sum(axis=0), beyond=beyond, silent=int(silent.sum()))
    sums = Sums(**vars(kernel.pull(F, C, D, W)), **vars(counts))
    return (labels, kernel.likeness(F, C, labels), _margins(D, labels)), sums


def _margins(D: Array, own: Array) -> Array:
    """1 - sqrt(nearest/second nearest), (n,); 0 where both are 0, NaN with one cluster."""
    if D.shape[1] == 1:
        return np.full(len(D), np.nan)
    nearest, others = np.take_along_axis(D, own[:, None], 1)[:, 0].astype(np.float64), D.astype(np.float64)
    np.put_along_axis(others, own[:, None], np.inf, 1)
    second = others.min(axis=1)
    return 1 - np.sqrt(np.where(second > 0, nearest / np.where(second > 0, second, 1.0), 1.0))
