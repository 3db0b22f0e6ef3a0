"""The fits of the study beyond: mean and rectified centroids of each kernel, explicit maps, gross errors; in a pool."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from multiprocessing import get_context
from os import cpu_count
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from .. import EulerKMeans, FuzzyCMeans, KernelKMeans, RectifiedEulerKMeans
from .._grid import Array
from ..kernels import KERNELS
from ..metrics import clustering_accuracy, normalized_mutual_info
from ..representation import representation_score
from . import datasets
from .cells import Record, Watch
from .dirt import STARTS, clip_to_robust_range, kmeans_clipped, kmeans_z, soiled

ROWS = 1000  # of a set, drawn once: means of a kernel without a map take the square of them
CELLS = 300_000  # of a set: fewer rows of wide ones
COMPONENTS = 256  # of an explicit map


@dataclass(frozen=True, order=True)
class Fit:
    """One fit. `width` is alpha or a multiple of gamma's "auto", `k` 0 for as many clusters as classes."""

    study: str
    dataset: str
    method: str
    width: float = 1.0
    k: int = 0
    dirt: str = "cells"
    share: float = 0.0
    seed: int = 0


Records = dict[Fit, Record]


def table(name: str, rows: int = ROWS) -> tuple[Array, Array]:
    """Rows of a set in a fixed random order: at most `rows`, and no more than CELLS cells."""
    data = datasets.load(name)
    most = min(rows, max(1, CELLS // data.X.shape[1]))
    some = np.random.default_rng(0).permutation(len(data.X))[:most]
    return data.X[some].astype(np.float64), data.y[some]


@lru_cache(maxsize=2)
def _kept(name: str, rows: int) -> tuple[Array, Array]:
    """Workers take a set's fits one after another."""
    return table(name, rows)


@lru_cache(maxsize=16)
def auto(name: str, rows: int, kernel: str) -> float:
    """gamma="auto" of a set with as many clusters as classes; the same for every k that is tried."""
    X, y = _kept(name, rows)
    k = len(np.unique(y))
    return KernelKMeans(k, kernel=kernel, beyond="clip", max_iter=1, random_state=0, n_threads=1).fit(X).gamma_


def settings(fit: Fit, rows: int, kernel: str) -> dict[str, Any]:
    """Parameters of a fit on clean rows: values beyond the robust range clipped, so that no cell is missing."""
    has_gamma = KERNELS[kernel].has_width
    width = {"gamma": fit.width * auto(fit.dataset, rows, kernel)} if has_gamma else {"alpha": fit.width}
    return {"kernel": kernel, "beyond": "clip", "n_threads": 1, "random_state": fit.seed} | width


def deviation(fit: Fit, rows: int) -> Record:
    """Mean deviation degree of kernel k-means' own means, and how well points represent the rows of its clusters."""
    X, y = _kept(fit.dataset, rows)
    k = fit.k or len(np.unique(y))
    model = KernelKMeans(k, centroids="mean", **settings(fit, rows, fit.method)).fit(X)
    held = np.bincount(model.labels_, minlength=k) > 0
    kappa, score = float(model.deviation_[held].mean()), representation_score(model, X)
    return {"k": k, "kappa": kappa, "score": score, "nmi": normalized_mutual_info(y, model.labels_)}


def clustered(fit: Fit, rows: int) -> Record:
    """NMI and ACC of a method on clean rows; for kernel k-means also κ and the representation score."""
    X, y = _kept(fit.dataset, rows)
    k = len(np.unique(y))
    if fit.method in YARDSTICKS:
        return _agreement(y, YARDSTICKS[fit.method](fit, rows, X, k))
    kernel, rule = fit.method.split()
    parameters: dict[str, Any] = settings(fit, rows, kernel) | {"centroids": rule}
    model = KernelKMeans(k, **parameters).fit(X)
    told = {"kappa": float(model.deviation_.mean()), "score": representation_score(model, X)}
    return told | _agreement(y, model.labels_)


def _agreement(y: Array, labels: Array) -> Record:
    return {"nmi": normalized_mutual_info(y, labels), "acc": clustering_accuracy(y, labels)}


def k_means_z(fit: Fit, rows: int, X: Array, k: int) -> Array:
    """scikit-learn's k-means on z-scores."""
    return _k_means(StandardScaler().fit_transform(X), k, fit.seed)


def fourier(fit: Fit, rows: int, X: Array, k: int) -> Array:
    """k-means of random Fourier features of the RBF kernel, at the same gamma on the same scaled rows."""
    gamma = fit.width * auto(fit.dataset, rows, "rbf")
    F = RBFSampler(gamma=gamma, n_components=COMPONENTS, random_state=fit.seed).fit_transform(clip_to_robust_range(X))
    return _k_means(F, k, fit.seed)


def nystroem(kernel: str, theirs: str) -> Callable[[Fit, int, Array, int], Array]:
    """k-means of Nystroem's features of the kernel, at the same gamma on the same scaled rows."""

    def labels(fit: Fit, rows: int, X: Array, k: int) -> Array:
        gamma, most = fit.width * auto(fit.dataset, rows, kernel), min(COMPONENTS, len(X))
        F = Nystroem(theirs, gamma=gamma, n_components=most, random_state=fit.seed).fit_transform(
            clip_to_robust_range(X)
        )
        return _k_means(F, k, fit.seed)

    return labels


def _k_means(F: Array, k: int, seed: int) -> Array:
    return KMeans(k, n_init=1, random_state=seed).fit_predict(F)


YARDSTICKS: dict[str, Callable[[Fit, int, Array, int], Array]] = {
    "k-means z": k_means_z,
    "rbf Fourier features": fourier,
    "rbf Nystroem": nystroem("rbf", "rbf"),
    "laplace Nystroem": nystroem("laplace", "laplacian"),
}


def dirty(fit: Fit, rows: int) -> Record:
    """NMI over the rows that are not wholly dirty."""
    X, y = _kept(fit.dataset, rows)
    soil, clean = soiled(X, fit.dirt, fit.share, fit.seed) if fit.share else (X, np.ones(len(X), bool))
    labels = ROBUST[fit.method](soil, len(np.unique(y)), fit.seed)
    return {"nmi": normalized_mutual_info(y[clean], labels[clean])}


def ours(kind: Any, **parameters: Any) -> Callable[[Array, int, int], Array]:
    """An estimator of ours at its defaults but for these parameters."""
    return lambda X, k, seed: kind(k, n_init=STARTS, n_threads=1, random_state=seed, **parameters).fit(X).labels_


OURS: dict[str, tuple[Any, dict[str, Any]]] = {
    "EulerK": (EulerKMeans, {}),
    "REK": (RectifiedEulerKMeans, {}),
    "rectified RBF": (KernelKMeans, {"kernel": "rbf"}),
    "rectified Laplace": (KernelKMeans, {"kernel": "laplace"}),
    "KFCM": (FuzzyCMeans, {"kernel": "rbf"}),
}
ALONE = ", wrap"  # the kernel alone: values beyond the robust range neither ignored nor clipped
ROBUST: dict[str, Callable[[Array, int, int], Array]] = (
    {"k-means z": kmeans_z, "k-means clipped": kmeans_clipped}
    | {name: ours(kind, **more) for name, (kind, more) in OURS.items()}
    | {name + ALONE: ours(kind, beyond="wrap", **more) for name, (kind, more) in OURS.items()}
)
STUDIES: dict[str, Callable[[Fit, int], Record]] = {"deviation": deviation, "rectification": clustered, "dirt": dirty}


def made(fits: Iterable[Fit], rows: int, workers: int | None = None, watch: Watch | None = None) -> Records:
    """The records of these fits; workers share the machine by processes, and the answer is the same for any number."""
    todo, records = sorted(set(fits)), Records()
    tasks = [list(same) for _, same in groupby(todo, key=lambda fit: (fit.study, fit.dataset, fit.method, fit.width))]
    wanted = min(workers or cpu_count() or 1, len(tasks))
    if wanted <= 1:
        for task in tasks:
            records |= measured(task, rows)
            _tell(watch, len(records), len(todo), task)
        return records
    with ProcessPoolExecutor(wanted, get_context("spawn")) as pool:
        running = {pool.submit(measured, task, rows): task for task in tasks}
        try:
            for future in as_completed(running):
                records |= future.result()
                _tell(watch, len(records), len(todo), running[future])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return records


def _tell(watch: Watch | None, done: int, total: int, task: list[Fit]) -> None:
    if watch is not None:
        watch(done, total, task[0].dataset)


def measured(fits: list[Fit], rows: int) -> Records:
    """Fits with their records, on one thread."""
    with warnings.catch_warnings(action="ignore"), threadpool_limits(1):  # of rows left out: they are the point
        return {fit: STUDIES[fit.study](fit, rows) for fit in fits}
