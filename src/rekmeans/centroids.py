"""Centroid rules: the mean of the mapped rows, or its rectified form; and what an empty cluster becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ._grid import Array
from ._sums import Sums
from .kernels import Kernel

if TYPE_CHECKING:
    from .engines import Rows

CentroidRule = Callable[[Kernel, Sums, Array], Array]


def mean(kernel: Kernel, sums: Sums, C: Array) -> Array:
    """The pseudo-centroid: inside the circle, off the mapped data."""
    return kernel.mean(sums, C)


def rectified(kernel: Kernel, sums: Sums, C: Array) -> Array:
    """Back on the mapped data, so that it has a pre-image."""
    return kernel.rectify(sums, C)


def refilled(rows: Rows, C: Array, mass: Array) -> tuple[Array, int]:
    """Each empty cluster moved to the row farthest from all others; unmoved where no row is away from its centroid.

    Where all are empty, as when powers of memberships vanish, there is nothing to be far from: all stay.
    """
    C, standing = C.copy(), mass > 0
    empty = np.flatnonzero((mass == 0) & standing.any())
    for count, c in enumerate(empty):
        loss, f = rows.farthest(C[standing])
        if loss <= 0:
            return C, count
        C[c] = rows.kernel.whole(f, C[c])
        standing[c] = True
    return C, len(empty)


CENTROIDS: dict[str, CentroidRule] = {"mean": mean, "rectified": rectified}
