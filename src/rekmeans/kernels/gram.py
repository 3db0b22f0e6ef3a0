"""Means that are not points, represented by the kernel values k(x, x_q) of the fitted rows x_q."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._grid import Array, mass_of, product
from ..model import Centroids, Points
from ..table import Table
from ..table.validation import reject_many_pairs
from .base import (
    Kernel,
    Preparation,
    check_fitted_rows,
    check_fitted_values,
    check_point_kernel,
    rectified_update,
    with_statistics,
)
from .combination import (
    BLOCK_VALUES,
    Combination,
    CombinationSums,
    at_fitted_rows,
    combination_deviation,
    combination_distances,
    combination_similarity,
    counting_rows,
    inner_products,
    mean_combination,
)

# bytes of kernel values kept in memory without a memory_limit
KEPT_BYTES = 2 << 30
PREIMAGE_STEPS = 100  # limit of mean-shift steps to a pre-image; each costs as much as a prediction


@dataclass(frozen=True)
class Gram(Kernel):
    """A kernel for the means of its base, which has `similarity(F, V)` and k(x, x) = 1.

    Mapped rows are [k(x, x_q) for all q | k(x, x)] if these values are kept in memory, otherwise
    the mapped rows of the base.
    """

    centroid_rules: ClassVar[tuple[str, ...]] = ("mean",)
    statistics: ClassVar[tuple[str, ...]] = ("combination",)
    is_additive: ClassVar[bool] = False
    seeding_sample: ClassVar[int | None] = None

    base: Any = None
    fitted: Any = None  # the fitted rows, mapped by the base, (n, d)
    counting: Any = None  # indices of the fitted rows that may be starting centroids
    keep: bool = True

    def check_record(self) -> None:
        super().check_record()
        check_point_kernel(self, self.base)
        if not hasattr(self.base, "similarity"):
            raise ValueError(f"{type(self.base).__name__} has no means by kernel values")
        check_fitted_values("fitted", self.fitted, 2, may_lack=self.supports_missing)
        check_fitted_rows(self.counting, len(self.fitted))
        width = self.base.embed(self.scale.middle[None]).shape[1]
        if self.fitted.shape[1] != width:
            raise ValueError(f"fitted must have {width} columns, got {self.fitted.shape[1]}")

    def check_table(self, table: Table) -> None:
        self.base.check_table(table)
        reject_many_pairs(table.n_rows, self.base.name)

    def prepared(self, table: Table, preparation: Preparation) -> Gram:
        base = self.base.prepared(table, preparation)
        n = table.n_rows
        limit = preparation.memory_limit
        keep = 8 * n * (n + 1) <= (KEPT_BYTES if limit is None else limit)
        fitted = base.embed(table.dense(slice(None)))
        counting = counting_rows(base, table)
        return replace(self, base=base, fitted=fitted, counting=counting, keep=keep)

    def for_prediction(self) -> Gram:
        return replace(self, keep=False)  # the kernel values of a new row are used only once

    def coordinates(self, X: Array) -> Array:
        return self.base.coordinates(X)

    def embed(self, X: Array) -> Array:
        F = self.base.embed(X)
        if not self.keep:
            return F
        K = np.empty((len(F), len(self.fitted) + 1))
        step = max(1, BLOCK_VALUES // len(self.fitted))
        for at in range(0, len(F), step):  # in blocks, to avoid a second large matrix
            K[at : at + step, :-1] = self.base.similarity(F[at : at + step], self.fitted)
            K[at : at + step, -1] = 1.0
        return K

    def distance(self, F: Array, C: Combination) -> Array:
        return combination_distances(self._values, F, np.ones(len(F)), C)

    def loss(self, D: Array) -> Array:
        return np.maximum(D, 0.0)

    def accumulate(self, F: Array, C: Combination, D: Array, W: Any) -> CombinationSums:
        return CombinationSums(mass=mass_of(W))

    def combination(
        self, blocks: Sequence[tuple[Array, Any]], sums: CombinationSums, C: Combination
    ) -> Combination:
        return mean_combination(self._values, blocks, sums, C)

    def mean(self, sums: CombinationSums, C: Combination) -> Combination:
        return C if sums.combination is None else sums.combination

    def preimage(self, C: Combination, near: Array) -> Array:
        """Return points with images near the means, by mean shift from the cluster averages."""
        W = C.weights.T
        observed = ~np.isnan(self.fitted)
        share = product(W, observed)
        totals = product(W, np.where(observed, self.fitted, 0.0))
        V: Centroids = Points(totals / np.where(share > 0, share, 1.0))
        for _ in range(PREIMAGE_STEPS - 1):
            D = self.base.distance(self.fitted, V)
            sums = self.base.accumulate(self.fitted, V, D, W)
            sums = with_statistics(self.base, [(self.fitted, self.base.row_weights(D, W))], sums, V)
            last = V
            V = rectified_update(self.base, sums, V)
            if last == V:
                break
        return self.base.preimage(V, near)

    def uninformative_rows(self, X: Array) -> Array:
        return self.base.uninformative_rows(X)

    def has_missing(self, F: Array) -> bool:
        return False

    def _values(self, F: Array, at: Array) -> Array:
        """Return k(x, x_q) of the rows and the fitted rows `at`.

        The bits do not depend on whether the values are kept in memory.
        """
        return F.take(at, axis=1) if self.keep else self.base.similarity(F, self.fitted[at])

    def from_rows(self, F: Array, fallback: Combination | None = None) -> Combination:
        return at_fitted_rows(self._values, F, np.ones(len(self.fitted)), self.counting)

    def deviation(self, C: Combination) -> Array:
        return combination_deviation(C, np.ones(len(self.fitted)))

    def centroid_similarity(self, F: Array, C: Combination, labels: Array | None = None) -> Array:
        return combination_similarity(self.distance(F, C), np.ones(len(F)), C, labels)

    def centroid_distances(self, C: Combination) -> Array:
        inner = C.weights @ inner_products(self.for_prediction()._values, self.fitted, C.weights)
        return np.sqrt(np.maximum(C.squares[:, None] + C.squares - inner - inner.T, 0.0))

    @property
    def supports_missing(self) -> bool:  # type: ignore[override]
        return self.base.supports_missing

    @property
    def fitted_parameters(self) -> dict[str, Any]:
        return self.base.fitted_parameters

    @property
    def point_kernel(self) -> Any:
        return self.base

    def to_public(self, C: Combination) -> dict[str, Any]:
        """Return the weights of the fitted rows (k, n) and the squared lengths (k,)."""
        return {"centroids_": C.weights, "squared_lengths_": C.squares}

    def from_public(self, attributes: Mapping[str, Any]) -> Combination:
        return Combination(attributes["centroids_"], attributes["squared_lengths_"])
