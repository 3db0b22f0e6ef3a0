"""Kernel neural gas: any kernel, weights by rank, and a reach that decreases."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .. import assignment
from ..model import Fit
from ._parameter_table import NEURAL_GAS
from .annealed import Annealed, two_nearest
from .placement import Placement


class NeuralGas(Annealed):
    """Kernel batch neural gas: each row attracts all prototypes, the nearest ones most strongly.

    A row attracts the prototype of rank r with weight exp(-r/reach). As the reach decreases to 0,
    the method becomes k-means, but depends less on the initialization.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : {"euler", "rbf", "laplace", "laplace-l2", "linear"}, default="euler"
        Kernel that defines distances between rows `x` and points `v`:

        - "euler": each feature is mapped to a circle; see `alpha`.
        - "rbf": `exp(-gamma |x - v|^2)`.
        - "laplace": `exp(-gamma |x - v|)` with the L1 norm.
        - "laplace-l2": `exp(-gamma |x - v|)` with the L2 norm.
        - "linear": Euclidean distance, as in k-means.
    reach : float, default=0.0
        Reach of the last stage: how far a row also attracts the neighbors of its nearest prototype.
        With 0, a row attracts only its nearest prototype, as in k-means.
    start_reach : float or None, default=None
        Reach of the first stage. None: half of n_clusters, or half of the longer side of the grid.
    stages : int, default=10
        Number of stages. The reach decreases geometrically from `start_reach` to `reach`. With 1,
        the only stage runs at `reach`.
    centroids : {"rectified", "mean"}, default="rectified"
        How centroids are computed:

        - "rectified": each centroid is the image of a point, so it has coordinates in the units of
          X.
        - "mean": means in the mapped space, which generally are not images of points. For the RBF
          and Laplace kernels they require the kernel values between all rows, so the cost grows
          with the square of n_samples.
    gamma : float or "auto", default="auto"
        Width parameter of the RBF and Laplace kernels, in units of the scaled features. "auto":
        half the inverse of the median distance (squared for RBF) from a row to the nearest of
        n_clusters rows spread over the table.
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
        Maximum number of iterations of the last stage. Earlier stages have at most 5 each.
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
    graph_ : sparse array of shape (n_clusters, n_clusters)
        Learned topology: entry (a, b) is the total weight of the rows whose two nearest prototypes
        are a and b.
    labels_ : array of shape (n_samples,)
        Label of each row; -1 for rows without an observed value.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids in the units of X (pre-images).
    centroids_ : ndarray of shape (n_clusters, n_features)
        Centroids in the mapped space: complex numbers for the Euler kernel, points in scaled units
        for other kernels. For means of the RBF and Laplace kernels, the weights of the fitted rows,
        of shape (n_clusters, n_samples).
    deviation_ : ndarray of shape (n_clusters,)
        Distance of each centroid m from the set of possible mapped rows, `1 - |m|/|phi|`, where
        `|phi|` is the length of a mapped row. It is 0 for rectified centroids.
    inertia_ : float
        Objective of the best start.
    n_iter_ : int
        Number of iterations of the best start.
    history_ : dict of ndarrays
        One value per iteration: `inertia`, `n_changed` (rows whose label changed), `n_relocated`
        (empty clusters that were relocated), `seconds`, `stage` and `reach`.
    scale_ : Scale
        Kept intervals, shifts and unit of each feature, and the fraction of its values outside the
        intervals.
    engine_ : str
        Engine that ran the fit.
    alpha_ : float
        The `alpha` of the Euler kernel.
    gamma_ : float
        The `gamma` of the RBF or Laplace kernel.
    n_features_in_ : int
        Number of features of the fitted table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Defined only if all column names of X are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import NeuralGas
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> model = NeuralGas(n_clusters=5, random_state=0).fit(X)
    >>> model.graph_.nnz // 2  # edges: a chain of 5 prototypes
    4
    """

    _interface = NEURAL_GAS

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: str = "euler",
        reach: float = 0.0,
        start_reach: float | None = None,
        stages: int = 10,
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
        self.reach = reach
        self.start_reach = start_reach
        self.stages = stages
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

    def _rule(self, reach: float) -> Any:
        return assignment.NeuralGas(reach) if reach > 0 else assignment.Hard()

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        rows = placed.rows
        C = fit.centroids
        k = len(fit.centroids)
        nearest = rows.map_blocks(lambda F: two_nearest(rows.kernel.distance(F, C)))
        w = np.ldexp(rows.weights().astype(np.float64), -rows.weight_bits) * (k > 1)
        graph = sparse.coo_array((w, (nearest[:, 0], nearest[:, 1])), shape=(k, k)).tocsr()
        graph = sparse.csr_array(graph + graph.T)
        graph.eliminate_zeros()
        return super()._attributes(placed, fit) | {"graph_": graph}
