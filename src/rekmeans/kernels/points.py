"""Distances over observed coordinates and weighted means, for kernels with points as centroids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._grid import Array, mass_of, product
from ..model import Points, Sums

COORDINATE_SHARE = {"sqeuclidean": np.square, "cityblock": np.abs}  # of the distance


@dataclass(frozen=True, kw_only=True)
class PointSums(Sums):
    """The sums of v x and of v over the observed coordinates; a row pulls with weight v."""

    totals: Array  # (k, d)
    pull: Array  # (k, d)

    def drop_faded(self, least: float) -> PointSums:
        kept = self.pull >= least
        return replace(self, totals=self.totals * kept, pull=self.pull * kept)


def point_distances(F: Array, C: Points, metric: str) -> Array:
    """Return sums of squared or absolute differences over the observed coordinates of each row,
    (n, k).
    """
    D = cdist(F, C.x, metric)
    missing = np.isnan(D).any(axis=1)
    if missing.any():  # usually few rows, which are summed again without their missing cells
        share = COORDINATE_SHARE[metric]
        D[missing] = np.stack([np.nansum(share(F[missing] - c), axis=1) for c in C.x], axis=1)
    return D


def point_sums(F: Array, W: Any, V: Any) -> PointSums:
    """Return the sums of rows with weights W that pull with weights V, both (n, k)."""
    observed = ~np.isnan(F)
    return PointSums(
        mass=mass_of(W),
        totals=product(V, np.where(observed, F, 0.0)),
        pull=product(V, observed.astype(np.float64)),
    )


def weighted_mean(sums: PointSums, C: Points) -> Points:
    """Return sum v x / sum v by coordinate, or the old value if no row pulls."""
    some = sums.pull > 0
    return Points(np.where(some, sums.totals / np.where(some, sums.pull, 1.0), C.x))
