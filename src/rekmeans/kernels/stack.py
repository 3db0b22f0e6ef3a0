"""Several kernels at once: J = sum_b w_b^p J_b/unit_b with learned w, sum w_b = 1; unit_b is J_b of one cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._grid import GRID, Array, inner, product
from .._scale import Scale
from .._sums import Sums

POINTS = 512  # of a line searched for a shared pre-image, at least
DENSE = 12  # of them to a turn of the steepest alpha
MOST = 1 << 14  # of them; a longer line is searched in its middle
NEWTON = 6  # steps from the best of them
ROUNDED = 4 / GRID  # what the grid may give to an old centroid


@dataclass(frozen=True)
class Stack:
    """Mapped rows side by side; a centroid is [C_1 | ... | C_B | w], the weights the same in every centroid."""

    exact: ClassVar[bool] = False
    worth: ClassVar[float] = 1.0
    branches: ClassVar[bool] = True

    parts: tuple[Any, ...]  # kernels with an explicit map
    units: tuple[float, ...]  # mean loss of a row with one centroid for all, by kernel
    power: float = 2.0
    shared: bool = False  # one pre-image for all kernels, which then are Euler's
    reach: float = 1.0  # how far from 0 the rows lie, in units of the scale

    @property
    def scale(self) -> Scale:
        return self.parts[0].scale

    @property
    def beyond(self) -> str:
        return self.parts[0].beyond

    def position(self, X: Array) -> Array:
        """In units of the scale."""
        return self.parts[0].position(X) / getattr(self.parts[0], "alpha", 1.0)

    def embed(self, X: Array) -> Array:
        return np.concatenate([part.embed(X) for part in self.parts], axis=1, dtype=np.float64)

    def start(self, U: Array) -> Array:
        return self._weighted([part.start(U) for part in self.parts])

    def silent(self, X: Array) -> Array:
        return self.parts[0].silent(X)

    def cut(self, F: Array) -> Iterator[tuple[Any, Array]]:
        """Each kernel with its own columns, in its own numbers."""
        at, d = 0, len(self.scale.centre)
        for part in self.parts:
            width = 2 * d if part.exact else d
            own = F[..., at : at + width]
            yield part, own.astype(np.int32) if part.exact else own
            at += width

    def weights(self, C: Array) -> Array:
        """w (B,)."""
        return C[0, -len(self.parts) :]

    def losses(self, F: Array, C: Array) -> list[Array]:
        """Each kernel's loss in its unit, (n, k)."""
        pairs = zip(self.cut(F), self.cut(C), strict=True)
        return self._in_units([part.distance(f, c) for (part, f), (_, c) in pairs])

    def _in_units(self, Ds: list[Array]) -> list[Array]:
        """Each kernel's loss at its own distances."""
        kernels = zip(self.parts, Ds, self.units, strict=True)
        return [part.loss(D) * (part.worth / unit) for part, D, unit in kernels]

    def distance(self, F: Array, C: Array) -> Array:
        share = self.weights(C) ** self.power
        return sum(w * L for w, L in zip(share, self.losses(F, C), strict=True))

    def loss(self, D: Array) -> Array:
        return D

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        mass = product(W, np.ones((len(F), 1)))[:, 0]
        pairs = [(part, f, c) for (part, f), (_, c) in zip(self.cut(F), self.cut(C), strict=True)]
        Ds = [part.distance(f, c) for part, f, c in pairs]
        each = np.array([inner(W, L) for L in self._in_units(Ds)])
        pulls = {f"{b}": part.pull(f, c, own, W) for b, ((part, f, c), own) in enumerate(zip(pairs, Ds, strict=True))}
        return Sums(**pulls, each=each, mass=mass, loss=inner(W, D))

    def mean(self, sums: Sums, C: Array) -> Array:
        return self._moved(sums, C, "mean")

    def rectify(self, sums: Sums, C: Array) -> Array:
        return self._moved(sums, C, "rectify")

    def _moved(self, sums: Sums, C: Array, rule: str) -> Array:
        """w_b in proportion to J_b^(-1/(p-1)), then each kernel's own centroids, or those of the shared pre-images."""
        J = np.maximum(sums.each, np.finfo(float).tiny)
        w = (J.min() / J) ** (1 / (self.power - 1))  # by the least, which cannot overflow
        w /= w.sum()
        own = [getattr(sums, f"{b}") for b in range(len(self.parts))]
        if self.shared:
            cs = self._shared([sums_b.totals for sums_b in own], C, w**self.power / np.array(self.units))
        else:
            cs = [getattr(part, rule)(s, c) for s, (part, c) in zip(own, self.cut(C), strict=True)]
        return self._weighted(cs, w)

    def _shared(self, totals: list[Array], C: Array, share: Array) -> list[Array]:
        """(cos, sin)(alpha_b pi u) at the u, by cluster and column, of the largest sum_b share_b S_b.(cos, sin)."""
        alphas = np.array([part.alpha for part in self.parts])
        S = share[:, None, None] * np.array(totals, dtype=np.float64)  # (B, k, 2d)
        d = S.shape[2] // 2
        A, B = S[:, :, :d], S[:, :, d:]

        def height(u: Array, order: int = 0) -> Array:  # (k, d), or its derivatives
            turn = alphas[:, None, None] * np.pi
            t, steep = turn * u, turn**order
            sides = [(A, B), (B, -A), (-A, -B)][order]
            return (steep * (sides[0] * np.cos(t) + sides[1] * np.sin(t))).sum(axis=0)

        best, top = np.zeros(A.shape[1:]), np.full(A.shape[1:], -np.inf)
        for u in self._line(alphas):
            there = height(u)
            best, top = np.where(there > top, u, best), np.maximum(there, top)
        for _ in range(NEWTON):
            bend = height(best, 2)
            step = np.where(bend < 0, -height(best, 1) / np.where(bend < 0, bend, 1.0), 0.0)
            there = height(best + step)
            best, top = np.where(there > top, best + step, best), np.maximum(there, top)
        old = np.stack([c for _, c in self.cut(C)])  # (B, k, 2d)
        held, room = (S * old).sum(axis=0) / GRID, ROUNDED * np.hypot(A, B).sum(axis=0)
        better = np.tile(top + room > held[:, :d] + held[:, d:], 2)
        return [np.where(better, _turned(a * best), c) for a, c in zip(alphas, old, strict=True)]

    def _line(self, alphas: Array) -> Array:
        """The u that are tried: as far as rows lie, and a whole turn of the flattest kernel."""
        half = max(1 / alphas.min(), self.reach)
        half = min(half, MOST / DENSE / alphas.max())
        return np.linspace(-half, half, max(POINTS, int(DENSE * alphas.max() * half)), endpoint=False)

    def _weighted(self, cs: list[Array], w: Array | None = None) -> Array:
        """The kernels' centroids side by side, with the weights; equal ones at a start."""
        w = np.full(len(self.parts), 1 / len(self.parts)) if w is None else w
        return np.concatenate([*cs, np.tile(w, (len(cs[0]), 1))], axis=1, dtype=np.float64)

    def gaps(self, F: Array) -> bool:
        return any(part.gaps(f) for part, f in self.cut(F))

    def whole(self, f: Array, other: Array) -> Array:
        cs = [part.whole(own, o) for (part, own), (_, o) in zip(self.cut(f), self.cut(other), strict=True)]
        width = sum(c.shape[-1] for c in cs)
        w = other[..., width:] if other.shape[-1] > width else np.full(len(self.parts), 1 / len(self.parts))
        return np.concatenate([*cs, np.broadcast_to(w, (*f.shape[:-1], len(self.parts)))], axis=-1, dtype=np.float64)

    def likeness(self, F: Array, C: Array, own: Array | None = None) -> Array:
        """The kernels' own likenesses to the nearest centroid, by weight."""
        own = self.distance(F, C).argmin(axis=1) if own is None else own
        pairs = zip(self.weights(C), self.cut(F), self.cut(C), strict=True)
        return sum(w * part.likeness(f, c, own) for w, (part, f), (_, c) in pairs)

    def preimages(self, C: Array, near: Array) -> Array:
        """Those of each kernel, (B, k, d); `near` in units of the scale."""
        return np.stack([part.preimage(c, near * getattr(part, "alpha", 1.0)) for part, c in self.cut(C)])

    def preimage(self, C: Array, near: Array) -> Array:
        """That of the kernel of greatest weight."""
        return self.preimages(C, near)[self.weights(C).argmax()]

    def deviation(self, C: Array) -> Array:
        """The kernels' own, by weight."""
        return sum(w * part.deviation(c) for w, (part, c) in zip(self.weights(C), self.cut(C), strict=True))

    def between(self, C: Array) -> Array:
        width = C.shape[1] - len(self.parts)
        return np.sqrt(self.distance(C[:, :width], C))

    def shown(self, C: Array) -> Array:
        return C

    hidden = shown


def _turned(t: Array) -> Array:
    """(cos, sin) of pi t on the grid."""
    return np.rint(GRID * np.concatenate([np.cos(np.pi * t), np.sin(np.pi * t)], axis=1)).astype(np.int32)
