"""The scikit-learn face: EulerKMeans and RectifiedEulerKMeans."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from . import _table, _watch, lloyd
from ._grid import Array, complex_centroids, grid_centroids
from .assign import Hard
from .centroids import CENTROIDS
from .engines import Rows, place
from .euler_map import Mapped
from .kernels.euler import Euler
from .metrics import deviation_degree
from .seeds import STARTS

FRAMES = 5  # from a warning of _fit up to the line that called fit
PARAMETERS = """n_clusters : int
        Number of clusters.
    alpha : float
        Half-turns of the circle per unit of the scaled feature. With a scale on, 1 is the largest that keeps near near.
    scale : {"robust", "range", "global"} or None
        What a unit of a feature is: 4 standard deviations inside fences round the quartiles; the column's range; the
        range of the whole table; 1 (the paper's bare map).
    beyond : {"ignore", "clip", "wrap"}
        What a value outside the scaled range (one unit from the robust centre; the range seen in fit) does: says
        nothing, like a missing one; counts as the nearest bound; goes on round the circle. A row with nothing inside is
        labelled by its clipped values and takes no part in the centroids. Without a scale nothing is outside.
    init : {"k-means++", "random", "circle"}, array of shape (n_clusters, n_features) or callable
        Start: greedy k-means++ with swaps, random mapped rows, random points of the circle, or points in the units of
        X; a callable is called as init(X, n_clusters, random_state=...) and returns such points.
    n_init : int or "auto"
        Starts of which the best is kept; "auto" is 10 for "random" and "circle", else 1.
    max_iter : int
        Largest number of passes of one start.
    tol : float
        Stop when the objective falls by no more than this share; 0 stops only when nothing changes.
    engine : str
        Where the passes run: "auto", "native" (compiled) or "reference" (NumPy). The answer is the same, bit for bit.
    n_threads : int or None
        Threads to use; None for all. The answer is the same for any number.
    memory_limit : int, str or None
        Bytes, or text such as "2GB", that the native engine's mapped copy of a dense table may take; where it does not
        fit, rows are mapped anew in every pass.
    random_state : int, RandomState or None
        Seed of the starts.
    verbose : int
        1 prints a line for each pass."""


class _EulerClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Mapped):
    """Lloyd's loop with the Euler kernel and hard labels; a subclass names its centroid rule."""

    _centroid_rule: ClassVar[str]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 0.9,
        scale: Literal["robust", "range", "global"] | None = "robust",
        beyond: Literal["ignore", "clip", "wrap"] = "ignore",
        init: str | ArrayLike | Callable[..., ArrayLike] = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 0.0,
        engine: str = "auto",
        n_threads: int | None = None,
        memory_limit: int | str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.scale = scale
        self.beyond = beyond
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.n_threads = n_threads
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose

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
    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None, watch: lloyd.Watch | None = None) -> Self:
        """`fit`, with one more to watch its passes."""
        self._check_parameters()
        table = _table.read(self, X, sample_weight, fitting=True, k=self.n_clusters)
        tasks = _watch.Tasks(self, X, y, sample_weight, self._n_starts(), self.max_iter)
        with threadpool_limits(self.n_threads):
            kernel = self._kernel(table)
            rows, model = self._place(kernel, table)
            lines = _watch.printed(self._n_starts()) if self.verbose else None
            told = tasks.watch(lambda fit: table.columns | self._attributes(kernel, rows, fit))
            starts = tasks.starts(self._starts(rows, table))
            fit = lloyd.best(rows, model, starts, self.max_iter, self.tol, _watch.together(watch, lines, told))
            attributes = self._attributes(kernel, rows, fit)
        self._warn_of_silent_rows(rows, table)
        self._warn_of_empty_clusters(fit)
        _table.remember(self, table)
        self.__dict__.update(attributes)
        tasks.end()
        return self

    def _attributes(self, kernel: Euler, rows: Rows, fit: lloyd.Fit) -> dict[str, Any]:
        """What a fit leaves on the estimator."""
        centroids = complex_centroids(fit.centroids)
        return {
            "kernel_": kernel,
            "alpha_": kernel.alpha,
            "labels_": fit.labels,
            "inertia_": fit.objective,
            "n_iter_": fit.n_iter,
            "history_": fit.history,
            "centroids_": centroids,
            "cluster_centers_": kernel.preimage(fit.centroids, rows.middles(fit.labels, self.n_clusters)),
            "deviation_": deviation_degree(centroids),
        }

    def _warn_of_empty_clusters(self, fit: lloyd.Fit) -> None:
        found = len(np.unique(fit.labels))
        if found < self.n_clusters:
            warnings.warn(
                f"n_clusters={self.n_clusters}, but only {found} clusters have rows: X has no more distinct rows, or "
                f"max_iter={self.max_iter} stopped the fit. Lower n_clusters or raise max_iter.",
                ConvergenceWarning,
                stacklevel=FRAMES,
            )

    def _warn_of_silent_rows(self, rows: Rows, table: _table.Table) -> None:
        """Rows that the scale leaves out may be gross errors, or a small group far away: the user has to know."""
        silent = int(((rows.weights() == 0) & (1 if table.weights is None else table.weights > 0)).sum())
        if silent:
            warnings.warn(
                f"{silent} of {len(rows)} rows take no part: all their values lie beyond the {self.scale} range. "
                "If they are no errors but a group of their own, use scale='range'.",
                stacklevel=FRAMES,
            )

    def predict(self, X: Any) -> Array:
        """Label of the nearest centroid for each row of X, (n,)."""
        return self._rows(X).nearest(grid_centroids(self.centroids_))

    def transform(self, X: Any) -> Array:
        """Distance of each row to each centroid in the mapped space, (n, k); not squared.

        Over the values a row has: rows with missing ones are nearer to everything.
        """
        return self._seen(X, lambda kernel, F, C: np.sqrt(kernel.distance(F, C).astype(np.float64) * kernel.worth))

    def score_samples(self, X: Any) -> Array:
        """How well its centroid represents each row: cosine of the angle between them, 1 at the centroid, (n,)."""
        return self._seen(X, Euler.likeness)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the objective of X for the fitted centroids.

        Comparable between fits of one alpha, scale and beyond only: a smaller alpha shrinks every distance.
        """
        check_is_fitted(self)
        rows, model = self._place(self.kernel_, _table.read(self, X, sample_weight, fitting=False))
        return -lloyd.worth(rows, rows.walk(model).step(grid_centroids(self.centroids_)).loss)

    def _place(self, kernel: Euler, table: _table.Table) -> tuple[Rows, lloyd.Model]:
        """The rows of the table where the parameters want them, and the model to run on them."""
        model = lloyd.Model(kernel, Hard(), CENTROIDS[self._centroid_rule])
        limit = _table.memory("memory_limit", self.memory_limit)
        return place(self.engine, model, table, self.n_threads, limit), model

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return self._place(self.kernel_, _table.read(self, X, fitting=False))[0]

    def _seen(self, X: Any, answer: Callable[[Euler, Array, Array], Array]) -> Array:
        """`answer` of the fitted map, the mapped rows of X and the centroids."""
        rows = self._rows(X)
        with threadpool_limits(self.n_threads):
            return rows.each(lambda F: answer(self.kernel_, F, grid_centroids(self.centroids_)))

    def _check_parameters(self) -> None:
        _table.whole("n_clusters", self.n_clusters)
        self._check_map()
        if isinstance(self.init, str) or self.init is None:
            _table.one_of("init", self.init, STARTS)
        if not (isinstance(self.n_init, str) and self.n_init == "auto"):
            _table.whole("n_init", self.n_init)
        _table.whole("max_iter", self.max_iter)
        _table.real("tol", self.tol, least=0)
        if self.n_threads is not None:
            _table.whole("n_threads", self.n_threads, hint=" (None for all)")
        _table.memory("memory_limit", self.memory_limit)
        _table.whole("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, least=0)

    def _starts(self, rows: Rows, table: _table.Table) -> Iterator[Array]:
        """Starting centroids of each run, on the grid."""
        random = _table.random_source(self.random_state)
        entropy = random.randint(0, 2**32, size=4, dtype=np.uint32).tolist()
        for seed in np.random.SeedSequence(entropy).spawn(self._n_starts()):
            if isinstance(self.init, str):
                yield STARTS[self.init](rows, self.n_clusters, np.random.PCG64(seed))
            else:
                points = self.init(table.X, self.n_clusters, random_state=random) if callable(self.init) else self.init
                points = _table.starting_points(points, self.n_clusters, table.X.shape[1])
                yield rows.kernel.start(points)

    def _n_starts(self) -> int:
        many = isinstance(self.init, str) and self.init != "k-means++"
        return (10 if many else 1) if self.n_init == "auto" else int(self.n_init)

    @property
    def _n_features_out(self) -> int:
        return len(self.centroids_)


class EulerKMeans(_EulerClusterer):
    __doc__ = f"""Euler k-means: k-means of rows mapped by phi(x) = exp(i alpha pi x)/sqrt(2).

    Its centroids are means inside the circle, off the mapped data ("pseudo-centroids"); `deviation_` says how far.

    Parameters
    ----------
    {PARAMETERS}

    Attributes
    ----------
    labels_, cluster_centers_, centroids_, deviation_, inertia_, n_iter_, history_, alpha_
        As in :class:`RectifiedEulerKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import EulerKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = EulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """
    _centroid_rule = "mean"


class RectifiedEulerKMeans(_EulerClusterer):
    __doc__ = f"""Rectified Euler k-means (REK1 = REK2): Euler k-means whose centroids stay on the mapped data.

    Minimises sum_j sum_l (1 - cos(alpha pi (x_jl - u_cl))), a bounded loss, so far values lose their pull.

    Parameters
    ----------
    {PARAMETERS}

    Attributes
    ----------
    labels_ : (n_samples,) cluster of each row.
    cluster_centers_ : (n_clusters, n_features) pre-images of the centroids, in the units of X.
    centroids_ : (n_clusters, n_features) complex centroids a + ib; of modulus 1.
    deviation_ : (n_clusters,) how far each centroid lies off the circle; 0 here.
    inertia_ : float, the objective.
    n_iter_ : int, passes of the best start.
    history_ : dict of arrays, one entry a pass: objective, moved (rows), refilled (empty clusters), seconds.
    alpha_ : float, the alpha used.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = RectifiedEulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0]).round(3)
    array([0.05, 0.95])
    """
    _centroid_rule = "rectified"


REK1 = REK2 = RectifiedEulerKMeans
