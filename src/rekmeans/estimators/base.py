"""What clusterers share: a kernel, an assignment rule and a centroid rule in the one loop,
scikit-learn's methods.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from .. import _parameters, lloyd, watching
from .._grid import Array, mean_turns
from ..assignment import Hard
from ..centroids import CENTROIDS
from ..checkpoint import use_checkpoint
from ..engines import Rows, check_engine, check_engine_name, read_input
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
    refuse_uninformative_table,
    set_fitted_attributes,
    warn_of_empty_clusters,
    warn_of_what_is_left_out,
)
from .placement import FitPreparation, Placement, place_fitted, place_table

MANY_STARTS = 10  # where a start is no better than chance


class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Mapped):
    """Lloyd's loop and its answers; a subclass has the parameters, and says which kernel and which
    rules.
    """

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
            NumPy array, SciPy sparse, pandas, polars or pyarrow table, what `read_table` returns,
            torch tensor, CuPy or another DLPack array on a GPU; NaN or null for missing values.
            Columns of data frames and files that are ids or no numbers are ignored with a warning
            (`schema_`). If sums of rows are enough, also a table that is read block by block: the
            path of a csv, feather, .npy or parquet file, a folder of parquet files or a pattern, a
            pyarrow dataset, a zarr array, a NumPy memmap larger than `memory_limit`, or a function
            that returns a new iterator over blocks each time; for hard labels a dask.array or
            dask.dataframe, whose labels stay lazy.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), str or None
            Row weights; weight 2 is the row twice. The name of a column where the table is not in
            memory.

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
            refuse_uninformative_table(placed.rows, self.scale)
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
        warn_of_what_is_left_out(placed, table)
        self._warn_of_empty_clusters(placed.rows, fit)
        set_fitted_attributes(self, table, attributes)
        tasks.end()
        return self

    # what a subclass says

    def _find_scale(self, summary: ColumnSummary) -> Scale:
        """The scale of a table's columns that the parameters name."""
        scale = SCALES[self.scale](summary)
        if not isinstance(scale, Scale) or scale.n_columns != summary.n_columns:
            got = f"one of {scale.n_columns}" if isinstance(scale, Scale) else f"{scale!r:.60}"
            raise ValueError(
                f"scale={self.scale!r} must give a Scale of {summary.n_columns} columns; got {got}."
            )
        return scale

    def _make_kernel(self, scale: Scale) -> Any:
        """The kernel that the parameters name, for columns of this scale; it has learned nothing
        yet.
        """
        return self._euler_kernel(scale)

    def _make_stages(self, kernel: Any) -> Sequence[Model]:
        """The models that a fit goes through; the last is the one that predicts."""
        return [Model(kernel, self._assignment_rule(), CENTROIDS[self.centroids])]

    def _make_preparation(self) -> FitPreparation:
        """What a kernel may ask for while it learns from the table."""
        limit = _parameters.check_bytes("memory_limit", self.memory_limit)
        return FitPreparation(
            self._n_centroids(), self.centroids, self.n_threads, limit, self.engine, float(self.tol)
        )

    def _start_draws(self) -> StartDraws:
        """What the starts are drawn with."""
        has_state = callable(self.init) and self.random_state is not None
        random = _parameters.check_random_state(self.random_state) if has_state else None
        return StartDraws(
            random, _parameters.fit_entropy(self.random_state if random is None else random)
        )

    def _make_starts(self, rows: Rows, table: Any, draws: StartDraws) -> Iterator[Any]:
        """Starting centroids of each run; None for those that an interrupted fit has begun."""
        k = self._n_centroids()
        start = starts_of(rows.kernel)[self.init] if isinstance(self.init, str) else None
        model = self._exact_model(rows.kernel) if start is plus_plus else None
        random = draws.random_state() if callable(self.init) else None
        for number in range(self._n_starts()):
            seed = np.random.SeedSequence(draws.entropy, spawn_key=(number,))
            # which may draw, and has to do so again
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
        """The rows of X as numbers, with their weights; refused in a sentence where they are
        not.
        """
        k, k_parameter = (self._n_centroids(), self._k_parameter()) if fitting else (1, "")
        limit = _parameters.check_bytes("memory_limit", self.memory_limit)
        return read_input(
            self, X, sample_weight, limit, fitting=fitting, k=k, k_parameter=k_parameter
        )

    def _n_centroids(self) -> int:
        return self.n_clusters

    def _k_parameter(self) -> str:
        """The parameter that asks for so many centroids, and its value."""
        return f"n_clusters={self.n_clusters}"

    def _assignment_rule(self) -> Any:
        return Hard()

    def _max_passes(self) -> int:
        """Most passes of a start."""
        return self.max_iter

    def _start_names(self) -> Collection[str]:
        """Names that `init` may have."""
        return list(starts_of(self._make_kernel(NO_COLUMNS)))

    def _n_starts(self) -> int:
        if self.n_init != "auto":
            return int(self.n_init)
        if not isinstance(self.init, str):
            return 1
        return self._auto_plus_plus_starts() if self.init in BY_LOSS else MANY_STARTS

    def _auto_plus_plus_starts(self) -> int:
        """How many starts by loss are made unless the user says it."""
        return 1

    def _exact_model(self, kernel: Any) -> Model | None:
        """The model of a fit in one stage whose answer is exact; None for all others."""
        stages = self._make_stages(kernel)
        is_hard = len(stages) == 1 and stages[0].assignment.is_hard
        return stages[0] if kernel.has_exact_arithmetic and is_hard else None

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        """What a fit leaves on the estimator."""
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
        if not kernel.is_pairwise:  # kernel values know no points
            attributes["cluster_centers_"] = kernel.preimage(C, self._near(placed, fit))
        return attributes | kernel.to_public(C) | kernel.fitted_parameters

    @staticmethod
    def _near(placed: Placement, fit: Fit) -> Array:
        """Where the rows of each cluster lie, for kernels that have a branch to choose."""
        k = len(fit.centroids)
        if placed.model.kernel.is_periodic:
            return mean_turns(*placed.rows.phase_sums(fit.labels, k))
        return np.zeros((k, placed.table.n_columns))

    # warnings

    def _warn_of_empty_clusters(self, rows: Rows, fit: Fit) -> None:
        warn_of_empty_clusters(rows, fit.labels, self._n_centroids(), self._why_empty())

    def _why_empty(self) -> str:
        """What leaves a cluster without rows, and the way out."""
        why = f"X has no more distinct rows, or max_iter={self.max_iter} stopped the fit."
        return f"{why} Lower n_clusters or raise max_iter."

    # answers

    def predict(self, X: Any) -> Array:
        """Return the label of the nearest centroid for each row of X.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the columns of the fit, as in `fit`.

        Returns
        -------
        array of shape (n_samples,)
            The labels, from 0 to the number of centroids minus 1.
        """
        placed = place_fitted(self, X)
        with limit_threads(self.n_threads):
            return placed.table.to_input_type(
                placed.rows.label(placed.model, self._fitted_centroids())
            )

    def transform(self, X: Any) -> Array:
        """Return the distance of each row to each centroid in the mapped space; not squared.

        Distances are over the values that a row has, so rows with missing values are nearer to
        every centroid.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the columns of the fit, as in `fit`.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            The distances.
        """
        refuse_gathering(self, X)
        return self._apply(
            X,
            lambda kernel, F, C: np.sqrt(
                kernel.loss(kernel.distance(F, C)).astype(np.float64) * kernel.loss_unit
            ),
        )

    def score_samples(self, X: Any) -> Array:
        """Return the cosine of the angle between each row and its centroid in the mapped space.

        It is 1 where the row lies on its centroid.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the columns of the fit, as in `fit`.

        Returns
        -------
        array of shape (n_samples,)
            The cosines.
        """
        return self._apply(X, lambda kernel, F, C: kernel.centroid_similarity(F, C))

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the objective of X for the fitted centroids.

        Scores are comparable between fits of one kernel, width, scale and beyond only: a wider
        kernel shrinks every distance.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the columns of the fit, as in `fit`.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,) or None
            Row weights; weight 2 is the row twice.

        Returns
        -------
        float
            0 where every row lies on its centroid, else negative.
        """
        placed = place_fitted(self, X, sample_weight)
        with limit_threads(self.n_threads):
            assignment = placed.rows.start_run(placed.model).assign(self._fitted_centroids())
            return -lloyd.inertia(placed.rows, assignment.sums.loss)

    def _apply(self, X: Any, answer: Callable[[Any, Array, Any], Array]) -> Array:
        """`answer` of the fitted kernel, the mapped rows of X and the centroids."""
        placed = place_fitted(self, X)
        C = self._fitted_centroids()
        with limit_threads(self.n_threads):
            return placed.table.to_input_type(
                placed.rows.map_blocks(lambda F: answer(placed.rows.kernel, F, C))
            )

    def _fitted_centroids(self) -> Any:
        """The centroids as the loop holds them: a record of the kernel's own."""
        return self.kernel_.from_public(vars(self))

    def _check_parameters(self) -> None:
        self._check_prediction_parameters()
        self._check_map()
        if isinstance(self.init, str) or self.init is None:
            _parameters.check_one_of("init", self.init, self._start_names())
        if not (isinstance(self.n_init, str) and self.n_init == "auto"):
            _parameters.check_int("n_init", self.n_init)
        _parameters.check_int("max_iter", self.max_iter)
        _parameters.check_path("checkpoint", self.checkpoint)
        _parameters.refuse_random_state(self.random_state)
        _parameters.check_int(
            "verbose",
            int(self.verbose) if isinstance(self.verbose, bool) else self.verbose,
            least=0,
        )

    def _check_prediction_parameters(self) -> None:
        """Refuse values of those parameters that a fitted estimator still reads."""
        check_engine_name(self.engine)
        _parameters.check_int("n_clusters", self._n_centroids())
        _parameters.check_one_of("centroids", self.centroids, CENTROIDS)
        _parameters.check_real("tol", self.tol, least=0)
        if self.n_threads is not None:
            _parameters.check_int("n_threads", self.n_threads, hint=" (None for all)")
        _parameters.check_bytes("memory_limit", self.memory_limit)

    @property
    def _n_features_out(self) -> int:
        return len(self.deviation_)
