"""Several kernels with learned weights w_b, sum w_b = 1.

The objective is J = sum_b w_b^p J_b/unit_b, where unit_b is J_b of one cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from .. import _parameters
from .._grid import GRID, Array, inner, mass_of
from ..model import Centroids, Sums
from ..scales import robust_scale
from ..table import Table
from .base import (
    Kernel,
    KernelStart,
    Preparation,
    check_point_kernel,
    rectified_update,
    with_statistics,
)

# Points of the line on which a shared pre-image is searched. Only the middle of a longer line is
# searched.
MIN_LINE_POINTS = 512
MAX_LINE_POINTS = 1 << 14
POINTS_PER_TURN = 12  # points for each turn of the largest alpha
LINE_STEPS = 6  # Newton steps from the best point
GRID_TOL = 4 / GRID  # rounding to the grid may make an old centroid this much better


@dataclass(frozen=True, eq=False)
class Stacked(Centroids):
    """The centroids of each kernel, and the weights of the kernels (b,), shared by all clusters."""

    parts: tuple[Any, ...]
    weights: Array

    def __len__(self) -> int:
        return len(self.parts[0])

    def take(self, clusters: Any) -> Self:
        return replace(self, parts=tuple(part.take(clusters) for part in self.parts))

    def append(self, other: Self) -> Self:
        parts = tuple(one.append(two) for one, two in zip(self.parts, other.parts, strict=True))
        return replace(self, parts=parts)

    def replace(self, cluster: int, other: Self) -> Self:
        parts = tuple(
            one.replace(cluster, two) for one, two in zip(self.parts, other.parts, strict=True)
        )
        return replace(self, parts=parts)

    def check(self, example: Self) -> None:
        super().check(example)
        if (self.weights < 0).any() or (self.weights > 1).any():
            raise ValueError("weights of kernels must lie between 0 and 1")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stacked):
            return NotImplemented
        return self.parts == other.parts and np.array_equal(self.weights, other.weights)

    __hash__ = None


@dataclass(frozen=True, kw_only=True)
class StackSums(Sums):
    """The sums of each kernel, and the loss of each kernel in its own unit (b,)."""

    parts: tuple[Any, ...]
    losses: Array
    complete_parts: tuple[Any, ...] | None = None  # with the statistics of each kernel


@dataclass(frozen=True)
class Stack(Kernel):
    """Several kernels: mapped rows side by side, and a record of centroids for each kernel."""

    is_periodic: ClassVar[bool] = True
    loss_is_distance: ClassVar[bool] = True
    learns_from_all_rows: ClassVar[bool] = True

    parts: tuple[Any, ...] = ()  # kernels with an explicit map
    units: tuple[float, ...] = ()  # mean loss of a row with one cluster, by kernel
    power: float = 2.0
    shared: bool = False  # one pre-image for all kernels, which must be circular
    reach: float = 1.0  # largest absolute coordinate of a row, in units of the scale

    def check_record(self) -> None:
        super().check_record()
        for part in self.parts:
            check_point_kernel(self, part)
            if self.shared and not part.is_circular:
                raise ValueError("shared must be false unless all kernels are on circles")
        if not self.parts or len(self.units) != len(self.parts):
            raise ValueError(f"units must be one for each kernel, got {len(self.units)}")
        for unit in self.units:
            _parameters.check_real("units", unit, above=0)
        _parameters.check_real("power", self.power, above=1, maximum=_parameters.MAX_EXPONENT)
        _parameters.check_real("reach", self.reach, minimum=0)

    @property
    def centroid_rules(self) -> tuple[str, ...]:  # type: ignore[override]
        rules = ("rectified",) if self.shared else ("mean", "rectified")
        return tuple(
            rule
            for rule in rules
            if all(p.mean_is_point or rule in p.centroid_rules for p in self.parts)
        )

    @property
    def statistics(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("complete_parts",) if any(part.statistics for part in self.parts) else ()

    @property
    def is_additive(self) -> bool:  # type: ignore[override]
        return all(part.is_additive for part in self.parts)

    @property
    def supports_missing(self) -> bool:  # type: ignore[override]
        return all(part.supports_missing for part in self.parts)

    @property
    def supports_periods(self) -> bool:  # type: ignore[override]
        return all(part.supports_periods for part in self.parts)

    def prepared(self, table: Table, preparation: Preparation) -> Stack:
        summary = table.column_summary(preparation.n_threads)
        middle = robust_scale(summary).middle
        parts = tuple(part.prepared(table, preparation) for part in self.parts)
        units = tuple(preparation.one_cluster_loss(part, table, middle) for part in parts)
        ends = np.stack([np.nan_to_num(end) for end in summary.extent])
        reach = np.abs(self.scale.to_units(ends, self.within_bounds().beyond)).max()
        return replace(self, parts=parts, units=units, reach=float(reach))

    def embed(self, X: Array) -> Array:
        return np.concatenate([part.embed(X) for part in self.parts], axis=1, dtype=np.float64)

    def distance(self, F: Array, C: Stacked) -> Array:
        losses = self._in_units([part.distance(f, c) for part, f, c in self._by_part(F, C)])
        return sum(w * L for w, L in zip(C.weights**self.power, losses, strict=True))

    def loss(self, D: Array) -> Array:
        return D

    def accumulate(self, F: Array, C: Stacked, D: Array, W: Any) -> StackSums:
        Ds = [part.distance(f, c) for part, f, c in self._by_part(F, C)]
        triples = zip(self._by_part(F, C), Ds, strict=True)
        sums = tuple(part.accumulate(f, c, D_part, W) for (part, f, c), D_part in triples)
        losses = np.array([inner(W, L) for L in self._in_units(Ds)])
        return StackSums(mass=mass_of(W), parts=sums, losses=losses)

    def mean(self, sums: StackSums, C: Stacked) -> Stacked:
        return self._update(sums, C, [part.mean for part in self.parts])

    def rectify(self, sums: StackSums, C: Stacked) -> Stacked:
        return self._update(sums, C, [partial(rectified_update, part) for part in self.parts])

    def _update(self, sums: StackSums, C: Stacked, rules: list[Callable[..., Any]]) -> Stacked:
        """Return weights proportional to J_b^(-1/(p-1)), and the centroids of each kernel.

        The centroids follow from the rule of each kernel, or from the shared pre-images.
        """
        J = np.maximum(sums.losses, np.finfo(float).tiny)
        w = (J.min() / J) ** (1 / (self.power - 1))  # the ratio cannot overflow
        w /= w.sum()
        if self.shared:
            return Stacked(self._shared_centroids(sums, C, w**self.power / np.array(self.units)), w)
        parts = sums.parts if sums.complete_parts is None else sums.complete_parts
        return Stacked(
            tuple(rule(s, c) for rule, s, c in zip(rules, parts, C.parts, strict=True)), w
        )

    def preimage(self, C: Stacked, near: Array) -> Array:
        """Return the pre-images of the kernel with the largest weight."""
        return self.preimages(C, near)[C.weights.argmax()]

    def preimages(self, C: Stacked, near: Array) -> Array:
        """Return the pre-images of each kernel, (b, k, d); `near` is in units of the scale."""
        pairs = zip(self.parts, C.parts, strict=True)
        return np.stack([part.preimage(c, near * getattr(part, "alpha", 1.0)) for part, c in pairs])

    def row_weights(self, D: Array, W: Any) -> Any:
        return W

    def complete_parts(
        self, blocks: Sequence[tuple[Array, Any]], sums: StackSums, C: Stacked
    ) -> tuple[Any, ...]:
        """Return the sums of each kernel with its statistics."""
        blocks_by_part: list[list[tuple[Array, Any]]] = [[] for _ in self.parts]
        for F, W in blocks:
            for b, (part, f, c) in enumerate(self._by_part(F, C)):
                blocks_by_part[b].append(
                    (f, part.row_weights(part.distance(f, c), W) if part.statistics else None)
                )
        pairs = zip(self.parts, blocks_by_part, sums.parts, C.parts, strict=True)
        return tuple(with_statistics(part, rows, s, c) for part, rows, s, c in pairs)

    def _by_part(self, F: Array, C: Stacked) -> Iterator[tuple[Any, Array, Any]]:
        """Yield each kernel with its columns of mapped rows, in its dtype, and its centroids."""
        at = 0
        d = self.scale.n_columns
        for part, c in zip(self.parts, C.parts, strict=True):
            width = 2 * d if part.is_circular else d
            f = F[..., at : at + width]
            yield part, f.astype(np.int32) if part.has_exact_arithmetic else f, c
            at += width

    def _in_units(self, Ds: list[Array]) -> list[Array]:
        """Return the loss of each kernel at its distances, in its unit, (n, k)."""
        kernels = zip(self.parts, Ds, self.units, strict=True)
        return [
            part.loss(D).astype(np.float64) * (part.loss_unit / unit) for part, D, unit in kernels
        ]

    def _shared_centroids(self, sums: StackSums, C: Stacked, share: Array) -> tuple[Any, ...]:
        """Return (cos, sin)(alpha_b pi u) for the best u of each cluster and column.

        The best u maximizes sum_b share_b S_b.(cos, sin).
        """
        alphas = np.array([part.alpha for part in self.parts])
        # (b, k, 2d)
        S = share[:, None, None] * np.array([part.totals for part in sums.parts], dtype=np.float64)
        d = S.shape[2] // 2
        A = S[:, :, :d]
        B = S[:, :, d:]
        best, top = highest_points(A, B, alphas, self._line(alphas))
        old = np.stack([c.f for c in C.parts])  # (b, k, 2d)
        old_height = (S * old).sum(axis=0) / GRID
        tolerance = GRID_TOL * np.hypot(A, B).sum(axis=0)
        better = np.tile(top + tolerance > old_height[:, :d] + old_height[:, d:], 2)
        values = [np.where(better, _on_grid(a * best), c) for a, c in zip(alphas, old, strict=True)]
        return tuple(part.from_rows(f) for part, f in zip(self.parts, values, strict=True))

    def _line(self, alphas: Array) -> Array:
        """Return candidates for u that cover the rows and at least one turn of each kernel."""
        half = max(1 / alphas.min(), self.reach)
        half = min(half, MAX_LINE_POINTS / POINTS_PER_TURN / alphas.max())
        n_points = max(MIN_LINE_POINTS, int(POINTS_PER_TURN * alphas.max() * half))
        return np.linspace(-half, half, n_points, endpoint=False)

    def uninformative_rows(self, X: Array) -> Array:
        return self.parts[0].uninformative_rows(X)

    def has_missing(self, F: Array) -> bool:
        return any(part.has_missing(f) for part, f, _ in self._by_part(F, self._no_centroids()))

    @property
    def starts(self) -> Mapping[str, KernelStart]:
        names = set.intersection(*(set(part.starts) for part in self.parts))
        return {name: partial(self._start, name) for name in sorted(names)}

    def _start(self, name: str, k: int, bits: Any) -> Stacked:
        """Return the start with this name of each kernel.

        With shared pre-images, all kernels start at the pre-images of the first kernel, clipped to
        the kept intervals.
        """
        if not self.shared:
            return self._evenly([part.starts[name](k, bits) for part in self.parts])
        first = self.parts[0]
        points = first.preimage(first.starts[name](k, bits), np.zeros((k, self.scale.n_columns)))
        return self.from_points(points)

    def from_rows(self, F: Array, fallback: Stacked | None = None) -> Stacked:
        C = self._no_centroids() if fallback is None else fallback
        fallbacks = [None] * len(self.parts) if fallback is None else fallback.parts
        triples = zip(self._by_part(F, C), fallbacks, strict=True)
        return self._evenly([part.from_rows(f, other) for (part, f, _), other in triples])

    def from_points(self, U: Array) -> Stacked:
        return self._evenly([part.from_points(U) for part in self.parts])

    def _no_centroids(self) -> Stacked:
        return self._evenly([None] * len(self.parts))

    def _evenly(self, parts: Sequence[Any]) -> Stacked:
        """Return starting centroids, with equal weights of the kernels."""
        return Stacked(tuple(parts), np.full(len(self.parts), 1 / len(self.parts)))

    def deviation(self, C: Stacked) -> Array:
        """Return the weighted mean of the deviations of the kernels, (k,)."""
        return sum(
            w * part.deviation(c) for w, part, c in zip(C.weights, self.parts, C.parts, strict=True)
        )

    def centroid_similarity(self, F: Array, C: Stacked, labels: Array | None = None) -> Array:
        """Return the weighted mean of the similarities of the kernels, (n,)."""
        labels = self.distance(F, C).argmin(axis=1) if labels is None else labels
        triples = zip(C.weights, self._by_part(F, C), strict=True)
        return sum(w * part.centroid_similarity(f, c, labels) for w, (part, f, c) in triples)

    def centroid_distances(self, C: Stacked) -> Array:
        """Return distances with the weights and units of the kernels, (k, k)."""
        pairs = zip(self.parts, C.parts, self.units, C.weights**self.power, strict=True)
        return np.sqrt(
            sum(w * part.centroid_distances(c) ** 2 / unit for part, c, unit, w in pairs)
        )

    @property
    def point_kernel(self) -> Any:
        return None

    def to_public(self, C: Stacked) -> dict[str, Any]:
        """Return the public centroids of each kernel, (b, k, d), and its weight, (b,)."""
        parts = [
            part.to_public(c)["centroids_"] for part, c in zip(self.parts, C.parts, strict=True)
        ]
        return {"centroids_": np.stack(parts), "kernel_weights_": C.weights}

    def from_public(self, attributes: Mapping[str, Any]) -> Stacked:
        pairs = zip(self.parts, attributes["centroids_"], strict=True)
        parts = tuple(
            part.from_public({"centroids_": m if part.is_circular else m.real}) for part, m in pairs
        )
        return Stacked(parts, attributes["kernel_weights_"])


def highest_points(A: Array, B: Array, alphas: Array, line: Array) -> tuple[Array, Array]:
    """Return the u that maximizes sum_b A_b cos(alpha_b pi u) + B_b sin(alpha_b pi u), and the sum.

    A and B have shape (b, k, d).
    """

    def height(u: Array, order: int = 0) -> Array:  # (k, d), or its derivatives
        turn = alphas[:, None, None] * np.pi
        t = turn * u
        steep = turn**order
        sides = [(A, B), (B, -A), (-A, -B)][order]
        return (steep * (sides[0] * np.cos(t) + sides[1] * np.sin(t))).sum(axis=0)

    best = np.zeros(A.shape[1:])
    top = np.full(A.shape[1:], -np.inf)
    for u in line:
        heights = height(u)
        best = np.where(heights > top, u, best)
        top = np.maximum(heights, top)
    for _ in range(LINE_STEPS):
        bend = height(best, 2)
        step = np.where(bend < 0, -height(best, 1) / np.where(bend < 0, bend, 1.0), 0.0)
        heights = height(best + step)
        best = np.where(heights > top, best + step, best)
        top = np.maximum(heights, top)
    return best, top


def _on_grid(t: Array) -> Array:
    """Return (cos, sin) of pi t on the grid."""
    return np.rint(GRID * np.concatenate([np.cos(np.pi * t), np.sin(np.pi * t)], axis=1)).astype(
        np.int32
    )
