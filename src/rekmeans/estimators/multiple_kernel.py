"""Multiple-kernel k-means with learned kernel weights: (Stack of kernels, Hard, rectified or mean)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from .. import _parameters
from ..centroids import CENTROIDS
from ..kernels import KERNELS
from ..kernels.euler import Euler
from ..kernels.stack import Stack
from ..model import Fit
from ..scales import Scale
from .base import Clusterer
from .placement import Placement
from .words import ATTRIBUTES, COMMON, described

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


class MultipleKernelKMeans(Clusterer):
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
        _parameters.one_of("centroids", self.centroids, CENTROIDS)
        _parameters.kernel_list(self.kernels, KERNELS, Euler.name, self.shared, self.centroids)
        _parameters.real("power", self.power, above=1, most=_parameters.MOST_EVEN)
        super()._check_parameters()

    def _make_kernel(self, scale: Scale) -> Stack:
        pairs = _parameters.kernel_pairs(self.kernels, Euler.name)
        parts = tuple(self._part(name, width, scale) for name, width in pairs)
        return Stack(scale, self._beyond(), parts, power=float(self.power), shared=bool(self.shared))

    def _part(self, name: str, width: Any, scale: Scale) -> Any:
        kind = KERNELS[name]
        own = [width if isinstance(width, str) else float(width)] if kind.parameters else []
        return kind(scale, self._beyond(), *own)

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        centers = placed.model.kernel.preimages(fit.centroids, self._near(placed, fit))
        return super()._attributes(placed, fit) | {"kernel_centers_": centers}
