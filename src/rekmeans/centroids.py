"""Centroid rules (mean and rectified) and the relocation of empty clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ._grid import Array
from .kernels.base import Kernel, rectified_update
from .model import Centroids, FarthestRow, Sums

AnyCentroids = TypeVar("AnyCentroids", bound=Centroids)
CentroidRule = Callable[[Kernel, Sums, Centroids], Centroids]


def mean(kernel: Kernel, sums: Sums, C: Centroids) -> Centroids:
    """Return the means in the mapped space, which may lie off the mapped data."""
    return kernel.mean(sums, C)


def rectified(kernel: Kernel, sums: Sums, C: Centroids) -> Centroids:
    """Return the next centroids that are images of points and so have pre-images.

    If the means of a kernel are points, they are these centroids.
    """
    return rectified_update(kernel, sums, C)


def relocate_empty_clusters(
    kernel: Kernel,
    find_farthest: Callable[[Centroids], FarthestRow],
    C: AnyCentroids,
    mass: Array,
) -> tuple[AnyCentroids, int]:
    """Move each empty cluster to the row farthest from the other centroids, and count the moves.

    A cluster is not moved if every row lies on a centroid, or if all clusters are empty, which
    happens when powers of memberships underflow.
    """
    occupied = mass > 0
    if occupied.all():  # the usual case
        return C, 0
    empty = np.flatnonzero((mass == 0) & occupied.any()).tolist()
    for count, c in enumerate(empty):
        farthest = find_farthest(C.take(occupied))
        if farthest.loss <= 0:
            return C, count
        C = C.replace(c, kernel.from_rows(farthest.mapped[None], C.take([c])))
        occupied[c] = True
    return C, len(empty)


CENTROIDS: dict[str, CentroidRule] = {"mean": mean, "rectified": rectified}
