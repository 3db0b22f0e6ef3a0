"""Euler k-means and its rectified form: (Euler, Hard, mean) and (Euler, Hard, rectified)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from .base import Clusterer
from .words import PARAMETERS as WORDS
from .words import described

PARAMETERS = described(*(name for name in WORDS if name not in ("kernel", "centroids", "gamma")))


class _EulerClusterer(Clusterer):
    """Hard labels of Euler-mapped rows; a subclass names its centroid rule."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 0.9,
        scale: Literal["robust", "range", "global"] | None = "robust",
        beyond: Literal["ignore", "clip", "wrap"] = "ignore",
        init: str | ArrayLike | Callable[..., ArrayLike] = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 0.0,
        engine: str = "auto",
        n_threads: int | None = None,
        memory_limit: int | str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
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


class EulerKMeans(_EulerClusterer):
    __doc__ = f"""Euler k-means: k-means of rows mapped by phi(x) = exp(i alpha pi x)/sqrt(2).

    Its centroids are means inside the circle, off the mapped data ("pseudo-centroids"); `deviation_` says how far.

    Parameters
    ----------
    {PARAMETERS}

    Attributes
    ----------
    labels_, cluster_centers_, centroids_, deviation_, inertia_, n_iter_, history_, alpha_, scale_, engine_
        As in :class:`RectifiedEulerKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import EulerKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = EulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """
    centroids = "mean"


class RectifiedEulerKMeans(_EulerClusterer):
    __doc__ = f"""Rectified Euler k-means (REK1 = REK2): Euler k-means whose centroids stay on the mapped data.

    Minimises sum_j sum_l (1 - cos(alpha pi (x_jl - u_cl))), a bounded loss, so far values lose their pull.

    Parameters
    ----------
    {PARAMETERS}

    Attributes
    ----------
    labels_ : (n_samples,) cluster of each row.
    cluster_centers_ : (n_clusters, n_features) pre-images of the centroids, in the units of X.
    centroids_ : (n_clusters, n_features) complex centroids a + ib; of modulus 1.
    deviation_ : (n_clusters,) how far each centroid lies off the circle; 0 here.
    inertia_ : float, the objective.
    n_iter_ : int, passes of the best start.
    history_ : dict of arrays, one entry a pass: inertia, n_changed (rows), n_relocated (empty clusters), seconds.
    alpha_ : float, the alpha used.
    scale_ : the intervals, shifts and unit of each column.
    engine_ : str, the engine that ran.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = RectifiedEulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0]).round(3)
    array([0.05, 0.95])
    """
    centroids = "rectified"


REK1 = REK2 = RectifiedEulerKMeans
