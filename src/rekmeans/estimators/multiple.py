"""Multiple-kernel k-means with learned kernel weights: (Stack of kernels, Hard, rectified or mean)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import _parameters, _table, lloyd
from .._grid import Array
from .._scale import column_range, fenced
from ..assign import Hard
from ..centroids import CENTROIDS
from ..engines import Rows, place
from ..kernels import KERNELS
from ..kernels.stack import Stack
from .kernel import KernelClusterer
from .words import ATTRIBUTES, COMMON, described

LEAST = np.finfo(float).tiny  # of a loss whose inverse does not overflow
PASSES = 100  # to the one centroid of all rows that gives a kernel its unit
OWN = {
    "kernels": """sequence
        Each a number (Euler's alpha) or a pair (name, width), such as ("rbf", "auto") or ("laplace", 2.0).""",
    "power": """float
        The exponent p > 1 of the weights: near 1 one kernel takes all, as it grows they become equal.""",
    "shared": """bool
        One pre-image for all kernels instead of each kernel's own; Euler kernels and rectified centroids only.""",
    "centroids": """{"rectified", "mean"}
        Centroids on the mapped data, or means; means for Euler and linear kernels only.""",
}


class MultipleKernelKMeans(KernelClusterer):
    __doc__ = f"""Multiple-kernel k-means: several kernels at once, each by a weight that the data choose.

    Minimises `sum_b w_b^power J_b/J1_b` with `sum_b w_b = 1`; J_b is the objective of kernel b and J1_b its value for a
    single cluster, without which all weight would fall to the flattest kernel.

    Parameters
    ----------
    {described("n_clusters", **OWN)}
    {described(*(name for name in COMMON if name not in ("centroids", "gamma", "alpha")))}

    Attributes
    ----------
    kernel_weights_ : (kernels,) the weights w.
    kernel_centers_ : (kernels, n_clusters, n_features) pre-images by kernel; `cluster_centers_` are those of the
        largest weight.
    {ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import MultipleKernelKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = MultipleKernelKMeans(n_clusters=2, kernels=(0.5, ("rbf", 1.0)), random_state=0).fit(X)
    >>> float(model.kernel_weights_.sum().round(6)), model.kernel_centers_.shape
    (1.0, (2, 2, 1))
    """

    kernel = "euler"
    gamma = "auto"
    alpha = 0.9

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
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        _parameters.kernel_list(self.kernels, KERNELS, self.shared, self.centroids)
        _parameters.real("power", self.power, above=1, most=_parameters.MOST_EVEN)
        super()._check_parameters()

    def _kernel(self, table: _table.Table) -> Stack:
        pairs = [kernel if isinstance(kernel, tuple | list) else ("euler", kernel) for kernel in self.kernels]
        scale = self._scale(table)
        parts = tuple(self._plain(table, scale, name, width) for name, width in pairs)
        middle = fenced(table.X, table.weights, self.n_threads).centre[None]
        units = tuple(self._unit(part, table, middle) for part in parts)
        seen = column_range(table.X, table.weights)
        ends = np.stack([seen.low, seen.high])
        far = np.abs(scale.scaled(ends if parts[0].beyond == "wrap" else scale.clipped(ends))).max()
        return Stack(parts, units, float(self.power), bool(self.shared), float(far))

    def _unit(self, kernel: Any, table: _table.Table, middle: Array) -> float:
        """Mean loss of a row when one centroid, reached from the middle, serves all; 1 where there is none."""
        model = lloyd.Model(kernel, Hard(), CENTROIDS[self.centroids])
        rows = place(self.engine, model, table, self.n_threads)
        fit = lloyd.run(rows, model, kernel.start(middle), PASSES, float(self.tol))
        unit = float(fit.loss) * kernel.worth / float(rows.weights().sum())
        return unit if unit > LEAST else 1.0

    def _attributes(self, kernel: Stack, rows: Rows, fit: lloyd.Fit) -> dict[str, Any]:
        C, near = fit.centroids, rows.middles(fit.labels, len(fit.centroids))
        found = {"kernel_weights_": kernel.weights(C), "kernel_centers_": kernel.preimages(C, near)}
        return super()._attributes(kernel, rows, fit) | found
