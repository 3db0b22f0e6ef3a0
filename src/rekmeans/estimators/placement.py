"""Placement of a table on an engine: the fitted scale, width and kernel, the stages, the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import lloyd
from .._grid import Array
from .._parameters import check_bytes, reject_periods
from ..assignment import Hard
from ..centroids import CENTROIDS
from ..engines import (
    ENGINES,
    Rows,
    choose_engine,
    place_by_definition,
    summarize_columns,
)
from ..model import Model, Stop
from ..scales import NO_COLUMNS
from ..seeding import plus_plus
from ..table import ColumnSummary, MemoryTable, Table
from ..table.validation import reject_missing_values

MIN_UNIT = np.finfo(float).tiny  # the inverse of a smaller loss overflows
UNIT_PASSES = 100  # passes of the fit with a single cluster
# the default width: gamma = 1/(2 m), m the median distance of a row to the nearest of k rows
GAMMA_ROWS = 1 << 12  # maximum size of the sample
GAMMA_SEED = 0  # constant, so that the width depends on the table only
MEDIAN_DISTANCE = 0.5  # gamma times the median distance; 1.0 gives worse fits of clean tables
MIN_DISTANCE = np.finfo(float).tiny  # smaller distances count as 0, because their inverse overflows
FLAT_EXPONENT = -30  # losses equal distances up to 1e-9 if all distances are below 2^-30


class Placement(NamedTuple):
    """The rows of a table on an engine, and the model of each stage of a fit.

    The last model is used for predictions.
    """

    table: Table
    summary: ColumnSummary
    rows: Rows
    stages: tuple[Model, ...]
    engine: str

    @property
    def model(self) -> Model:
        return self.stages[-1]


@dataclass(frozen=True)
class FitPreparation:
    """The settings of a fit that `Kernel.prepared` needs."""

    n_clusters: int
    rule: str
    n_threads: int | None
    memory_limit: int | None
    engine: str
    tol: float

    def auto_gamma(self, kernel: Any, table: Table) -> float:
        return auto_gamma(kernel, table, self.n_clusters)

    def one_cluster_loss(self, kernel: Any, table: Table, middle: Array) -> float:
        model = Model(kernel, Hard(), CENTROIDS[self.rule])
        engine = choose_engine(self.engine, ENGINES, [model], table)
        rows = engine.place([model], table, self.n_threads, self.memory_limit)
        fit = lloyd.run(rows, model, kernel.from_points(middle[None]), Stop(UNIT_PASSES, self.tol))
        unit = float(fit.loss) * kernel.loss_unit / float(rows.weights().sum())
        return unit if unit > MIN_UNIT else 1.0


def auto_gamma(kernel: Any, table: Table, k: int) -> float:
    """Return the width at which the median distance to the nearest of k rows is 1/2.

    The k rows are spread over the table by greedy k-means++.
    """
    sample = table.sample(GAMMA_ROWS, GAMMA_SEED)
    X = sample.dense(slice(None))
    flat = _flat_kernel(kernel, X)
    rows = place_by_definition(flat, MemoryTable(X, sample.weights))
    if not rows.weights().any():
        return 1.0
    C = plus_plus(rows, min(k, len(rows)), np.random.PCG64(GAMMA_SEED))
    distances = rows.map_blocks(lambda F: flat.distance(F, C).min(axis=1)) / flat.gamma
    median = _positive_median(distances, rows.weights())
    return MEDIAN_DISTANCE / median if median > MIN_DISTANCE else 1.0


def _flat_kernel(kernel: Any, X: Array) -> Any:
    """Return the kernel with gamma a power of 2 so small that its losses equal distances."""
    F = kernel.within_bounds().embed(X)
    unit = replace(kernel, gamma=1.0)
    middle = kernel.from_points(kernel.scale.middle[None])
    largest = float(unit.distance(F, kernel.from_rows(F[:1], middle)).max())
    exponent = math.frexp(max(largest, MIN_DISTANCE))[1]
    return replace(kernel, gamma=math.ldexp(1.0, FLAT_EXPONENT - exponent))


def _positive_median(values: Array, weights: Array) -> float:
    """Return the weighted median of the positive values (0 is the distance of the k rows)."""
    some = (weights > 0) & (values > 0)
    return (
        float(np.quantile(values[some], 0.5, weights=weights[some], method="inverted_cdf"))
        if some.any()
        else 0.0
    )


def place_for_fit(estimator: Any, X: Any, sample_weight: ArrayLike | None = None) -> Placement:
    """Place the rows of X for a fit of the estimator."""
    return place_table(estimator, estimator._read_table(X, sample_weight, fitting=True))


def place_table(estimator: Any, table: Table) -> Placement:
    """Place the rows of a table for a fit of the estimator.

    An error for a fit that no engine supports is raised before any work is done.
    """
    prototype = estimator._make_kernel(NO_COLUMNS)
    prototype.check_table(table)
    if not prototype.supports_missing:
        _reject_missing_values(estimator, prototype, table)
    engine = choose_engine(estimator.engine, ENGINES, estimator._make_stages(prototype), table)
    summary = summarize_columns(engine, table, estimator.n_threads)
    scale = estimator._find_scale(summary)
    if not prototype.supports_periods:
        reject_periods(scale)
    preparation = FitPreparation(
        estimator._n_centroids(),
        estimator.centroids,
        estimator.n_threads,
        check_bytes("memory_limit", estimator.memory_limit),
        estimator.engine,
        float(estimator.tol),
    )
    kernel = estimator._make_kernel(scale).prepared(table, preparation)
    stages = tuple(estimator._make_stages(kernel))
    rows = engine.place(stages, table, estimator.n_threads, preparation.memory_limit)
    return Placement(table, summary, rows, stages, engine.reported_name())


def place_fitted(estimator: Any, X: Any, sample_weight: ArrayLike | None = None) -> Placement:
    """Place new rows with the columns of the fit, mapped as in the fit."""
    check_is_fitted(estimator)
    estimator._interface.check(estimator, for_prediction=True)
    table = estimator._read_table(X, sample_weight, fitting=False)
    engine = estimator.engine
    # a model fitted on a Dask collection predicts all other tables with engine="auto"
    if engine != "auto" and not table.is_partitioned and ENGINES[engine].supports_only_partitions:
        engine = "auto"
    return place_fitted_table(estimator, estimator.kernel_, table, engine)


def place_fitted_table(estimator: Any, kernel: Any, table: Table, engine_name: str) -> Placement:
    """Place the rows of a table on the engine of this name, mapped by a prepared kernel."""
    if not kernel.supports_missing:
        _reject_missing_values(estimator, kernel, table)
    stages = tuple(estimator._make_stages(kernel))[-1:]
    engine = choose_engine(engine_name, ENGINES, stages, table)
    limit = check_bytes("memory_limit", estimator.memory_limit)
    summary = summarize_columns(engine, table, estimator.n_threads)
    return Placement(
        table, summary, engine.place(stages, table, estimator.n_threads, limit), stages, engine.name
    )


def _reject_missing_values(estimator: Any, kernel: Any, table: Table) -> None:
    """Raise an error that names the point kernel if the table has missing values."""
    point_kernel = kernel.point_kernel
    name = "" if point_kernel is None else point_kernel.name
    reject_missing_values(table, type(estimator).__name__, name)


def has_hard_labels(estimator: Any) -> bool:
    """Return whether a fitted estimator assigns each row to one cluster."""
    return bool(estimator._make_stages(estimator.kernel_)[-1].assignment.is_hard)


def fitted_centroids(estimator: Any) -> Any:
    """Return the centroids of a fitted estimator as the record that its kernel uses."""
    return estimator.kernel_.from_public(vars(estimator))


def starting_centroids(estimator: Any, placed: Placement) -> Iterator[Any]:
    """Return the starting centroids of each run of a fit, as set by `init`."""
    return estimator._make_starts(placed.rows, placed.table, estimator._start_draws())


def check_parameters(estimator: Any) -> None:
    """Raise an error for parameters that no fit accepts."""
    estimator._check_parameters()
