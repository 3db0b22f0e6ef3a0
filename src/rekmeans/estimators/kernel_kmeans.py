"""Kernel k-means, rectified or not: (any kernel, Hard, rectified or mean)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from .. import _parameters
from ..centroids import CENTROIDS
from ..kernels import KERNELS, with_rule
from ..scales import Scale, identity_scale
from ..table import MemoryTable, Table
from ..table.refusals import pairwise_table
from .base import Clusterer
from .words import ATTRIBUTES, COMMON, PARAMETERS, described

PRECOMPUTED = f"""{PARAMETERS["kernel"]}
        "precomputed": X holds the kernel values between rows, (n_samples, n_samples), and in predict those between new
        and fitted rows; means only."""


class KernelClusterer(Clusterer):
    """A clusterer that can be told its kernel by name."""

    kernel: str
    gamma: float | str

    def _kernel_names(self) -> list[str]:
        """Kernels there are for it: those that map points."""
        return [name for name, kernel in KERNELS.items() if not kernel.is_pairwise]

    def _check_parameters(self) -> None:
        _parameters.one_of("kernel", self.kernel, self._kernel_names())
        _parameters.one_of("centroids", self.centroids, CENTROIDS)
        if not (isinstance(self.gamma, str) and self.gamma == "auto"):
            _parameters.real("gamma", self.gamma, above=0)
        self._check_map()
        plain = self._plain_kernel(identity_scale(0))
        if with_rule(plain, self.centroids) is None:
            _parameters.refuse_rule(self.kernel, self.centroids, plain.centroid_rules)
        super()._check_parameters()

    def _make_kernel(self, scale: Scale) -> Any:
        return with_rule(self._plain_kernel(scale), self.centroids)

    def _plain_kernel(self, scale: Scale) -> Any:
        """The kernel of that name with the parameters it takes."""
        kind = KERNELS[self.kernel]
        return kind(scale, self._beyond(), *(_number(getattr(self, name)) for name in kind.parameters))


def _number(value: Any) -> Any:
    """A parameter's number as Python's own; "auto" as it is."""
    return value if isinstance(value, str) else float(value)


class KernelKMeans(KernelClusterer):
    __doc__ = f"""Kernel k-means, with centroids put back on the mapped data, or with its own means.

    Rectified centroids are points: a fit is linear in the rows, and a prediction compares with n_clusters points.
    For a radial kernel the nearest centroid is the nearest point: borders are flat, what is gained is robustness.

    Parameters
    ----------
    {described("n_clusters", kernel=PRECOMPUTED)}
    {described(*COMMON)}

    Attributes
    ----------
    {ATTRIBUTES}
    gamma_, alpha_ : float, the width used.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import KernelKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0], [50.0]])
    >>> model = KernelKMeans(n_clusters=2, kernel="rbf", scale=None, gamma=10.0, init=[[0.2], [0.8]]).fit(X)
    >>> model.cluster_centers_.round(2).ravel()  # the last row pulls no more
    array([0.05, 0.95])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: str = "rbf",
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(KERNELS.get(self.kernel), "is_pairwise", False)
        return tags

    def _kernel_names(self) -> list[str]:
        return list(KERNELS)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if KERNELS[self.kernel].is_pairwise:
            _parameters.refuse_points(self.kernel, self.init)

    def _read_table(self, X: Any, sample_weight: ArrayLike | None = None, *, fitting: bool) -> MemoryTable:
        table = super()._read_table(X, sample_weight, fitting=fitting)
        return pairwise_table(table, fitting) if KERNELS[self.kernel].is_pairwise else table

    def _find_scale(self, table: Table) -> Scale:
        return identity_scale(table.n_columns) if KERNELS[self.kernel].is_pairwise else super()._find_scale(table)

    def _beyond(self) -> str:
        return "wrap" if KERNELS[self.kernel].is_pairwise else super()._beyond()

    def transform(self, X: Any) -> Any:
        """Distance of each row to each centroid in the mapped space, (n, k); not squared."""
        self._refuse_without_points("transform")
        return super().transform(X)

    def score_samples(self, X: Any) -> Any:
        """How well its centroid represents each row: cosine of the angle between them, 1 at the centroid, (n,)."""
        self._refuse_without_points("score_samples")
        return super().score_samples(X)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the objective of X for the fitted centroids; comparable between fits of one kernel and width only."""
        self._refuse_without_points("score")
        return super().score(X, y, sample_weight)

    def _refuse_without_points(self, method: str) -> None:
        """What measures a row needs its kernel value with itself."""
        if KERNELS[self.kernel].is_pairwise:
            _parameters.refuse_unknown_lengths(method)
