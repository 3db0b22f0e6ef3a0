"""The precomputed kernel: the table contains k(x, x_q) for the fitted rows, then k(x, x)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._grid import Array, mass_of
from ..table import Table
from .base import Kernel, Preparation, check_fitted_rows, check_fitted_values
from .combination import (
    Combination,
    CombinationSums,
    at_fitted_rows,
    combination_deviation,
    combination_distances,
    combination_similarity,
    counting_rows,
    mean_combination,
)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel given by its values between rows.

    There are no points, so centroids have no pre-images.
    """

    name: ClassVar[str] = "precomputed"
    centroid_rules: ClassVar[tuple[str, ...]] = ("mean",)
    statistics: ClassVar[tuple[str, ...]] = ("combination",)
    is_additive: ClassVar[bool] = False
    is_pairwise: ClassVar[bool] = True
    seeding_sample: ClassVar[int | None] = None

    fitted_lengths: Any = None  # k(x_q, x_q) of the fitted rows, (n,)
    counting: Any = None  # numbers of the fitted rows that centroids may start from

    def check_record(self) -> None:
        super().check_record()
        check_fitted_values("fitted_lengths", self.fitted_lengths, 1)
        check_fitted_rows(self.counting, len(self.fitted_lengths))
        if (self.fitted_lengths < 0).any():
            raise ValueError("fitted_lengths must not be negative")

    def prepared(self, table: Table, preparation: Preparation) -> Precomputed:
        lengths = table.dense(slice(None))[:, -1]
        return replace(self, fitted_lengths=lengths, counting=counting_rows(self, table))

    def embed(self, X: Array) -> Array:
        return X

    def distance(self, F: Array, C: Combination) -> Array:
        return combination_distances(_values, F, F[:, -1], C)

    def loss(self, D: Array) -> Array:
        return np.maximum(D, 0.0)

    def accumulate(self, F: Array, C: Combination, D: Array, W: Any) -> CombinationSums:
        return CombinationSums(mass=mass_of(W))

    def combination(
        self, blocks: Sequence[tuple[Array, Any]], sums: CombinationSums, C: Combination
    ) -> Combination:
        return mean_combination(_values, blocks, sums, C)

    def mean(self, sums: CombinationSums, C: Combination) -> Combination:
        return C if sums.combination is None else sums.combination

    def preimage(self, C: Combination, near: Array) -> Array:
        """Return an array without columns, because there are no pre-images."""
        return np.full((len(C), 0), np.nan)

    def has_missing(self, F: Array) -> bool:
        return False

    def from_rows(self, F: Array, fallback: Combination | None = None) -> Combination:
        return at_fitted_rows(_values, F, self.fitted_lengths, self.counting)

    def deviation(self, C: Combination) -> Array:
        return combination_deviation(C, self.fitted_lengths)

    def centroid_similarity(self, F: Array, C: Combination, labels: Array | None = None) -> Array:
        return combination_similarity(self.distance(F, C), F[:, -1], C, labels)

    @property
    def point_kernel(self) -> Any:
        return None

    def to_public(self, C: Combination) -> dict[str, Any]:
        """Return the weights of the fitted rows (k, n) and the squared lengths (k,)."""
        return {"centroids_": C.weights, "squared_lengths_": C.squares}

    def from_public(self, attributes: Mapping[str, Any]) -> Combination:
        return Combination(attributes["centroids_"], attributes["squared_lengths_"])


def _values(F: Array, at: Array) -> Array:
    """Return k(x, x_q) of the rows and the fitted rows `at`."""
    return F.take(at, axis=1)
