"""Euler k-means and its rectified form: (Euler, Hard, mean) and (Euler, Hard, rectified)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from ._partial_fit import PartialFitMixin


class _EulerClusterer(PartialFitMixin):
    """Hard labels of Euler-mapped rows; a subclass names its centroid rule."""

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
    """Euler k-means: k-means of rows mapped by phi(x) = exp(i alpha pi x)/sqrt(2).

    Its centroids are means inside the circle, off the mapped data ("pseudo-centroids");
    `deviation_` says how far.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
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
        Start: the best of a few short fits from greedy k-means++, k-means|| over all rows, random
        mapped rows, random points of the circle, or an array of shape (n_clusters, n_features) of
        points in the units of X; a callable is called as init(X, n_clusters, random_state=...) and
        returns such points.
    n_init : int or "auto", default="auto"
        Whole fits of which the best is kept; "auto" is 10 for "random" and "circle", and 1 for the
        others: "k-means++" starts where the best of up to ten short fits ends.
    max_iter : int, default=300
        Largest number of passes of one start.
    tol : float, default=0.0
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
        OMP_NUM_THREADS (set in workers of joblib and Dask). The answer is the same for any number.
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
    labels_, cluster_centers_, centroids_, deviation_, inertia_, n_iter_, history_, alpha_, scale_,
    engine_
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

    centroids = "mean"


class RectifiedEulerKMeans(_EulerClusterer):
    """Rectified Euler k-means (REK1 = REK2): Euler k-means whose centroids stay on the mapped data.

    Minimises sum_j sum_l (1 - cos(alpha pi (x_jl - u_cl))), a bounded loss, so far values lose
    their influence.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
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
        Start: the best of a few short fits from greedy k-means++, k-means|| over all rows, random
        mapped rows, random points of the circle, or an array of shape (n_clusters, n_features) of
        points in the units of X; a callable is called as init(X, n_clusters, random_state=...) and
        returns such points.
    n_init : int or "auto", default="auto"
        Whole fits of which the best is kept; "auto" is 10 for "random" and "circle", and 1 for the
        others: "k-means++" starts where the best of up to ten short fits ends.
    max_iter : int, default=300
        Largest number of passes of one start.
    tol : float, default=0.0
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
        OMP_NUM_THREADS (set in workers of joblib and Dask). The answer is the same for any number.
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
    centroids_ : (n_clusters, n_features) complex centroids a + ib; of modulus 1.
    deviation_ : (n_clusters,) how far each centroid lies off the circle; 0 here.
    inertia_ : float, the objective.
    n_iter_ : int, passes of the best start.
    history_ : dict of arrays, one entry a pass: inertia, n_changed (rows), n_relocated (empty
    clusters), seconds.
    alpha_ : float, the alpha used.
    scale_ : the kept intervals, shifts and unit of each column, and the share of its cells left
    out.
    engine_ : str, the engine that ran.
    n_steps_, n_samples_seen_ : int, after `partial_fit`: blocks and rows so far.

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
