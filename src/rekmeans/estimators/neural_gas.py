"""Kernel neural gas: (any kernel, NeuralGas, rectified or mean), the reach annealed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .. import assignment
from ..model import Fit
from .annealed import ANNEALED, Annealed, two_nearest
from .placement import Placement
from .words import ATTRIBUTES, COMMON, described


class NeuralGas(Annealed):
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

    def _rule(self, reach: float) -> Any:
        return assignment.NeuralGas(reach) if reach > 0 else assignment.Hard()

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        rows, C, k = placed.rows, fit.centroids, len(fit.centroids)
        near = rows.map_blocks(lambda F: two_nearest(rows.kernel.distance(F, C)))
        w = np.ldexp(rows.weights().astype(np.float64), -rows.weight_bits) * (k > 1)
        graph = sparse.coo_array((w, (near[:, 0], near[:, 1])), shape=(k, k)).tocsr()
        graph = sparse.csr_array(graph + graph.T)
        graph.eliminate_zeros()
        return super()._attributes(placed, fit) | {"graph_": graph}
