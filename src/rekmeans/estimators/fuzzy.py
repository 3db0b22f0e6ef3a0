"""Kernel fuzzy c-means: (any kernel, Fuzzy, rectified or mean)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from .. import _parameters
from .._grid import Array
from ..assignment import Fuzzy
from ..model import Fit
from .kernel_kmeans import KernelClusterer
from .placement import Placement
from .words import ATTRIBUTES, COMMON, described

FUZZINESS = """float
        The exponent m > 1 of the memberships: near 1 they are hard, as it grows they tend to 1/n_clusters, in many
        columns soon."""


class FuzzyCMeans(KernelClusterer):
    __doc__ = f"""Kernel fuzzy c-means: every row belongs to every cluster by a degree.

    Minimises `sum_j sum_c u_jc^m |phi(x_j) - m_c|^2` with `sum_c u_jc = 1`. As m tends to 1 it becomes hard clustering.

    Parameters
    ----------
    {described("n_clusters", "kernel", fuzziness=FUZZINESS)}
    {described(*COMMON)}

    Attributes
    ----------
    memberships_ : (n_samples, n_clusters) degrees u, each row of sum 1.
    {ATTRIBUTES}

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
        self.random_state = random_state
        self.verbose = verbose

    def _assignment_rule(self) -> Fuzzy:
        return Fuzzy(float(self.fuzziness))

    def _check_parameters(self) -> None:
        _parameters.real("fuzziness", self.fuzziness, above=1, most=_parameters.MOST_EVEN)
        super()._check_parameters()

    def _why_empty(self) -> str:
        return f"centroids have run together at fuzziness={self.fuzziness:g}. Lower fuzziness or n_clusters."

    def _attributes(self, placed: Placement, fit: Fit) -> dict[str, Any]:
        degrees = placed.rows.map_blocks(lambda F: self._degrees(placed.model.kernel, F, fit.centroids))
        return super()._attributes(placed, fit) | {"memberships_": degrees}

    def _degrees(self, kernel: Any, F: Array, C: Any) -> Array:
        return self._assignment_rule().memberships(kernel.distance(F, C), kernel.loss)

    def memberships(self, X: Any) -> Array:
        """Degree to which each row belongs to each cluster, (n, k), each row of sum 1."""
        return self._apply(X, self._degrees)
