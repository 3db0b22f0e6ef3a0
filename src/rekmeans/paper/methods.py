"""The methods of the tables, each a function of a case: EulerK, REK1, REK2 in angles and as printed, plain k-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from .. import EulerKMeans, EulerMap, RectifiedEulerKMeans
from .._grid import Array, complex_centroids
from ..engines import Rows
from ..estimators.placement import place_for_fit, starting_centroids
from ..metrics import deviation_degree
from . import angles


@dataclass(frozen=True)
class Case:
    """One fit to make: rows, clusters, the map, and the start, which all Euler methods of a seed share."""

    X: Array
    k: int
    alpha: float
    scale: str | None
    beyond: str
    init: str
    seed: int


class Outcome(NamedTuple):
    """What a method found; `course` is the objective after each pass, empty where the method does not tell."""

    labels: Array
    kappa: float | None
    objective: float
    passes: int
    course: tuple[float, ...] = ()


def euler_k(case: Case) -> Outcome:
    """Euler k-means: means inside the circle."""
    return _fitted(EulerKMeans, case)


def rek1(case: Case) -> Outcome:
    """Rectified Euler k-means by the estimator."""
    return _fitted(RectifiedEulerKMeans, case)


def rek2(case: Case) -> Outcome:
    """Rectified Euler k-means by the plain loop over angles."""
    return _found(angles.rek2(*start(case)))


def rek2_printed(case: Case) -> Outcome:
    """The plain loop with the update as printed."""
    return _found(angles.rek2_printed(*start(case)))


def k_means(case: Case) -> Outcome:
    """scikit-learn's k-means on the rows as they are."""
    init: Any = "random" if case.init == "random" else "k-means++"
    model = KMeans(case.k, init=init, n_init=1, random_state=case.seed).fit(case.X)
    return Outcome(model.labels_, None, float(model.inertia_), int(model.n_iter_))


def k_means_scored(case: Case) -> Outcome:
    """scikit-learn's k-means on z-scores of the columns."""
    return k_means(replace(case, X=StandardScaler().fit_transform(case.X)))


METHODS: dict[str, Callable[[Case], Outcome]] = {
    "EulerK": euler_k,
    "REK1": rek1,
    "REK2": rek2,
    "REK2 printed": rek2_printed,
    "k-means": k_means,
    "k-means z": k_means_scored,
}
EULER = ("EulerK", "REK1", "REK2", "REK2 printed")  # those that alpha and the scale matter to


def estimator(kind: Any, case: Case) -> Any:
    """The estimator of this kind for one start, not fitted."""
    parameters = {"alpha": case.alpha, "scale": case.scale, "beyond": case.beyond, "init": case.init}
    return kind(case.k, **parameters, n_init=1, n_threads=1, random_state=case.seed)


def _fitted(kind: Any, case: Case) -> Outcome:
    model = estimator(kind, case).fit(case.X)
    course = tuple(model.history_["inertia"].tolist())
    return Outcome(model.labels_, float(model.deviation_.mean()), float(model.inertia_), int(model.n_iter_), course)


def start(case: Case) -> tuple[Rows, Array]:
    """The mapped rows, and the starting centroids that the estimator takes from this seed."""
    model = estimator(RectifiedEulerKMeans, case)
    placed = place_for_fit(model, case.X)
    return placed.rows, next(starting_centroids(model, placed)).f


def mapped(case: Case) -> Array:
    """The mapped rows as complex numbers of modulus 1, (n, d)."""
    parameters: dict[str, Any] = {"alpha": case.alpha, "scale": case.scale, "beyond": case.beyond}
    F = EulerMap(**parameters).fit_transform(case.X)
    return F[:, : F.shape[1] // 2] + 1j * F[:, F.shape[1] // 2 :]


def _found(course: angles.Course) -> Outcome:
    kappa = float(deviation_degree(complex_centroids(course.centroids)).mean())
    objectives = tuple(course.objectives)
    return Outcome(course.labels, kappa, objectives[-1], min(len(objectives), angles.MOST), objectives)


def rises(course: tuple[float, ...]) -> int:
    """Passes after which the objective was higher than before."""
    return int((np.diff(course) > 0).sum())
