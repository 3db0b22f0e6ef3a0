"""Kernelised Mahalanobis fuzzy clustering (KMD-FC): (Mahalanobis, Fuzzy, rectified or mean)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from .. import _parameters
from ..kernels import KERNELS
from ..kernels.mahalanobis import Mahalanobis
from ..scales import Scale
from .fuzzy import FUZZINESS, FuzzyCMeans
from .words import ATTRIBUTES, COMMON, described

OWN = {
    "kernel": """{"euler", "linear"}
        Features on circles, or as they are (Gustafson and Kessel's clustering of the scaled table).""",
    "fuzziness": FUZZINESS,
    "prior": """float
        Weight of a round shape against the cluster's own.""",
    "centroids": """{"rectified", "mean"}
        Centroids on the circles, nearest to the means in the metric of their shape; or the means.""",
}


class MahalanobisFuzzyCMeans(FuzzyCMeans):
    __doc__ = f"""Fuzzy c-means whose clusters have shapes: Gustafson and Kessel's distances on mapped rows.

    Distances are `(f - m)' A (f - m) + prior s^2 tr A` with one shape A of volume 1 for each cluster. The prior, a
    share of the table's own spread s^2, keeps a shape from collapsing; as part of the objective it lets no step raise
    it. It adds to all distances of a row: a large one blurs the degrees, which a lower fuzziness makes up for.

    Parameters
    ----------
    {described("n_clusters", **OWN)}
    {described(*(name for name in COMMON if name not in ("centroids", "gamma")))}

    Attributes
    ----------
    shapes_ : (n_clusters, p, p) the matrices A; p is 2 n_features ([cos | sin]) for Euler, n_features for linear.
    memberships_ : (n_samples, n_clusters) degrees u, each row of sum 1.
    {ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import MahalanobisFuzzyCMeans
    >>> X = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 0.05] + np.repeat([[0, 0], [0, 1]], 100, axis=0)
    >>> model = MahalanobisFuzzyCMeans(n_clusters=2, kernel="linear", random_state=0).fit(X)
    >>> bool((model.shapes_[:, 1, 1] > model.shapes_[:, 0, 0]).all())  # both are flat
    True
    """

    gamma = "auto"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Literal["euler", "linear"] = "euler",
        fuzziness: float = 1.1,
        prior: float = 0.1,
        centroids: Literal["rectified", "mean"] = "rectified",
        alpha: float = 0.9,
        scale: Literal["robust", "range", "global"] | None = "robust",
        beyond: Literal["clip", "wrap"] = "clip",
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
        self.prior = prior
        self.centroids = centroids
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags

    def _kernel_names(self) -> list[str]:
        """Kernels whose means can be written down, so that they have a covariance."""
        names = super()._kernel_names()
        return [name for name in names if "mean" in KERNELS[name].centroid_rules]

    def _check_parameters(self) -> None:
        _parameters.real("prior", self.prior, above=0)
        super()._check_parameters()
        _parameters.one_of("beyond", self.beyond, ("clip", "wrap"))

    def _n_starts(self) -> int:
        """Shapes have many low points: one start in three ends in a poor one."""
        return max(4, super()._n_starts()) if self.n_init == "auto" else super()._n_starts()

    def _make_kernel(self, scale: Scale) -> Mahalanobis:
        return Mahalanobis(scale, self._beyond(), self._plain_kernel(scale), float(self.prior))
