"""The base classes of the estimators: scikit-learn's methods around the loop."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import _parameters, lloyd, watching
from .._grid import Array, mean_turns
from .._text import caller_stacklevel
from ..assignment import Hard
from ..centroids import CENTROIDS
from ..checkpoint import use_checkpoint
from ..engines import ENGINES, Rows, check_installed, read_input
from ..kernels.euler import Euler
from ..model import Fit, Model, Stop
from ..scales import NO_COLUMNS, SCALES, Scale
from ..scales.left_out import IgnoredValuesWarning, count_ignored_values, how_to_keep
from ..seeding import BY_LOSS, plus_plus, starts_of
from ..short_fits import best_short_fit
from ..table import ColumnSummary, Table
from ..table.empty_rows import empty_rows_message
from ..table.validation import reject_gathering, reject_table_elsewhere
from ..threads import limit_threads
from ._identity import StartDraws, fit_identity, fit_limits
from ._parameter_table import CLUSTERER, Interface
from .placement import Placement, fitted_centroids, place_fitted, place_table

RANDOM_STARTS = 10  # default n_init for "random" and "circle"


class Mapped(watching.Callbacks, BaseEstimator):
    """An estimator that scales the columns of a table and maps them by a kernel."""

    _interface: ClassVar[Interface]

    alpha: float
    scale: str | None
    beyond: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kernel_")

    def _check_parameters(self) -> None:
        """Raise an error for parameters that no fit accepts."""
        self._interface.check(self)

    def _find_scale(self, summary: ColumnSummary) -> Scale:
        """Return the scale of the columns of a table, as set by `scale`.

        It has one interval per column if values outside it wrap.
        """
        scale = SCALES[self.scale](summary)
        if not isinstance(scale, Scale) or scale.n_columns != summary.n_columns:
            got = f"a Scale of {scale.n_columns}" if isinstance(scale, Scale) else f"{scale!r:.60}"
            raise ValueError(
                f"scale={self.scale!r} must return a Scale of {summary.n_columns} columns; "
                f"got {got}."
            )
        return scale.to_one_interval() if self._beyond() == "wrap" else scale

    def _make_kernel(self, scale: Scale) -> Any:
        """Return the kernel for columns of this scale, before `prepared` adapts it to the rows."""
        return Euler(scale, self._beyond(), float(self.alpha))

    def _beyond(self) -> str:
        """Return the rule for values out of range, which is "wrap" without a scale."""
        return self.beyond if self.scale else "wrap"


class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Mapped):
    """A clusterer fitted by Lloyd's loop.

    Subclasses define the parameters, and choose the kernel, the assignment rule and the stages.
    """

    _interface: ClassVar[Interface] = CLUSTERER
    _k_parameter: ClassVar[str] = "n_clusters"  # the parameter that sets the number of centroids
    _own_start_names: ClassVar[tuple[str, ...]] = ()  # values of `init` besides those of the kernel
    _auto_plus_plus_starts: ClassVar[int] = 1  # n_init="auto" for "k-means++" and "k-means||"

    n_clusters: int
    init: Any
    n_init: Any
    max_iter: int
    tol: float
    engine: str
    n_threads: int | None
    memory_limit: int | str | None
    checkpoint: str | os.PathLike[str] | None
    random_state: Any
    verbose: int
    centroids: str

    @watching.with_fit_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | str | None = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows to cluster. NaN and null are missing values. In memory: a NumPy array, a SciPy
            sparse matrix, a pandas, polars or pyarrow table, the result of `read_table`, or a
            tensor or DLPack array on a GPU (torch, CuPy). Columns of data frames and files that
            contain ids or text are ignored with a warning (see `schema_`).

            Out of core, read in blocks in every iteration: the path of a .csv, .feather, .npy or
            parquet file, of a directory of parquet files or a glob pattern; a pyarrow dataset; a
            zarr array; a NumPy memmap larger than `memory_limit`; or a callable that returns a new
            iterator over blocks. Distributed: a dask.array or dask.dataframe, for which `labels_`
            is lazy. Methods that need all rows at once accept tables in memory only.
        y : None
            Ignored. Exists for compatibility with scikit-learn.
        sample_weight : array of shape (n_samples,), str or None
            Row weights. A row of weight 2 counts as two equal rows. None: all weights are 1. For a
            table that is not in memory, the name of the column of weights.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        if self.engine != "auto":
            check_installed(ENGINES[self.engine])
        table = self._read_table(X, sample_weight, fitting=True)
        tasks = watching.Tasks(self, X, y, sample_weight, self._n_starts())
        with limit_threads(self.n_threads):
            placed = place_table(self, table)
            check_has_informative_rows(placed.rows, self.scale)
            draws = self._start_draws()
            if self.checkpoint is None:
                fit, attributes = self._fit_starts(placed, tasks, draws, None)
            else:
                identity = partial(fit_identity, self, placed)
                limits = partial(fit_limits, self, placed)
                with use_checkpoint(self.checkpoint, identity, limits, draws.entropy) as checkpoint:
                    draws = draws._replace(
                        entropy=checkpoint.entropy, n_begun=checkpoint.n_starts_begun
                    )
                    fit, attributes = self._fit_starts(placed, tasks, draws, checkpoint)
        warn_of_empty_rows(table)
        warn_of_ignored_cells(placed, table)
        self._warn_of_empty_clusters(placed.rows, fit)
        set_fitted_attributes(self, table, attributes)
        tasks.end()
        return self

    def _fit_starts(
        self,
        placed: Placement,
        tasks: watching.Tasks,
        draws: StartDraws,
        journal: lloyd.Journal | None,
    ) -> tuple[Fit, dict[str, Any]]:
        """Return the fit of the best start, and the fitted attributes."""
        # the last pass of each stage only labels the rows
        max_passes = self.max_iter + 1 + (len(placed.stages) - 1) * (lloyd.STAGE + 1)
        watch = watching.watch_fit(
            tasks,
            max_passes,
            len(placed.rows),
            bool(self.verbose),
            lambda fit: placed.table.columns | self._attributes(placed, fit),
        )
        starts = self._make_starts(placed.rows, placed.table, draws)
        if tasks.has_callbacks:
            starts = tasks.starts(starts, max_passes)
        stop = Stop(self.max_iter, float(self.tol))
        fit = lloyd.fit_best_start(placed.rows, placed.stages, starts, stop, watch, journal)
        return fit, self._attributes(placed, fit)

    # Methods that subclasses override

    def _make_stages(self, kernel: Any) -> Sequence[Model]:
        """Return the model of each stage of a fit; the last one is used for predictions."""
        return [Model(kernel, self._assignment_rule(), CENTROIDS[self.centroids])]

    def _start_draws(self) -> StartDraws:
        """Return the source of random numbers of the starts."""
        has_state = callable(self.init) and self.random_state is not None
        random = _parameters.make_random_state(self.random_state) if has_state else None
        return StartDraws(
            random, _parameters.fit_entropy(self.random_state if random is None else random)
        )

    def _make_starts(self, rows: Rows, table: Any, draws: StartDraws) -> Iterator[Any]:
        """Yield the starting centroids of each run, or None if a resumed fit has begun it."""
        k = self._n_centroids()
        start = starts_of(rows.kernel)[self.init] if isinstance(self.init, str) else None
        model = self._exact_model(rows.kernel) if start is plus_plus else None
        random = draws.random_state() if callable(self.init) else None
        for number in range(self._n_starts()):
            seed = np.random.SeedSequence(draws.entropy, spawn_key=(number,))
            # a callable may draw random numbers, so a resumed fit calls it again
            if number < draws.n_begun and not callable(self.init):
                yield None
            elif model is not None:
                yield best_short_fit(rows, model, k, np.random.PCG64(seed), float(self.tol))
            elif start is not None:
                yield start(rows, k, np.random.PCG64(seed))
            else:
                if callable(self.init):
                    reject_table_elsewhere(table, "a callable init")
                points = (
                    self.init(table.X, k, random_state=random) if callable(self.init) else self.init
                )
                yield rows.kernel.from_points(
                    _parameters.check_starting_points(points, k, table.n_columns)
                )

    def _read_table(self, X: Any, sample_weight: Any = None, *, fitting: bool) -> Any:
        """Return X and the row weights as a table, or raise an error if they are invalid."""
        return read_input(
            self,
            X,
            sample_weight,
            _parameters.check_bytes("memory_limit", self.memory_limit),
            fitting=fitting,
            k=self._n_centroids() if fitting else 1,
            k_parameter=f"{self._k_parameter}={getattr(self, self._k_parameter)}",
        )

    def _n_centroids(self) -> int:
        return self.n_clusters

    def _assignment_rule(self) -> Any:
        return Hard()

    def _n_starts(self) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        if not isinstance(self.init, str):
            return 1
        return self._auto_plus_plus_starts if self.init in BY_LOSS else RANDOM_STARTS

    def _exact_model(self, kernel: Any) -> Model | None:
        """Return the model of a hard fit in exact arithmetic with one stage; None for others."""
        stages = self._make_stages(kernel)
        is_hard = len(stages) == 1 and stages[0].assignment.is_hard
        return stages[0] if kernel.has_exact_arithmetic and is_hard else None

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        """Return the fitted attributes."""
        kernel = placed.rows.kernel
        C = fit.centroids
        attributes = {
            "kernel_": kernel.for_prediction(),
            "labels_": placed.table.to_input_type(fit.labels),
            "inertia_": fit.inertia,
            "n_iter_": fit.n_iter,
            "history_": fit.history,
            "deviation_": kernel.deviation(C),
            "scale_": kernel.scale,
            "engine_": placed.engine,
        }
        if not kernel.is_pairwise:  # a precomputed kernel has no points
            attributes["cluster_centers_"] = kernel.preimage(C, self._mean_phases(placed, fit))
        return attributes | kernel.to_public(C) | kernel.fitted_parameters

    @staticmethod
    def _mean_phases(placed: Placement, fit: Fit) -> Array:
        """Return the mean phase of each cluster, which selects the branch of its pre-image.

        Kernels whose pre-images are unique ignore it and get zeros.
        """
        k = len(fit.centroids)
        if placed.rows.kernel.is_periodic:
            return mean_turns(*placed.rows.phase_sums(fit.labels, k))
        return np.zeros((k, placed.table.n_columns))

    # Warnings

    def _warn_of_empty_clusters(self, rows: Rows, fit: Fit) -> None:
        """Warn if some clusters have no rows."""
        k = self._n_centroids()
        n_occupied = np.count_nonzero(rows.table.count_labels(fit.labels, k))
        if n_occupied < k:
            have = "has" if n_occupied == 1 else "have"
            warnings.warn(
                f"Only {n_occupied} of {k} clusters {have} rows: {self._why_empty()}",
                ConvergenceWarning,
                stacklevel=caller_stacklevel(),
            )

    def _why_empty(self) -> str:
        """Return the likely cause of an empty cluster and the fix, as sentences."""
        return (
            f"X has fewer distinct rows than clusters, or the fit stopped at "
            f"max_iter={self.max_iter}. Decrease n_clusters or increase max_iter."
        )

    # Predictions

    def predict(self, X: Any) -> Array:
        """Return the label of the nearest centroid of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the features of the fit, of any type that `fit` accepts.

        Returns
        -------
        array of shape (n_samples,)
            Labels, from 0 to n_clusters - 1; -1 for rows without an observed value.
        """
        placed = place_fitted(self, X)
        if not placed.table.is_partitioned:  # their labels are lazy, so no row has been read
            warn_of_empty_rows(placed.table)
        with limit_threads(self.n_threads):
            return placed.table.to_input_type(
                placed.rows.label(placed.model, fitted_centroids(self))
            )

    def transform(self, X: Any) -> Array:
        """Return the distance in the mapped space from each row to each centroid.

        Distances are not squared. Missing values contribute nothing, so a row with missing values
        is closer to all centroids.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the features of the fit, of any type that `fit` accepts.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            Distances; NaN for rows without an observed value.
        """
        self._check_has_lengths("transform")
        reject_gathering(self, X)
        return self._apply(
            X,
            lambda kernel, F, C: np.sqrt(
                kernel.loss(kernel.distance(F, C)).astype(np.float64) * kernel.loss_unit
            ),
        )

    def score_samples(self, X: Any) -> Array:
        """Return the cosine of the angle between each row and its centroid in the mapped space.

        It is 1 if the row lies on its centroid.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the features of the fit, of any type that `fit` accepts.

        Returns
        -------
        array of shape (n_samples,)
            Cosines; NaN for rows without an observed value.
        """
        self._check_has_lengths("score_samples")
        return self._apply(X, lambda kernel, F, C: kernel.centroid_similarity(F, C))

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the negative objective of X for the fitted centroids.

        Compare scores only between fits with the same kernel, kernel width, `scale` and `beyond`:
        a wider kernel reduces all distances.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the features of the fit, of any type that `fit` accepts.
        y : None
            Ignored. Exists for compatibility with scikit-learn.
        sample_weight : array of shape (n_samples,) or None
            Row weights. A row of weight 2 counts as two equal rows. None: all weights are 1.

        Returns
        -------
        float
            Negative objective; 0 if every row lies on its centroid.
        """
        self._check_has_lengths("score")
        placed = place_fitted(self, X, sample_weight)
        with limit_threads(self.n_threads):
            assignment = placed.rows.start_run(placed.model).assign(fitted_centroids(self))
            return -lloyd.inertia(placed.rows, assignment.sums.loss)

    def _check_has_lengths(self, method: str) -> None:
        """Raise an error for a precomputed kernel, whose values lack k(x, x) of new rows."""
        check_is_fitted(self)
        if self.kernel_.is_pairwise:
            raise ValueError(
                f"{method} requires k(x, x) of each row, which kernel={self.kernel_.name!r} does "
                f"not provide for new rows. Use predict."
            )

    def _apply(self, X: Any, compute: Callable[[Any, Array, Any], Array]) -> Array:
        """Return `compute(kernel, mapped rows, centroids)` for the rows of X, block by block."""
        placed = place_fitted(self, X)
        C = fitted_centroids(self)
        with limit_threads(self.n_threads):
            return placed.table.to_input_type(
                placed.rows.map_blocks(lambda F: compute(placed.rows.kernel, F, C))
            )

    def _check_parameters(self) -> None:
        """Raise an error for parameters that no fit accepts."""
        self._interface.check(self)
        self._check_combinations()
        if isinstance(self.init, str) or self.init is None:
            names = [*self._own_start_names, *starts_of(self._make_kernel(NO_COLUMNS))]
            _parameters.check_one_of("init", self.init, names)

    def _check_combinations(self) -> None:
        """Raise an error for values that are valid on their own, but not together."""

    @property
    def _n_features_out(self) -> int:
        return len(self.deviation_)


def set_fitted_attributes(estimator: Any, table: Table, attributes: dict[str, Any]) -> None:
    """Set the fitted attributes of an estimator, and delete those of an earlier fit."""
    for name in [
        name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")
    ]:
        delattr(estimator, name)
    vars(estimator).update(table.columns | attributes)


def check_has_informative_rows(rows: Rows, scale: str | None) -> None:
    """Raise an error if `beyond="ignore"` would ignore every row."""
    if rows.kernel.beyond == "ignore" and not rows.has_weight():
        raise ValueError(
            f"All values of X are outside the intervals of scale={scale!r}, so that no row would "
            f"count. Use another scale, or beyond='clip'."
        )


def warn_of_empty_rows(table: Table) -> None:
    """Warn if rows have no observed value."""
    if n_empty := len(table.empty_rows):
        text = empty_rows_message(n_empty, table.n_rows)
        warnings.warn(text, stacklevel=caller_stacklevel())


def warn_of_ignored_cells(placed: Placement, table: Table) -> None:
    """Warn if many cells are ignored: they may be gross errors, or a small group far away."""
    rows = placed.rows
    if rows.kernel.beyond != "ignore":
        return
    ignored = count_ignored_values(
        rows.kernel.scale, placed.summary, table.n_rows, rows.n_uninformative()
    )
    names = table.columns.get("feature_names_in_")
    if messages := ignored.messages(None if names is None else names.tolist()):
        text = " ".join([*messages, how_to_keep("beyond='clip'")])
        warnings.warn(text, IgnoredValuesWarning, stacklevel=caller_stacklevel())
