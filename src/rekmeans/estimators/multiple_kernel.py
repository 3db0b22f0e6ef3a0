"""Multiple-kernel k-means: a stack of kernels with learned weights, hard labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from numpy.typing import ArrayLike

from .._parameters import kernel_pairs
from ..kernels import KERNELS
from ..kernels.euler import Euler
from ..kernels.stack import Stack, Stacked
from ..model import Fit
from ..scales import Scale
from ._parameter_table import MULTIPLE_KERNEL_K_MEANS
from .base import Clusterer
from .placement import Placement


class MultipleKernelKMeans(Clusterer):
    """Multiple-kernel k-means clustering, with kernel weights learned from the data.

    Minimizes `sum_b w_b^power J_b/J1_b` subject to `sum_b w_b = 1`, where J_b is the objective of
    kernel b and J1_b its objective with a single cluster. Without this normalization, the flattest
    kernel would get all the weight.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernels : sequence, default=(0.5, 0.75, 1.0, 1.25)
        Kernels to combine. Each is a number, the `alpha` of an Euler kernel, or a pair (name,
        width), such as `("rbf", "auto")` or `("laplace", 2.0)`.
    power : float, default=2.0
        Exponent p > 1 of the kernel weights. If it is close to 1, a single kernel gets all the
        weight. The larger it is, the more equal the weights are.
    shared : bool, default=False
        Whether all kernels share one pre-image of each centroid. If False, each kernel has its own.
        True requires Euler kernels and `centroids="rectified"`.
    centroids : {"rectified", "mean"}, default="rectified"
        How centroids are computed:

        - "rectified": each centroid is the image of a point, so it has coordinates in the units of
          X.
        - "mean": means in the mapped space, for Euler and linear kernels only.
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
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weight of each kernel.
    kernel_centers_ : ndarray of shape (n_kernels, n_clusters, n_features)
        Centroids in the units of X (pre-images), for each kernel.
    labels_ : array of shape (n_samples,)
        Label of each row; -1 for rows without an observed value.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids in the units of X (pre-images), for the kernel with the largest weight.
    centroids_ : ndarray of shape (n_kernels, n_clusters, n_features)
        Centroids in the mapped space of each kernel.
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
    n_features_in_ : int
        Number of features of the fitted table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Defined only if all column names of X are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import MultipleKernelKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> kernels = [0.5, ("rbf", 1.0)]
    >>> model = MultipleKernelKMeans(n_clusters=2, kernels=kernels, random_state=0).fit(X)
    >>> float(model.kernel_weights_.sum().round(6)), model.kernel_centers_.shape
    (1.0, (2, 2, 1))
    """

    _interface = MULTIPLE_KERNEL_K_MEANS

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Sequence[Any] = (0.5, 0.75, 1.0, 1.25),
        power: float = 2.0,
        shared: bool = False,
        centroids: Literal["rectified", "mean"] = "rectified",
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
        self.kernels = kernels
        self.power = power
        self.shared = shared
        self.centroids = centroids
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

    def _check_combinations(self) -> None:
        for name, _ in kernel_pairs(self.kernels, Euler.name):
            if self.shared and not KERNELS[name].is_circular:
                raise ValueError(
                    f"shared=True supports only Euler kernels; got {name!r}. Use numbers (alpha), "
                    f"or shared=False."
                )
            if self.centroids == "mean" and "mean" not in KERNELS[name].centroid_rules:
                raise ValueError(
                    f"centroids='mean' supports only Euler and linear kernels; got {name!r}. Use "
                    f"numbers (alpha), or centroids='rectified'."
                )
        if self.shared and self.centroids == "mean":
            raise ValueError(
                "shared=True supports only rectified centroids; got centroids='mean'. Use "
                "centroids='rectified', or shared=False."
            )

    def _make_kernel(self, scale: Scale) -> Stack:
        pairs = kernel_pairs(self.kernels, Euler.name)
        parts = tuple(self._part(name, width, scale) for name, width in pairs)
        return Stack(
            scale, self._beyond(), parts, power=float(self.power), shared=bool(self.shared)
        )

    def _part(self, name: str, width: Any, scale: Scale) -> Any:
        """Return one kernel of the stack."""
        kind = KERNELS[name]
        widths = [width if isinstance(width, str) else float(width)] if kind.parameters else []
        return kind(scale, self._beyond(), *widths)

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        centroids = cast(Stacked, fit.centroids)
        kernel = cast(Stack, placed.model.kernel)
        centers = kernel.preimages(centroids, self._mean_phases(placed, fit))
        return super()._attributes(placed, fit) | {"kernel_centers_": centers}
