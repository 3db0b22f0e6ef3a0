"""The Euler kernel phi(x) = exp(i alpha pi x)/sqrt(2), stored as f = (cos, sin) on the grid 2^-23.

The distance |f - m|^2 is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from .. import _parameters
from .._arctan import grid_arctan2
from .._grid import GRID, Array, complex_centroids, cospi_sinpi, grid_centroids, mass_of, product
from ..model import Centroids, Sums
from .base import Kernel, KernelStart

MAX_INT64_COLUMNS = 32_767  # largest d for which |f - m|^2 <= 4 d 2^46 fits into 64 bits
# A centroid is multiplied in two parts, and the low part has LOW_BITS bits. Since
# 2^11 * 2^23 * 2d < 2^53, float64 products are exact.
LOW_BITS = 12


@dataclass(frozen=True, eq=False)
class OnCircles(Centroids):
    """Centroids f = (cos, sin) in grid units, (k, 2d) int32.

    Rectified centroids lie on the circles, and means lie on or inside them.
    """

    f: Array

    def check(self, example: Self) -> None:
        """Raise ValueError also for centroids outside the circles. Rounding errors are allowed."""
        super().check(example)
        # the sum of two squares of int32 may overflow int64
        cos, sin = _halves(self.f.astype(np.float64))
        if (cos**2 + sin**2).max(initial=0) > (GRID + 2) ** 2:
            raise ValueError("centroids lie outside the circles")


@dataclass(frozen=True, kw_only=True)
class CircleSums(Sums):
    """The exact sums of w f and of w over the observed cells."""

    totals: Array  # (k, 2d)
    observed: Array  # (k, d)

    def drop_faded(self, least: float) -> CircleSums:
        kept = self.observed >= least
        return replace(self, totals=self.totals * np.tile(kept, 2), observed=self.observed * kept)


@dataclass(frozen=True)
class Euler(Kernel):
    """The Euler kernel, which maps each column onto a circle, alpha half-turns per unit.

    A missing cell is mapped to (0, 0).
    """

    name: ClassVar[str] = "euler"
    formula: ClassVar[str] = "euler"
    parameters: ClassVar[tuple[str, ...]] = ("alpha",)
    centroid_rules: ClassVar[tuple[str, ...]] = ("mean", "rectified")
    has_exact_arithmetic: ClassVar[bool] = True
    is_circular: ClassVar[bool] = True
    mapped_unit: ClassVar[int] = GRID
    pull_is_weight: ClassVar[bool] = True
    loss_is_distance: ClassVar[bool] = True
    supports_missing: ClassVar[bool] = True
    supports_periods: ClassVar[bool] = True
    is_periodic: ClassVar[bool] = True
    # squared distance = |f - m|^2 / 2, in grid units squared
    loss_unit: ClassVar[float] = 0.5 / GRID**2
    seeding_sample: ClassVar[int | None] = None

    alpha: float = 0.9

    def check_record(self) -> None:
        super().check_record()
        _parameters.check_real("alpha", self.alpha, above=0, maximum=_parameters.MAX_ALPHA)

    @property
    def rates(self) -> Array:
        """The half-turns per unit of each interval, (d, m); a period is always a full turn."""
        period = self.scale.period[:, None]
        is_periodic = period > 0
        turn = 2.0 / np.where(is_periodic, period, 1.0)
        return np.where(is_periodic, turn, self.alpha / self.scale.unit)

    def coordinates(self, X: Array) -> Array:
        """Return the phases (x - shift) rate in half-turns, (n, d), not reduced to one turn.

        They are computed in float64, in the order of the formula.
        """
        steps, interval = self.scale.offsets(X, self.beyond)
        return steps * self.scale.at(self.rates, interval)

    def embed(self, X: Array) -> Array:
        t = np.fmod(self.coordinates(X), 2.0)
        missing = np.isnan(t)
        cos, sin = cospi_sinpi(np.where(missing, 0.0, t))
        cos[missing] = 0  # (0, 0) lies on no circle: it marks a missing cell
        return np.concatenate([cos, sin], axis=1)  # (n, 2d) int32

    def distance(self, F: Array, C: OnCircles) -> Array:
        """Return |f - m|^2 = |f|^2 - 2 f.m + |m|^2 over the observed coordinates of each row.

        It is exact, in squared grid units.
        """
        return grid_distances(F, C.f)

    def loss(self, D: Array) -> Array:
        return D

    def accumulate(self, F: Array, C: OnCircles, D: Array, W: Any) -> CircleSums:
        observed = _observed_cells(F)
        mass = mass_of(W)
        if observed.all():
            counts = np.repeat(mass[:, None], F.shape[1] // 2, axis=1)
        else:
            counts = product(W, observed.astype(np.int64))
        return CircleSums(mass=mass, totals=product(W, F), observed=counts)

    def mean(self, sums: CircleSums, C: OnCircles) -> OnCircles:
        """Return m = S/count by coordinate, rounded to the grid.

        A coordinate without an observed value does not change.
        """
        # conversion to float64 rounds integers of any length correctly
        totals = sums.totals.astype(np.float64)  # (k, 2d)
        count = np.tile(sums.observed.astype(np.float64), 2)  # (k, 2d)
        with np.errstate(invalid="ignore", divide="ignore"):
            f = np.where(count > 0, np.rint(totals / count), C.f)
        return OnCircles(f.astype(np.int32))

    def rectify(self, sums: CircleSums, C: OnCircles) -> OnCircles:
        """Return m = S/|S| by column, rounded to the grid; a zero resultant keeps the old angle."""
        totals = sums.totals.astype(np.float64)  # (k, 2d)
        a, b = _halves(totals)
        r = np.tile(np.sqrt(a * a + b * b), 2)  # (k, 2d)
        with np.errstate(invalid="ignore", divide="ignore"):
            f = np.where(r > 0, np.rint(totals / r * GRID), C.f)
        return OnCircles(f.astype(np.int32))

    def preimage(self, C: OnCircles, near: Array) -> Array:
        """Return x = shift + unit u/alpha, where u is the angle in half-turns.

        The angle is known modulo 2. The value nearest to `near` is used.
        """
        a, b = _halves(C.f.astype(np.float64))
        u = grid_arctan2(b, a) / np.pi
        values = self.scale.from_units((u + 2 * np.rint((near - u) / 2)) / self.alpha)
        if not self.scale.period.any():
            return values
        cyclic = self.scale.origin + np.mod(u, 2.0) * (self.scale.period / 2)
        return np.where(self.scale.period > 0, cyclic, values)

    def has_missing(self, F: Array) -> bool:
        return not _observed_cells(F).all()

    @property
    def starts(self) -> Mapping[str, KernelStart]:
        return {"circle": self._random_angles}

    def _random_angles(self, k: int, bits: Any) -> OnCircles:
        """Return random points on the circles, uniform in the angle."""
        raw = bits.random_raw(k * self.scale.n_columns).reshape(k, -1) >> np.uint64(11)
        # angles in [0, 2)
        return OnCircles(np.concatenate(cospi_sinpi(np.array(raw) * 2.0**-52), axis=1))

    def from_rows(self, F: Array, fallback: OnCircles | None = None) -> OnCircles:
        if fallback is None or (observed := _observed_cells(F)).all():
            return OnCircles(F)
        return OnCircles(np.where(np.concatenate([observed, observed], axis=1), F, fallback.f))

    def sums_at(self, sums: CircleSums, C: OnCircles) -> CircleSums:
        """Return resultants with the same lengths at the angles of C, rounded to integers."""
        a, b = _halves(sums.totals.astype(np.float64))
        r = np.tile(np.sqrt(a * a + b * b), 2)  # (k, 2d)
        totals = np.rint(r * (C.f / GRID))
        return replace(sums, totals=np.vectorize(int, otypes=[object])(totals))

    def deviation(self, C: OnCircles) -> Array:
        return deviation_from_circle(complex_centroids(C.f))

    def centroid_similarity(self, F: Array, C: OnCircles, labels: Array | None = None) -> Array:
        """Return the cosine f.m/(|f||m|) of each row and its centroid over observed cells, (n,)."""
        labels = self.distance(F, C).argmin(axis=1) if labels is None else labels
        f = F.astype(np.float64)
        m = C.f[labels].astype(np.float64)
        m = m * np.tile(_observed_cells(F), 2)
        lengths = np.sqrt((f * f).sum(axis=1) * (m * m).sum(axis=1))
        return np.clip((f * m).sum(axis=1) / np.where(lengths > 0, lengths, 1.0), -1.0, 1.0)

    def centroid_distances(self, C: OnCircles) -> Array:
        return np.sqrt(self.distance(C.f, C).astype(np.float64) * self.loss_unit)

    def to_public(self, C: OnCircles) -> dict[str, Any]:
        """Return complex centroids a + ib, (k, d)."""
        return {"centroids_": complex_centroids(C.f)}

    def from_public(self, attributes: Mapping[str, Any]) -> OnCircles:
        return OnCircles(grid_centroids(attributes["centroids_"]))


def deviation_from_circle(centroids: Array) -> Array:
    """Return 1 - sqrt(sum(a^2 + b^2)/d) of complex centroids a + ib, (k,).

    It is 0 on the circles and 1 at their centres.
    """
    return 1 - np.sqrt((np.abs(centroids) ** 2).sum(axis=1) / centroids.shape[1])


def grid_distances(F: Array, C: Array) -> Array:
    """Return |f - m|^2 over the observed coordinates of each row, (n, k).

    The values are int64, or Python integers if d is too large for 64 bits.
    """
    d = F.shape[1] // 2
    if d > MAX_INT64_COLUMNS:
        blocks = (
            slice(at, min(at + MAX_INT64_COLUMNS, d)) for at in range(0, d, MAX_INT64_COLUMNS)
        )
        return reduce(
            add, (grid_distances(_columns(F, at), _columns(C, at)).astype(object) for at in blocks)
        )
    F64 = F.astype(np.float64)
    C64 = C.astype(np.int64)
    high = (C64 + (1 << (LOW_BITS - 1))) >> LOW_BITS
    low = C64 - (high << LOW_BITS)
    # exact products with both halves, (n, k) each
    dots = [(F64 @ half.T.astype(np.float64)).astype(np.int64) for half in (high, low)]
    length = np.einsum("ij,ij->i", F, F, dtype=np.int64, casting="safe")
    return length[:, None] - 2 * ((dots[0] << LOW_BITS) + dots[1]) + _observed_squares(F, C64)


def _observed_squares(F: Array, C: Array) -> Array:
    """Return |m|^2 over the observed coordinates of each row, (n, k).

    Without missing cells, the shape is (k,).
    """
    squares = _halves(C)[0] ** 2 + _halves(C)[1] ** 2  # (k, d), slightly above 2^46 at most
    observed = _observed_cells(F)
    if observed.all():
        return squares.sum(axis=1)
    O64 = observed.astype(np.float64)
    high = squares >> 24
    low = squares & ((1 << 24) - 1)
    dots = [(O64 @ half.T.astype(np.float64)).astype(np.int64) for half in (high, low)]
    return (dots[0] << 24) + dots[1]


def _halves(F: Array) -> tuple[Array, Array]:
    """Return the cosines and the sines."""
    d = F.shape[-1] // 2
    return F[..., :d], F[..., d:]


def _columns(F: Array, block: slice) -> Array:
    """Return the cosines and the sines of a block of columns."""
    cos, sin = _halves(F)
    return np.concatenate([cos[:, block], sin[:, block]], axis=1)


def _observed_cells(F: Array) -> Array:
    """Return a mask of the cells that are not missing, (n, d)."""
    cos, sin = _halves(F)
    return (cos | sin) != 0
