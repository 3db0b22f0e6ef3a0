"""Euler k-means and rectified Euler k-means: Euler kernel, hard labels, mean or rectified."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from ._parameter_table import EULER
from ._partial_fit import PartialFitMixin


class _EulerClusterer(PartialFitMixin):
    """Hard clustering of rows mapped by the Euler kernel; subclasses set the centroid rule."""

    _interface = EULER

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
        half_life: float | None = None,
        engine: str = "auto",
        n_threads: int | None = None,
        memory_limit: int | str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
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
        self.half_life = half_life
        self.engine = engine
        self.n_threads = n_threads
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose


class EulerKMeans(_EulerClusterer):
    """Euler k-means clustering: k-means of rows mapped by phi(x) = exp(i alpha pi x)/sqrt(2).

    Centroids are means of mapped rows. They lie inside the circles, off the mapped data (the paper
    calls them pseudo-centroids); `deviation_` measures by how much.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=0.9
        Half-turns of the circle per unit of a scaled feature, for the Euler kernel. Values above 1
        wrap around, so distant values can look close.
    scale : {"robust", "range", "global"} or None, default="robust"
        How features are scaled before they are mapped:

        - "robust": by the bulk of each feature. Groups far from the bulk are kept, and the gaps
          between them are closed. Isolated values far from the bulk are outliers; see `beyond`.
        - "range": by the range of each feature.
        - "global": by the range of all features together.
        - None: not at all, as in the paper.
    beyond : {"ignore", "clip", "wrap"}, default="ignore"
        How to treat values outside the range kept by `scale`:

        - "ignore": as missing values. Rows without any other value are clipped: they get a label,
          but do not influence the centroids.
        - "clip": as the nearest bound of the range.
        - "wrap": as they are; the Euler kernel wraps them around the circle.

        Has no effect if `scale` is None.
    init : {"k-means++", "k-means||", "random", "circle"}, array or callable, default="k-means++"
        Method of initialization:

        - "k-means++": greedy k-means++ with swaps. For hard Euler clustering, the best of a few
          short fits started in this way.
        - "k-means||": k-means|| over all rows. Not available for kernels that need all rows at once
          (Laplace, and means of the RBF kernel).
        - "random": random rows.
        - "circle": random points of the circles, for the Euler kernel only.
        - array of shape (n_clusters, n_features): starting centroids in the units of X.
        - callable: called as `init(X, n_clusters, random_state=...)`, returns such an array.
    n_init : int or "auto", default="auto"
        Number of starts. The one with the lowest objective is kept. "auto": 10 if `init` is
        "random" or "circle", otherwise 1.
    max_iter : int, default=300
        Maximum number of iterations of each start.
    tol : float, default=0.0
        Relative tolerance: the fit stops if the objective decreases by at most this fraction. With
        0, it stops only when nothing changes.
    half_life : float or None, default=None
        Number of rows (or total weight) after which a row counts half as much in `partial_fit`.
        None: all rows count equally.
    engine : {"auto", "native", "reference", "dask", "torch"}, default="auto"
        Where the computation runs:

        - "auto": depends on X and on what is installed; see `engine_`.
        - "native": compiled code on the CPU.
        - "reference": NumPy.
        - "dask": the workers that hold the partitions of a Dask collection.
        - "torch": a GPU. "auto" selects it if X is on a GPU.

        Hard Euler clustering gives bit-identical results on all engines. Other methods agree up to
        rounding, and only hard clustering runs on "dask" and "torch".
    n_threads : int or None, default=None
        Number of CPU threads. None: the largest number that the CPU affinity, the container quota
        and OMP_NUM_THREADS allow. (joblib and Dask set OMP_NUM_THREADS in their workers.) Results
        do not depend on it, except for rounding in kernel means, kernel weights and covariances.
    memory_limit : int, str or None, default=None
        Memory for the mapped rows (Euler kernel, native and torch engines) or for the kernel values
        between rows, in bytes or as text such as "2GB". If they do not fit, they are recomputed in
        every iteration. Other kernels always keep the scaled rows in memory.
    checkpoint : str, path or None, default=None
        File to which the fit saves its progress, at most once per second. To resume an interrupted
        fit, call it again with the same arguments; the result is the same. The file is deleted when
        the fit ends.
    random_state : int, RandomState or None, default=None
        Determines the random numbers of the initialization. Pass an int for reproducible results.
    verbose : int, default=0
        If 1, print a line for each iteration.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Label of each row; -1 for rows without an observed value.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids in the units of X (pre-images).
    centroids_ : complex ndarray of shape (n_clusters, n_features)
        Centroids in the mapped space, one complex number per feature.
    deviation_ : ndarray of shape (n_clusters,)
        Distance of each centroid m from the set of possible mapped rows, `1 - |m|/|phi|`, where
        `|phi|` is the length of a mapped row. It is 0 for rectified centroids.
    inertia_ : float
        Objective of the best start.
    n_iter_ : int
        Number of iterations of the best start.
    history_ : dict of ndarrays
        One value per iteration: `inertia`, `n_changed` (rows whose label changed), `n_relocated`
        (empty clusters that were relocated) and `seconds`.
    scale_ : Scale
        Kept intervals, shifts and unit of each feature, and the fraction of its values outside the
        intervals.
    engine_ : str
        Engine that ran the fit.
    alpha_ : float
        The `alpha` of the Euler kernel.
    n_steps_ : int
        Number of blocks that `partial_fit` has processed.
    n_samples_seen_ : int
        Number of rows that `partial_fit` has processed.
    n_features_in_ : int
        Number of features of the fitted table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Defined only if all column names of X are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import EulerKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = EulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """

    centroids = "mean"


class RectifiedEulerKMeans(_EulerClusterer):
    """Rectified Euler k-means clustering, robust to gross errors and missing values.

    Minimizes `sum_j sum_l (1 - cos(alpha pi (x_jl - u_cl)))`, where u_c is the centroid of the
    cluster of row j. The loss is bounded, so distant values have little influence. Unlike those of
    Euler k-means, the centroids lie on the circles, like the mapped rows. The methods REK1 and REK2
    of the paper solve the same problem; both names refer to this class.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float, default=0.9
        Half-turns of the circle per unit of a scaled feature, for the Euler kernel. Values above 1
        wrap around, so distant values can look close.
    scale : {"robust", "range", "global"} or None, default="robust"
        How features are scaled before they are mapped:

        - "robust": by the bulk of each feature. Groups far from the bulk are kept, and the gaps
          between them are closed. Isolated values far from the bulk are outliers; see `beyond`.
        - "range": by the range of each feature.
        - "global": by the range of all features together.
        - None: not at all, as in the paper.
    beyond : {"ignore", "clip", "wrap"}, default="ignore"
        How to treat values outside the range kept by `scale`:

        - "ignore": as missing values. Rows without any other value are clipped: they get a label,
          but do not influence the centroids.
        - "clip": as the nearest bound of the range.
        - "wrap": as they are; the Euler kernel wraps them around the circle.

        Has no effect if `scale` is None.
    init : {"k-means++", "k-means||", "random", "circle"}, array or callable, default="k-means++"
        Method of initialization:

        - "k-means++": greedy k-means++ with swaps. For hard Euler clustering, the best of a few
          short fits started in this way.
        - "k-means||": k-means|| over all rows. Not available for kernels that need all rows at once
          (Laplace, and means of the RBF kernel).
        - "random": random rows.
        - "circle": random points of the circles, for the Euler kernel only.
        - array of shape (n_clusters, n_features): starting centroids in the units of X.
        - callable: called as `init(X, n_clusters, random_state=...)`, returns such an array.
    n_init : int or "auto", default="auto"
        Number of starts. The one with the lowest objective is kept. "auto": 10 if `init` is
        "random" or "circle", otherwise 1.
    max_iter : int, default=300
        Maximum number of iterations of each start.
    tol : float, default=0.0
        Relative tolerance: the fit stops if the objective decreases by at most this fraction. With
        0, it stops only when nothing changes.
    half_life : float or None, default=None
        Number of rows (or total weight) after which a row counts half as much in `partial_fit`.
        None: all rows count equally.
    engine : {"auto", "native", "reference", "dask", "torch"}, default="auto"
        Where the computation runs:

        - "auto": depends on X and on what is installed; see `engine_`.
        - "native": compiled code on the CPU.
        - "reference": NumPy.
        - "dask": the workers that hold the partitions of a Dask collection.
        - "torch": a GPU. "auto" selects it if X is on a GPU.

        Hard Euler clustering gives bit-identical results on all engines. Other methods agree up to
        rounding, and only hard clustering runs on "dask" and "torch".
    n_threads : int or None, default=None
        Number of CPU threads. None: the largest number that the CPU affinity, the container quota
        and OMP_NUM_THREADS allow. (joblib and Dask set OMP_NUM_THREADS in their workers.) Results
        do not depend on it, except for rounding in kernel means, kernel weights and covariances.
    memory_limit : int, str or None, default=None
        Memory for the mapped rows (Euler kernel, native and torch engines) or for the kernel values
        between rows, in bytes or as text such as "2GB". If they do not fit, they are recomputed in
        every iteration. Other kernels always keep the scaled rows in memory.
    checkpoint : str, path or None, default=None
        File to which the fit saves its progress, at most once per second. To resume an interrupted
        fit, call it again with the same arguments; the result is the same. The file is deleted when
        the fit ends.
    random_state : int, RandomState or None, default=None
        Determines the random numbers of the initialization. Pass an int for reproducible results.
    verbose : int, default=0
        If 1, print a line for each iteration.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Label of each row; -1 for rows without an observed value.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids in the units of X (pre-images).
    centroids_ : complex ndarray of shape (n_clusters, n_features)
        Centroids in the mapped space, one complex number per feature.
    deviation_ : ndarray of shape (n_clusters,)
        Distance of each centroid m from the set of possible mapped rows, `1 - |m|/|phi|`, where
        `|phi|` is the length of a mapped row. It is 0 for rectified centroids.
    inertia_ : float
        Objective of the best start.
    n_iter_ : int
        Number of iterations of the best start.
    history_ : dict of ndarrays
        One value per iteration: `inertia`, `n_changed` (rows whose label changed), `n_relocated`
        (empty clusters that were relocated) and `seconds`.
    scale_ : Scale
        Kept intervals, shifts and unit of each feature, and the fraction of its values outside the
        intervals.
    engine_ : str
        Engine that ran the fit.
    alpha_ : float
        The `alpha` of the Euler kernel.
    n_steps_ : int
        Number of blocks that `partial_fit` has processed.
    n_samples_seen_ : int
        Number of rows that `partial_fit` has processed.
    n_features_in_ : int
        Number of features of the fitted table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Defined only if all column names of X are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = RectifiedEulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0]).round(3)
    array([0.05, 0.95])
    """

    centroids = "rectified"


REK1 = REK2 = RectifiedEulerKMeans
