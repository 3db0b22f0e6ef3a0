"""Benchmark against scikit-learn's KMeans: default parameters, then identical rows and starts."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .. import __version__
from .._grid import Array
from ..estimators import EulerKMeans, EulerMap, RectifiedEulerKMeans

# rows, columns, clusters
FIRST_SIZES = ((500, 8, 5), (20_000, 16, 10), (200_000, 20, 10), (100_000, 16, 50))
# rows, columns, clusters
SIZES = ((20_000, 8, 8), (100_000, 16, 16), (50_000, 64, 50), (200_000, 32, 100))
MAX_ROUNDS = 5  # maximum number of alternating runs; the median is reported
MAX_PASSES_RACED = 50  # max_iter of both libraries
# seconds, split evenly among the sizes; a round that would exceed its share is skipped
BUDGET = 50.0
MAP: dict[str, Any] = {"alpha": 0.9, "scale": "range", "beyond": "wrap"}


class FirstFit(NamedTuple):
    """Median seconds from table to labels, and the agreement with the true groups."""

    rows: int
    columns: int
    clusters: int
    rounds: int
    sklearn: float
    rekmeans: float
    sklearn_score: float  # adjusted Rand index
    rekmeans_score: float


class Race(NamedTuple):
    """Median seconds of both libraries for one table size."""

    rows: int
    columns: int
    clusters: int
    passes: int
    rounds: int
    sklearn: float
    rekmeans: float
    same: float  # share of rows with the same label


def first_fits(show_step: Callable[[str], None] = lambda what: None) -> Iterator[FirstFit]:
    """Time fits with default parameters (except k), including scaling, for each table size."""
    for n, d, k in FIRST_SIZES:
        show_step(f"first fit of {n:,} rows, {d} columns, {k} clusters")
        X, groups = make_blobs(n, d, centers=k, cluster_std=4.0, random_state=0)
        ours = RectifiedEulerKMeans(k, random_state=0)
        theirs = make_pipeline(StandardScaler(), KMeans(k, random_state=0))
        seconds = _alternate(ours, X, theirs, X, BUDGET / len(FIRST_SIZES))
        scores = (
            adjusted_rand_score(groups, labels) for labels in (theirs[-1].labels_, ours.labels_)
        )
        yield FirstFit(n, d, k, len(seconds), *_medians(seconds), *scores)


def races(show_step: Callable[[str], None] = lambda what: None) -> Iterator[Race]:
    """Time fits of the same mapped rows for each table size.

    Only the times of rekmeans include the mapping.
    """
    for n, d, k in SIZES:
        show_step(f"{n:,} rows, {d} columns, {k} clusters")
        X = make_blobs(n, d, centers=k, cluster_std=4.0, random_state=0)[0].astype(np.float32)
        start = X[np.random.default_rng(0).choice(n, k, replace=False)]
        mapping = EulerMap(**MAP).fit(X)
        F, C = (mapping.transform(rows).astype(np.float32) for rows in (X, start))
        yield race(
            EulerKMeans(k, init=start, max_iter=MAX_PASSES_RACED, **MAP),
            X,
            KMeans(k, init=C, n_init=1, max_iter=MAX_PASSES_RACED, tol=0),
            F,
        )


def race(ours: Any, X: Array, theirs: Any, F: Array) -> Race:
    """Fit both libraries in turn until the time budget is used up."""
    seconds = _alternate(ours, X, theirs, F, BUDGET / len(SIZES))
    same = float((ours.labels_ == theirs.labels_).mean())
    n, d = X.shape
    return Race(n, d, ours.n_clusters, ours.n_iter_, len(seconds), *_medians(seconds), same)


def _alternate(
    ours: Any, X: Array, theirs: Any, F: Array, budget: float
) -> list[tuple[float, float]]:
    """Return the times of scikit-learn and rekmeans in each round, in seconds."""
    for model, rows in ((ours, X), (theirs, F)):
        model.fit(rows)  # starts thread pools; not timed
    seconds: list[tuple[float, float]] = []
    end = perf_counter() + budget
    while len(seconds) < MAX_ROUNDS and (not seconds or perf_counter() + sum(seconds[-1]) < end):
        seconds.append((_seconds(theirs, F), _seconds(ours, X)))
    return seconds


def _medians(seconds: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the median times of scikit-learn and rekmeans, in seconds."""
    theirs, ours = zip(*seconds, strict=True)
    return median(theirs), median(ours)


def _seconds(model: Any, rows: Array) -> float:
    started = perf_counter()
    model.fit(rows)
    return perf_counter() - started


def machine() -> str:
    """Return a description of the machine and the library versions."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or platform.machine()
    versions = (
        f"rekmeans {__version__}, scikit-learn {sklearn.__version__}, Python "
        f"{platform.python_version()}"
    )
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}; {versions}"
