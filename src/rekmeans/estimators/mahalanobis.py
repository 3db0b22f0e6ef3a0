"""Kernelised Mahalanobis fuzzy clustering (KMD-FC): (Mahalanobis, Fuzzy, rectified or mean)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from .. import _parameters
from ..kernels import KERNELS
from ..kernels.mahalanobis import Mahalanobis
from ..scales import Scale
from .fuzzy import FuzzyCMeans


class MahalanobisFuzzyCMeans(FuzzyCMeans):
    """Fuzzy c-means whose clusters have shapes: Gustafson and Kessel's distances on mapped rows.

    Distances are `(f - m)' A (f - m) + prior s^2 tr A` with one shape A of volume 1 for each
    cluster. The prior, a share of the table's own spread s^2, keeps a shape from collapsing; as
    part of the objective it lets no step raise it. It adds to all distances of a row: a large one
    blurs the degrees, which a lower fuzziness makes up for.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : {"euler", "linear"}, default="euler"
        Features on circles, or as they are (Gustafson and Kessel's clustering of the scaled table).
    fuzziness : float, default=1.1
        The exponent m > 1 of the memberships: near 1 they are hard, as it grows they tend to
        1/n_clusters, in many columns soon.
    prior : float, default=0.1
        Weight of a round shape against the cluster's own.
    centroids : {"rectified", "mean"}, default="rectified"
        Centroids on the circles, nearest to the means in the metric of their shape; or the means.
    alpha : float, default=0.9
        Half-turns of the circle per unit of the scaled feature, for the Euler kernel. With a scale
        on, 1 is the largest that keeps near near.
    scale : {"robust", "range", "global"} or None, default="robust"
        What a unit of a feature is, and what is kept: the bulk of the column and groups far from
        it, with the gaps between them folded; the column's range; the range of the table; 1 (the
        paper's bare map).
    beyond : {"ignore", "clip", "wrap"}, default="clip"
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
        Starts of which the best is kept; "auto" is 10 for "random" and "circle", else 1.
    max_iter : int, default=300
        Largest number of passes of one start.
    tol : float, default=1e-06
        Stop when the objective falls by no more than this share; 0 stops only when nothing changes.
    engine : str, default="auto"
        Where the passes run: "auto", "native" (compiled) or "reference" (NumPy). For hard Euler
        clustering the answer is the same, bit for bit; where rows are weighed by real numbers it
        agrees to rounding.
    n_threads : int or None, default=None
        Threads to use; None for all that the process may: its CPU affinity, its container's quota,
        OMP_NUM_THREADS (set in workers of joblib and Dask). The answer is the same for any number,
        to rounding.
    memory_limit : int, str or None, default=None
        Bytes, or text such as "2GB", that the rows on circles (native engine) or the kernel values
        between rows may take; where they do not fit, they are made anew in every pass. Scaled rows
        of other kernels are always kept.
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
    shapes_ : (n_clusters, p, p) the matrices A; p is 2 n_features ([cos | sin]) for Euler,
    n_features for linear.
    memberships_ : (n_samples, n_clusters) degrees u, each row of sum 1.
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

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import MahalanobisFuzzyCMeans
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 0.05] + np.repeat([[0, 0], [0,
    ...     1]], 100, axis=0)
    >>> model = MahalanobisFuzzyCMeans(n_clusters=2, kernel="linear", random_state=0).fit(X)
    >>> bool((model.shapes_[:, 1, 1] > model.shapes_[:, 0, 0]).all())  # both are flat
    True
    """

    gamma = "auto"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Literal["euler", "linear"] = "euler",
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

    def _kernel_names(self) -> list[str]:
        """Kernels whose means can be written down, so that they have a covariance."""
        names = super()._kernel_names()
        return [name for name in names if "mean" in KERNELS[name].centroid_rules]

    def _check_parameters(self) -> None:
        _parameters.check_real("prior", self.prior, above=0)
        super()._check_parameters()
        _parameters.check_one_of("beyond", self.beyond, ("clip", "wrap"))

    def _auto_plus_plus_starts(self) -> int:
        """Shapes have many low points: one start in three ends in a poor one."""
        return 4

    def _make_kernel(self, scale: Scale) -> Mahalanobis:
        return Mahalanobis(scale, self._beyond(), self._plain_kernel(scale), float(self.prior))
