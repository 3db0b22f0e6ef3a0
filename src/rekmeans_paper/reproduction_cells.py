"""Cells of the reproduction (dataset, scaling, method, alpha, start) and their records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.utils import check_random_state

from rekmeans import EulerKMeans, RectifiedEulerKMeans
from rekmeans.metrics import clustering_accuracy, normalized_mutual_info

from . import datasets
from .fit_records import FitKind, Record, StudyFit
from .methods import PAPER_METHODS, Case, Outcome, count_rises, make_estimator
from .reproduction_plans import SCALINGS
from .values import Array

HALF_ESTIMATORS = {"EulerK": EulerKMeans, "REK1": RectifiedEulerKMeans}
Records = dict["Cell", Record]


@dataclass(frozen=True, order=True)
class Cell(StudyFit):
    """One fit; `alpha` is 0 for methods without alpha, `k` is 0 for the number of classes."""

    scaling: str
    init: str
    method: str
    alpha: float
    k: int
    start: int
    half: bool = False  # fitted on one half of the rows, scored on the other


def measure_cell(cell: Cell) -> Record:
    """Run one fit and return its record.

    The record has NMI, ACC, κ, objective, passes and a checksum of the labels, and for the first
    start also the objective after each pass.
    """
    X, y = _scaled_rows(cell.dataset, cell.scaling)
    scaling = SCALINGS[cell.scaling]
    k = cell.k or len(np.unique(y))
    case = Case(X, k, cell.alpha, scaling.scale, scaling.beyond, cell.init, cell.start)
    if cell.half:
        return _measure_half(cell.method, case, y)
    outcome = PAPER_METHODS[cell.method](case)
    return _scores(y, outcome.labels) | _outcome_record(outcome, with_course=cell.start == 0)


@lru_cache(maxsize=1)
def _scaled_rows(name: str, scaling: str) -> tuple[Array, Array]:
    """Return the classes and the normalized rows, in the smallest dtype that represents them."""
    data = datasets.load(name)
    X = np.asarray(data.X)
    return SCALINGS[scaling].rows(X.astype(np.result_type(X.dtype, np.float32))), np.asarray(data.y)


def _measure_half(method: str, case: Case, y: Array) -> Record:
    """Fit a random half of the rows, and score both halves."""
    order = check_random_state(case.seed).permutation(len(y))
    fitted, other = np.split(order, [len(y) // 2])
    model = make_estimator(HALF_ESTIMATORS[method], case).fit(case.X[fitted])
    on_fitted = {
        f"fitted_{name}": score for name, score in _scores(y[fitted], model.labels_).items()
    }
    return _scores(y[other], model.predict(case.X[other])) | on_fitted


def _scores(y: Array, labels: Array) -> Record:
    checksum = crc32(np.asarray(labels, np.int32).tobytes())
    return {
        "nmi": normalized_mutual_info(y, labels),
        "acc": clustering_accuracy(y, labels),
        "labels": checksum,
    }


def _outcome_record(outcome: Outcome, *, with_course: bool) -> Record:
    record = {"kappa": outcome.kappa, "objective": outcome.objective, "passes": outcome.passes}
    record["rises"] = count_rises(outcome.course)
    return record | ({"course": list(outcome.course)} if with_course else {})


def _task_key(cell: Cell) -> tuple[Any, ...]:
    """Return the key of cells that one worker runs: only the start may differ."""
    return cell.dataset, cell.scaling, cell.init, cell.method, cell.alpha


CELL_KIND = FitKind(Cell, measure_cell, _task_key)
