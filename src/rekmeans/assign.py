"""Assignment rules: distances D (n, k) and row weights w (n,) become labels (n,) and shares W (n, k)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._grid import Array

Loss = Callable[[Array], Array]


def one_each(labels: Array, w: Array, k: int) -> Any:
    """Each row's whole weight at its label, (n, k) sparse."""
    return sparse.csr_array((w, labels, np.arange(len(labels) + 1)), shape=(len(labels), k))


@dataclass(frozen=True)
class Hard:
    """A row belongs to its nearest centroid, the first of several."""

    def __call__(self, D: Array, loss: Loss, w: Array) -> tuple[Array, Any]:
        labels = D.argmin(axis=1).astype(np.int32)
        return labels, one_each(labels, w, D.shape[1])


@dataclass(frozen=True)
class Fuzzy:
    """u_jc in proportion to loss_jc^(-1/(m-1)), W = w u^m; a row on centroids is shared among those it sits on."""

    fuzziness: float = 2.0

    def __call__(self, D: Array, loss: Loss, w: Array) -> tuple[Array, Any]:
        L = loss(D).astype(np.float64)
        least = L.min(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            ratio = np.where(L == least, 1.0, least / L)  # 1 at the nearest, 0 elsewhere for a row on a centroid
        u = ratio ** (1.0 / (self.fuzziness - 1.0))
        u /= u.sum(axis=1, keepdims=True)
        return D.argmin(axis=1).astype(np.int32), w[:, None] * u**self.fuzziness
