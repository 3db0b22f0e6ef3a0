"""Kernelized Mahalanobis fuzzy clustering (KMD-FC): a covariance per cluster, fuzzy memberships."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from ..kernels.mahalanobis import Mahalanobis
from ..scales import Scale
from ._parameter_table import MAHALANOBIS_FUZZY_C_MEANS
from .fuzzy import FuzzyCMeans


class MahalanobisFuzzyCMeans(FuzzyCMeans):
    """Fuzzy c-means with ellipsoidal clusters (Gustafson and Kessel) in the mapped space.

    The distance of a mapped row f to cluster (m, A) is `(f - m)' A (f - m) + prior s^2 tr A`, where
    det A = 1 and s^2 is the variance of the table. The prior keeps shapes from collapsing. It is
    part of the objective, so that no iteration increases the objective. Because it adds to all
    distances of a row, a large prior makes memberships more equal; a lower fuzziness compensates.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : {"euler", "linear"}, default="euler"
        Space in which clusters are ellipsoidal:

        - "euler": each feature is mapped to a circle; see `alpha`.
        - "linear": the scaled features, as in the method of Gustafson and Kessel.
    fuzziness : float, default=1.1
        Exponent m > 1 of the memberships. If it is close to 1, memberships are nearly 0 or 1. The
        larger it is, the closer they are to 1/n_clusters, especially if there are many features.
    prior : float, default=0.1
        Weight of a spherical shape relative to the covariance of the cluster.
    centroids : {"rectified", "mean"}, default="rectified"
        How centroids are computed:

        - "rectified": each centroid is the image of a point, so it has coordinates in the units of
          X.
        - "mean": means in the mapped space, for Euler and linear kernels only.
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
    beyond : {"clip", "wrap"}, default="clip"
        How to treat values outside the range kept by `scale`:

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
        "random" or "circle", 4 if it is "k-means++" or "k-means||", otherwise 1.
    max_iter : int, default=300
        Maximum number of iterations of each start.
    tol : float, default=1e-6
        Relative tolerance: the fit stops if the objective decreases by at most this fraction. With
        0, it stops only when nothing changes.
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
    shapes_ : ndarray of shape (n_clusters, p, p)
        Matrix A of each cluster. The number of mapped features p is 2 n_features for the Euler
        kernel (cosines, then sines) and n_features for the linear kernel.
    memberships_ : ndarray of shape (n_samples, n_clusters)
        Membership of each row in each cluster; each row sums to 1. NaN for rows without an observed
        value.
    labels_ : array of shape (n_samples,)
        Label of each row; -1 for rows without an observed value.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids in the units of X (pre-images).
    centroids_ : ndarray of shape (n_clusters, n_features)
        Centroids in the mapped space: complex numbers for the Euler kernel, points in scaled units
        for the linear kernel.
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
    n_features_in_ : int
        Number of features of the fitted table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Defined only if all column names of X are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import MahalanobisFuzzyCMeans
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 0.05]
    >>> X[100:, 1] += 1.0
    >>> model = MahalanobisFuzzyCMeans(n_clusters=2, kernel="linear", random_state=0).fit(X)
    >>> bool((model.shapes_[:, 1, 1] > model.shapes_[:, 0, 0]).all())  # both are elongated
    True
    """

    gamma = "auto"

    _interface = MAHALANOBIS_FUZZY_C_MEANS
    # with shapes, one start in three ends in a poor local minimum
    _auto_plus_plus_starts = 4

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: str = "euler",
        fuzziness: float = 1.1,
        prior: float = 0.1,
        centroids: Literal["rectified", "mean"] = "rectified",
        alpha: float = 0.9,
        scale: Literal["robust", "range", "global"] | None = "robust",
        beyond: Literal["clip", "wrap"] = "clip",
        init: str | ArrayLike | Callable[..., ArrayLike] = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        engine: str = "auto",
        n_threads: int | None = None,
        memory_limit: int | str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.fuzziness = fuzziness
        self.prior = prior
        self.centroids = centroids
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
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags

    def _make_kernel(self, scale: Scale) -> Mahalanobis:
        return Mahalanobis(scale, self._beyond(), self._plain_kernel(scale), float(self.prior))
