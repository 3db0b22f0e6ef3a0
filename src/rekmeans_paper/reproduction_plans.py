"""Protocols of the reproduction: scaling, values of alpha, starts, and the choice of alpha."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .datasets import LOW
from .published import ALPHAS
from .values import Array

DEFAULT_ALPHA = 0.9  # of the estimators
# The key of the protocol that uses neither labels nor the robust scale.
PLAIN = f"range {DEFAULT_ALPHA:g}"


@dataclass(frozen=True)
class Scaling:
    """The normalization of the rows, and the scale of the columns in the Euler map."""

    rows: Callable[[Array], Array]
    scale: str | None
    beyond: str


def unscaled_rows(X: Array) -> Array:
    """Return the rows unchanged."""
    return X


def row_sums_one(X: Array) -> Array:
    """Divide each row by the sum of its absolute values."""
    return _divide_rows(X, np.abs(X).sum(axis=1, dtype=np.float64))


def row_lengths_one(X: Array) -> Array:
    """Divide each row by its Euclidean length."""
    return _divide_rows(X, np.sqrt((X.astype(np.float64) ** 2).sum(axis=1)))


def _divide_rows(X: Array, by: Array) -> Array:
    """Return X / by in the dtype of X; rows of zeros stay unchanged."""
    return X / np.where(by > 0, by, 1.0).astype(X.dtype)[:, None]


SCALINGS: dict[str, Scaling] = {
    "none": Scaling(unscaled_rows, None, "wrap"),
    "row L1": Scaling(row_sums_one, None, "wrap"),
    "row L2": Scaling(row_lengths_one, None, "wrap"),
    "range": Scaling(unscaled_rows, "range", "wrap"),
    "robust": Scaling(unscaled_rows, "robust", "ignore"),
}


@dataclass(frozen=True)
class Protocol:
    """One way to run the tables; `alphas` has one value unless the labels choose alpha."""

    title: str
    scaling: str
    alphas: tuple[float, ...] = ALPHAS
    starts: int = 20
    init: str = "random"
    by_labels: bool = True


@dataclass(frozen=True)
class Plan:
    """The size of a run: its datasets, their protocols, and the search for the unstated scaling."""

    low: dict[str, Protocol]
    low_sets: tuple[str, ...]
    high: dict[str, Protocol]
    high_sets: tuple[str, ...]
    search: Protocol  # once for each scaling, EulerK only
    search_sets: tuple[str, ...]
    halves: int  # random halves to fit
    max_clusters: int  # in the table of kappa and the number of clusters


# Values of alpha in the quick plan.
COARSE = (1e-4, 0.01, 0.1, 0.5, 0.7, 0.9, 1.1, 1.4, 1.8, 5.0, 10.0, 100.0, 300.0, 400.0)
STEEP = (50.0, 100.0, 200.0, 300.0, 500.0)  # values that suit row-normalized histograms


def _paper_protocol(alphas: tuple[float, ...], starts: int) -> Protocol:
    """Return the protocol whose EulerK is closest to the printed figures (table `scaling`).

    The paper states no scaling.
    """
    return Protocol(
        "rows normalized to sum 1, as the paper's figures suggest; alpha chosen with labels",
        "row L1",
        alphas,
        starts,
    )


def _low_protocols(alphas: tuple[float, ...], starts: int) -> dict[str, Protocol]:
    by_labels = Protocol(
        "columns scaled by their range; alpha chosen with labels",
        "range",
        alphas,
        starts,
        "k-means++",
    )
    return {"paper": _paper_protocol(alphas, starts), "range": by_labels} | _label_free_protocols(
        starts
    )


def _label_free_protocols(starts: int) -> dict[str, Protocol]:
    """Return the protocols without labels: range-scaled columns, and the estimators' defaults."""
    one = (DEFAULT_ALPHA,)
    return {
        PLAIN: Protocol(
            "columns scaled by their range; default alpha, no labels",
            "range",
            one,
            starts,
            "k-means++",
            False,
        ),
        "default": Protocol(
            "library defaults, no labels", "robust", one, starts, "k-means++", False
        ),
    }


HIGH_SETS = ("Event", "Scene13", "Caltech101", "SImagenet", "Caltech256")
FULL = Plan(
    low=_low_protocols(ALPHAS, 20),
    low_sets=LOW,
    high={"paper": _paper_protocol(STEEP, 3)} | _label_free_protocols(1),
    high_sets=HIGH_SETS,
    search=Protocol("search", "none", ALPHAS, 5),
    search_sets=LOW,
    halves=50,
    max_clusters=20,
)
QUICK = Plan(
    low=_low_protocols(COARSE, 3),
    low_sets=LOW,
    high={"paper": _paper_protocol((200.0,), 1)},
    high_sets=("Scene13",),
    search=Protocol("search", "none", COARSE, 2),
    search_sets=("wine", "seeds", "yeast"),
    halves=10,
    max_clusters=10,
)
