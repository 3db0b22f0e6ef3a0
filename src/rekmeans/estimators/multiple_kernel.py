"""Multiple-kernel k-means with learned kernel weights: (Stack of kernels, Hard, rectified or
mean).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from numpy.typing import ArrayLike

from .. import _parameters
from ..centroids import CENTROIDS
from ..kernels import KERNELS
from ..kernels.euler import Euler
from ..kernels.stack import Stack, Stacked
from ..model import Fit
from ..scales import Scale
from .base import Clusterer
from .placement import Placement


class MultipleKernelKMeans(Clusterer):
    """Multiple-kernel k-means: several kernels at once, each by a weight that the data choose.

    Minimises `sum_b w_b^power J_b/J1_b` with `sum_b w_b = 1`; J_b is the objective of kernel b and
    J1_b its value for a single cluster, without which all weight would fall to the flattest kernel.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernels : sequence, default=(0.5, 0.75, 1.0, 1.25)
        Each a number (Euler's alpha) or a pair (name, width), such as ("rbf", "auto") or
        ("laplace", 2.0).
    power : float, default=2.0
        The exponent p > 1 of the weights: near 1 one kernel takes all, as it grows they become
        equal.
    shared : bool, default=False
        One pre-image for all kernels instead of each kernel's own; Euler kernels and rectified
        centroids only.
    centroids : {"rectified", "mean"}, default="rectified"
        Centroids on the mapped data, or means; means for Euler and linear kernels only.
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
    kernel_weights_ : (kernels,) the weights w.
    kernel_centers_ : (kernels, n_clusters, n_features) pre-images by kernel; `cluster_centers_` are
    those of the
        largest weight.
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
    >>> from rekmeans import MultipleKernelKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = MultipleKernelKMeans(n_clusters=2, kernels=(0.5, ("rbf", 1.0)),
    ...     random_state=0).fit(X)
    >>> float(model.kernel_weights_.sum().round(6)), model.kernel_centers_.shape
    (1.0, (2, 2, 1))
    """

    alpha = 0.9  # each kernel has its own

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

    def _check_parameters(self) -> None:
        _parameters.check_one_of("centroids", self.centroids, CENTROIDS)
        _parameters.check_kernel_list(
            self.kernels, KERNELS, Euler.name, self.shared, self.centroids
        )
        _parameters.check_real("power", self.power, above=1, most=_parameters.MOST_EVEN)
        super()._check_parameters()

    def _make_kernel(self, scale: Scale) -> Stack:
        pairs = _parameters.kernel_pairs(self.kernels, Euler.name)
        parts = tuple(self._part(name, width, scale) for name, width in pairs)
        return Stack(
            scale, self._beyond(), parts, power=float(self.power), shared=bool(self.shared)
        )

    def _part(self, name: str, width: Any, scale: Scale) -> Any:
        kind = KERNELS[name]
        widths = [width if isinstance(width, str) else float(width)] if kind.parameters else []
        return kind(scale, self._beyond(), *widths)

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        centroids = cast(Stacked, fit.centroids)
        kernel = cast(Stack, placed.model.kernel)
        centers = kernel.preimages(centroids, self._near(placed, fit))
        return super()._attributes(placed, fit) | {"kernel_centers_": centers}
