"""The methods of the tables: EulerK, REK1, REK2 (correct and as printed) and k-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from rekmeans import EulerKMeans, EulerMap, RectifiedEulerKMeans
from rekmeans.engines import Rows
from rekmeans.estimators.placement import place_for_fit, starting_centroids
from rekmeans.metrics import deviation_degree

from . import angles
from .values import Array


@dataclass(frozen=True)
class Case:
    """The input of one fit: rows, number of clusters, map and start.

    All Euler methods with the same seed use the same start.
    """

    X: Array
    k: int
    alpha: float
    scale: str | None
    beyond: str
    init: str
    seed: int


class Outcome(NamedTuple):
    """The result of a method; `course` is the objective after each pass, if it is available."""

    labels: Array
    kappa: float | None
    objective: float
    passes: int
    course: tuple[float, ...] = ()


def euler_k(case: Case) -> Outcome:
    """Run Euler k-means, whose centroids are means inside the circle."""
    return _fit_outcome(EulerKMeans, case)


def rek1(case: Case) -> Outcome:
    """Run rectified Euler k-means with the estimator."""
    return _fit_outcome(RectifiedEulerKMeans, case)


def rek2(case: Case) -> Outcome:
    """Run rectified Euler k-means with the plain loop over angles."""
    return _angle_outcome(angles.fit_angles(*starting_state(case)))


def rek2_printed(case: Case) -> Outcome:
    """Run the plain loop with the printed update."""
    return _angle_outcome(angles.fit_printed_angles(*starting_state(case)))


def k_means(case: Case) -> Outcome:
    """Run scikit-learn's k-means on unscaled rows."""
    init: Any = "random" if case.init == "random" else "k-means++"
    model = KMeans(case.k, init=init, n_init=1, random_state=case.seed).fit(case.X)
    return Outcome(model.labels_, None, float(model.inertia_), int(model.n_iter_))


def k_means_of_z_scores(case: Case) -> Outcome:
    """Run scikit-learn's k-means on z-scores of the columns."""
    return k_means(replace(case, X=StandardScaler().fit_transform(case.X)))


PAPER_METHODS: dict[str, Callable[[Case], Outcome]] = {
    "EulerK": euler_k,
    "REK1": rek1,
    "REK2": rek2,
    "REK2 printed": rek2_printed,
    "k-means": k_means,
    "k-means z": k_means_of_z_scores,
}
EULER = ("EulerK", "REK1", "REK2", "REK2 printed")  # the methods that use alpha and the scale


def make_estimator(kind: Any, case: Case) -> Any:
    """Return an unfitted estimator of the class `kind` for one start."""
    parameters = {
        "alpha": case.alpha,
        "scale": case.scale,
        "beyond": case.beyond,
        "init": case.init,
    }
    return kind(case.k, **parameters, n_init=1, n_threads=1, random_state=case.seed)


def _fit_outcome(kind: Any, case: Case) -> Outcome:
    model = make_estimator(kind, case).fit(case.X)
    course = tuple(model.history_["inertia"].tolist())
    return Outcome(
        model.labels_,
        float(model.deviation_.mean()),
        float(model.inertia_),
        int(model.n_iter_),
        course,
    )


def starting_state(case: Case) -> tuple[Rows, Array]:
    """Return the mapped rows and the starting centroids of the estimator with this seed."""
    model = make_estimator(RectifiedEulerKMeans, case)
    placed = place_for_fit(model, case.X)
    return placed.rows, next(starting_centroids(model, placed)).f


def mapped_rows(case: Case) -> Array:
    """Return the mapped rows as complex numbers of modulus 1, (n, d)."""
    parameters: dict[str, Any] = {"alpha": case.alpha, "scale": case.scale, "beyond": case.beyond}
    F = EulerMap(**parameters).fit_transform(case.X)
    return F[:, : F.shape[1] // 2] + 1j * F[:, F.shape[1] // 2 :]


def _angle_outcome(fit: angles.AngleFit) -> Outcome:
    kappa = float(deviation_degree(fit.complex_centroids).mean())
    course = tuple(fit.objectives)
    return Outcome(fit.labels, kappa, course[-1], min(len(course), angles.MAX_ANGLE_PASSES), course)


def count_rises(course: tuple[float, ...]) -> int:
    """Count the passes that raised the objective."""
    return int((np.diff(course) > 0).sum())
