"""Kernel k-means, rectified or not: (any kernel, Hard, rectified or mean)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .. import _parameters, _table, lloyd
from .._scale import SCALES, Scale, bare
from ..centroids import CENTROIDS
from ..engines import Rows
from ..kernels import KERNELS, Kernel
from ..kernels.gram import Gram
from ..kernels.rbf import RBF
from .base import Clusterer
from .widths import auto_gamma
from .words import ATTRIBUTES, COMMON, PARAMETERS, described

PRECOMPUTED = f"""{PARAMETERS["kernel"]}
        "precomputed": X holds the kernel values between rows, (n_samples, n_samples), and in predict those between new
        and fitted rows; means only."""
KEPT = 2 << 30  # bytes of kernel values that are kept where memory_limit names no other number


class KernelClusterer(Clusterer):
    """A clusterer that can be told its kernel by name."""

    kernel: str
    gamma: float | str

    def _names(self) -> tuple[str, ...]:
        """Kernels there are."""
        return tuple(KERNELS)

    def _check_parameters(self) -> None:
        _parameters.one_of("kernel", self.kernel, self._names())
        _parameters.one_of("centroids", self.centroids, CENTROIDS)
        if not (isinstance(self.gamma, str) and self.gamma == "auto"):
            _parameters.real("gamma", self.gamma, above=0)
        super()._check_parameters()
        if self.kernel != "euler" and isinstance(self.init, str):
            _parameters.one_of("init", self.init, [name for name in self._inits() if name != "circle"])

    def _kernel(self, table: _table.Table) -> Any:
        return self._meant(self._plain(table, self._scale(table), self.kernel), table)

    def _scale(self, table: _table.Table) -> Scale:
        """Units and bounds of the columns."""
        return SCALES[self.scale](table.X, table.weights, self.n_threads)

    def _plain(self, table: _table.Table, scale: Scale, name: str, width: Any = None) -> Any:
        """The kernel of that name with the width given, or the parameters' own."""
        beyond = self.beyond if self.scale else "wrap"
        if name == "euler":
            return KERNELS[name](float(self.alpha if width is None else width), scale, beyond)
        kernel = KERNELS[name](scale, beyond)
        if not isinstance(kernel, RBF):
            return kernel
        gamma = self.gamma if width is None else width
        return replace(kernel, gamma=auto_gamma(kernel, table, self._k()) if gamma == "auto" else float(gamma))

    def _meant(self, kernel: Any, table: _table.Table) -> Any:
        """The kernel, or where its means are no points the one that holds them by kernel values."""
        if self.centroids == "rectified" or not isinstance(kernel, RBF):
            return kernel
        n = table.X.shape[0]
        _table.refuse_many_pairs(n, self.kernel)
        X = table.X.toarray() if sparse.issparse(table.X) else table.X
        limit = _parameters.memory("memory_limit", self.memory_limit)
        kept = 8 * n * (n + 1) <= (KEPT if limit is None else limit)
        return Gram(kernel.scale, np.ones(n), kernel, kernel.embed(X), kept, kernel.beyond)

    def _attributes(self, kernel: Any, rows: Rows, fit: lloyd.Fit) -> dict[str, Any]:
        found, base = super()._attributes(kernel, rows, fit), kernel
        if isinstance(kernel, Gram) and kernel.base is not None:
            base = kernel.base
            found["kernel_"] = replace(kernel, kept=False)  # new rows are looked at once
        return found | {f"{name}_": getattr(base, name) for name in ("alpha", "gamma") if hasattr(base, name)}


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
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _names(self) -> tuple[str, ...]:
        return (*KERNELS, "precomputed")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.kernel == "precomputed":
            _parameters.refuse_points(self.centroids, self.init)

    def _read(self, X: Any, sample_weight: ArrayLike | None = None, *, fitting: bool) -> _table.Table:
        table = super()._read(X, sample_weight, fitting=fitting)
        return _table.kernel_values(table, fitting) if self.kernel == "precomputed" else table

    def _kernel(self, table: _table.Table) -> Kernel:
        if self.kernel != "precomputed":
            return super()._kernel(table)
        return Gram(bare(table.X), table.X[:, -1])

    def _attributes(self, kernel: Kernel, rows: Rows, fit: lloyd.Fit) -> dict[str, Any]:
        found = super()._attributes(kernel, rows, fit)
        if self.kernel == "precomputed":
            del found["cluster_centers_"]  # kernel values know no points
        return found

    def transform(self, X: Any) -> Any:
        """Distance of each row to each centroid in the mapped space, (n, k); not squared."""
        _parameters.refuse_unknown_lengths("transform", self.kernel)
        return super().transform(X)

    def score_samples(self, X: Any) -> Any:
        """How well its centroid represents each row: cosine of the angle between them, 1 at the centroid, (n,)."""
        _parameters.refuse_unknown_lengths("score_samples", self.kernel)
        return super().score_samples(X)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the objective of X for the fitted centroids; comparable between fits of one kernel and width only."""
        _parameters.refuse_unknown_lengths("score", self.kernel)
        return super().score(X, y, sample_weight)
