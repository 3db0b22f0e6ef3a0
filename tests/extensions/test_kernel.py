"""A kernel from outside the package needs one line to register and runs with engine="auto"."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import (
    FuzzyCMeans,
    KernelKMeans,
    MultipleKernelKMeans,
    NeuralGas,
    SelfOrganizingMap,
)
from rekmeans._grid import mass_of, product
from rekmeans.engines import ENGINES
from rekmeans.kernels import KERNELS
from rekmeans.kernels.base import Kernel
from rekmeans.kernels.points import RBF, Linear, PointSums
from rekmeans.model import Points
from rekmeans.table import MemoryTable
from support.extension_rows import K, X

# a kernel: six formulas


@dataclass(frozen=True)
class Cosine(Kernel):
    """The cosine kernel k(x, v) = x.v/(|x||v|) with the loss 2(1 - k)."""

    name: ClassVar[str] = "cosine"

    def embed(self, X):
        Z = self.coordinates(X)
        return Z / np.linalg.norm(Z, axis=1, keepdims=True)

    def distance(self, F, C):
        return np.maximum(1 - F @ C.x.T, 0.0)

    def loss(self, D):
        return 2 * D

    def accumulate(self, F, C, D, W):
        return PointSums(mass=mass_of(W), totals=product(W, F), pull=product(W, np.ones_like(F)))

    def rectify(self, sums, C):
        length = np.linalg.norm(sums.totals, axis=1, keepdims=True)
        return Points(np.where(length > 0, sums.totals / np.where(length > 0, length, 1.0), C.x))

    def preimage(self, C, near):
        return self.scale.from_units(C.x)


@pytest.fixture
def cosine(monkeypatch):
    monkeypatch.setitem(KERNELS, "cosine", Cosine)


def spherical_k_means(X, C, passes):
    """Return labels and directions of spherical k-means, a plain version of the same method."""
    F = X / np.linalg.norm(X, axis=1, keepdims=True)
    C = C / np.linalg.norm(C, axis=1, keepdims=True)
    for _ in range(passes):
        labels = (F @ C.T).argmax(axis=1)
        sums = np.stack([F[labels == c].sum(axis=0) for c in range(len(C))])
        C = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return C, (F @ C.T).argmax(axis=1)


def test_a_new_kernel_matches_a_plain_implementation(cosine):
    model = KernelKMeans(K, kernel="cosine", scale=None, init=X[:K], max_iter=4, tol=0).fit(X)
    C, labels = spherical_k_means(X, X[:K], model.n_iter_)
    assert model.engine_ == "reference"  # fast engines do not support it
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.cluster_centers_, C, rtol=1e-12)
    loss = 2 * (1 - (X / np.linalg.norm(X, axis=1, keepdims=True) * C[labels]).sum(axis=1)).sum()
    assert_allclose(model.inertia_, loss, rtol=1e-10)


RULES = {
    "hard": KernelKMeans(K),
    "fuzzy": FuzzyCMeans(K, fuzziness=1.6),
    "map": SelfOrganizingMap((1, K)),
    "gas": NeuralGas(K),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_auto_and_reference_agree_for_a_new_kernel_with_every_rule(cosine, rule, init):
    fits = []
    for engine in ("auto", "reference"):
        model = RULES[rule].set_params(
            kernel="cosine", scale=None, init=init, random_state=0, engine=engine
        )
        fits.append(model.fit(X).labels_)
        assert model.engine_ == "reference"
        assert_array_equal(model.predict(X), model.labels_)
        assert -model.score(X) == model.inertia_
    assert_array_equal(*fits)


def test_error_messages_name_a_new_kernel_and_what_it_does_not_support(cosine):
    with pytest.raises(ValueError, match=r"'rbf'.*'cosine'; got 'nope'"):
        KernelKMeans(K, kernel="nope").fit(X)
    with pytest.raises(ValueError, match="engine='native' does not support the kernel 'cosine'"):
        KernelKMeans(K, kernel="cosine", engine="native").fit(X)
    with pytest.raises(
        ValueError,
        match=r"kernel='cosine' does not support centroids='mean'\. Use centroids='rectified'",
    ):
        KernelKMeans(K, kernel="cosine", centroids="mean").fit(X)
    with pytest.raises(
        ValueError,
        match=r"init must be one of 'k-means\+\+', 'random', 'k-means\|\|'; got 'circle'",
    ):
        KernelKMeans(K, kernel="cosine", init="circle").fit(X)


def test_a_new_kernel_runs_together_with_others(cosine):
    model = MultipleKernelKMeans(
        K, kernels=(0.5, ("cosine", 1.0)), scale="range", random_state=0
    ).fit(X)
    assert model.engine_ == "reference"
    assert_allclose(model.kernel_weights_.sum(), 1)
    assert_array_equal(model.predict(X), model.labels_)


@dataclass(frozen=True)
class MeanOnly(Cosine):
    """A kernel with only means; missing cells are replaced by the mean of all rows."""

    centroid_rules: ClassVar[tuple[str, ...]] = ("mean",)
    supports_missing: ClassVar[bool] = True

    def embed(self, X):
        return self.coordinates(X)

    def distance(self, F, C):
        return np.nansum((F[:, None] - C.x) ** 2, axis=2)

    def accumulate(self, F, C, D, W):
        observed = ~np.isnan(F)
        totals = product(W, np.where(observed, F, 0.0))
        return PointSums(mass=mass_of(W), totals=totals, pull=product(W, observed * 1.0))

    def mean(self, sums, C):
        return Points(
            np.where(sums.pull > 0, sums.totals / np.where(sums.pull > 0, sums.pull, 1.0), C.x)
        )


def test_a_kernel_may_support_only_means(monkeypatch):
    monkeypatch.setitem(KERNELS, "mean-only", MeanOnly)
    table = X.copy()
    table[3, 0] = table[10, 1] = np.nan
    model = KernelKMeans(
        K, kernel="mean-only", centroids="mean", scale="range", random_state=0
    ).fit(table)
    assert_array_equal(model.predict(table), model.labels_)
    with pytest.raises(ValueError, match="Use centroids='mean'"):
        KernelKMeans(K, kernel="mean-only").fit(table)


def test_a_kernel_with_an_unknown_parameter_raises(monkeypatch):
    monkeypatch.setitem(KERNELS, "odd", type("Odd", (Cosine,), {"parameters": ("nu",)}))
    with pytest.raises(
        ValueError, match="kernel='odd' requires the parameter 'nu', which KernelKMeans does not"
    ):
        KernelKMeans(K, kernel="odd").fit(X)


@dataclass(frozen=True)
class Reciprocal(Linear):
    """A kernel with a bug: its loss divides by the distance."""

    def loss(self, D):
        with np.errstate(divide="ignore"):
            return 1 / D


def test_a_loss_that_is_not_finite_raises_in_fit_and_partial_fit(monkeypatch):
    monkeypatch.setitem(KERNELS, "reciprocal", Reciprocal)
    model = KernelKMeans(K, kernel="reciprocal", centroids="mean", scale=None, init=X[:K])
    for fit in (model.fit, model.partial_fit):
        message = r"^The loss of iteration 1 is inf: .* If you wrote the kernel"
        with pytest.raises(ValueError, match=message):
            fit(X)


# the compiled version of a formula


@dataclass(frozen=True)
class Steep(RBF):
    """An RBF kernel with another loss, which has no compiled version."""

    def loss(self, D):
        return -4 * np.expm1(-D)


@dataclass(frozen=True)
class Renamed(RBF):
    """An RBF kernel that declares the formulas of `RBF`."""

    name: ClassVar[str] = "renamed"
    formula: ClassVar[str] = RBF.formula


def test_a_subclass_does_not_run_the_compiled_formula_of_its_parent(monkeypatch):
    monkeypatch.setitem(KERNELS, "steep", Steep)
    settings = {"kernel": "steep", "gamma": 1.0, "scale": None, "init": X[:K]}
    model = KernelKMeans(K, **settings).fit(X)
    plain = KernelKMeans(K, **settings | {"kernel": "rbf"}, engine="reference").fit(X)
    assert model.engine_ == "reference"
    assert_array_equal(model.centroids_, plain.centroids_)
    assert model.inertia_ == 2 * plain.inertia_
    for engine in ("native", "torch"):
        reason = ENGINES[engine].unsupported(model._make_stages(model.kernel_), MemoryTable(X))
        assert "does not support the kernel 'rbf'" in reason


def test_a_subclass_may_declare_the_formula_of_its_parent(monkeypatch):
    monkeypatch.setitem(KERNELS, "renamed", Renamed)
    settings = {"gamma": 1.0, "scale": None, "init": X[:K]}
    model, plain = (
        KernelKMeans(K, kernel=kernel, **settings).fit(X) for kernel in ("renamed", "rbf")
    )
    assert model.engine_ == "native"
    assert_array_equal(model.centroids_, plain.centroids_)


# missing values


def test_a_kernel_supports_missing_values_only_if_it_declares_it(cosine):
    table = X.copy()
    table[3, 1] = np.nan
    message = (
        "KernelKMeans with kernel='cosine' does not support missing values, but X contains NaN"
    )
    for init in ("k-means++", X[:K]):
        model = KernelKMeans(K, kernel="cosine", scale="range", init=init, random_state=0)
        with pytest.raises(ValueError, match=message):
            model.fit(table)
    with pytest.raises(ValueError, match=message):
        model.fit(X).predict(table)
    with pytest.raises(ValueError, match="MultipleKernelKMeans does not support missing values"):
        MultipleKernelKMeans(K, kernels=(0.5, ("cosine", 1.0))).fit(table)


def test_a_kernel_without_missing_values_does_not_ignore_values(cosine):
    table = np.concatenate([X, [[1e4, 1.0]]])
    message = (
        r"the kernel 'cosine' does not support missing values, and beyond='ignore' makes a value "
        r"outside the kept intervals missing \(10000 in column 0 of X\)\. Use beyond='clip'"
    )
    model = KernelKMeans(K, kernel="cosine", random_state=0)
    with pytest.raises(ValueError, match=message):
        model.fit(table)
    clipped = model.set_params(beyond="clip").fit(table)
    assert np.isfinite(clipped.inertia_)
    with pytest.raises(ValueError, match="column 1 of X contains NaN"):
        Cosine(clipped.scale_, "clip").embed(np.array([[1.0, np.nan]]))
