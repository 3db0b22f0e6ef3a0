"""Kernel self-organising map: (any kernel, SomNeighbourhood, rectified or mean), the reach
annealed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from .. import _parameters
from .._grid import Array
from ..assignment import Hard, SomNeighbourhood, node_places
from ..engines import Rows
from ..model import Fit
from ..scales import Scale
from ..table import Table
from ._identity import StartDraws
from .annealed import Annealed, two_nearest
from .placement import Placement

PLANE_SIGMAS = 2.0  # standard deviations that a map spreads to each side at its start
PLANE_SEED = 0  # of the sample that its plane is taken from
# rows that its plane is taken from; of more, in wide tables, it would take longer than the fit
PLANE_ROWS = 1 << 10


class SelfOrganizingMap(Annealed):
    """Kernel self-organising map: prototypes on a grid, neighbours on the grid alike in the data.

    Minimises Heskes' energy `sum_j sum_r h_cr |phi(x_j) - m_r|^2`, c being the winner of row j, the
    node at which the inner sum is least. `h_cr` is in proportion to `exp(-|c - r|^2/(2 reach^2))`
    on the grid, with `sum_r h_cr = 1`. Kohonen's own rule minimises nothing. Nodes between clusters
    may stay without rows.

    Parameters
    ----------
    grid : (int, int), default=(6, 6)
        Rows and columns of the grid of nodes.
    kernel : {"euler", "rbf", "laplace", "laplace-l2", "linear"}, default="euler"
        What near means: features on circles; `exp(-gamma |x - v|^2)`; `exp(-gamma |x - v|)` in the
        L1 or the L2 norm; plain distance.
    reach : float, default=0.5
        How far a row pulls the neighbours of its winner in the end; 0 pulls the winner alone, as in
        k-means.
    start_reach : float or None, default=None
        The reach of the first stage; None for half of n_clusters, of the longer side for a map.
    stages : int, default=10
        Steps in which the reach falls from its start to its end, a few passes each; 1 keeps it at
        the end.
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
    init : {"plane", "k-means++", "k-means||", "random", "circle"}, array, callable, default="plane"
        Start: greedy k-means++ with swaps, k-means|| over all rows (not of kernels that need all
        rows at once: Laplace, kernel means), random mapped rows, random points of the circle
        (Euler), or an array of shape (nodes, n_features) of points in the units of X; a callable is
        called as init(X, nodes, random_state=...) and returns such points. "plane" lays the grid in
        the two widest directions of the table.
    n_init : int or "auto", default="auto"
        Starts of which the best is kept; "auto" is 10 for "random" and "circle", else 1.
    max_iter : int, default=300
        Largest number of passes of the last stage; those before it have at most 5 each.
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
    u_matrix_ : (rows, columns) mean distance of each node to its neighbours on the grid: ridges
    part clusters.
    topographic_error_ : float, share of the rows whose two nearest nodes are not neighbours.
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
    >>> from rekmeans import SelfOrganizingMap
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> model = SelfOrganizingMap(grid=(3, 4), random_state=0).fit(X)
    >>> model.u_matrix_.shape, model.topographic_error_ < 0.2
    ((3, 4), True)
    """

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
        """Nodes of the map."""
        return int(np.prod(self.grid))

    def _k_parameter(self) -> str:
        return f"grid={self.grid}"

    def _sides(self) -> tuple[int, int]:
        """Rows and columns of the grid."""
        return int(self.grid[0]), int(self.grid[1])

    def _rule(self, reach: float) -> Any:
        return SomNeighbourhood(self._sides(), reach) if reach > 0 else Hard()

    def _start_reach(self) -> float:
        return max(self.grid) / 2

    def _check_prediction_parameters(self) -> None:
        _parameters.check_grid("grid", self.grid)
        super()._check_prediction_parameters()

    def _start_names(self) -> Collection[str]:
        return ["plane", *super()._start_names()]

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
        """A node without rows bridges those beside it: no cause for a word."""

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        rows = placed.rows
        C = fit.centroids
        places = node_places(self._sides())
        steps = cdist(places, places, "cityblock")
        near = rows.map_blocks(lambda F: two_nearest(rows.kernel.distance(F, C)))
        beside = steps == 1
        distances = rows.kernel.centroid_distances(C)
        ridges = (distances * beside).sum(axis=1) / np.maximum(beside.sum(axis=1), 1)
        torn = steps[near[:, 0], near[:, 1]] > 1
        return super()._attributes(placed, fit) | {
            "u_matrix_": ridges.reshape(self.grid),
            "topographic_error_": float(np.average(torn, weights=rows.weights())),
        }


def points_in_plane(table: Table, scale: Scale, grid: tuple[int, int]) -> Array:
    """Points of a grid in the plane of the table's two widest directions, its longer side along the
    widest, (k, d).
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
    # a standard deviation along each axis of the plane, its largest entry positive
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
