"""The fits of the kernel study: how much is run, mean and rectified centroids of each kernel,
explicit maps, gross errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.preprocessing import StandardScaler

from rekmeans import EulerKMeans, FuzzyCMeans, KernelKMeans, RectifiedEulerKMeans
from rekmeans.kernels import KERNELS
from rekmeans.metrics import clustering_accuracy, normalized_mutual_info
from rekmeans.representation import representation_score
from rekmeans.scales import robust_scale
from rekmeans.table import MemoryTable

from . import datasets
from .fit_records import Record, StudyFit
from .values import Array

ROWS = 1000  # of a set, drawn once: means of a kernel without a map take the square of them
MAX_CELLS = 300_000  # of a set: fewer rows of wide ones
N_COMPONENTS = 256  # of an explicit map
ERROR_WIDTH = 15  # standard deviations of a gross error
N_STARTS = 3  # greedy k-means++ with swaps: more change the means by less than 0.002


@dataclass(frozen=True, order=True)
class KernelFit(StudyFit):
    """One fit. `width` is alpha or a multiple of gamma's "auto", `k` 0 for as many clusters as
    classes.
    """

    part: str  # of the study: deviation, rectification or dirt
    method: str
    width: float = 1.0
    k: int = 0
    dirt: str = "cells"
    share: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class KernelPlan:
    """How much is run; widths are alphas for Euler and multiples of gamma="auto" for the others."""

    sets: tuple[str, ...]
    dirty: tuple[str, ...]  # those of them that get gross errors
    rows: int
    starts: int  # of the tables on deviation
    tries: int  # of those on rectification
    draws: int  # of dirt
    alphas: tuple[float, ...]
    multiples: tuple[float, ...]
    clusters: tuple[int, ...]
    steep: float  # the second width of the table on rectification, times the first
    shares: tuple[float, ...]


FULL_STUDY = KernelPlan(
    sets=(datasets.MOONS, *datasets.LOW),
    dirty=(datasets.MOONS, *datasets.LOW),
    rows=ROWS,
    starts=3,
    tries=5,
    draws=2,
    alphas=(0.1, 0.3, 0.5, 0.7, 0.9, 1.2, 1.8),
    multiples=(1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0),
    clusters=(2, 5, 10, 20, 40),
    steep=2.0,
    shares=(0.05, 0.1, 0.2, 0.3, 0.4),
)
QUICK_STUDY = KernelPlan(
    sets=(datasets.MOONS, "wine", "seeds", "pendigits", "satimage"),
    dirty=(datasets.MOONS, "wine", "seeds", "pendigits", "satimage"),
    rows=600,
    starts=2,
    tries=3,
    draws=1,
    alphas=(0.1, 0.5, 0.9, 1.8),
    multiples=(1 / 16, 1 / 4, 1.0, 4.0),
    clusters=(2, 10, 40),
    steep=2.0,
    shares=(0.05, 0.1, 0.2, 0.3, 0.4),
)


def sample_table(name: str, rows: int = ROWS) -> tuple[Array, Array]:
    """Rows of a set in a fixed random order: at most `rows`, and no more than MAX_CELLS cells."""
    data = datasets.load(name)
    most = min(rows, max(1, MAX_CELLS // data.X.shape[1]))
    some = np.random.default_rng(0).permutation(len(data.X))[:most]
    return data.X[some].astype(np.float64), data.y[some]


@lru_cache(maxsize=2)
def _cached_table(name: str, rows: int) -> tuple[Array, Array]:
    """Workers take a set's fits one after another."""
    return sample_table(name, rows)


@lru_cache(maxsize=16)
def reference_gamma(name: str, rows: int, kernel: str) -> float:
    """gamma="auto" of a set with as many clusters as classes; the same for every k that is
    tried.
    """
    X, y = _cached_table(name, rows)
    k = len(np.unique(y))
    return (
        KernelKMeans(k, kernel=kernel, beyond="clip", max_iter=1, random_state=0, n_threads=1)
        .fit(X)
        .gamma_
    )


def kernel_parameters(fit: KernelFit, rows: int, kernel: str) -> dict[str, Any]:
    """Parameters of a fit on clean rows: values outside the robust range clipped, so that no cell
    is missing.
    """
    has_gamma = KERNELS[kernel].has_width
    width = (
        {"gamma": fit.width * reference_gamma(fit.dataset, rows, kernel)}
        if has_gamma
        else {"alpha": fit.width}
    )
    return {"kernel": kernel, "beyond": "clip", "n_threads": 1, "random_state": fit.seed} | width


def measure_deviation(fit: KernelFit, rows: int) -> Record:
    """Mean deviation degree of kernel k-means' own means, and how well points represent the rows of
    its clusters.
    """
    X, y = _cached_table(fit.dataset, rows)
    k = fit.k or len(np.unique(y))
    model = KernelKMeans(k, centroids="mean", **kernel_parameters(fit, rows, fit.method)).fit(X)
    occupied = np.bincount(model.labels_, minlength=k) > 0
    kappa = float(model.deviation_[occupied].mean())
    score = representation_score(model, X)
    return {"k": k, "kappa": kappa, "score": score, "nmi": normalized_mutual_info(y, model.labels_)}


def measure_rectification(fit: KernelFit, rows: int) -> Record:
    """NMI and ACC of a method on clean rows; for kernel k-means also κ and the representation
    score.
    """
    X, y = _cached_table(fit.dataset, rows)
    k = len(np.unique(y))
    if fit.method in YARDSTICKS:
        return _agreement(y, YARDSTICKS[fit.method](fit, rows, X, k))
    kernel, rule = fit.method.split()
    parameters: dict[str, Any] = kernel_parameters(fit, rows, kernel) | {"centroids": rule}
    model = KernelKMeans(k, **parameters).fit(X)
    record = {"kappa": float(model.deviation_.mean()), "score": representation_score(model, X)}
    return record | _agreement(y, model.labels_)


def _agreement(y: Array, labels: Array) -> Record:
    return {"nmi": normalized_mutual_info(y, labels), "acc": clustering_accuracy(y, labels)}


def k_means_z_labels(fit: KernelFit, rows: int, X: Array, k: int) -> Array:
    """scikit-learn's k-means on z-scores."""
    return _k_means_labels(StandardScaler().fit_transform(X), k, fit.seed)


def fourier_labels(fit: KernelFit, rows: int, X: Array, k: int) -> Array:
    """k-means of random Fourier features of the RBF kernel, at the same gamma on the same scaled
    rows.
    """
    gamma = fit.width * reference_gamma(fit.dataset, rows, "rbf")
    F = RBFSampler(gamma=gamma, n_components=N_COMPONENTS, random_state=fit.seed).fit_transform(
        clip_to_robust_range(X)
    )
    return _k_means_labels(F, k, fit.seed)


def nystroem_labels(kernel: str, theirs: str) -> Callable[[KernelFit, int, Array, int], Array]:
    """k-means of Nystroem's features of the kernel, at the same gamma on the same scaled rows."""

    def labels(fit: KernelFit, rows: int, X: Array, k: int) -> Array:
        gamma = fit.width * reference_gamma(fit.dataset, rows, kernel)
        most = min(N_COMPONENTS, len(X))
        F = Nystroem(theirs, gamma=gamma, n_components=most, random_state=fit.seed).fit_transform(
            clip_to_robust_range(X)
        )
        return _k_means_labels(F, k, fit.seed)

    return labels


def _k_means_labels(F: Array, k: int, seed: int) -> Array:
    return KMeans(k, n_init=1, random_state=seed).fit_predict(F)


YARDSTICKS: dict[str, Callable[[KernelFit, int, Array, int], Array]] = {
    "k-means z": k_means_z_labels,
    "rbf Fourier features": fourier_labels,
    "rbf Nystroem": nystroem_labels("rbf", "rbf"),
    "laplace Nystroem": nystroem_labels("laplace", "laplacian"),
}


def add_gross_errors(X: Array, kind: str, share: float, seed: int) -> tuple[Array, Array]:
    """X with gross errors in a share of its cells or rows, and which rows stay countable."""
    random = np.random.default_rng(seed)
    noise = X.mean(axis=0) + ERROR_WIDTH * X.std(axis=0) * random.standard_normal(X.shape)
    bad = (
        random.random(X.shape) < share
        if kind == "cells"
        else (random.random(len(X)) < share)[:, None]
    )
    return np.where(bad, noise, X), np.logical_not(np.broadcast_to(bad, X.shape).all(axis=1))


def kmeans_z(X: Array, k: int, seed: int) -> Array:
    """scikit-learn's k-means on z-scores."""
    return KMeans(k, n_init=N_STARTS, random_state=seed).fit_predict(
        StandardScaler().fit_transform(X)
    )


def kmeans_clipped(X: Array, k: int, seed: int) -> Array:
    """scikit-learn's k-means on rows clipped to the robust range: the best simple recipe."""
    return KMeans(k, n_init=N_STARTS, random_state=seed).fit_predict(clip_to_robust_range(X))


def clip_to_robust_range(X: Array) -> Array:
    """The rows in robust units, values outside the bounds moved to them."""
    return robust_scale(MemoryTable(X).column_summary()).to_units(X, "clip")


def measure_gross_errors(fit: KernelFit, rows: int) -> Record:
    """NMI over the rows that are not wholly dirty."""
    X, y = _cached_table(fit.dataset, rows)
    X_dirty, clean = (
        add_gross_errors(X, fit.dirt, fit.share, fit.seed)
        if fit.share
        else (X, np.ones(len(X), bool))
    )
    labels = ROBUST[fit.method](X_dirty, len(np.unique(y)), fit.seed)
    return {"nmi": normalized_mutual_info(y[clean], labels[clean])}


def default_labels(kind: Any, **parameters: Any) -> Callable[[Array, int, int], Array]:
    """An estimator of ours at its defaults but for these parameters."""
    return lambda X, k, seed: (
        kind(k, n_init=N_STARTS, n_threads=1, random_state=seed, **parameters).fit(X).labels_
    )


OURS: dict[str, tuple[Any, dict[str, Any]]] = {
    "EulerK": (EulerKMeans, {}),
    "REK": (RectifiedEulerKMeans, {}),
    "rectified RBF": (KernelKMeans, {"kernel": "rbf"}),
    "rectified Laplace": (KernelKMeans, {"kernel": "laplace"}),
    "KFCM": (FuzzyCMeans, {"kernel": "rbf"}),
}
ALONE = ", wrap"  # the kernel alone: values outside the robust range neither ignored nor clipped
ROBUST: dict[str, Callable[[Array, int, int], Array]] = (
    {"k-means z": kmeans_z, "k-means clipped": kmeans_clipped}
    | {name: default_labels(kind, **more) for name, (kind, more) in OURS.items()}
    | {
        name + ALONE: default_labels(kind, beyond="wrap", **more)
        for name, (kind, more) in OURS.items()
    }
)
PARTS: dict[str, Callable[[KernelFit, int], Record]] = {
    "deviation": measure_deviation,
    "rectification": measure_rectification,
    "dirt": measure_gross_errors,
}


def measure_kernel_fit(fit: KernelFit, rows: int) -> Record:
    """The record of a fit on at most `rows` rows of its set."""
    return PARTS[fit.part](fit, rows)


def task_key(fit: KernelFit) -> tuple[Any, ...]:
    """Fits that differ in seed, clusters and gross errors only go to a worker together."""
    return fit.dataset, fit.part, fit.method, fit.width
