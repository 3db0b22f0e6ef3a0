"""The base class of kernels: six formulas, and defaults derived from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from scipy import sparse

from .. import _parameters
from .._grid import Array
from ..model import Centroids, PassSums, Points, Sums
from ..scales import BEYOND, Scale, uninformative_rows
from ..table import Table
from ..table.validation import reject_missing_coordinates

if TYPE_CHECKING:
    from ..seeding import Bits

KernelStart: TypeAlias = "Callable[[int, Bits], Any]"  # (k, random bits) -> centroids


class Preparation(Protocol):
    """The settings of a fit, and computations for the `prepared` method of kernels."""

    n_clusters: int
    rule: str  # of the centroids: "mean" or "rectified"
    n_threads: int | None
    memory_limit: int | None

    def auto_gamma(self, kernel: Kernel, table: Table) -> float:
        """Return the gamma for which the median distance to the nearest of k points is 1/2.

        The points are k = n_clusters rows that are spread over the table.
        """

    def one_cluster_loss(self, kernel: Kernel, table: Table, middle: Array) -> float:
        """Return the mean loss of a row with one cluster, or 1 if it is 0.

        The cluster is fitted from the point `middle`.
        """


@dataclass(frozen=True)
class Kernel(ABC):
    """The base class of kernels.

    F (n, p) are mapped rows, C is a record of k centroids, D (n, k) are distances, and W (n, k) are
    the weights of the rows for the centroids.

    A kernel implements embed, distance, loss, accumulate, preimage, and the centroid rules named in
    `centroid_rules`: mean, rectify or both. Its methods take and return its own records of
    centroids and sums. Shared code reads the attributes below, never the type or the name of a
    kernel.
    """

    name: ClassVar[str] = ""
    # The name under which engines find compiled versions of the formulas, "" for none. A subclass
    # does not inherit it, because it may override a formula.
    formula: ClassVar[str] = ""
    # parameters of the estimators that follow scale and beyond in the constructor
    parameters: ClassVar[tuple[str, ...]] = ()
    centroid_rules: ClassVar[tuple[str, ...]] = ("rectified",)
    # methods (blocks, sums, C) that need all rows; each is a field of the sums
    statistics: ClassVar[tuple[str, ...]] = ()
    # mapped rows (int32), centroids, distances, losses and sums are integers; distances and losses
    # are not negative
    has_exact_arithmetic: ClassVar[bool] = False
    # each column is mapped onto a circle: mapped rows are [cos | sin], and estimators return the
    # centroids as complex numbers
    is_circular: ClassVar[bool] = False
    # the value of 1 in mapped rows: larger than 1 if they are integers on a grid
    mapped_unit: ClassVar[int] = 1
    # the pull of a row on a centroid is its weight, at any distance
    pull_is_weight: ClassVar[bool] = False
    loss_is_distance: ClassVar[bool] = False  # `loss` returns D unchanged
    # several points have the same mapped row, so a pre-image has to be chosen
    is_periodic: ClassVar[bool] = False
    is_additive: ClassVar[bool] = True  # the sums are enough for the next centroids
    # `prepared` reads all rows, not only summaries and samples
    learns_from_all_rows: ClassVar[bool] = False
    # the table contains kernel values between rows, and there are no points
    is_pairwise: ClassVar[bool] = False
    has_width: ClassVar[bool] = False  # has a `gamma`, which may be "auto" until `prepared`
    mean_is_point: ClassVar[bool] = False  # the mean of mapped rows is the image of a point
    # NaN is a missing cell, which the formulas ignore
    supports_missing: ClassVar[bool] = False
    supports_periods: ClassVar[bool] = False  # columns of the scale may have a period
    loss_unit: ClassVar[float] = 1.0  # squared distance in the mapped space = loss_unit * loss
    # size of the sample of a large table from which starts are chosen; None for all rows
    seeding_sample: ClassVar[int | None] = 1 << 14

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "formula" not in vars(cls):
            cls.formula = ""

    scale: Scale
    beyond: str = "wrap"  # the rule for values outside the kept intervals

    def check_record(self) -> None:
        """Raise ValueError for impossible values, such as those of a forged file.

        The types of the fields have already been checked.
        """
        _parameters.check_one_of("beyond", self.beyond, BEYOND)
        if self.has_width:
            _parameters.check_real("gamma", self.gamma, above=0)  # type: ignore[attr-defined]

    # the formulas

    @abstractmethod
    def embed(self, X: Array) -> Array:
        """Return the mapped rows, (n, p).

        Missing coordinates are NaN, unless the kernel marks them in its own way.
        """

    @abstractmethod
    def distance(self, F: Array, C: Any) -> Array:
        """Return the distances by which rows are assigned, (n, k).

        They may be negative, as the -log density of a mixture is; k-means++ needs losses >= 0.
        """

    @abstractmethod
    def loss(self, D: Array) -> Array:
        """Return the loss of rows at distances D, an increasing function of D."""

    @abstractmethod
    def accumulate(self, F: Array, C: Any, D: Array, W: Any) -> Sums:
        """Return the sums of these rows, which add up over blocks and include `mass` (k,)."""

    @abstractmethod
    def preimage(self, C: Any, near: Array) -> Array:
        """Return the centroids in the units of the table, (k, d).

        If a centroid has several pre-images, it is the one nearest to the coordinates `near`.
        """

    # A kernel implements `mean`, `rectify` or both, as named in `centroid_rules`. If k(x, x) = 1
    # and the kernel has a method `similarity(F, V)` that returns k(x, v), (n, m), its means can be
    # represented by these values (Gram).

    def mean(self, sums: Any, C: Any) -> Centroids:
        """Return the averages in the mapped space, the centroids of kernel k-means."""
        raise NotImplementedError(f"{type(self).__name__} has no means")

    def rectify(self, sums: Any, C: Any) -> Centroids:
        """Return the next centroids, images of points, which never raise the objective."""
        raise NotImplementedError(f"{type(self).__name__} has no rectified centroids")

    # before the loop

    def check_table(self, table: Table) -> None:  # noqa: B027
        """Raise ValueError if this kernel does not support the table."""

    def prepared(self, table: Table, preparation: Preparation) -> Kernel:
        """Return the kernel with values learned from the table: its width, units or fitted rows."""
        if self.has_width and self.gamma == "auto":  # type: ignore[attr-defined]
            gamma = preparation.auto_gamma(self, table)
            return replace(self, gamma=gamma)  # type: ignore[call-arg]
        return self

    def for_prediction(self) -> Kernel:
        """Return the kernel that maps new rows."""
        return self

    # rows

    def coordinates(self, X: Array) -> Array:
        """Return the rows before they are mapped, (n, d); NaN in missing cells."""
        Z = self.scale.to_units(X, self.beyond)
        if not self.supports_missing:
            reject_missing_coordinates(X, Z, self.name or type(self).__name__, self.beyond)
        return Z

    def within_bounds(self) -> Self:
        """Return the kernel with beyond="clip" in place of "ignore"."""
        return replace(self, beyond="wrap" if self.beyond == "wrap" else "clip")

    def uninformative_rows(self, X: Array) -> Array:
        """Return a mask (n,) of the rows without a kept value, which are excluded from the sums."""
        if self.beyond != "ignore":
            return np.zeros(len(X), bool)
        return uninformative_rows(self.scale, X)

    def has_missing(self, F: Array) -> bool:
        """Return whether mapped rows have missing coordinates."""
        return bool(np.isnan(F).any())

    def row_weights(self, D: Array, W: Any) -> Any:
        """Return the pulls of rows on centroids, W times `irls_weight`, (n, k).

        The statistics use these weights.
        """
        return weigh(W, D, self.irls_weight)

    def irls_weight(self, D: Array) -> Array:
        """Return the weights of rows at distances D in iteratively reweighted least squares."""
        return np.ones(D.shape)

    # centroids

    @property
    def starts(self) -> Mapping[str, KernelStart]:
        """The starts that exist only for this kernel, by name."""
        return {}

    def from_rows(self, F: Array, fallback: Any = None) -> Any:
        """Return centroids at mapped rows, with missing coordinates taken from `fallback`."""
        return Points(F if fallback is None else np.where(np.isnan(F), fallback.x, F))

    def from_points(self, U: Array) -> Any:
        """Return centroids at points in the units of the table."""
        return self.from_rows(self.within_bounds().embed(U))

    def sums_at(self, sums: Any, C: Any) -> Sums:
        """Return the sums after moving the centroids to C together with their rows."""
        return replace(sums, totals=sums.pull * C.x)

    def deviation(self, C: Any) -> Array:
        """Return 1 - |m|/|phi| of each centroid, (k,), which is 0 for images of points."""
        return np.zeros(len(C))

    def centroid_similarity(self, F: Array, C: Any, labels: Array | None = None) -> Array:
        """Return the similarity of each row to its nearest or labelled centroid, (n,).

        It is 1 at the centroid.
        """
        return 1 / (1 + self.loss(distance_to_own(self.distance(F, C), labels)))

    def centroid_distances(self, C: Any) -> Array:
        """Return the distances (not squared) between centroids in the mapped space, (k, k)."""
        return np.sqrt(self.loss(self.distance(C.x, C)) * self.loss_unit)

    # attributes of estimators

    @property
    def fitted_parameters(self) -> dict[str, Any]:
        """The values of the parameters after the fit, by the names of the fitted attributes."""
        return {f"{name}_": getattr(self, name) for name in self.parameters}

    @property
    def point_kernel(self) -> Kernel | None:
        """The kernel between points: this kernel, the kernel that it wraps, or None."""
        return self

    def to_public(self, C: Any) -> dict[str, Any]:
        """Return the fitted attributes of an estimator for these centroids."""
        return {"centroids_": C.x}

    def from_public(self, attributes: Mapping[str, Any]) -> Centroids:
        """Return the centroids from the fitted attributes, the inverse of `to_public`."""
        return Points(attributes["centroids_"])


def check_point_kernel(kernel: Any, part: Any) -> None:
    """Raise ValueError unless `part` of a composed kernel is a kernel between points with its
    columns.
    """
    if not isinstance(part, Kernel) or part.point_kernel is not part:
        raise ValueError(f"{type(kernel).__name__} must consist of kernels between points")
    if part.scale.n_columns != kernel.scale.n_columns:
        raise ValueError(f"{type(kernel).__name__} must consist of kernels with the same columns")


def check_fitted_rows(counting: Any, n: int) -> None:
    """Raise ValueError unless `counting` has indices of fitted rows."""
    if not isinstance(counting, np.ndarray) or (counting.dtype.kind, counting.ndim) != ("i", 1):
        raise ValueError("counting must be a list of integers")
    if not len(counting) or counting.min() < 0 or counting.max() >= n:
        raise ValueError(f"counting must be numbers of the {n} fitted rows")


def check_fitted_values(name: str, values: Any, n_dimensions: int, may_lack: bool = False) -> None:
    """Raise ValueError unless a field is a float64 array that is finite, except for allowed NaN."""
    if not isinstance(values, np.ndarray) or values.dtype != np.float64:
        raise ValueError(f"{name} must be an array of float64")
    if values.ndim != n_dimensions or not values.size:
        raise ValueError(f"{name} must have {n_dimensions} dimensions, got {values.shape}")
    if np.isinf(values).any() or (np.isnan(values).any() and not may_lack):
        raise ValueError(f"{name} must be finite")


def rectified_update(kernel: Kernel, sums: Sums, C: Centroids) -> Centroids:
    """Return the next rectified centroids, or the means if the kernel has only means."""
    return kernel.rectify(sums, C) if "rectified" in kernel.centroid_rules else kernel.mean(sums, C)


def with_statistics(
    kernel: Kernel, blocks: Sequence[tuple[Array, Any]], sums: PassSums, C: Centroids
) -> Sums:
    """Return the sums with the kernel's statistics of all rows.

    The blocks are pairs of mapped rows F and their `row_weights` V.
    """
    found = sums.fetch()
    statistics = {name: getattr(kernel, name)(blocks, found, C) for name in kernel.statistics}
    return replace(found, **statistics)


def distance_to_own(D: Array, labels: Array | None) -> Array:
    """Return the distance of each row to its nearest or labelled centroid, (n,)."""
    return D.min(axis=1) if labels is None else D[np.arange(len(D)), labels]


def weigh(W: Any, D: Array, weight: Callable[[Array], Array]) -> Any:
    """Return W times weight(D) at the entries of W."""
    if not sparse.issparse(W):
        return W * weight(D)
    at_label = weight(D[np.arange(len(D)), W.indices])
    return sparse.csr_array((W.data * at_label, W.indices, W.indptr), shape=W.shape)
