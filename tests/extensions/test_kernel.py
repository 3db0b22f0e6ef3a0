"""A stranger's kernel, assignment rule, scale and engine, each registered by one line, run on engine="auto"."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import (
    EulerKMeans,
    EulerMap,
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
    load,
    save,
)
from rekmeans._grid import mass_of, product
from rekmeans.engines import ENGINES
from rekmeans.engines.reference import ReferenceRows
from rekmeans.kernels import KERNELS
from rekmeans.kernels.base import Kernel
from rekmeans.kernels.points import PointSums
from rekmeans.model import Points, Shares
from rekmeans.scales import SCALES, Scale

K = 3
RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(0.5, 4, (K, 2))[RANDOM.integers(0, K, 90)] + 0.3 * RANDOM.normal(size=(90, 2))


# a kernel: six formulas


@dataclass(frozen=True)
class Cosine(Kernel):
    """k(x, v) = x.v/(|x||v|): rows are directions; the loss is 2(1 - k)."""

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
    """The same method written out: unit rows, the nearest direction, the mean direction of each cluster."""
    F, C = X / np.linalg.norm(X, axis=1, keepdims=True), C / np.linalg.norm(C, axis=1, keepdims=True)
    for _ in range(passes):
        labels = (F @ C.T).argmax(axis=1)
        sums = np.stack([F[labels == c].sum(axis=0) for c in range(len(C))])
        C = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return C, (F @ C.T).argmax(axis=1)


def test_a_new_kernel_gives_the_answer_of_its_method_written_out(cosine):
    model = KernelKMeans(K, kernel="cosine", scale=None, init=X[:K], max_iter=4, tol=0).fit(X)
    C, labels = spherical_k_means(X, X[:K], model.n_iter_)
    assert model.engine_ == "reference"  # no fast engine serves it
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
def test_a_new_kernel_runs_with_every_rule_on_auto_as_on_the_reference(cosine, rule, init):
    fits = []
    for engine in ("auto", "reference"):
        model = RULES[rule].set_params(kernel="cosine", scale=None, init=init, random_state=0, engine=engine)
        fits.append(model.fit(X).labels_)
        assert model.engine_ == "reference"
        assert_array_equal(model.predict(X), model.labels_)
        assert -model.score(X) == model.inertia_
    assert_array_equal(*fits)


def test_a_new_kernel_is_named_in_the_lists_of_errors_and_asked_for_what_it_has(cosine):
    with pytest.raises(ValueError, match=r"'rbf'.*'cosine'; got 'nope'"):
        KernelKMeans(K, kernel="nope").fit(X)
    with pytest.raises(ValueError, match="engine='native' does not know the kernel 'cosine'"):
        KernelKMeans(K, kernel="cosine", engine="native").fit(X)
    with pytest.raises(
        ValueError, match="kernel='cosine' has no points for centroids='mean': use centroids='rectified'"
    ):
        KernelKMeans(K, kernel="cosine", centroids="mean").fit(X)
    with pytest.raises(ValueError, match=r"init must be one of 'k-means\+\+', 'random'; got 'circle'"):
        KernelKMeans(K, kernel="cosine", init="circle").fit(X)


def test_a_new_kernel_joins_others_in_a_stack(cosine):
    model = MultipleKernelKMeans(K, kernels=(0.5, ("cosine", 1.0)), scale="range", random_state=0).fit(X)
    assert model.engine_ == "reference"
    assert_allclose(model.kernel_weights_.sum(), 1)
    assert_array_equal(model.predict(X), model.labels_)


# an assignment rule


@dataclass(frozen=True)
class Trimmed:
    """Nearest centroid, but a row farther than `cut` counts for none and has the loss of one at the cut."""

    labels_are_nearest: ClassVar[bool] = True
    is_hard: ClassVar[bool] = False

    cut: float

    def __call__(self, D, loss, w):
        labels = D.argmin(axis=1).astype(np.int32)
        own = loss(D[np.arange(len(D)), labels]).astype(np.float64)
        kept = own <= self.cut
        W = np.zeros(D.shape)
        W[np.arange(len(D)), labels] = w * kept
        return Shares(labels, W, np.where(kept, own, self.cut))


class TrimmedKMeans(KernelKMeans):
    """Kernel k-means without its far rows."""

    def _assignment_rule(self):
        return Trimmed(0.2)


def test_a_new_rule_gives_the_answer_of_its_method_written_out():
    far = np.concatenate([X, [[40.0, -40.0], [50.0, 50.0]]])
    model = TrimmedKMeans(K, kernel="linear", scale=None, init=X[:K], max_iter=5, tol=0, engine="auto").fit(far)
    C = X[:K]
    for _ in range(model.n_iter_):
        D = ((far[:, None] - C) ** 2).sum(axis=2)
        labels, kept = D.argmin(axis=1), D.min(axis=1) <= 0.2
        C = np.stack([far[kept & (labels == c)].mean(axis=0) for c in range(K)])
    D = ((far[:, None] - C) ** 2).sum(axis=2)
    assert model.engine_ == "reference"
    assert_allclose(model.cluster_centers_, C, rtol=1e-12)
    assert_array_equal(model.labels_, D.argmin(axis=1))
    assert_allclose(model.inertia_, np.minimum(D.min(axis=1), 0.2).sum(), rtol=1e-12)


@pytest.mark.parametrize("kernel", ["euler", "rbf", "laplace"])
def test_a_new_rule_runs_with_every_kernel_and_is_told_to_the_user(kernel):
    model = TrimmedKMeans(K, kernel=kernel, random_state=0).fit(X)
    assert model.engine_ == "reference"
    assert_array_equal(model.predict(X), model.labels_)
    assert (np.diff(model.history_["inertia"]) <= 1e-9).all()
    with pytest.raises(ValueError, match="engine='native' does not know the assignment rule Trimmed"):
        TrimmedKMeans(K, kernel=kernel, engine="native").fit(X)


# a scale


def two_intervals(summary):
    """The lower and the upper fifth of each column's range, the gap between them folded to a tenth of it."""
    low, high = (np.nan_to_num(end) for end in summary.extent)
    width = np.where(high > low, high - low, 1.0)
    fifth = width / 5
    return Scale(
        low=np.stack([low, high - fifth], axis=1),
        high=np.stack([low + fifth, high], axis=1),
        shift=np.stack([low, low + width - fifth * 2.5], axis=1),
        unit=fifth * 2.5,
        period=np.zeros(len(width)),
    )


@pytest.fixture
def folded(monkeypatch):
    monkeypatch.setitem(SCALES, "folded", two_intervals)


EVERY = [
    EulerKMeans(K),
    RectifiedEulerKMeans(K),
    KernelKMeans(K),
    KernelKMeans(K, centroids="mean"),
    FuzzyCMeans(K),
    SelfOrganizingMap((1, K)),
    NeuralGas(K),
    MultipleKernelKMeans(K),
    MahalanobisFuzzyCMeans(K),
]


@pytest.mark.parametrize("estimator", EVERY, ids=lambda estimator: type(estimator).__name__)
def test_a_new_scale_serves_every_estimator_on_auto_as_on_the_reference(folded, estimator):
    table, fits = RANDOM.permutation(np.concatenate([X, X + 40])), []
    for engine in ("auto", "reference"):
        model = estimator.set_params(scale="folded", engine=engine, random_state=0).fit(table)
        assert_array_equal(model.predict(table), model.labels_)
        assert -model.score(table) == model.inertia_
        low, high = model.scale_.low, model.scale_.high
        assert low.shape == (2, 2)
        inside = (model.cluster_centers_[..., None] >= low - 8) & (model.cluster_centers_[..., None] <= high + 8)
        assert inside.any(axis=-1).all()
        fits.append(model.labels_)
    assert_array_equal(*fits)


def test_a_new_scale_maps_and_back_and_is_named_in_the_lists_of_errors(folded):
    table = np.array([[0.0, 1.0], [1.0, 2.0], [9.0, 5.5], [10.0, 6.0], [5.0, 1.5]])
    mapped = EulerMap(scale="folded", beyond="ignore").fit(table)
    F = mapped.transform(table)
    assert_array_equal(F[4, [0, 2]], [0, 0])  # in the gap
    expected = np.where(table == 5.0, np.nan, table)
    assert_allclose(mapped.inverse_transform(F), expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"'robust'.*'folded'; got 'nope'"):
        RectifiedEulerKMeans(K, scale="nope").fit(X)


# an engine


class Toy:
    """The reference's rows under another name, for tables of at most 1000 rows."""

    name = "toy"

    def missing(self):
        return ""

    def describe(self):
        return "a toy"

    def is_home_of(self, table):
        return table.n_rows <= 1000

    def unsupported(self, stages, table):
        return "" if all(model.kernel.is_exact for model in stages) else "serves rows on circles only."

    def place(self, stages, table, n_threads, memory_limit):
        return ReferenceRows(stages[-1].kernel, table)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(ENGINES, "toy", Toy())


def test_a_new_engine_is_taken_where_it_is_home_and_serves(toy):
    ours = RectifiedEulerKMeans(K, random_state=0).fit(X)
    assert ours.engine_ == "toy"
    reference = RectifiedEulerKMeans(K, random_state=0, engine="reference").fit(X)
    assert reference.engine_ == "reference"
    assert_array_equal(ours.labels_, reference.labels_)
    assert_array_equal(ours.centroids_, reference.centroids_)
    many = np.tile(X, (12, 1))
    assert RectifiedEulerKMeans(K, random_state=0).fit(many).engine_ == "native"
    assert KernelKMeans(K, random_state=0).fit(X).engine_ == "native"


def test_a_new_engine_is_named_in_the_lists_of_errors_and_says_what_it_does_not_serve(toy):
    with pytest.raises(ValueError, match="'auto', 'toy', 'native', 'reference'; got 'gpu'"):
        RectifiedEulerKMeans(K, engine="gpu").fit(X)
    with pytest.raises(ValueError, match="engine='toy' serves rows on circles only"):
        KernelKMeans(K, engine="toy").fit(X)


def test_the_command_line_asks_the_engines(toy):
    from rekmeans.cli.machine import describe_engines

    assert describe_engines()["toy"] == "available: a toy"
    assert list(describe_engines()) == ["toy", "native", "reference"]


def test_an_absent_engine_is_an_error_that_says_how_to_get_it(toy, monkeypatch):
    monkeypatch.setattr(Toy, "missing", lambda self: "a box of bricks: pip install bricks.")
    with pytest.raises(ImportError, match="engine='toy' needs a box of bricks: pip install bricks"):
        RectifiedEulerKMeans(K, engine="toy").fit(X)
    with pytest.warns(UserWarning, match="runs its slow native engine: toy needs a box of bricks"):
        assert RectifiedEulerKMeans(K, random_state=0).fit(X).engine_ == "native"


# what a stranger's part may get wrong


def test_a_scale_within_which_no_row_lies_is_refused(monkeypatch):
    ones = np.ones(2)
    monkeypatch.setitem(SCALES, "far", lambda summary: Scale.of_intervals(ones * 1e6, ones * 2e6, ones * 1e6, ones))
    for engine in ("native", "reference"):
        for estimator in (RectifiedEulerKMeans(K), KernelKMeans(K), FuzzyCMeans(K)):
            with pytest.raises(ValueError, match="no row of X has a value within the far range"):
                estimator.set_params(scale="far", engine=engine).fit(X)


BAD_SCALES = {
    "unit of zero": (0.0, 1.0, 0.0, 0.0),
    "unit not a number": (0.0, 1.0, 0.0, np.nan),
    "bounds out of order": (2.0, 1.0, 0.0, 1.0),
    "shift not a number": (0.0, 1.0, np.nan, 1.0),
    "unit next to nothing": (0.0, 1.0, 0.0, 1e-308),
}


@pytest.mark.parametrize("name", BAD_SCALES)
def test_a_scale_that_is_none_is_refused_before_it_is_used(monkeypatch, name):
    values = [np.full(2, value) for value in BAD_SCALES[name]]
    monkeypatch.setitem(SCALES, "bad", lambda summary: Scale.of_intervals(*values))
    with pytest.raises(ValueError, match="a scale must"):
        KernelKMeans(K, kernel="linear", scale="bad").fit(X)


def test_a_scale_of_other_columns_or_of_another_type_is_refused(monkeypatch):
    monkeypatch.setitem(SCALES, "none", lambda summary: None)
    monkeypatch.setitem(SCALES, "narrow", lambda summary: SCALES["range"](summary).take([0]))
    for name, got in {"none": "None", "narrow": "one of 1"}.items():
        with pytest.raises(ValueError, match=f"scale='{name}' must give a Scale of 2 columns; got {got}"):
            RectifiedEulerKMeans(K, scale=name).fit(X)


def test_a_model_loads_where_its_scale_is_not_registered(folded, monkeypatch, tmp_path):
    model = RectifiedEulerKMeans(K, scale="folded", random_state=0).fit(X)
    save(model, tmp_path / "model.safetensors")
    monkeypatch.delitem(SCALES, "folded")
    same = load(tmp_path / "model.safetensors")
    assert_array_equal(same.transform(X), model.transform(X))
    assert same.scale == "folded"
    with pytest.raises(ValueError, match="scale must be one of"):
        same.fit(X)


@dataclass(frozen=True)
class MeanOnly(Cosine):
    """A kernel that names means only; rows with missing cells take theirs from the mean of all."""

    centroid_rules: ClassVar[tuple[str, ...]] = ("mean",)

    def embed(self, X):
        return self.coordinates(X)

    def distance(self, F, C):
        return np.nansum((F[:, None] - C.x) ** 2, axis=2)

    def accumulate(self, F, C, D, W):
        observed = ~np.isnan(F)
        totals = product(W, np.where(observed, F, 0.0))
        return PointSums(mass=mass_of(W), totals=totals, pull=product(W, observed * 1.0))

    def mean(self, sums, C):
        return Points(np.where(sums.pull > 0, sums.totals / np.where(sums.pull > 0, sums.pull, 1.0), C.x))


def test_a_kernel_may_have_means_only(monkeypatch):
    monkeypatch.setitem(KERNELS, "mean-only", MeanOnly)
    table = X.copy()
    table[3, 0] = table[10, 1] = np.nan
    model = KernelKMeans(K, kernel="mean-only", centroids="mean", scale="range", random_state=0).fit(table)
    assert_array_equal(model.predict(table), model.labels_)
    with pytest.raises(ValueError, match="use centroids='mean'"):
        KernelKMeans(K, kernel="mean-only").fit(table)


def test_a_kernel_with_a_parameter_that_no_estimator_has_is_refused(monkeypatch):
    monkeypatch.setitem(KERNELS, "odd", type("Odd", (Cosine,), {"parameters": ("nu",)}))
    with pytest.raises(ValueError, match="kernel='odd' takes 'nu', which KernelKMeans does not have"):
        KernelKMeans(K, kernel="odd").fit(X)
