"""Clusters with a shape A, det A = 1, in the mapped space.

The distance of a mapped row f is (f - m)' A (f - m) + prior s^2 tr A. The prior makes the shapes
rounder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import _parameters
from .._grid import Array, product, small_weights
from ..model import Centroids, Sums
from ..table import Table
from ..table.validation import reject_wide_shapes
from .base import Kernel, KernelStart, Preparation, check_point_kernel
from .euler import deviation_from_circle

# sweeps over the columns per pass in the search for the nearest point of the circles
CIRCLE_SWEEPS = 5
ANGLE_GRID = np.linspace(-np.pi, np.pi, 64, endpoint=False)  # candidates for one column
ANGLE_STEPS = 4  # Newton steps from the best candidate
ANGLE_TOL = 1e-10  # the sweeps end when no coordinate moves farther than this
SPREAD_ROWS = 1 << 14  # rows in memory at a time while the spread is computed


@dataclass(frozen=True, eq=False)
class Shaped(Centroids):
    """Centroids with a position m (k, p) and a shape (k, p, p).

    A shape is the inverse of the covariance of its cluster, scaled to determinant 1.
    """

    m: Array
    shape: Array


@dataclass(frozen=True, kw_only=True)
class ShapeSums(Sums):
    """The sums of w f and w (f - m)(f - m)', where m is the current centroid.

    Subtracting m avoids cancellation.
    """

    totals: Array  # (k, p)
    scatter: Array  # (k, p, p)


@dataclass(frozen=True)
class Mahalanobis(Kernel):
    """Clusters with a shape A = det(S)^(1/p) S^-1, where S = cov + prior s^2 I.

    This A is the exact minimizer of the objective, so no step increases it. The centroids of the
    base kernel are points or lie on circles.
    """

    loss_is_distance: ClassVar[bool] = True
    learns_from_all_rows: ClassVar[bool] = True

    base: Any = None
    prior: float = 0.1
    spread: float = 1.0  # s^2: mean squared deviation of the coordinates from their means

    def check_record(self) -> None:
        super().check_record()
        check_point_kernel(self, self.base)
        _parameters.check_real("prior", self.prior, above=0)
        _parameters.check_real("spread", self.spread, above=0)
        reject_wide_shapes(self.scale.n_columns)

    @property
    def is_periodic(self) -> bool:  # type: ignore[override]
        return self.base.is_periodic

    @property
    def is_circular(self) -> bool:  # type: ignore[override]
        return self.base.is_circular

    @property
    def supports_periods(self) -> bool:  # type: ignore[override]
        return self.base.supports_periods

    @property
    def mean_is_point(self) -> bool:  # type: ignore[override]
        return self.base.mean_is_point

    @property
    def centroid_rules(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.base.centroid_rules

    def check_table(self, table: Table) -> None:
        reject_wide_shapes(table.n_columns)

    def prepared(self, table: Table, preparation: Preparation) -> Mahalanobis:
        """Return the kernel with the spread of the mapped rows."""
        kernel = replace(self, base=self.base.prepared(table, preparation))
        middle = kernel._row_average(table, lambda F: F)
        spread = kernel._row_average(
            table, lambda F: ((F - middle) ** 2).mean(axis=1, keepdims=True)
        )
        return replace(kernel, spread=float(spread[0]) or 1.0)

    def _row_average(self, table: Table, value: Any) -> Array:
        """Return the weighted average of `value` of the mapped rows that have a kept value."""
        total: Any = 0.0
        mass = 0.0
        weights = (
            np.ones(table.n_rows) if table.weights is None else small_weights(table.weights)[0]
        )
        for at in table.blocks(SPREAD_ROWS):
            X = table.dense(at)
            w = weights[at] * ~self.uninformative_rows(X)
            total = total + (w[:, None] * value(self.embed(X))).sum(axis=0)
            mass = mass + w.sum()
        return np.asarray(total / (mass or 1.0))

    def coordinates(self, X: Array) -> Array:
        return self.base.coordinates(X)

    def embed(self, X: Array) -> Array:
        return self.base.embed(X) / self.base.mapped_unit

    def distance(self, F: Array, C: Shaped) -> Array:
        pairs = zip(C.m, C.shape, strict=True)
        plain = np.stack([np.einsum("ij,ij->i", (F - m) @ A, F - m) for m, A in pairs], axis=1)
        return np.maximum(plain, 0.0) + self._penalty(C)

    def _penalty(self, C: Shaped) -> Array:
        """Return prior s^2 tr A, (k,)."""
        return self.prior * self.spread * np.trace(C.shape, axis1=1, axis2=2)

    def loss(self, D: Array) -> Array:
        return D

    def accumulate(self, F: Array, C: Shaped, D: Array, W: Any) -> ShapeSums:
        V = np.asarray(W)
        # (k, p, p)
        scatter = np.stack(
            [((F - m) * v[:, None]).T @ (F - m) for m, v in zip(C.m, V.T, strict=True)]
        )
        return ShapeSums(mass=V.sum(axis=0), totals=product(V, F), scatter=scatter)

    def mean(self, sums: ShapeSums, C: Shaped) -> Shaped:
        return self._with_shapes(sums, self._means(sums, C), C)

    def rectify(self, sums: ShapeSums, C: Shaped) -> Shaped:
        """Return the points on the circles nearest to the means in the metric of each shape."""
        return self._with_shapes(sums, on_circles(self._means(sums, C), C.shape, C.m), C)

    def _means(self, sums: ShapeSums, C: Shaped) -> Array:
        some = (sums.mass > 0)[:, None]
        return np.where(some, sums.totals / np.where(some, sums.mass[:, None], 1.0), C.m)

    def _with_shapes(self, sums: ShapeSums, M: Array, C: Shaped) -> Shaped:
        """Return the positions M with the shapes that minimize the objective there.

        A cluster without weight keeps its shape.
        """
        p = M.shape[1]
        means = self._means(sums, C)
        on = means - C.m
        off = M - means
        weight = np.where(sums.mass > 0, sums.mass, 1.0)[:, None, None]
        S = sums.scatter / weight - on[:, :, None] * on[:, None] + off[:, :, None] * off[:, None]
        S = (S + S.transpose(0, 2, 1)) / 2 + self.prior * self.spread * np.eye(p)
        sign, volume = np.linalg.slogdet(S)
        fine = (sums.mass > 0) & (sign > 0)
        shapes = C.shape.copy()
        shapes[fine] = np.exp(volume[fine] / p)[:, None, None] * np.linalg.inv(S[fine])
        return Shaped(M, shapes)

    def preimage(self, C: Shaped, near: Array) -> Array:
        return self.base.preimage(self.base.from_rows(C.m * self.base.mapped_unit), near)

    def uninformative_rows(self, X: Array) -> Array:
        return self.base.uninformative_rows(X)

    def has_missing(self, F: Array) -> bool:
        return False

    @property
    def starts(self) -> Mapping[str, KernelStart]:
        return {name: partial(self._round_start, start) for name, start in self.base.starts.items()}

    def _round_start(self, start: KernelStart, k: int, bits: Any) -> Shaped:
        """Return a start of the base kernel with round shapes."""
        return self.from_rows(start(k, bits).f / self.base.mapped_unit)

    def from_rows(self, F: Array, fallback: Shaped | None = None) -> Shaped:
        p = F.shape[1]
        return Shaped(F, np.broadcast_to(np.eye(p), (len(F), p, p)))

    def deviation(self, C: Shaped) -> Array:
        return deviation_from_circle(_complex(C.m)) if self.is_circular else np.zeros(len(C))

    def centroid_similarity(self, F: Array, C: Shaped, labels: Array | None = None) -> Array:
        """Return 1/(1 + D/p) for the centroid of each row, where D excludes the prior, (n,)."""
        D = self.distance(F, C)
        labels = D.argmin(axis=1) if labels is None else labels
        plain = (D - self._penalty(C))[np.arange(len(F)), labels]
        return 1 / (1 + plain / F.shape[1])

    def centroid_distances(self, C: Shaped) -> Array:
        """Return the distances in the metric of the second centroid's shape, (k, k)."""
        return np.sqrt(self.distance(C.m, C))

    @property
    def fitted_parameters(self) -> dict[str, Any]:
        return self.base.fitted_parameters

    @property
    def point_kernel(self) -> Any:
        return None

    def to_public(self, C: Shaped) -> dict[str, Any]:
        """Return the positions, complex (k, d) or points, and the shapes (k, p, p)."""
        return {"centroids_": _complex(C.m) if self.is_circular else C.m, "shapes_": C.shape}

    def from_public(self, attributes: Mapping[str, Any]) -> Shaped:
        m = attributes["centroids_"]
        places = np.concatenate([m.real, m.imag], axis=1) if self.is_circular else m
        return Shaped(places, attributes["shapes_"])


def _complex(M: Array) -> Array:
    """Return [cos | sin] (k, 2d) as complex numbers, (k, d)."""
    d = M.shape[1] // 2
    return M[:, :d] + 1j * M[:, d:]


def on_circles(target: Array, A: Array, M: Array) -> Array:
    """Return points (k, 2d) on the circles that lower (m - target)' A (m - target), starting at M.

    The columns are optimized one after the other.
    """
    d = M.shape[1] // 2
    M = M / np.tile(np.maximum(np.hypot(M[:, :d], M[:, d:]), np.finfo(float).tiny), 2)
    slope = np.einsum("kij,kj->ki", A, M - target)
    for _ in range(CIRCLE_SWEEPS):
        before = M.copy()
        for j in range(d):
            B = A[:, j::d, j::d]
            old = M[:, j::d]
            z = on_circle(B, (B @ old[:, :, None])[:, :, 0] - slope[:, j::d], old)
            slope += (A[:, :, j::d] @ (z - old)[:, :, None])[:, :, 0]
            M[:, j::d] = z
        if np.abs(M - before).max() < ANGLE_TOL:
            break
    return M


def on_circle(B: Array, h: Array, old: Array) -> Array:
    """Return the unit vectors z (k, 2) that minimize z'Bz - 2 h'z; ties keep the old vectors."""

    # coefficients, (k, 1) each
    b00 = B[:, 0, :1]
    b01 = B[:, 0, 1:] + B[:, 1, :1]
    b11 = B[:, 1, 1:]

    def height(cos: Array, sin: Array) -> Array:  # (k, t)
        return cos * (b00 * cos + b01 * sin - 2 * h[:, :1]) + sin * (b11 * sin - 2 * h[:, 1:])

    t = ANGLE_GRID[height(np.cos(ANGLE_GRID)[None], np.sin(ANGLE_GRID)[None]).argmin(axis=1)]
    for _ in range(ANGLE_STEPS):
        z = np.stack([np.cos(t), np.sin(t)], axis=1)
        across = np.stack([-np.sin(t), np.cos(t)], axis=1)
        pull = (B @ z[:, :, None])[:, :, 0] - h
        first = (across * pull).sum(axis=1)
        second = ((B @ across[:, :, None])[:, :, 0] * across).sum(axis=1) - (z * pull).sum(axis=1)
        t = t - np.where(second > 0, first / np.where(second > 0, second, 1.0), 0.0)
    new = np.stack([np.cos(t), np.sin(t)], axis=1)
    lower = height(new[:, :1], new[:, 1:]) < height(old[:, :1], old[:, 1:])
    return np.where(lower, new, old)
