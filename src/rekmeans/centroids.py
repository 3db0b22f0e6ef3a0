"""Centroid rules: the mean of the mapped rows, or its rectified form; and what an empty cluster
becomes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._grid import Array
from .kernels.base import Kernel, rectified_update
from .model import Centroids, FarthestRow, Sums

CentroidRule = Callable[[Kernel, Sums, Centroids], Centroids]


def mean(kernel: Any, sums: Any, C: Any) -> Any:
    """The pseudo-centroid: inside the circle, off the mapped data."""
    return kernel.mean(sums, C)


def rectified(kernel: Any, sums: Any, C: Any) -> Any:
    """Back on the mapped data, so that it has a pre-image; where the mean of points is a point,
    that mean.
    """
    return rectified_update(kernel, sums, C)


def relocate_empty_clusters(
    kernel: Any, find_farthest: Callable[[Any], FarthestRow], C: Any, mass: Array
) -> tuple[Any, int]:
    """Each empty cluster moved to the row farthest from all others; unmoved where no row is away
    from its centroid.

    Where all are empty, as when powers of memberships vanish, there is nothing to be far from: all
    stay.
    """
    occupied = mass > 0
    if occupied.all():  # nearly always
        return C, 0
    empty = np.flatnonzero((mass == 0) & occupied.any())
    for count, c in enumerate(empty):
        farthest = find_farthest(C.take(occupied))
        if farthest.loss <= 0:
            return C, count
        C = C.replace(c, kernel.from_rows(farthest.mapped[None], C.take([c])))
        occupied[c] = True
    return C, len(empty)


CENTROIDS: dict[str, CentroidRule] = {"mean": mean, "rectified": rectified}
