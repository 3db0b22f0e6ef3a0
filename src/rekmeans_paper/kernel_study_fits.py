"""The fits of the kernel study: its plans, the methods and baselines, and their records."""

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

# Rows sampled from a dataset. The cost of means of a kernel without an explicit map is quadratic.
ROWS = 1000
MAX_CELLS = 300_000  # per dataset, so that wide ones get fewer rows
N_COMPONENTS = 256  # of an explicit map
ERROR_WIDTH = 15  # of gross errors, in standard deviations
# Greedy k-means++ with swaps. More starts change the means by less than 0.002.
N_STARTS = 3


@dataclass(frozen=True, order=True)
class KernelFit(StudyFit):
    """One fit.

    `width` is alpha, or a multiple of gamma="auto". `k` is 0 to use the number of classes.
    """

    part: str  # of the study: deviation, rectification or gross errors
    method: str
    width: float = 1.0
    k: int = 0
    errors_in: str = "cells"  # or "rows"
    share: float = 0.0  # of cells or rows with gross errors
    seed: int = 0


@dataclass(frozen=True)
class KernelPlan:
    """The size of a run.

    Widths are values of alpha for Euler and multiples of gamma="auto" for the other kernels.
    """

    sets: tuple[str, ...]
    error_sets: tuple[str, ...]  # the datasets that get gross errors
    rows: int
    starts: int  # in the tables on deviation
    rectification_starts: int  # in the tables on rectification
    draws: int  # of gross errors
    alphas: tuple[float, ...]
    multiples: tuple[float, ...]
    clusters: tuple[int, ...]
    steep: float  # the second width of the table on rectification, relative to the first
    shares: tuple[float, ...]


FULL_STUDY = KernelPlan(
    sets=(datasets.MOONS, *datasets.LOW),
    error_sets=(datasets.MOONS, *datasets.LOW),
    rows=ROWS,
    starts=3,
    rectification_starts=5,
    draws=2,
    alphas=(0.1, 0.3, 0.5, 0.7, 0.9, 1.2, 1.8),
    multiples=(1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0),
    clusters=(2, 5, 10, 20, 40),
    steep=2.0,
    shares=(0.05, 0.1, 0.2, 0.3, 0.4),
)
QUICK_STUDY = KernelPlan(
    sets=(datasets.MOONS, "wine", "seeds", "pendigits", "satimage"),
    error_sets=(datasets.MOONS, "wine", "seeds", "pendigits", "satimage"),
    rows=600,
    starts=2,
    rectification_starts=3,
    draws=1,
    alphas=(0.1, 0.5, 0.9, 1.8),
    multiples=(1 / 16, 1 / 4, 1.0, 4.0),
    clusters=(2, 10, 40),
    steep=2.0,
    shares=(0.05, 0.1, 0.2, 0.3, 0.4),
)


def sample_table(name: str, rows: int = ROWS) -> tuple[Array, Array]:
    """Sample at most `rows` rows and MAX_CELLS cells of a dataset, in a fixed random order."""
    data = datasets.load(name)
    n_rows = min(rows, max(1, MAX_CELLS // data.X.shape[1]))
    sample = np.random.default_rng(0).permutation(len(data.X))[:n_rows]
    return data.X[sample].astype(np.float64), data.y[sample]


@lru_cache(maxsize=2)
def _cached_table(name: str, rows: int) -> tuple[Array, Array]:
    """Cache the sample, because a worker runs the fits of a dataset one after another."""
    return sample_table(name, rows)


@lru_cache(maxsize=16)
def reference_gamma(name: str, rows: int, kernel: str) -> float:
    """Return gamma="auto" of a dataset for as many clusters as classes, used for every k."""
    X, y = _cached_table(name, rows)
    k = len(np.unique(y))
    return (
        KernelKMeans(k, kernel=kernel, beyond="clip", max_iter=1, random_state=0, n_threads=1)
        .fit(X)
        .gamma_
    )


def kernel_parameters(fit: KernelFit, rows: int, kernel: str) -> dict[str, Any]:
    """Return the parameters of a fit on clean rows, with values clipped to the robust range."""
    has_gamma = KERNELS[kernel].has_width
    width = (
        {"gamma": fit.width * reference_gamma(fit.dataset, rows, kernel)}
        if has_gamma
        else {"alpha": fit.width}
    )
    return {"kernel": kernel, "beyond": "clip", "n_threads": 1, "random_state": fit.seed} | width


def measure_deviation(fit: KernelFit, rows: int) -> Record:
    """Measure the mean deviation degree and the representation score of kernel k-means."""
    X, y = _cached_table(fit.dataset, rows)
    k = fit.k or len(np.unique(y))
    model = KernelKMeans(k, centroids="mean", **kernel_parameters(fit, rows, fit.method)).fit(X)
    occupied = np.bincount(model.labels_, minlength=k) > 0
    kappa = float(model.deviation_[occupied].mean())
    score = representation_score(model, X)
    return {"k": k, "kappa": kappa, "score": score, "nmi": normalized_mutual_info(y, model.labels_)}


def measure_rectification(fit: KernelFit, rows: int) -> Record:
    """Measure NMI and ACC of a method on clean rows, and κ and the score of kernel k-means."""
    X, y = _cached_table(fit.dataset, rows)
    k = len(np.unique(y))
    if fit.method in BASELINES:
        return _agreement(y, BASELINES[fit.method](fit, rows, X, k))
    kernel, rule = fit.method.split()
    parameters: dict[str, Any] = kernel_parameters(fit, rows, kernel) | {"centroids": rule}
    model = KernelKMeans(k, **parameters).fit(X)
    record = {"kappa": float(model.deviation_.mean()), "score": representation_score(model, X)}
    return record | _agreement(y, model.labels_)


def _agreement(y: Array, labels: Array) -> Record:
    return {"nmi": normalized_mutual_info(y, labels), "acc": clustering_accuracy(y, labels)}


def k_means_z_labels(fit: KernelFit, rows: int, X: Array, k: int) -> Array:
    """Cluster z-scores with scikit-learn's k-means."""
    return _k_means_labels(StandardScaler().fit_transform(X), k, fit.seed)


def fourier_labels(fit: KernelFit, rows: int, X: Array, k: int) -> Array:
    """Cluster random Fourier features of the RBF kernel, with the same gamma and scaled rows."""
    gamma = fit.width * reference_gamma(fit.dataset, rows, "rbf")
    F = RBFSampler(gamma=gamma, n_components=N_COMPONENTS, random_state=fit.seed).fit_transform(
        clip_to_robust_range(X)
    )
    return _k_means_labels(F, k, fit.seed)


def nystroem_labels(kernel: str, theirs: str) -> Callable[[KernelFit, int, Array, int], Array]:
    """Return a function that clusters Nystroem features, with the same gamma and scaled rows."""

    def labels(fit: KernelFit, rows: int, X: Array, k: int) -> Array:
        gamma = fit.width * reference_gamma(fit.dataset, rows, kernel)
        n_components = min(N_COMPONENTS, len(X))
        F = Nystroem(
            theirs, gamma=gamma, n_components=n_components, random_state=fit.seed
        ).fit_transform(clip_to_robust_range(X))
        return _k_means_labels(F, k, fit.seed)

    return labels


def _k_means_labels(F: Array, k: int, seed: int) -> Array:
    return KMeans(k, n_init=1, random_state=seed).fit_predict(F)


BASELINES: dict[str, Callable[[KernelFit, int, Array, int], Array]] = {
    "k-means z": k_means_z_labels,
    "rbf Fourier features": fourier_labels,
    "rbf Nystroem": nystroem_labels("rbf", "rbf"),
    "laplace Nystroem": nystroem_labels("laplace", "laplacian"),
}


def add_gross_errors(X: Array, kind: str, share: float, seed: int) -> tuple[Array, Array]:
    """Add gross errors to a share of the cells or rows, and return a mask of the rows to score.

    The mask excludes rows in which every cell is an error.
    """
    random = np.random.default_rng(seed)
    noise = X.mean(axis=0) + ERROR_WIDTH * X.std(axis=0) * random.standard_normal(X.shape)
    bad = (
        random.random(X.shape) < share
        if kind == "cells"
        else (random.random(len(X)) < share)[:, None]
    )
    return np.where(bad, noise, X), np.logical_not(np.broadcast_to(bad, X.shape).all(axis=1))


def kmeans_z(X: Array, k: int, seed: int) -> Array:
    """Cluster z-scores with scikit-learn's k-means."""
    return KMeans(k, n_init=N_STARTS, random_state=seed).fit_predict(
        StandardScaler().fit_transform(X)
    )


def kmeans_clipped(X: Array, k: int, seed: int) -> Array:
    """Cluster rows clipped to the robust range with scikit-learn's k-means, a strong baseline."""
    return KMeans(k, n_init=N_STARTS, random_state=seed).fit_predict(clip_to_robust_range(X))


def clip_to_robust_range(X: Array) -> Array:
    """Return the rows in robust units, clipped to the bounds."""
    return robust_scale(MemoryTable(X).column_summary()).to_units(X, "clip")


def measure_gross_errors(fit: KernelFit, rows: int) -> Record:
    """Measure NMI over the rows that have at least one correct cell."""
    X, y = _cached_table(fit.dataset, rows)
    X_errors, scored = (
        add_gross_errors(X, fit.errors_in, fit.share, fit.seed)
        if fit.share
        else (X, np.ones(len(X), bool))
    )
    labels = ROBUST[fit.method](X_errors, len(np.unique(y)), fit.seed)
    return {"nmi": normalized_mutual_info(y[scored], labels[scored])}


def default_labels(kind: Any, **parameters: Any) -> Callable[[Array, int, int], Array]:
    """Return a function that fits an estimator with its defaults except for `parameters`."""
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
# Suffix of a method that uses the kernel alone: values outside the robust range are neither
# ignored nor clipped.
WRAP_SUFFIX = ", wrap"
ROBUST: dict[str, Callable[[Array, int, int], Array]] = (
    {"k-means z": kmeans_z, "k-means clipped": kmeans_clipped}
    | {name: default_labels(kind, **more) for name, (kind, more) in OURS.items()}
    | {
        name + WRAP_SUFFIX: default_labels(kind, beyond="wrap", **more)
        for name, (kind, more) in OURS.items()
    }
)
PARTS: dict[str, Callable[[KernelFit, int], Record]] = {
    "deviation": measure_deviation,
    "rectification": measure_rectification,
    "gross errors": measure_gross_errors,
}


def measure_kernel_fit(fit: KernelFit, rows: int) -> Record:
    """Return the record of a fit on at most `rows` rows of its dataset."""
    return PARTS[fit.part](fit, rows)


def task_key(fit: KernelFit) -> tuple[Any, ...]:
    """Return the key of fits that one worker runs: only seed, clusters and errors may differ."""
    return fit.dataset, fit.part, fit.method, fit.width
