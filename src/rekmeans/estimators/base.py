"""What clusterers share: a kernel, an assignment rule and a centroid rule in the one loop, scikit-learn's methods."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .. import _parameters, _table, _watch, lloyd
from .._grid import Array
from ..assign import Hard
from ..centroids import CENTROIDS
from ..engines import Rows, place
from ..euler_map import Mapped
from ..seeds import STARTS
from ..watching import PassEvent, active_callbacks

FRAMES = 5  # from a warning of _fit up to the line that called fit


class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Mapped):
    """Lloyd's loop and its answers; a subclass has the parameters, and says which kernel and which rules."""

    n_clusters: int
    init: Any
    n_init: Any
    max_iter: int
    tol: float
    engine: str
    n_threads: int | None
    memory_limit: int | str | None
    random_state: Any
    verbose: int
    centroids: str

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, SciPy sparse, pandas, polars or pyarrow table; NaN or null for missing values.
        y : ignored
        sample_weight : array of shape (n_samples,) or None
            Row weights; weight 2 is the row twice.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    @_watch.told
    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        self._check_parameters()
        table = self._read(X, sample_weight, fitting=True)
        tasks = _watch.Tasks(self, X, y, sample_weight, self._n_starts(), self._passes())
        with _at_most(self.n_threads):
            rows, model = self._place(self._kernel(table), table)
            lines = _watch.printed(self._n_starts()) if self.verbose else None
            told = tasks.watch(lambda fit: table.columns | self._attributes(rows.kernel, rows, fit))
            watch = _pass_watch(self._n_starts(), len(rows))
            starts, watches = tasks.starts(self._starts(rows, table)), _watch.together(watch, lines, told)
            fit = lloyd.best(rows, self._stages(model), starts, self.max_iter, self.tol, watches)
            attributes = self._attributes(rows.kernel, rows, fit)
        self._warn_of_silent_rows(rows, table)
        self._warn_of_empty_clusters(fit)
        _table.remember(self, table, attributes)
        tasks.end()
        return self

    def _read(self, X: Any, sample_weight: ArrayLike | None = None, *, fitting: bool) -> _table.Table:
        k, asked = (self._k(), self._asked()) if fitting else (1, "")
        return _table.read(self, X, sample_weight, fitting=fitting, k=k, asked=asked)

    def _k(self) -> int:
        """How many centroids there are."""
        return self.n_clusters

    def _asked(self) -> str:
        """The parameter that asks for so many, and its value."""
        return f"n_clusters={self.n_clusters}"

    def _assign(self) -> Any:
        """The assignment rule."""
        return Hard()

    def _stages(self, model: lloyd.Model) -> Sequence[lloyd.Model]:
        """The models that a fit goes through; the last is the model itself."""
        return [model]

    def _passes(self) -> int:
        """Most passes of a start."""
        return self.max_iter

    def _attributes(self, kernel: Any, rows: Rows, fit: lloyd.Fit) -> dict[str, Any]:
        """What a fit leaves on the estimator."""
        C = fit.centroids
        near = rows.middles(fit.labels, len(C)) if kernel.branches else C
        return {
            "kernel_": kernel,
            "labels_": fit.labels,
            "inertia_": fit.objective,
            "n_iter_": fit.n_iter,
            "history_": fit.history,
            "centroids_": kernel.shown(C),
            "cluster_centers_": kernel.preimage(C, near),
            "deviation_": kernel.deviation(C),
        }

    def _warn_of_empty_clusters(self, fit: lloyd.Fit) -> None:
        found = np.count_nonzero(np.bincount(fit.labels, minlength=self._k()))
        if found < self._k():
            warnings.warn(
                f"n_clusters={self._k()}, but only {found} clusters have rows: {self._why_empty()}",
                ConvergenceWarning,
                stacklevel=FRAMES,
            )

    def _why_empty(self) -> str:
        """What leaves a cluster without rows, and the way out."""
        why = f"X has no more distinct rows, or max_iter={self.max_iter} stopped the fit."
        return f"{why} Lower n_clusters or raise max_iter."

    def _warn_of_silent_rows(self, rows: Rows, table: _table.Table) -> None:
        """Rows that the scale leaves out may be gross errors, or a small group far away: the user has to know."""
        if rows.kernel.beyond != "ignore":
            return
        silent = int(((rows.weights() == 0) & (1 if table.weights is None else table.weights > 0)).sum())
        if silent:
            warnings.warn(
                f"{silent} of {len(rows)} rows take no part: all their values lie beyond the {self.scale} range. "
                "If they are no errors but a group of their own, use scale='range'.",
                stacklevel=FRAMES,
            )

    def predict(self, X: Any) -> Array:
        """Label of the nearest centroid for each row of X, (n,)."""
        rows, model = self._rows(X)
        with _at_most(self.n_threads):
            return lloyd.labelled(rows, model, self._held())

    def transform(self, X: Any) -> Array:
        """Distance of each row to each centroid in the mapped space, (n, k); not squared.

        Over the values a row has: rows with missing ones are nearer to everything.
        """
        return self._seen(
            X, lambda kernel, F, C: np.sqrt(kernel.loss(kernel.distance(F, C)).astype(np.float64) * kernel.worth)
        )

    def score_samples(self, X: Any) -> Array:
        """How well its centroid represents each row: cosine of the angle between them, 1 at the centroid, (n,)."""
        return self._seen(X, lambda kernel, F, C: kernel.likeness(F, C))

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the objective of X for the fitted centroids.

        Comparable between fits of one kernel, width, scale and beyond only: a wider kernel shrinks every distance.
        """
        rows, model = self._rows(X, sample_weight)
        with _at_most(self.n_threads):
            return -lloyd.worth(rows, rows.walk(model).step(self._held()).loss)

    def _place(self, kernel: Any, table: _table.Table) -> tuple[Rows, lloyd.Model]:
        """The rows of the table where the parameters want them, and the model to run on them."""
        model = lloyd.Model(kernel, self._assign(), CENTROIDS[self.centroids])
        limit = _parameters.memory("memory_limit", self.memory_limit)
        return place(self.engine, model, table, self.n_threads, limit), model

    def _rows(self, X: Any, sample_weight: ArrayLike | None = None) -> tuple[Rows, lloyd.Model]:
        check_is_fitted(self)
        return self._place(self.kernel_, self._read(X, sample_weight, fitting=False))

    def _seen(self, X: Any, answer: Callable[[Any, Array, Array], Array]) -> Array:
        """`answer` of the fitted map, the mapped rows of X and the centroids."""
        rows, C = self._rows(X)[0], self._held()
        with _at_most(self.n_threads):
            return rows.each(lambda F: answer(rows.kernel, F, C))

    def _held(self) -> Array:
        """The centroids as the loop holds them."""
        return self.kernel_.hidden(self.centroids_)

    def _check_parameters(self) -> None:
        _parameters.whole("n_clusters", self._k())
        self._check_map()
        if isinstance(self.init, str) or self.init is None:
            _parameters.one_of("init", self.init, self._inits())
        if not (isinstance(self.n_init, str) and self.n_init == "auto"):
            _parameters.whole("n_init", self.n_init)
        _parameters.whole("max_iter", self.max_iter)
        _parameters.real("tol", self.tol, least=0)
        if self.n_threads is not None:
            _parameters.whole("n_threads", self.n_threads, hint=" (None for all)")
        _parameters.memory("memory_limit", self.memory_limit)
        _parameters.whole("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)

    def _inits(self) -> Sequence[str]:
        """Names of the starts there are."""
        return list(STARTS)

    def _starts(self, rows: Rows, table: _table.Table) -> Iterator[Array]:
        """Starting centroids of each run."""
        random = _parameters.random_source(self.random_state)
        entropy = random.randint(0, 2**32, size=4, dtype=np.uint32).tolist()
        for seed in np.random.SeedSequence(entropy).spawn(self._n_starts()):
            if isinstance(self.init, str):
                yield self._start(rows, np.random.PCG64(seed))
            else:
                points = self.init(table.X, self._k(), random_state=random) if callable(self.init) else self.init
                points = _parameters.starting_points(points, self._k(), table.X.shape[1])
                yield rows.kernel.start(points)

    def _start(self, rows: Rows, bits: Any) -> Array:
        """The start of the name in `init`."""
        return STARTS[self.init](rows, self._k(), bits)

    def _n_starts(self) -> int:
        many = isinstance(self.init, str) and self.init != "k-means++"
        return (10 if many else 1) if self.n_init == "auto" else int(self.n_init)

    @property
    def _n_features_out(self) -> int:
        return len(self.centroids_)


def _pass_watch(n_starts: int, n_rows: int) -> lloyd.Watch | None:
    """Gives each pass to the callbacks of `watch_passes`, which may stop the start; None if there are none."""
    callbacks = active_callbacks()

    def watch(start: int, number: int, record: dict[str, Any]) -> bool:
        counts = int(record["moved"]), int(record["refilled"])
        event = PassEvent(start, n_starts, number, n_rows, float(record["objective"]), *counts, record["seconds"])
        return max(bool(callback(event)) for callback in callbacks)  # all of them are called

    return watch if callbacks else None


def _at_most(threads: int | None) -> AbstractContextManager[Any]:
    """Libraries that NumPy calls keep to this number of threads; without one nothing is searched for."""
    return nullcontext() if threads is None else threadpool_limits(threads)
