"""Protocols as values: how rows and columns are scaled, which alphas and starts are tried, who
chooses alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .datasets import LOW
from .published import ALPHAS
from .values import Array

DEFAULT_ALPHA = 0.9  # of the estimators
# key of the protocol that needs neither labels nor robust columns
PLAIN = f"range {DEFAULT_ALPHA:g}"


@dataclass(frozen=True)
class Scaling:
    """What is done to the rows before, and what the Euler map takes for a unit of a column."""

    rows: Callable[[Array], Array]
    scale: str | None
    beyond: str


def unscaled_rows(X: Array) -> Array:
    """The rows untouched."""
    return X


def row_sums_one(X: Array) -> Array:
    """Each row divided by the sum of its absolute values."""
    return _divide_rows(X, np.abs(X).sum(axis=1, dtype=np.float64))


def row_lengths_one(X: Array) -> Array:
    """Each row divided by its Euclidean length."""
    return _divide_rows(X, np.sqrt((X.astype(np.float64) ** 2).sum(axis=1)))


def _divide_rows(X: Array, by: Array) -> Array:
    """X / by in the type of X; a row of nothing stays."""
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
    """One way to run the tables; where labels do not choose, `alphas` has one value."""

    title: str
    scaling: str
    alphas: tuple[float, ...] = ALPHAS
    starts: int = 20
    init: str = "random"
    by_labels: bool = True


@dataclass(frozen=True)
class Plan:
    """How much is run: protocols for low- and high-dimensional sets, the search for the unstated
    scaling.
    """

    low: dict[str, Protocol]
    low_sets: tuple[str, ...]
    high: dict[str, Protocol]
    high_sets: tuple[str, ...]
    search: Protocol  # once for each scaling, EulerK only
    search_sets: tuple[str, ...]
    halves: int  # draws of the half that is fitted
    most_clusters: int  # of kappa against K


# of the quick plan
COARSE = (1e-4, 0.01, 0.1, 0.5, 0.7, 0.9, 1.1, 1.4, 1.8, 5.0, 10.0, 100.0, 300.0, 400.0)
STEEP = (50.0, 100.0, 200.0, 300.0, 500.0)  # where row-normalised histograms have their signal


def _paper_protocol(alphas: tuple[float, ...], starts: int) -> Protocol:
    """The scaling under which EulerK comes nearest to the printed figures (table `scaling`); the
    paper states none.
    """
    return Protocol(
        "rows of sum 1, as the paper's figures suggest; alpha by labels", "row L1", alphas, starts
    )


def _low_protocols(alphas: tuple[float, ...], starts: int) -> dict[str, Protocol]:
    by_labels = Protocol(
        "columns on their range; alpha by labels", "range", alphas, starts, "k-means++"
    )
    return {"paper": _paper_protocol(alphas, starts), "range": by_labels} | _label_free_protocols(
        starts
    )


def _label_free_protocols(starts: int) -> dict[str, Protocol]:
    """Nothing is chosen by labels: columns on their range, and every default of the estimators."""
    one = (DEFAULT_ALPHA,)
    return {
        PLAIN: Protocol(
            "columns on their range, alpha our default, no labels",
            "range",
            one,
            starts,
            "k-means++",
            False,
        ),
        "default": Protocol("our defaults, no labels", "robust", one, starts, "k-means++", False),
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
    most_clusters=20,
)
QUICK = Plan(
    low=_low_protocols(COARSE, 3),
    low_sets=LOW,
    high={"paper": _paper_protocol((200.0,), 1)},
    high_sets=("Scene13",),
    search=Protocol("search", "none", COARSE, 2),
    search_sets=("wine", "seeds", "yeast"),
    halves=10,
    most_clusters=10,
)
