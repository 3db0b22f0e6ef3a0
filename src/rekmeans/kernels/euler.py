"""Euler kernel: phi(x) = exp(i alpha pi x)/sqrt(2), as f = (cos, sin) on the grid 2^-23; distance |f - m|^2, exact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from .._grid import GRID, Array, complex_centroids, cospi_sinpi, grid_centroids, inner, product
from .._scale import BEYOND, Scale, silenced
from .._sums import Sums
from ..metrics import deviation_degree

NARROW = 32_767  # columns whose |f - m|^2 <= 4 d 2^46 stays inside 64 bits
HALF = 12  # bits of a centroid multiplied at a time: 2^11 * 2^23 * 2d < 2^53, so float64 products are exact


@dataclass(frozen=True)
class Euler:
    """Each feature on a circle, alpha half-turns per unit of the scaled feature."""

    exact: ClassVar[bool] = True
    worth: ClassVar[float] = 0.5 / GRID**2  # squared distance = |f - m|^2 / 2, in grid units squared
    branches: ClassVar[bool] = True

    alpha: float
    scale: Scale
    beyond: str = "wrap"

    def position(self, X: Array) -> Array:
        """Phases in half-turns, (n, d), not reduced; NaN where a cell says nothing."""
        return self.line(BEYOND[self.beyond](self.scale, X))

    def line(self, X: Array) -> Array:
        """(x - centre)(alpha/unit), in float64 and in that order."""
        return (X - self.scale.centre) * (self.alpha / self.scale.unit)

    def embed(self, X: Array) -> Array:
        t = np.fmod(self.position(X), 2.0)
        missing = np.isnan(t)
        cos, sin = cospi_sinpi(np.where(missing, 0.0, t))
        cos[missing] = 0  # (0, 0) lies on no circle: it marks a cell that says nothing
        return np.concatenate([cos, sin], axis=1)  # (n, 2d) int32

    def start(self, U: Array) -> Array:
        return replace(self, beyond="wrap" if self.beyond == "wrap" else "clip").embed(U)

    def silent(self, X: Array) -> Array:
        return silenced(self.scale, X) if self.beyond == "ignore" else np.zeros(len(X), bool)

    def distance(self, F: Array, C: Array) -> Array:
        """|f - m|^2 = |f|^2 - 2 f.m + |m|^2 over the row's observed coordinates, in grid units squared; exact."""
        d = F.shape[1] // 2
        if d > NARROW:
            cuts = range(0, d, NARROW)
            columns = (np.r_[c : min(c + NARROW, d), d + c : d + min(c + NARROW, d)] for c in cuts)
            return reduce(add, (self.distance(F[:, at], C[:, at]).astype(object) for at in columns))
        F64, C64 = F.astype(np.float64), C.astype(np.int64)
        high = (C64 + (1 << (HALF - 1))) >> HALF
        low = C64 - (high << HALF)
        dots = [(F64 @ half.T.astype(np.float64)).astype(np.int64) for half in (high, low)]  # (n, k) each, exact
        length = np.einsum("ij,ij->i", F, F, dtype=np.int64, casting="safe")
        return length[:, None] - 2 * ((dots[0] << HALF) + dots[1]) + self._squares(F, C64)

    @staticmethod
    def _squares(F: Array, C: Array) -> Array:
        """|m|^2 over the coordinates each row observes: (k,), or (n, k) where cells are missing."""
        squares = _halves(C)[0] ** 2 + _halves(C)[1] ** 2  # (k, d), up to 2^46 and a little
        seen = _seen(F)
        if seen.all():
            return squares.sum(axis=1)
        S64 = seen.astype(np.float64)
        high, low = squares >> 24, squares & ((1 << 24) - 1)
        dots = [(S64 @ half.T.astype(np.float64)).astype(np.int64) for half in (high, low)]
        return (dots[0] << 24) + dots[1]

    def loss(self, D: Array) -> Array:
        return D

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        seen, mass = _seen(F), product(W, np.ones((len(F), 1), np.int64))
        counts = np.repeat(mass, F.shape[1] // 2, axis=1) if seen.all() else product(W, seen.astype(np.int64))
        return Sums(totals=product(W, F), seen=counts, mass=mass[:, 0], loss=inner(W, D))

    def mean(self, sums: Sums, C: Array) -> Array:
        """m = S/count per coordinate, rounded to the grid; a coordinate nobody observed keeps the old value."""
        count = np.tile(_float(sums.seen), 2)  # (k, 2d)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(count > 0, np.rint(_float(sums.totals) / count), C).astype(np.int32)

    def rectify(self, sums: Sums, C: Array) -> Array:
        """m = S/|S| per coordinate, rounded to the grid; a zero resultant keeps the old angle."""
        a, b = _halves(_float(sums.totals))
        r = np.tile(np.sqrt(a * a + b * b), 2)  # (k, 2d)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(r > 0, np.rint(_float(sums.totals) / r * GRID), C).astype(np.int32)

    def gaps(self, F: Array) -> bool:
        return not _seen(F).all()

    def whole(self, f: Array, other: Array) -> Array:
        return np.where(np.tile(_seen(f), 2), f, other)

    def likeness(self, F: Array, C: Array, own: Array | None = None) -> Array:
        """f.m/(|f||m|) of each row and its nearest centroid over the coordinates it observes, (n,) in [-1, 1]."""
        own = self.distance(F, C).argmin(axis=1) if own is None else own
        f, m = F.astype(np.float64), C[own].astype(np.float64)
        m = m * np.tile(_seen(F), 2)
        lengths = np.sqrt((f * f).sum(axis=1) * (m * m).sum(axis=1))
        return np.clip((f * m).sum(axis=1) / np.where(lengths > 0, lengths, 1.0), -1.0, 1.0)

    def preimage(self, C: Array, near: Array) -> Array:
        """x = centre + unit u/alpha, u the angle in half-turns, on the branch (modulo 2) nearest to `near`."""
        a, b = _halves(C.astype(np.float64))
        u = np.arctan2(b, a) / np.pi
        u += 2 * np.rint((near - u) / 2)
        return self.scale.restored(u / self.alpha)

    def deviation(self, C: Array) -> Array:
        return deviation_degree(complex_centroids(C))

    def between(self, C: Array) -> Array:
        return np.sqrt(self.distance(C, C).astype(np.float64) * self.worth)

    def shown(self, C: Array) -> Array:
        """Complex centroids a + ib, (k, d)."""
        return complex_centroids(C)

    def hidden(self, centroids: Array) -> Array:
        return grid_centroids(centroids)


def _halves(F: Array) -> tuple[Array, Array]:
    """The cosines and the sines."""
    d = F.shape[-1] // 2
    return F[..., :d], F[..., d:]


def _seen(F: Array) -> Array:
    """Cells that say something, (n, d)."""
    cos, sin = _halves(F)
    return (cos | sin) != 0


def _float(S: Array) -> Array:
    """Sums as float64, correctly rounded also from Python's integers."""
    return S.astype(np.float64)
