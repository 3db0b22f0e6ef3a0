"""Kernels: what near means, how rows pull a centroid, and how their average is taken; one file each."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from .._grid import Array
from .._scale import Scale
from .._sums import Sums
from .euler import Euler
from .laplace import Laplace, LaplaceL2
from .linear import Linear
from .rbf import RBF


class Kernel(Protocol):
    """The formulas of a kernel. F (n, p) mapped rows, C (k, p) centroids like them, D (n, k), W (n, k) shares."""

    exact: ClassVar[bool]  # rows, centroids, distances and sums are integers
    worth: ClassVar[float]  # squared distance in the mapped space = worth * loss

    @property
    def branches(self) -> bool:
        """Whether several points have one mapped row, so that a pre-image has to be chosen."""

    @property
    def scale(self) -> Scale:
        """Units and bounds of the columns."""

    @property
    def beyond(self) -> str:
        """What a value outside the bounds does."""

    def position(self, X: Array) -> Array:
        """Where the rows lie before they are mapped, (n, d); NaN where a cell says nothing."""

    def embed(self, X: Array) -> Array:
        """Mapped rows, (n, p)."""

    def start(self, U: Array) -> Array:
        """Starting centroids at points in the units of the table, (k, p)."""

    def silent(self, X: Array) -> Array:
        """Rows that take no part in the sums, (n,) bool."""

    def distance(self, F: Array, C: Array) -> Array:
        """What a row is assigned by, (n, k); smaller is nearer."""

    def loss(self, D: Array) -> Array:
        """The objective's share of a row at that distance; rises with D."""

    def pull(self, F: Array, C: Array, D: Array, W: Any) -> Sums:
        """What these rows leave for the centroids; always with `mass` (k,) and `loss`."""

    def mean(self, sums: Sums, C: Array) -> Array:
        """The average in the mapped space: kernel k-means' own, off the mapped data."""

    def rectify(self, sums: Sums, C: Array) -> Array:
        """The next centroid on the mapped data; it never raises the objective."""

    def gaps(self, F: Array) -> bool:
        """Whether mapped rows have missing coordinates."""

    def whole(self, f: Array, other: Array) -> Array:
        """The centroid at mapped row f, its missing coordinates taken from `other`."""

    def likeness(self, F: Array, C: Array, own: Array | None = None) -> Array:
        """How well its nearest centroid, or the one named, represents each row, (n,); 1 at the centroid."""

    def preimage(self, C: Array, near: Array) -> Array:
        """Centroids in the units of the table, (k, d); of several answers the one nearest to position `near`."""

    def deviation(self, C: Array) -> Array:
        """1 - |m|/|phi|: how far each centroid lies off the mapped data, (k,); 0 on it."""

    def between(self, C: Array) -> Array:
        """Distance of each centroid to each in the mapped space, (k, k); not squared."""

    def shown(self, C: Array) -> Array:
        """Centroids as an estimator shows them; `hidden` takes them back."""

    def hidden(self, centroids: Array) -> Array:
        """Centroids as the loop holds them."""


KERNELS = {"euler": Euler, "linear": Linear, "rbf": RBF, "laplace": Laplace, "laplace-l2": LaplaceL2}
