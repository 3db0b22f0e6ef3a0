"""The scikit-learn face: EulerKMeans, RectifiedEulerKMeans and the transformer EulerMap."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted
from threadpoolctl import threadpool_limits

from . import _table, lloyd
from ._grid import GRID, Array
from ._scale import BEYOND, SCALES, column_range
from .assign import Hard
from .centroids import CENTROIDS
from .engines import Rows, place
from .kernels.euler import Euler
from .metrics import deviation_degree
from .seeds import STARTS

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


class _Mapped(BaseEstimator):
    """What estimators on Euler-mapped rows share: the parameters of the map."""

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

    def _check_map(self) -> None:
        _table.real("alpha", self.alpha, above=0, most=_table.STEEPEST)
        _table.one_of("scale", self.scale, SCALES)
        _table.one_of("beyond", self.beyond, BEYOND)

    def _kernel(self, table: _table.Table) -> Euler:
        """The Euler map that the parameters give for this table."""
        scale = SCALES[self.scale](table.X, table.weights, getattr(self, "n_threads", None))
        return Euler(float(self.alpha), scale, self.beyond if self.scale else "wrap")


class _EulerClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, _Mapped):
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
        self._check_parameters()
        table = _table.read(self, X, sample_weight, fitting=True, k=self.n_clusters)
        kernel = self._kernel(table)
        with threadpool_limits(self.n_threads):
            rows, model = self._place(kernel, table)
            fit = lloyd.best(rows, model, self._starts(rows, table), self.max_iter, self.tol, self._watch())
            near = rows.middles(fit.labels, self.n_clusters)
        self._warn_of_silent_rows(rows, table)
        found = len(np.unique(fit.labels))
        if found < self.n_clusters:
            warnings.warn(
                f"n_clusters={self.n_clusters}, but only {found} clusters have rows: X has no more distinct rows, or "
                f"max_iter={self.max_iter} stopped the fit. Lower n_clusters or raise max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        _table.remember(self, table)
        self.kernel_, self.alpha_ = kernel, kernel.alpha
        self.labels_, self.inertia_ = fit.labels, fit.objective
        self.n_iter_, self.history_ = fit.n_iter, fit.history
        self.centroids_ = _complex(fit.centroids)
        self.cluster_centers_ = kernel.preimage(fit.centroids, near)
        self.deviation_ = deviation_degree(self.centroids_)
        return self

    def _warn_of_silent_rows(self, rows: Rows, table: _table.Table) -> None:
        """Rows that the scale leaves out may be gross errors, or a small group far away: the user has to know."""
        silent = int(((rows.weights() == 0) & (1 if table.weights is None else table.weights > 0)).sum())
        if silent:
            warnings.warn(
                f"{silent} of {len(rows)} rows take no part: all their values lie beyond the {self.scale} range. "
                "If they are no errors but a group of their own, use scale='range'.",
                UserWarning,
                stacklevel=3,
            )

    def predict(self, X: Any) -> Array:
        """Label of the nearest centroid for each row of X, (n,)."""
        return self._rows(X).nearest(_grid(self.centroids_))

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
        return -lloyd.worth(rows, rows.walk(model).step(_grid(self.centroids_)).loss)

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
            return rows.each(lambda F: answer(self.kernel_, F, _grid(self.centroids_)))

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
        many = isinstance(self.init, str) and self.init != "k-means++"
        count = (10 if many else 1) if self.n_init == "auto" else self.n_init
        for seed in np.random.SeedSequence(entropy).spawn(count):
            if isinstance(self.init, str):
                yield STARTS[self.init](rows, self.n_clusters, np.random.PCG64(seed))
            else:
                points = self.init(table.X, self.n_clusters, random_state=random) if callable(self.init) else self.init
                points = _table.starting_points(points, self.n_clusters, table.X.shape[1])
                yield rows.kernel.start(points)

    def _watch(self) -> lloyd.Watch | None:
        return (lambda t, record: print(_line(t, record), flush=True)) if self.verbose else None

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


class EulerMap(TransformerMixin, _Mapped):
    """The Euler map as a transformer: each feature becomes (cos, sin) of its phase.

    Parameters
    ----------
    alpha : float
        Half-turns of the circle per unit of the scaled feature.
    scale : {"robust", "range", "global"} or None
        What a unit of a feature is; see :class:`RectifiedEulerKMeans`.
    beyond : {"ignore", "clip", "wrap"}
        What a value outside the scaled range does.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import EulerMap
    >>> EulerMap(alpha=0.5, scale="range").fit_transform(np.array([[0.0], [1.0]]))
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(
        self,
        *,
        alpha: float = 0.9,
        scale: Literal["robust", "range", "global"] | None = "robust",
        beyond: Literal["ignore", "clip", "wrap"] = "ignore",
    ) -> None:
        self.alpha = alpha
        self.scale = scale
        self.beyond = beyond

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the scale of each column."""
        self._check_map()
        table = _table.read(self, X, sample_weight, fitting=True)
        self.kernel_ = self._kernel(table)
        extent = self.kernel_.scale if self.scale else column_range(table.X, table.weights)
        self.middle_ = (extent.low + extent.high) / 2
        _table.remember(self, table)
        return self

    def transform(self, X: Any) -> Array:
        """[cos | sin], (n, 2d); (0, 0) for a cell that says nothing."""
        check_is_fitted(self)
        rows = _table.read(self, X, fitting=False).X
        return self.kernel_.embed(rows.toarray() if issparse(rows) else rows) / GRID

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Values in the units of the table, on the branch nearest the middle of each range; NaN from (0, 0)."""
        check_is_fitted(self)
        d = self.n_features_in_
        F = _table.circle_points(X, d)
        values = self.kernel_.preimage(F, self.kernel_.line(self.middle_))
        return np.where((F[:, :d] == 0) & (F[:, d:] == 0), np.nan, values)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """cos(name) for all features, then sin(name)."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array([f"{part}({name})" for part in ("cos", "sin") for name in names], dtype=object)


def _complex(C: Array) -> Array:
    """Grid centroids [cos | sin] as complex numbers, (k, d)."""
    d = C.shape[1] // 2
    return (C[:, :d] + 1j * C[:, d:]) / GRID


def _grid(centroids: Array) -> Array:
    """Complex centroids back on the grid, exactly."""
    return np.concatenate([np.rint(part * GRID) for part in (centroids.real, centroids.imag)], axis=1).astype(np.int32)


def _line(t: int, record: dict[str, Any]) -> str:
    counts = f"objective {record['objective']:.6g}  moved {record['moved']}  refilled {record['refilled']}"
    return f"pass {t + 1}  {counts}  {record['seconds'] * 1e3:.1f} ms"
