"""Kernel fuzzy c-means: (any kernel, Fuzzy, rectified or mean)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from .. import _parameters
from .._grid import Array
from ..assignment import Fuzzy
from ..model import Fit
from .kernel_kmeans import KernelClusterer
from .placement import Placement


class FuzzyCMeans(KernelClusterer):
    """Kernel fuzzy c-means: every row belongs to every cluster by a degree.

    Minimises `sum_j sum_c u_jc^m |phi(x_j) - m_c|^2` with `sum_c u_jc = 1`. As m tends to 1 it
    becomes hard clustering.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : {"euler", "rbf", "laplace", "laplace-l2", "linear"}, default="euler"
        What near means: features on circles; `exp(-gamma |x - v|^2)`; `exp(-gamma |x - v|)` in the
        L1 or the L2 norm; plain distance.
    fuzziness : float, default=1.2
        The exponent m > 1 of the memberships: near 1 they are hard, as it grows they tend to
        1/n_clusters, in many columns soon.
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
        that of kernel means to rounding.
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
    >>> from rekmeans import FuzzyCMeans
    >>> X = np.array([[0.0], [0.1], [0.5], [0.9], [1.0]])
    >>> model = FuzzyCMeans(n_clusters=2, fuzziness=2.0, init=[[0.0], [1.0]]).fit(X)
    >>> model.memberships_[2].round(3)
    array([0.5, 0.5])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: str = "euler",
        fuzziness: float = 1.2,
        centroids: Literal["rectified", "mean"] = "rectified",
        gamma: float | Literal["auto"] = "auto",
        alpha: float = 0.9,
        scale: Literal["robust", "range", "global"] | None = "robust",
        beyond: Literal["ignore", "clip", "wrap"] = "ignore",
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
        self.centroids = centroids
        self.gamma = gamma
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

    def _assignment_rule(self) -> Fuzzy:
        return Fuzzy(float(self.fuzziness))

    def _check_prediction_parameters(self) -> None:
        _parameters.check_real("fuzziness", self.fuzziness, above=1, most=_parameters.MOST_EVEN)
        super()._check_prediction_parameters()

    def _why_empty(self) -> str:
        return (
            f"centroids have run together at fuzziness={self.fuzziness:g}. Lower fuzziness "
            f"or n_clusters."
        )

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        degrees = placed.rows.map_blocks(
            lambda F: self._degrees(placed.model.kernel, F, fit.centroids)
        )
        return super()._attributes(placed, fit) | {"memberships_": degrees}

    def _degrees(self, kernel: Any, F: Array, C: Any) -> Array:
        return self._assignment_rule().memberships(kernel.distance(F, C), kernel.loss)

    def memberships(self, X: Any) -> Array:
        """Return the degree to which each row belongs to each cluster.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the columns of the fit, as in `fit`.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            The degrees; those of a row sum to 1.
        """
        return self._apply(X, self._degrees)
