"""The base class of all clusterers: scikit-learn's methods around the loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import _parameters, lloyd, watching
from .._grid import Array, mean_turns
from ..assignment import Hard
from ..centroids import CENTROIDS
from ..checkpoint import use_checkpoint
from ..engines import Rows, check_engine, read_input
from ..model import Fit, Model, Stop
from ..scales import NO_COLUMNS, SCALES, Scale
from ..seeding import BY_LOSS, plus_plus, starts_of
from ..short_fits import best_short_fit
from ..table import ColumnSummary
from ..table.refusals import refuse_gathering, refuse_table_elsewhere
from ..threads import limit_threads
from ._identity import StartDraws, fit_identity, fit_limits
from ._mapped import (
    Mapped,
    check_has_informative_rows,
    set_fitted_attributes,
    warn_of_empty_clusters,
    warn_of_ignored_cells,
)
from ._parameter_table import CLUSTERER, Interface
from .placement import FitPreparation, Placement, place_fitted, place_table

RANDOM_STARTS = 10  # default n_init for "random" and "circle"


class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Mapped):
    """A clusterer fitted by Lloyd's loop.

    Subclasses define the parameters, and choose the kernel, the assignment rule and the stages.
    """

    _interface: ClassVar[Interface] = CLUSTERER

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
        return self._fit(X, y, sample_weight)

    @watching.with_fit_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | str | None) -> Self:
        self._check_parameters()
        check_engine(self.engine)
        table = self._read_table(X, sample_weight, fitting=True)
        n_starts = self._n_starts()
        tasks = watching.Tasks(self, X, y, sample_weight, n_starts, self._max_passes())
        with limit_threads(self.n_threads):
            placed = place_table(self, table)
            check_has_informative_rows(placed.rows, self.scale)
            watch = watching.combine_watches(
                watching.send_events(n_starts, len(placed.rows)),
                watching.print_passes(n_starts) if self.verbose else None,
                tasks.watch(lambda fit: table.columns | self._attributes(placed, fit)),
            )
            draws = self._start_draws()
            stop = Stop(self.max_iter, float(self.tol))
            identity, limits = (
                partial(fit_identity, self, placed),
                partial(fit_limits, self, placed),
            )
            with use_checkpoint(self.checkpoint, identity, limits, draws.entropy) as checkpoint:
                draws = draws._replace(
                    entropy=checkpoint.entropy, n_begun=checkpoint.n_starts_begun
                )
                starts = tasks.starts(self._make_starts(placed.rows, table, draws))
                fit = lloyd.fit_best_start(
                    placed.rows, placed.stages, starts, stop, watch, checkpoint.journal
                )
                attributes = self._attributes(placed, fit)
        warn_of_ignored_cells(placed, table)
        self._warn_of_empty_clusters(placed.rows, fit)
        set_fitted_attributes(self, table, attributes)
        tasks.end()
        return self

    # Methods that subclasses override

    def _find_scale(self, summary: ColumnSummary) -> Scale:
        """Return the scale of the columns of a table, as set by `scale`."""
        scale = SCALES[self.scale](summary)
        if not isinstance(scale, Scale) or scale.n_columns != summary.n_columns:
            got = f"a Scale of {scale.n_columns}" if isinstance(scale, Scale) else f"{scale!r:.60}"
            raise ValueError(
                f"scale={self.scale!r} must return a Scale of {summary.n_columns} columns; "
                f"got {got}."
            )
        return scale

    def _make_kernel(self, scale: Scale) -> Any:
        """Return the kernel for columns of this scale, before `prepared` adapts it to the rows."""
        return self._euler_kernel(scale)

    def _make_stages(self, kernel: Any) -> Sequence[Model]:
        """Return the model of each stage of a fit; the last one is used for predictions."""
        return [Model(kernel, self._assignment_rule(), CENTROIDS[self.centroids])]

    def _make_preparation(self) -> FitPreparation:
        """Return the settings for `Kernel.prepared`."""
        limit = _parameters.check_bytes("memory_limit", self.memory_limit)
        return FitPreparation(
            self._n_centroids(), self.centroids, self.n_threads, limit, self.engine, float(self.tol)
        )

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
                    refuse_table_elsewhere(table, "a callable init")
                points = (
                    self.init(table.X, k, random_state=random) if callable(self.init) else self.init
                )
                yield rows.kernel.from_points(
                    _parameters.check_starting_points(points, k, table.n_columns)
                )

    def _read_table(self, X: Any, sample_weight: Any = None, *, fitting: bool) -> Any:
        """Return X and the row weights as a table, or raise an error if they are invalid."""
        k, k_parameter = (self._n_centroids(), self._k_parameter()) if fitting else (1, "")
        limit = _parameters.check_bytes("memory_limit", self.memory_limit)
        return read_input(
            self, X, sample_weight, limit, fitting=fitting, k=k, k_parameter=k_parameter
        )

    def _n_centroids(self) -> int:
        return self.n_clusters

    def _k_parameter(self) -> str:
        """Return the parameter that sets the number of centroids, for error messages."""
        return f"n_clusters={self.n_clusters}"

    def _assignment_rule(self) -> Any:
        return Hard()

    def _max_passes(self) -> int:
        """Return the maximum number of passes of a start."""
        return self.max_iter

    def _start_names(self) -> Collection[str]:
        """Return the valid names of `init`."""
        return list(starts_of(self._make_kernel(NO_COLUMNS)))

    def _n_starts(self) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        if not isinstance(self.init, str):
            return 1
        return self._auto_plus_plus_starts() if self.init in BY_LOSS else RANDOM_STARTS

    def _auto_plus_plus_starts(self) -> int:
        """Return the default number of starts for "k-means++" and "k-means||"."""
        return 1

    def _exact_model(self, kernel: Any) -> Model | None:
        """Return the model of a hard fit in exact arithmetic with one stage; None for others."""
        stages = self._make_stages(kernel)
        is_hard = len(stages) == 1 and stages[0].assignment.is_hard
        return stages[0] if kernel.has_exact_arithmetic and is_hard else None

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        """Return the fitted attributes."""
        kernel = placed.model.kernel
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
        if placed.model.kernel.is_periodic:
            return mean_turns(*placed.rows.phase_sums(fit.labels, k))
        return np.zeros((k, placed.table.n_columns))

    # Warnings

    def _warn_of_empty_clusters(self, rows: Rows, fit: Fit) -> None:
        warn_of_empty_clusters(rows, fit.labels, self._n_centroids(), self._why_empty())

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
            Labels, from 0 to n_clusters - 1.
        """
        placed = place_fitted(self, X)
        with limit_threads(self.n_threads):
            return placed.table.to_input_type(
                placed.rows.label(placed.model, self._fitted_centroids())
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
            Distances.
        """
        self._check_has_lengths("transform")
        refuse_gathering(self, X)
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
            Cosines.
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
            assignment = placed.rows.start_run(placed.model).assign(self._fitted_centroids())
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
        C = self._fitted_centroids()
        with limit_threads(self.n_threads):
            return placed.table.to_input_type(
                placed.rows.map_blocks(lambda F: compute(placed.rows.kernel, F, C))
            )

    def _fitted_centroids(self) -> Any:
        """Return the centroids as the record that the kernel uses."""
        return self.kernel_.from_public(vars(self))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_combinations()
        if isinstance(self.init, str) or self.init is None:
            _parameters.check_one_of("init", self.init, self._start_names())

    def _check_combinations(self) -> None:
        """Raise an error for values that are valid on their own, but not together."""

    def _check_prediction_parameters(self) -> None:
        """Raise an error for parameters that a fitted estimator cannot use."""
        self._interface.check_for_prediction(self)

    @property
    def _n_features_out(self) -> int:
        return len(self.deviation_)
