"""Prototypes with neighbours: (any kernel, Map or NeuralGas, rectified or mean), the reach annealed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial.distance import cdist

from .. import _table, assign, lloyd
from .._grid import Array, sampled
from .._scale import Scale
from ..engines import Rows
from ..seeds import STARTS
from .kernel import KernelClusterer
from .words import ATTRIBUTES, COMMON, PARAMETERS, described

LAST = 0.2  # reach from which the fall goes to 0 in one step: neighbours hardly count there
WIDE = 2.0  # standard deviations that a map spreads to each side at its start
SAMPLE = 1 << 10  # rows that its plane is taken from; of more, in wide tables, it would take longer than the fit
ANNEALED = {
    "reach": """float
        How far a row pulls the neighbours of its winner in the end; 0 pulls the winner alone, as in k-means.""",
    "start_reach": """float or None
        The reach of the first stage; None for half of n_clusters, of the longer side for a map.""",
    "stages": """int
        Steps in which the reach falls from its start to its end, a few passes each; 1 keeps it at the end.""",
    "max_iter": f"""int
        Largest number of passes of the last stage; those before it have at most {lloyd.STAGE} each.""",
}
PLANE = f""""plane" or {PARAMETERS["init"].replace("n_clusters", "nodes")}
        "plane" lays the grid in the two widest directions of the table."""


class _Annealed(KernelClusterer):
    """A rule whose reach shrinks from stage to stage; the objective never rises within one."""

    reach: float
    start_reach: float | None
    stages: int

    def _reaches(self) -> Array:
        """The reach of each stage, falling by equal factors."""
        if self.stages == 1:
            return np.array([float(self.reach)])
        first = self._widest() if self.start_reach is None else float(self.start_reach)
        last = float(self.reach) if self.reach > 0 else min(LAST, first)
        falling = np.geomspace(max(first, last), last, self.stages - (self.reach == 0))
        return np.append(falling, 0.0) if self.reach == 0 else falling

    def _widest(self) -> float:
        """The reach of the first stage where none is named."""
        return max(self.n_clusters / 2, 0.5)

    def _rule(self, reach: float) -> Any:
        raise NotImplementedError

    def _assign(self) -> Any:
        return self._rule(float(self.reach))

    def _stages(self, model: lloyd.Model) -> Sequence[lloyd.Model]:
        return [*(replace(model, assign=self._rule(float(reach))) for reach in self._reaches()[:-1]), model]

    def _passes(self) -> int:
        return self.max_iter + (self.stages - 1) * (lloyd.STAGE + 1)

    def _check_parameters(self) -> None:
        _table.real("reach", self.reach, least=0)
        if self.start_reach is not None:
            _table.real("start_reach", self.start_reach, above=0)
        _table.whole("stages", self.stages)
        super()._check_parameters()

    def _attributes(self, kernel: Any, rows: Rows, fit: lloyd.Fit) -> dict[str, Any]:
        found = super()._attributes(kernel, rows, fit)
        stage = fit.history.get("stage", np.zeros(len(fit.history["moved"]), int))
        return found | {"history_": fit.history | {"reach": self._reaches()[stage]}}


class SelfOrganizingMap(_Annealed):
    __doc__ = f"""Kernel self-organising map: prototypes on a grid, neighbours on the grid alike in the data.

    Minimises Heskes' energy `sum_j sum_r h_cr |phi(x_j) - m_r|^2`, c being the winner of row j, the node at which the
    inner sum is least. `h_cr` is in proportion to `exp(-|c - r|^2/(2 reach^2))` on the grid, with `sum_r h_cr = 1`.
    Kohonen's own rule minimises nothing. Nodes between clusters may stay without rows.

    Parameters
    ----------
    {
        described(
            "kernel",
            grid='''(int, int)
        Rows and columns of the grid of nodes.''',
        )
    }
    {described(*COMMON, **(ANNEALED | {"init": PLANE}))}

    Attributes
    ----------
    u_matrix_ : (rows, columns) mean distance of each node to its neighbours on the grid: ridges part clusters.
    topographic_error_ : float, share of the rows whose two nearest nodes are no neighbours.
    {ATTRIBUTES}

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
        self.random_state = random_state
        self.verbose = verbose

    def _k(self) -> int:
        """Nodes of the map."""
        return int(np.prod(self.grid))

    def _asked(self) -> str:
        return f"grid={self.grid}"

    def _rule(self, reach: float) -> assign.Map | assign.Hard:
        return assign.Map((int(self.grid[0]), int(self.grid[1])), reach) if reach > 0 else assign.Hard()

    def _widest(self) -> float:
        return max(self.grid) / 2

    def _check_parameters(self) -> None:
        _table.sides("grid", self.grid)
        super()._check_parameters()

    def _inits(self) -> Sequence[str]:
        return ["plane", *STARTS]

    def _n_starts(self) -> int:
        return 1 if isinstance(self.init, str) and self.init == "plane" else super()._n_starts()

    def _starts(self, rows: Rows, table: _table.Table) -> Iterator[Array]:
        if not (isinstance(self.init, str) and self.init == "plane"):
            return super()._starts(rows, table)
        return iter([rows.kernel.start(plane(table, rows.kernel.scale, (int(self.grid[0]), int(self.grid[1]))))])

    def _warn_of_empty_clusters(self, fit: lloyd.Fit) -> None:
        """A node without rows bridges those beside it: no cause for a word."""

    def _attributes(self, kernel: Any, rows: Rows, fit: lloyd.Fit) -> dict[str, Any]:
        C, at = fit.centroids, assign.places((int(self.grid[0]), int(self.grid[1])))
        steps, near = cdist(at, at, "cityblock"), rows.each(lambda F: two_nearest(kernel.distance(F, C)))
        beside, apart = steps == 1, kernel.between(C)
        ridges = (apart * beside).sum(axis=1) / np.maximum(beside.sum(axis=1), 1)
        found = {"u_matrix_": ridges.reshape(self.grid)}
        torn = steps[near[:, 0], near[:, 1]] > 1
        found["topographic_error_"] = float(np.average(torn, weights=rows.weights()))
        return super()._attributes(kernel, rows, fit) | found


class NeuralGas(_Annealed):
    __doc__ = f"""Kernel batch neural gas: every row pulls all prototypes, the nearest most, by exp(-rank/reach).

    As the reach falls to 0 it ends as k-means, with less dependence on the start.

    Parameters
    ----------
    {described("n_clusters", "kernel")}
    {described(*COMMON, **ANNEALED)}

    Attributes
    ----------
    graph_ : (n_clusters, n_clusters) sparse, weight of the rows whose two nearest prototypes these are: the learned
        topology.
    {ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import NeuralGas
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> model = NeuralGas(n_clusters=5, random_state=0).fit(X)
    >>> model.graph_.nnz // 2  # a chain of five
    4
    """

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
        self.random_state = random_state
        self.verbose = verbose

    def _rule(self, reach: float) -> assign.NeuralGas | assign.Hard:
        return assign.NeuralGas(reach) if reach > 0 else assign.Hard()

    def _attributes(self, kernel: Any, rows: Rows, fit: lloyd.Fit) -> dict[str, Any]:
        C, k = fit.centroids, len(fit.centroids)
        near = rows.each(lambda F: two_nearest(kernel.distance(F, C)))
        w = np.ldexp(rows.weights().astype(np.float64), -rows.weight_bits) * (k > 1)
        graph = sparse.coo_array((w, (near[:, 0], near[:, 1])), shape=(k, k)).tocsr()
        graph = sparse.csr_array(graph + graph.T)
        graph.eliminate_zeros()
        return super()._attributes(kernel, rows, fit) | {"graph_": graph}


def two_nearest(D: Array) -> Array:
    """The columns of the least and the next D, (n, 2); the same twice where there is one."""
    return np.argsort(D, axis=1, kind="stable")[:, [0, min(1, D.shape[1] - 1)]]


def plane(table: _table.Table, scale: Scale, grid: tuple[int, int]) -> Array:
    """Points of a grid in the plane of the table's two widest directions, its longer side along the widest, (k, d)."""
    at, w = sampled(np.ones(table.X.shape[0]) if table.weights is None else table.weights, SAMPLE)
    rows, w = table.X[at], w[:, None] / w.max()
    Z = scale.scaled(scale.clipped(rows.toarray() if sparse.issparse(rows) else rows))
    seen = ~np.isnan(Z)
    middle = (w * np.where(seen, Z, 0.0)).sum(axis=0) / np.maximum((w * seen).sum(axis=0), np.finfo(float).tiny)
    _, sizes, axes = np.linalg.svd(np.sqrt(w) * np.where(seen, Z - middle, 0.0), full_matrices=False)
    steps = np.zeros((2, len(middle)))  # a standard deviation along each axis of the plane, its largest entry positive
    for i in range(min(2, len(sizes))):
        steps[i] = axes[i] * sizes[i] / np.sqrt(w.sum()) * np.sign(axes[i][np.abs(axes[i]).argmax()])
    along = steps if grid[0] >= grid[1] else steps[::-1]
    ends = [np.linspace(-WIDE, WIDE, side) if side > 1 else np.zeros(1) for side in grid]
    lines = [end[:, None] * step for end, step in zip(ends, along, strict=True)]  # (rows, d), (columns, d)
    return scale.restored((middle + lines[0][:, None] + lines[1]).reshape(-1, len(middle)))
