"""Starts of rows that are not in memory: draws by weight and by loss over all of them, the rest on
what was drawn.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._grid import Array
from ..seeding import Seeding


class BlockSeeding(Seeding):
    """Draws over all blocks, by weight and then by loss; what needs more is done in memory, on the
    rows drawn.
    """

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.centroids: Any = None

    def sample(self, words: Array) -> Array:
        draw = (
            self.rows.draw_rows
            if self.centroids is None
            else partial(self.rows.draw_by_loss, self.centroids)
        )
        return draw(words)

    def add_all(self, numbers: Array) -> None:
        P = self.rows.rows_as_centroids(numbers)
        self.centroids = P if self.centroids is None else self.centroids.append(P)

    def add_best(self, numbers: Array) -> None:
        raise NotImplementedError("of rows elsewhere candidates are drawn, and compared in memory.")

    def swap_best(self, numbers: Array) -> bool:
        raise NotImplementedError("of rows elsewhere candidates are drawn, and compared in memory.")

    def nearest_masses(self) -> Array:
        return self.rows.nearest_masses(self.centroids).astype(np.float64)
