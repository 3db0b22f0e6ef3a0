"""Kernel k-means, rectified or not: (any kernel, Hard, rectified or mean)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import _parameters
from ..centroids import CENTROIDS
from ..kernels import KERNELS, with_rule
from ..scales import NO_COLUMNS, Scale, identity_scale
from ..table import ColumnSummary
from ..table.refusals import pairwise_table
from ._partial_fit import PartialFitMixin
from .base import Clusterer


class KernelClusterer(Clusterer):
    """A clusterer with its kernel by name."""

    kernel: str
    gamma: float | str

    def _kernel_names(self) -> list[str]:
        """Kernels there are for it: those that map points."""
        return [name for name, kernel in KERNELS.items() if not kernel.is_pairwise]

    def _check_parameters(self) -> None:
        _parameters.check_one_of("kernel", self.kernel, self._kernel_names())
        _parameters.check_one_of("centroids", self.centroids, CENTROIDS)
        if not (isinstance(self.gamma, str) and self.gamma == "auto"):
            _parameters.check_real("gamma", self.gamma, above=0)
        self._check_map()
        plain = self._plain_kernel(NO_COLUMNS)
        if with_rule(plain, self.centroids) is None:
            _parameters.refuse_rule(self.kernel, self.centroids, plain.centroid_rules)
        super()._check_parameters()

    def _make_kernel(self, scale: Scale) -> Any:
        return with_rule(self._plain_kernel(scale), self.centroids)

    def _plain_kernel(self, scale: Scale) -> Any:
        """The kernel of that name with the parameters it takes."""
        kind = KERNELS[self.kernel]
        for name in kind.parameters:
            if not hasattr(self, name):
                raise ValueError(
                    f"kernel={self.kernel!r} takes {name!r}, which {type(self).__name__} does not "
                    f"have."
                )
        return kind(
            scale, self._beyond(), *(_number(getattr(self, name)) for name in kind.parameters)
        )


def _number(value: Any) -> Any:
    """A parameter's number as Python's own; "auto" as it is."""
    return value if isinstance(value, str) else float(value)


class KernelKMeans(PartialFitMixin, KernelClusterer):
    """Kernel k-means, with centroids put back on the mapped data, or with its own means.

    Rectified centroids are points: a fit is linear in the rows, and a prediction compares with
    n_clusters points. For a radial kernel the nearest centroid is the nearest point: borders are
    flat, what is gained is robustness.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : {"euler", "rbf", "laplace", "laplace-l2", "linear"}, default="rbf"
        What near means: features on circles; `exp(-gamma |x - v|^2)`; `exp(-gamma |x - v|)` in the
        L1 or the L2 norm; plain distance. "precomputed": X holds the kernel values between rows,
        (n_samples, n_samples), and in predict those between new and fitted rows; means only.
    centroids : {"rectified", "mean"}, default="rectified"
        Centroids that are images of points; or means in the mapped space, off the mapped data.
        Means of the RBF and Laplace kernels are known by kernel values between rows only: their
        cost grows with the square of the rows.
    gamma : float or "auto", default="auto"
        Width of the RBF and Laplace kernels, on the scaled features. "auto" takes it from the
        distance of the middle row to its nearest of n_clusters spread rows.
    alpha : float, default=0.9
        Half-turns of the circle per unit of the scaled feature, for the Euler kernel. With a scale
        on, 1 is the largest that keeps near near.
    scale : {"robust", "range", "global"} or None, default="robust"
        What a unit of a feature is, and what is kept: the bulk of the column and groups far from
        it, with the gaps between them folded; the column's range; the range of the table; 1 (the
        paper's bare map).
    beyond : {"ignore", "clip", "wrap"}, default="ignore"
        What a value outside the kept intervals (robust; the range of the fitted rows) does:
        counts as missing; counts as the nearest bound; goes on (round the circle, for the Euler
        kernel). A row with nothing inside is labelled by its clipped values and takes no part in
        the centroids. Without a scale nothing is outside.
    init : {"k-means++", "k-means||", "random", "circle"}, array or callable, default="k-means++"
        Start: greedy k-means++ with swaps, k-means|| over all rows (not of kernels that need all
        rows at once: Laplace, kernel means), random mapped rows, random points of the circle
        (Euler), or an array of shape (n_clusters, n_features) of points in the units of X; a
        callable is called as init(X, n_clusters, random_state=...) and returns such points.
    n_init : int or "auto", default="auto"
        Starts of which the best is kept; "auto" is 10 for "random" and "circle", else 1 (for the
        Euler kernel as in :class:`RectifiedEulerKMeans`).
    max_iter : int, default=300
        Largest number of passes of one start.
    tol : float, default=1e-06
        Stop when the objective falls by no more than this share; 0 stops only when nothing changes.
    half_life : float or None, default=None
        In `partial_fit`, rows (or their weight) after which a row counts half as much; None: all
        count alike.
    engine : str, default="auto"
        Where the passes run: "auto", "native" (compiled), "reference" (NumPy), "dask" (the
        partitions of Dask's collections) or "torch" (a card; "auto" takes it where X is on one).
        For hard Euler clustering the answer is the same, bit for bit; where rows are weighed by
        real numbers it agrees to rounding.
    n_threads : int or None, default=None
        Threads to use; None for all that the process may: its CPU affinity, its container's quota,
        OMP_NUM_THREADS (set in workers of joblib and Dask). The answer is the same for any number,
        that of kernel means to rounding.
    memory_limit : int, str or None, default=None
        Bytes, or text such as "2GB", that the rows on circles (native engine, card) or the kernel
        values between rows may take; where they do not fit, they are made anew in every pass.
        Scaled rows of other kernels are always kept.
    checkpoint : str, path or None, default=None
        A file to which the fit writes how far it has come, between passes and at most once a
        second. The same fit, interrupted and called again with it, goes on to the same bits; the
        file goes when the fit ends.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    verbose : int, default=0
        1 prints a line for each pass.

    Attributes
    ----------
    labels_ : (n_samples,) cluster of each row.
    cluster_centers_ : (n_clusters, n_features) pre-images of the centroids, in the units of X.
    centroids_ : the centroids in the mapped space: complex a + ib, (n_clusters, n_features), for
    the Euler kernel;
        points in scaled units for the others; for means of RBF or Laplace kernels the weights of
        the fitted rows, (n_clusters, n_samples), with `squared_lengths_` (n_clusters,).
    deviation_ : (n_clusters,) `1 - |m|/|phi|`: how far each centroid lies off the mapped data; 0
    where it is rectified.
    inertia_ : float, the objective.
    n_iter_ : int, passes of the best start.
    history_ : dict of arrays, one entry a pass: inertia, n_changed (rows), n_relocated (empty
    clusters), seconds.
    scale_ : the intervals, shifts and unit of each column.
    engine_ : str, the engine that ran.
    n_steps_, n_samples_seen_ : int, after `partial_fit`: blocks and rows so far.
    gamma_, alpha_ : float, the width used.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import KernelKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0], [50.0]])
    >>> model = KernelKMeans(n_clusters=2, kernel="rbf", scale=None, gamma=10.0, init=[[0.2],
    ...     [0.8]]).fit(X)
    >>> model.cluster_centers_.round(2).ravel()  # the last row has no influence
    array([0.05, 0.95])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: str = "rbf",
        centroids: Literal["rectified", "mean"] = "rectified",
        gamma: float | Literal["auto"] = "auto",
        alpha: float = 0.9,
        scale: Literal["robust", "range", "global"] | None = "robust",
        beyond: Literal["ignore", "clip", "wrap"] = "ignore",
        init: str | ArrayLike | Callable[..., ArrayLike] = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        half_life: float | None = None,
        engine: str = "auto",
        n_threads: int | None = None,
        memory_limit: int | str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.centroids = centroids
        self.gamma = gamma
        self.alpha = alpha
        self.scale = scale
        self.beyond = beyond
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.half_life = half_life
        self.engine = engine
        self.n_threads = n_threads
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = (
            isinstance(self.kernel, str) and self.kernel in KERNELS and self._is_pairwise()
        )
        return tags

    def _kernel_names(self) -> list[str]:
        return list(KERNELS)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._is_pairwise():
            _parameters.refuse_points(self.kernel, self.init)

    def _read_table(self, X: Any, sample_weight: Any = None, *, fitting: bool) -> Any:
        table = super()._read_table(X, sample_weight, fitting=fitting)
        is_pairwise = self._is_pairwise() if fitting else self.kernel_.is_pairwise
        return pairwise_table(table, fitting) if is_pairwise else table

    def _is_pairwise(self) -> bool:
        """Whether the kernel that the parameters name takes kernel values for a table."""
        return bool(KERNELS[self.kernel].is_pairwise)

    def _find_scale(self, summary: ColumnSummary) -> Scale:
        return (
            identity_scale(summary.n_columns)
            if self._is_pairwise()
            else super()._find_scale(summary)
        )

    def _beyond(self) -> str:
        return "wrap" if self._is_pairwise() else super()._beyond()

    def transform(self, X: Any) -> Any:
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
        self._refuse_without_points("transform")
        return super().transform(X)

    def score_samples(self, X: Any) -> Any:
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
        self._refuse_without_points("score_samples")
        return super().score_samples(X)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the objective of X for the fitted centroids.

        Scores are comparable between fits of one kernel and width only.

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
        self._refuse_without_points("score")
        return super().score(X, y, sample_weight)

    def _refuse_without_points(self, method: str) -> None:
        """What measures a row needs its kernel value with itself."""
        check_is_fitted(self)
        if self.kernel_.is_pairwise:
            _parameters.refuse_unknown_lengths(method)
