"""Kernel self-organizing map: any kernel, weights by grid distance, and a reach that decreases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from .._grid import Array
from ..assignment import Hard, SomNeighbourhood, node_places
from ..engines import Rows
from ..model import Fit
from ..scales import Scale
from ..table import Table
from ._identity import StartDraws
from ._parameter_table import SELF_ORGANIZING_MAP
from .annealed import Annealed, two_nearest
from .placement import Placement

# The initial grid is in the plane of the first two principal components of a sample
PLANE_SIGMAS = 2.0  # half-length of each side of the grid, in standard deviations
PLANE_SEED = 0
PLANE_ROWS = 1 << 10  # with more rows, the SVD of a wide table takes longer than the fit


class SelfOrganizingMap(Annealed):
    """Kernel self-organizing map: prototypes on a grid, where neighbors represent similar rows.

    Minimizes Heskes' energy `sum_j sum_r h_cr |phi(x_j) - m_r|^2`, where the winner c of row j is
    the node with the smallest inner sum. `h_cr` is proportional to `exp(-|c - r|^2/(2 reach^2))` on
    the grid, and `sum_r h_cr = 1`. (Kohonen's original rule has no objective.) Nodes between
    clusters may have no rows.

    Parameters
    ----------
    grid : (int, int), default=(6, 6)
        Numbers of rows and columns of the grid of nodes.
    kernel : {"euler", "rbf", "laplace", "laplace-l2", "linear"}, default="euler"
        Kernel that defines distances between rows `x` and points `v`:

        - "euler": each feature is mapped to a circle; see `alpha`.
        - "rbf": `exp(-gamma |x - v|^2)`.
        - "laplace": `exp(-gamma |x - v|)` with the L1 norm.
        - "laplace-l2": `exp(-gamma |x - v|)` with the L2 norm.
        - "linear": Euclidean distance, as in k-means.
    reach : float, default=0.5
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
    init : {"plane", "k-means++", "k-means||", "random", "circle"}, array, callable, default="plane"
        Method of initialization:

        - "k-means++": greedy k-means++ with swaps. For hard Euler clustering, the best of a few
          short fits started in this way.
        - "k-means||": k-means|| over all rows. Not available for kernels that need all rows at once
          (Laplace, and means of the RBF kernel).
        - "random": random rows.
        - "circle": random points of the circles, for the Euler kernel only.
        - array of shape (n_nodes, n_features): starting centroids in the units of X.
        - callable: called as `init(X, n_nodes, random_state=...)`, returns such an array.
        - "plane": a grid in the plane of the first two principal components; `n_init` has no
          effect.
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
    u_matrix_ : ndarray of the shape of the grid
        Mean distance of each node to its neighbors on the grid. High values separate clusters.
    topographic_error_ : float
        Fraction of the rows whose two nearest nodes are not neighbors on the grid.
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
    >>> from rekmeans import SelfOrganizingMap
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> model = SelfOrganizingMap(grid=(3, 4), random_state=0).fit(X)
    >>> model.u_matrix_.shape, model.topographic_error_ < 0.2
    ((3, 4), True)
    """

    _interface = SELF_ORGANIZING_MAP
    _k_parameter = "grid"
    _own_start_names = ("plane",)

    def __init__(
        self,
        grid: tuple[int, int] = (6, 6),
        *,
        kernel: str = "euler",
        reach: float = 0.5,
        start_reach: float | None = None,
        stages: int = 10,
        centroids: Literal["rectified", "mean"] = "rectified",
        gamma: float | Literal["auto"] = "auto",
        alpha: float = 0.9,
        scale: Literal["robust", "range", "global"] | None = "robust",
        beyond: Literal["ignore", "clip", "wrap"] = "ignore",
        init: str | ArrayLike | Callable[..., ArrayLike] = "plane",
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
        self.grid = grid
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

    def _n_centroids(self) -> int:
        """Return the number of nodes of the grid."""
        return int(np.prod(self.grid))

    def _sides(self) -> tuple[int, int]:
        """Return the numbers of rows and columns of the grid."""
        return int(self.grid[0]), int(self.grid[1])

    def _rule(self, reach: float) -> Any:
        return SomNeighbourhood(self._sides(), reach) if reach > 0 else Hard()

    def _start_reach(self) -> float:
        return max(self.grid) / 2

    def _starts_in_plane(self) -> bool:
        return isinstance(self.init, str) and self.init == "plane"

    def _n_starts(self) -> int:
        return 1 if self._starts_in_plane() else super()._n_starts()

    def _make_starts(self, rows: Rows, table: Any, draws: StartDraws) -> Iterator[Any]:
        if not self._starts_in_plane():
            return super()._make_starts(rows, table, draws)
        return iter(
            [rows.kernel.from_points(points_in_plane(table, rows.kernel.scale, self._sides()))]
        )

    def _warn_of_empty_clusters(self, rows: Rows, fit: Fit) -> None:
        """Do not warn, because nodes without rows may lie between their neighbors."""

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        rows = placed.rows
        C = fit.centroids
        positions = node_places(self._sides())
        steps = cdist(positions, positions, "cityblock")
        nearest = rows.map_blocks(lambda F: two_nearest(rows.kernel.distance(F, C)))
        are_neighbors = steps == 1
        distances = rows.kernel.centroid_distances(C)
        n_neighbors = np.maximum(are_neighbors.sum(axis=1), 1)
        mean_distances = (distances * are_neighbors).sum(axis=1) / n_neighbors
        is_error = steps[nearest[:, 0], nearest[:, 1]] > 1
        return super()._attributes(placed, fit) | {
            "u_matrix_": mean_distances.reshape(self.grid),
            "topographic_error_": float(np.average(is_error, weights=rows.weights())),
        }


def points_in_plane(table: Table, scale: Scale, grid: tuple[int, int]) -> Array:
    """Return points (k, d) of a grid in the plane of the first two principal components.

    The longer side of the grid lies along the first component.
    """
    sample = table.sample(PLANE_ROWS, PLANE_SEED)
    Z = scale.to_units(sample.dense(slice(None)), "clip")
    w = (
        np.ones((len(Z), 1))
        if sample.weights is None
        else sample.weights[:, None] / sample.weights.max()
    )
    observed = ~np.isnan(Z)
    mass = np.maximum((w * observed).sum(axis=0), np.finfo(float).tiny)
    middle = (w * np.where(observed, Z, 0.0)).sum(axis=0) / mass
    _, sizes, axes = np.linalg.svd(
        np.sqrt(w) * np.where(observed, Z - middle, 0.0), full_matrices=False
    )
    # one standard deviation along each component, with a positive largest entry
    steps = np.zeros((2, len(middle)))
    for i in range(min(2, len(sizes))):
        steps[i] = (
            axes[i] * sizes[i] / np.sqrt(w.sum()) * np.sign(axes[i][np.abs(axes[i]).argmax()])
        )
    along = steps if grid[0] >= grid[1] else steps[::-1]
    ends = [
        np.linspace(-PLANE_SIGMAS, PLANE_SIGMAS, side) if side > 1 else np.zeros(1) for side in grid
    ]
    # (rows, d), (columns, d)
    lines = [end[:, None] * step for end, step in zip(ends, along, strict=True)]
    return scale.from_units((middle + lines[0][:, None] + lines[1]).reshape(-1, len(middle)))
