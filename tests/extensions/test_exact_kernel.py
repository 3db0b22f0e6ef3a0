"""An exact kernel from outside the package is not mistaken for the Euler kernel."""

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import (
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    checkpoint,
    watch_passes,
)
from rekmeans._grid import Array, mass_of, product
from rekmeans.analysis.fit_analysis import analyse_fit
from rekmeans.engines import ENGINES
from rekmeans.estimators.placement import place_for_fit, starting_centroids
from rekmeans.kernels import KERNELS
from rekmeans.kernels.base import Kernel
from rekmeans.model import Points, Sums
from rekmeans.table import MemoryTable
from support.extension_rows import K, X

STEPS = 1 << 10  # grid steps in a unit of the scale
ON_GRID = np.rint(X * STEPS) / STEPS


@dataclass(frozen=True, kw_only=True)
class GridSums(Sums):
    """The integer sums of the rows."""

    totals: Array  # (k, d)


@dataclass(frozen=True)
class Grid(Kernel):
    """A kernel for k-means in integers, with rows rounded to a grid."""

    name: ClassVar[str] = "grid"
    centroid_rules: ClassVar[tuple[str, ...]] = ("mean",)
    has_exact_arithmetic: ClassVar[bool] = True
    mapped_unit: ClassVar[int] = STEPS
    loss_unit: ClassVar[float] = 1.0 / STEPS**2

    def embed(self, X):
        return np.rint(self.coordinates(X) * STEPS).astype(np.int32)

    def distance(self, F, C):
        return ((F[:, None].astype(np.int64) - C.x) ** 2).sum(axis=2)

    def loss(self, D):
        return D

    def accumulate(self, F, C, D, W):
        return GridSums(mass=mass_of(W), totals=product(W, F))

    def mean(self, sums, C):
        mass = sums.mass.astype(np.float64)[:, None]
        totals = sums.totals.astype(np.float64)
        means = np.rint(totals / np.where(mass > 0, mass, 1.0))
        return Points(np.where(mass > 0, means, C.x).astype(np.int32))

    def preimage(self, C, near):
        return self.scale.from_units(C.x / STEPS)

    def to_public(self, C):
        return {"centroids_": C.x / STEPS}

    def from_public(self, attributes):
        return Points(np.rint(attributes["centroids_"] * STEPS).astype(np.int32))


@dataclass(frozen=True)
class GridByHalves(Grid):
    """The same kernel with half of the distance as the loss."""

    name: ClassVar[str] = "grid-by-halves"

    def loss(self, D):
        return D // 2


@dataclass(frozen=True)
class StatedGrid(Grid):
    """The same kernel with the attributes `loss_is_distance` and `pull_is_weight`."""

    name: ClassVar[str] = "stated-grid"
    pull_is_weight: ClassVar[bool] = True
    loss_is_distance: ClassVar[bool] = True


@pytest.fixture(autouse=True)
def grid(monkeypatch):
    for kernel in (Grid, GridByHalves, StatedGrid):
        monkeypatch.setitem(KERNELS, kernel.name, kernel)


each_kernel = pytest.mark.parametrize("kernel", ["grid", "stated-grid", "grid-by-halves"])


def grid_k_means(**parameters):
    parameters = {"kernel": "grid", "scale": None, "random_state": 0} | parameters
    return KernelKMeans(K, centroids="mean", **parameters)


def integer_k_means(F, w, C, max_iter):
    """Return centroids, labels and objective of k-means in Python integers."""
    best = None
    for _ in range(max_iter + 1):
        D = [[sum((a - b) ** 2 for a, b in zip(f, c, strict=True)) for c in C] for f in F]
        labels = [row.index(min(row)) for row in D]
        loss = sum(weight * min(row) for weight, row in zip(w, D, strict=True))
        if best is not None and loss >= best[2]:
            break
        best = C, labels, loss
        new = []
        for c, old in enumerate(C):
            own = [(f, weight) for f, weight, label in zip(F, w, labels, strict=True) if label == c]
            mass = sum(weight for _, weight in own)
            totals = [sum(f[i] * weight for f, weight in own) for i in range(len(old))]
            new.append([round(total / mass) for total in totals])
        if new == C:
            break
        C = new
    return best


def test_it_matches_integer_k_means():
    w = np.random.default_rng(1).integers(1, 5, len(X))
    F = np.rint(X * STEPS).astype(int).tolist()
    model = grid_k_means(init=X[:K], tol=0).fit(X, sample_weight=w.astype(float))
    C, labels, loss = integer_k_means(F, w.tolist(), F[:K], model.max_iter)
    assert model.engine_ == "reference"
    assert_array_equal(model.centroids_ * STEPS, C)
    assert_array_equal(model.labels_, labels)
    assert model.inertia_ == loss / STEPS**2
    assert model.centroids_.dtype == np.float64
    assert_array_equal(model.deviation_, 0)


def test_compiled_engines_do_not_run_it_as_euler():
    model = grid_k_means().fit(X)
    stages = model._make_stages(model.kernel_)
    for engine in ("native", "torch"):
        reason = ENGINES[engine].unsupported(stages, MemoryTable(X))
        assert "does not support the kernel 'grid'" in reason


@each_kernel
@pytest.mark.parametrize("init", ["k-means++", "random", "k-means||"])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_do_not_change_a_bit(kernel, init, weighted):
    table = np.random.default_rng(2).normal(size=(2000, 2)) + 5 * (np.arange(2000) % 3)[:, None]
    w = np.random.default_rng(3).uniform(0.1, 2, 2000) if weighted else None
    model = grid_k_means(kernel=kernel, init=init)

    frame = pd.DataFrame(table, columns=["a", "b"])
    if weighted:
        frame["w"] = w

    def blocks():
        return (frame[at : at + 300] for at in range(0, 2000, 300))

    in_memory = model.fit(table, sample_weight=w)
    assert in_memory.engine_ == "reference"
    centroids = in_memory.centroids_
    labels = in_memory.labels_
    inertia = in_memory.inertia_
    model.fit(blocks, sample_weight="w" if weighted else None)
    assert_array_equal(model.centroids_, centroids)
    assert_array_equal(model.labels_, labels)
    assert model.inertia_ == inertia


@each_kernel
def test_overall_sums_do_not_depend_on_blocks(kernel):
    F = np.rint(X * STEPS).astype(np.int64)
    for table in (X, lambda: iter(np.array_split(X, 4))):
        sums = place_for_fit(grid_k_means(kernel=kernel), table).rows.overall_sums()
        assert sums.mass.tolist() == [len(X)]
        assert sums.totals.tolist() == [F.sum(axis=0).tolist()]


@each_kernel
def test_partitions_do_not_change_a_bit(kernel):
    array = pytest.importorskip("dask.array")
    table = np.random.default_rng(2).normal(size=(600, 2)) + 5 * (np.arange(600) % 3)[:, None]
    whole = grid_k_means(kernel=kernel, init="k-means||").fit(table)
    inertia, centroids = whole.inertia_, whole.centroids_
    parts = grid_k_means(kernel=kernel, init="k-means||")
    parts.fit(array.from_array(table, chunks=(130, 2)))
    assert parts.engine_.startswith("dask")
    assert parts.inertia_ == inertia
    assert_array_equal(parts.centroids_, centroids)


def test_masses_follow_losses_and_overall_sums_are_at_distance_0_by_default():
    @dataclass(frozen=True)
    class OnlyNearby(GridByHalves):
        """A kernel in which rows pull only the centroids that they lie on."""

        def accumulate(self, F, C, D, W):
            V = W.toarray() * (D == 0)
            return GridSums(mass=mass_of(W), totals=product(V, F))

    rows = place_for_fit(grid_k_means(), X).rows
    rows.kernel = OnlyNearby(rows.kernel.scale)
    F = np.rint(X * STEPS).astype(np.int64)
    assert rows.overall_sums().totals.tolist() == [F.sum(axis=0).tolist()]
    # squared distances 5 and 4 from the first row: the loss of both is 2
    two = Points((F[0] + [[1, 2], [0, 2]]).astype(np.int32))
    by_loss = (((F[:, None] - two.x) ** 2).sum(axis=2) // 2).argmin(axis=1)
    by_distance = ((F[:, None] - two.x) ** 2).sum(axis=2).argmin(axis=1)
    assert by_loss[0] != by_distance[0]
    assert_array_equal(rows.nearest_masses(two), np.bincount(by_loss, minlength=2))


def test_blocks_whose_sums_exceed_64_bits_together_add_up():
    class Wide(StatedGrid):
        """The same kernel without `pull_is_weight`."""

        pull_is_weight: ClassVar[bool] = False

    rows = place_for_fit(grid_k_means(), lambda: iter([X] * 2)).rows
    rows.kernel = replace(Wide(rows.kernel.scale), beyond="wrap")
    heavy = GridSums(mass=np.array([1 << 62]), totals=np.array([[-(1 << 62), 1 << 62]]))
    blocks = [(slice(0, 1), _Heavy(heavy))] * 4
    rows.read_rows = lambda: iter(blocks)
    sums = rows.overall_sums()
    assert sums.mass.tolist() == [1 << 64]
    assert sums.totals.tolist() == [[-(1 << 64), 1 << 64]]


class _Heavy:
    """The rows of a block with these sums."""

    def __init__(self, sums):
        self.overall_sums = lambda: sums


def test_partial_fit_adds_integers():
    model = grid_k_means(init=X[:K])
    for at in range(0, len(X), 30):
        model.partial_fit(X[at : at + 30])
    assert model.stream_.sums.totals.dtype.kind in "iO"
    whole = grid_k_means(init=X[:K], max_iter=1, tol=0).fit(X)
    assert model.n_samples_seen_ == len(X)
    assert_allclose(model.centroids_, whole.centroids_, atol=1.0)


def test_a_fit_resumes_from_its_checkpoint_with_an_integer_loss(monkeypatch, tmp_path):
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    whole = grid_k_means(init=X[[0, 1, 2]], tol=0).fit(X)
    assert whole.n_iter_ > 2
    model = grid_k_means(init=X[[0, 1, 2]], tol=0, checkpoint=tmp_path / "fit.checkpoint")

    def interrupt(event):
        if event.number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watch_passes(interrupt):
        model.fit(X)
    assert model.checkpoint.exists()
    model.fit(X)
    assert_array_equal(model.centroids_, whole.centroids_)
    assert model.inertia_ == whole.inertia_


def test_starts_are_those_of_an_exact_kernel():
    """Use the best of a few short fits, with integer draws and losses on every engine."""
    model = grid_k_means()
    placed = place_for_fit(model, X)
    assert model._exact_model(placed.rows.kernel) is not None
    C = next(starting_centroids(model, placed))
    assert C.x.dtype == np.int32


def test_it_keeps_its_columns_and_real_centroids_in_a_stack():
    model = MultipleKernelKMeans(K, kernels=(("grid", 1.0), 0.5), scale=None, centroids="mean")
    model.set_params(init=X[:K]).fit(ON_GRID)
    twin = MultipleKernelKMeans(K, kernels=(("linear", 1.0), 0.5), scale=None, centroids="mean")
    twin.set_params(init=X[:K]).fit(ON_GRID)
    assert model.engine_ == "reference"
    assert_array_equal(model.labels_, twin.labels_)
    # casting a complex number to a real one would raise a warning
    with warnings.catch_warnings(action="error"):
        assert_array_equal(model.predict(ON_GRID), model.labels_)
    assert_array_equal(model.centroids_[0].imag, 0)
    assert_allclose(model.centroids_[0], twin.centroids_[0], atol=1 / STEPS)
    assert_allclose(model.kernel_weights_, twin.kernel_weights_, rtol=1e-2)


def test_shapes_match_those_of_the_linear_kernel_on_the_grid():
    settings = {"scale": None, "centroids": "mean", "beyond": "wrap", "init": ON_GRID[:K]}
    model, twin = (
        MahalanobisFuzzyCMeans(K, kernel=kernel, **settings).fit(ON_GRID)
        for kernel in ("grid", "linear")
    )
    assert model.centroids_.dtype == np.float64
    assert_allclose(model.centroids_, twin.centroids_, rtol=1e-10)
    assert_allclose(model.shapes_, twin.shapes_, rtol=1e-8, atol=1e-10)
    assert_array_equal(model.deviation_, 0)
    assert_array_equal(model.predict(ON_GRID), model.labels_)


def test_the_report_supports_only_the_euler_kernel():
    with pytest.raises(TypeError, match="only the Euler kernel"):
        analyse_fit(grid_k_means().fit(X), X)


def test_it_has_no_shared_pre_images():
    with pytest.raises(ValueError, match="shared=True supports only Euler kernels; got 'grid'"):
        MultipleKernelKMeans(K, kernels=(("grid", 1.0),), shared=True).fit(X)
