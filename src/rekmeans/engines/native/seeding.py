"""Starting centroids in the compiled core: each row's two nearest so far, and draws without Python
between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._grid import Array
from ...kernels.euler import OnCircles
from ...seeding import Seeding
from .arrays import core_array
from .core_module import _core

CALL_WORK = 1 << 30  # n d times candidates that are drawn in one call: Ctrl-C is heard after each


class NativeSeeding(Seeding):
    """Each row's two nearest centroids so far, kept in the core."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.core = _core.Seeding(rows.core, rows.missing_cells_centroid)

    @property
    def centroids(self) -> OnCircles:
        return OnCircles(self.core.centroids())

    def sample(self, words: Array) -> Array:
        return self.core.sample(words[None])

    def add_best(self, numbers: Array) -> None:
        self.core.add_best(self._candidates(numbers))

    def add_all(self, numbers: Array) -> None:
        self.core.add_all(self._candidates(numbers))

    def swap_best(self, numbers: Array) -> bool:
        return self.core.swap_best(self._candidates(numbers))

    def nearest_masses(self) -> Array:
        return self.core.nearest_masses()

    def _candidates(self, numbers: Array) -> Array:
        return core_array(self.rows.rows_as_centroids(numbers).f, np.int32)

    def add_rows(self, words: Array) -> None:
        steps = max(1, CALL_WORK // (self.rows.n * self.rows.d * words.shape[1]))
        for at in range(0, len(words), steps):
            self.core.add_rows(words[at : at + steps])

    def add_drawn(self, words: Array) -> None:
        steps = max(1, CALL_WORK // (self.rows.n * self.rows.d))
        for at in range(0, len(words), steps):
            self.core.add_drawn(words[None, at : at + steps])

    def swap_rows(self, words: Array, patience: int) -> None:
        self.core.swap_rows(words, patience)
