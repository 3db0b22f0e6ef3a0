"""What a kernel is: six formulas; everything else has a default built from these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy import sparse

from .._grid import Array
from ..model import Centroids, Points, Sums
from ..scales import Scale, uninformative_rows
from ..table import Table

KernelStart = Callable[[int, Any], Any]  # (k, random bits) -> centroids


class Preparation(Protocol):
    """What a kernel may ask for while it learns from a table: settings of the fit, and runs of the
    loop.
    """

    n_clusters: int
    rule: str  # of the centroids: "mean" or "rectified"
    n_threads: int | None
    memory_limit: int | None

    def auto_gamma(self, kernel: Kernel, table: Table) -> float:
        """The width at which the median row lies at distance 1/2 of the nearest of n_clusters
        spread rows.
        """

    def one_cluster_loss(self, kernel: Kernel, table: Table, middle: Array) -> float:
        """Mean loss of a row when one centroid, reached from the point `middle`, serves all; 1
        where there is none.
        """


@dataclass(frozen=True)
class Kernel(ABC):
    """F (n, p) mapped rows, C a record of k centroids, D (n, k) distances, W (n, k) weights of rows
    for centroids.

    A kernel must write embed, distance, loss, accumulate, preimage, and mean or rectify or both
    (`centroid_rules` names which). What shared code must know of a kernel is one of the values
    below, never its type or name.
    """

    name: ClassVar[str] = ""
    # of the estimators, which it takes after scale and beyond
    parameters: ClassVar[tuple[str, ...]] = ()
    centroid_rules: ClassVar[tuple[str, ...]] = ("rectified",)
    # methods (blocks, sums, C) that need all rows, each a field of the sums
    statistics: ClassVar[tuple[str, ...]] = ()
    is_exact: ClassVar[bool] = False  # mapped rows, centroids, distances and sums are integers
    # several points have one mapped row, so that a pre-image has to be chosen
    is_periodic: ClassVar[bool] = False
    is_additive: ClassVar[bool] = True  # the next centroids follow from sums alone
    # `prepared` asks the table for more than summaries and samples
    learns_from_all_rows: ClassVar[bool] = False
    # the table holds kernel values between rows; no points are known
    is_pairwise: ClassVar[bool] = False
    has_width: ClassVar[bool] = False  # it has a `gamma`, which may be "auto" before it is prepared
    mean_is_point: ClassVar[bool] = False  # the mean of mapped rows lies on the mapped data
    takes_missing: ClassVar[bool] = True
    loss_unit: ClassVar[float] = 1.0  # squared distance in the mapped space = loss_unit * loss
    # rows of a large table that starts are chosen from; None: all
    seeding_sample: ClassVar[int | None] = 1 << 14

    scale: Scale
    beyond: str = "wrap"  # what a value outside the kept intervals does

    # the formulas

    @abstractmethod
    def embed(self, X: Array) -> Array:
        """Mapped rows, (n, p);

        NaN in missing coordinates, unless `from_rows` marks them otherwise.
        """

    @abstractmethod
    def distance(self, F: Array, C: Any) -> Array:
        """What a row is assigned by, (n, k); smaller is nearer."""

    @abstractmethod
    def loss(self, D: Array) -> Array:
        """The objective's share of a row at that distance; rises with D."""

    @abstractmethod
    def accumulate(self, F: Array, C: Any, D: Array, W: Any) -> Sums:
        """What these rows leave for the centroids: arrays that add, among them `mass` (k,)."""

    @abstractmethod
    def preimage(self, C: Any, near: Array) -> Array:
        """Centroids in the units of the table, (k, d); of several answers the one nearest to
        coordinates `near`.
        """

    # `mean(sums, C)`: the average in the mapped space, kernel k-means' own; and `rectify(sums, C)`:
    # the next centroids on the mapped data, which never raise the objective. A kernel has those
    # that its `centroid_rules` name. One with k(x, x) = 1 that also has `similarity(F, V)`, the
    # values k(x, v) (n, m), gets means by these values (Gram).

    # what is learned before the loop

    def check_table(self, table: Table) -> None:  # noqa: B027
        """Refuse a table that this kernel cannot take, before any work; most take all."""

    def prepared(self, table: Table, preparation: Preparation) -> Any:
        """The kernel with what it learns from the table: its width, units, the fitted rows."""
        if self.has_width and self.gamma == "auto":  # type: ignore[attr-defined]
            return replace(self, gamma=preparation.auto_gamma(self, table))  # type: ignore[call-arg]
        return self

    def for_prediction(self) -> Any:
        """The kernel that new rows are mapped by."""
        return self

    # rows

    @property
    def takes_periods(self) -> bool:
        """Whether columns may have a period."""
        return self.is_periodic

    def coordinates(self, X: Array) -> Array:
        """Where the rows lie before they are mapped, (n, d); NaN in missing cells."""
        return self.scale.to_units(X, self.beyond)

    def within_bounds(self) -> Self:
        """The same kernel, which moves a value outside the bounds to them where this one ignores
        it.
        """
        return replace(self, beyond="wrap" if self.beyond == "wrap" else "clip")

    def uninformative_rows(self, X: Array) -> Array:
        """Rows that take no part in the sums, (n,) bool: all their values are ignored."""
        return (
            uninformative_rows(self.scale, X) if self.beyond == "ignore" else np.zeros(len(X), bool)
        )

    def has_missing(self, F: Array) -> bool:
        """Whether mapped rows have missing coordinates."""
        return bool(np.isnan(F).any())

    def row_weights(self, D: Array, W: Any) -> Any:
        """The weights with which rows pull the centroids, for statistics:

        W times `irls_weight`, (n, k).
        """
        return weigh(W, D, self.irls_weight)

    def irls_weight(self, D: Array) -> Array:
        """How hard a row at distance D pulls its centroid: the weight of iteratively reweighted
        least squares.
        """
        return np.ones(D.shape)

    # centroids

    @property
    def starts(self) -> Mapping[str, KernelStart]:
        """Starts by name that only make sense for this kernel."""
        return {}

    def from_rows(self, F: Array, fallback: Any = None) -> Any:
        """Centroids at mapped rows, their missing coordinates taken from `fallback`."""
        return Points(F if fallback is None else np.where(np.isnan(F), fallback.x, F))

    def from_points(self, U: Array) -> Any:
        """Centroids at points in the units of the table."""
        return self.from_rows(self.within_bounds().embed(U))

    def sums_at(self, sums: Any, C: Any) -> Any:
        """Sums as their rows would leave them if they had moved with the centroids, which are now
        at points C.
        """
        return replace(sums, totals=sums.pull * C.x)

    def deviation(self, C: Any) -> Array:
        """1 - |m|/|phi|: how far each centroid lies off the mapped data, (k,); 0 on it."""
        return np.zeros(len(C))

    def centroid_similarity(self, F: Array, C: Any, labels: Array | None = None) -> Array:
        """How well its nearest centroid, or that of its label, represents each row, (n,); 1 at the
        centroid.
        """
        return 1 / (1 + self.loss(distance_to_own(self.distance(F, C), labels)))

    def centroid_distances(self, C: Any) -> Array:
        """Distance of each centroid to each in the mapped space, (k, k); not squared."""
        return np.sqrt(self.loss(self.distance(C.x, C)) * self.loss_unit)

    # the face

    @property
    def fitted_parameters(self) -> dict[str, Any]:
        """The estimator's parameters as they were used, with scikit-learn's underscore."""
        return {f"{name}_": getattr(self, name) for name in self.parameters}

    @property
    def point_kernel(self) -> Any:
        """The kernel between points, of one map, that this one is or stands on;

        None where there is none.
        """
        return self

    def to_public(self, C: Any) -> dict[str, Any]:
        """The attributes by which an estimator shows its centroids; `from_public` takes them
        back.
        """
        return {"centroids_": C.x}

    def from_public(self, attributes: Mapping[str, Any]) -> Any:
        """The centroids as the loop holds them."""
        return Points(attributes["centroids_"])


def rectified_update(kernel: Any, sums: Sums, C: Centroids) -> Any:
    """The next centroids on the mapped data; of a kernel that has means only, those."""
    return kernel.rectify(sums, C) if "rectified" in kernel.centroid_rules else kernel.mean(sums, C)


def with_statistics(kernel: Any, blocks: Sequence[tuple[Array, Any]], sums: Any, C: Any) -> Any:
    """The sums with the kernel's statistics of all rows: blocks of mapped rows F and their
    `row_weights` V.
    """
    return replace(
        sums, **{name: getattr(kernel, name)(blocks, sums, C) for name in kernel.statistics}
    )


def distance_to_own(D: Array, labels: Array | None) -> Array:
    """The least distance of each row, or that to the centroid of its label, (n,)."""
    return D.min(axis=1) if labels is None else D[np.arange(len(D)), labels]


def weigh(W: Any, D: Array, weight: Callable[[Array], Array]) -> Any:
    """W times weight(D), where W has entries."""
    if not sparse.issparse(W):
        return W * weight(D)
    at_label = weight(D[np.arange(len(D)), W.indices])
    return sparse.csr_array((W.data * at_label, W.indices, W.indptr), shape=W.shape)
