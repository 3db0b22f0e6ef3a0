"""How much of the kernel study is run, as values: sets, starts, widths, clusters, shares of gross
errors.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import datasets
from .kernel_study_fits import ROWS


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
