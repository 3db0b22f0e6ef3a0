"""The contenders: rekmeans and other libraries.

Each one clusters the same mapped rows from the same start and returns labels and the number of
passes. Other libraries get the mapped float32 features. rekmeans gets the raw table, and its time
includes the map.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

CAP = 100  # largest number of passes


class Problem(NamedTuple):
    """Raw rows X and start S for rekmeans, mapped rows F and start C for other libraries."""

    X: np.ndarray
    S: np.ndarray
    F: np.ndarray
    C: np.ndarray
    passes: int  # passes of plain Lloyd to convergence, for libraries that have no stopping rule


class Outcome(NamedTuple):
    labels: np.ndarray
    passes: int


def rekmeans(problem: Problem, rectified: bool = False) -> Outcome:
    from grid import ALPHA
    from rekmeans import EulerKMeans, RectifiedEulerKMeans

    estimator = RectifiedEulerKMeans if rectified else EulerKMeans
    model = estimator(
        len(problem.S), alpha=ALPHA, scale="range", beyond="wrap", init=problem.S, max_iter=CAP
    )
    model.fit(problem.X)
    return Outcome(model.labels_, model.n_iter_)


def rek(problem: Problem) -> Outcome:
    return rekmeans(problem, rectified=True)


def _sklearn(problem: Problem, algorithm: str) -> Outcome:
    from sklearn.cluster import KMeans

    model = KMeans(
        len(problem.C), init=problem.C, n_init=1, max_iter=CAP, tol=0, algorithm=algorithm
    ).fit(problem.F)
    return Outcome(model.labels_, model.n_iter_)


def sklearn_lloyd(problem: Problem) -> Outcome:
    return _sklearn(problem, "lloyd")


def sklearn_elkan(problem: Problem) -> Outcome:
    return _sklearn(problem, "elkan")


def sklearnex(problem: Problem) -> Outcome:
    from sklearnex.cluster import KMeans

    model = KMeans(
        len(problem.C), init=problem.C, n_init=1, max_iter=CAP, tol=0, algorithm="lloyd"
    ).fit(problem.F)
    return Outcome(model.labels_, model.n_iter_)


def faiss(problem: Problem) -> Outcome:
    import faiss

    n, d = problem.F.shape
    model = faiss.Kmeans(
        d,
        len(problem.C),
        niter=problem.passes,
        max_points_per_centroid=n,
        min_points_per_centroid=1,
        verbose=False,
    )
    model.train(problem.F, init_centroids=problem.C)
    return Outcome(model.index.search(problem.F, 1)[1][:, 0], problem.passes)


def superkmeans(problem: Problem) -> Outcome:
    """Run SuperKMeans, which does not accept a start and draws its own."""
    from superkmeans import SuperKMeans

    n, d = problem.F.shape
    model = SuperKMeans(
        len(problem.C),
        d,
        hierarchical=False,
        iters=problem.passes,
        sampling_fraction=1.0,
        max_points_per_cluster=n,
        tol=0.0,
        early_termination=False,
    )
    centroids = model.train(problem.F)
    return Outcome(np.asarray(model.assign(problem.F, centroids)).astype(np.int64), problem.passes)


class Contender(NamedTuple):
    run: Callable[[Problem], Outcome]
    package: str
    module: str

    def available(self) -> bool:
        return find_spec(self.module) is not None

    def version(self) -> str:
        return f"{self.package} {version(self.package)}"


CONTENDERS = {
    "rekmeans": Contender(rekmeans, "rekmeans", "rekmeans"),
    "rekmeans-rek": Contender(rek, "rekmeans", "rekmeans"),
    "sklearn-lloyd": Contender(sklearn_lloyd, "scikit-learn", "sklearn"),
    "sklearn-elkan": Contender(sklearn_elkan, "scikit-learn", "sklearn"),
    "sklearnex": Contender(sklearnex, "scikit-learn-intelex", "sklearnex"),
    "faiss": Contender(faiss, "faiss-cpu", "faiss"),
    "superkmeans": Contender(superkmeans, "superkmeans", "superkmeans"),
}
