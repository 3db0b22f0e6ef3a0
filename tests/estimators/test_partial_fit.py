"""partial_fit: the first block, fading sums compared with plain loops, engines, blocks, weights."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from rekmeans import EulerKMeans, KernelKMeans, RectifiedEulerKMeans, load, save
from rekmeans.estimators.placement import fitted_centroids
from rekmeans.kernels import KERNELS
from rekmeans.model import Model
from support.assertions import FITTED, assert_message_states_fix, assert_same_fit
from support.plain_stream import PlainStream

K = 3
D = 4
EXACT = {
    "EulerKMeans": EulerKMeans,
    "RectifiedEulerKMeans": RectifiedEulerKMeans,
    "KernelKMeans-euler": lambda *args, **kwargs: KernelKMeans(*args, kernel="euler", **kwargs),
}
REAL = {
    name: (lambda *args, kernel=name, **kwargs: KernelKMeans(*args, kernel=kernel, **kwargs))
    for name in ("linear", "rbf", "laplace-l2")
}
each_exact = pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
each_form = pytest.mark.parametrize("make", (EXACT | REAL).values(), ids=EXACT | REAL)
CUTS = (0, 150, 151, 400, 407, 900, 1200)


def stream_rows(n=1200, seed=0, missing=0.05, gap=6.0):
    """Return rows of three groups in random order, with missing cells."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, D)) + gap * random.integers(0, K, (n, 1))
    X[random.random(X.shape) < missing] = np.nan
    X[:, 0] = np.where(np.isnan(X).all(axis=1), 0.0, X[:, 0])
    return X


def feed(model, X, cuts=CUTS, weights=None):
    """Return the model after all blocks."""
    for a, b in pairwise(cuts):
        model.partial_fit(X[a:b], sample_weight=None if weights is None else weights[a:b])
    return model


def assert_same_stream(one, two):
    """Compare the bits of the attributes and of the sums."""
    assert_same_fit(one, two)
    assert (one.n_steps_, one.n_samples_seen_, one.stream_.clock) == (
        two.n_steps_,
        two.n_samples_seen_,
        two.stream_.clock,
    )
    assert_same_sums(one, two)


def assert_same_sums(one, two):
    for name in ("mass", "totals", "observed"):
        assert_array_equal(
            getattr(one.stream_.sums, name), getattr(two.stream_.sums, name), err_msg=name
        )


@each_exact
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
def test_the_first_block_is_one_pass_of_fit(make, init):
    X = stream_rows(400, gap=1.5)
    one = make(K, init=init, random_state=1).partial_fit(X)
    two = make(K, init=init, random_state=1, max_iter=1, n_init=1).fit(X)
    for name in FITTED:
        assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert_array_equal(one.scale_.low, two.scale_.low)


@each_exact
def test_one_block_gives_the_sums_of_a_pass(make):
    X = stream_rows(300)
    start = make(K, random_state=0).fit(X)
    kernel = start.kernel_
    C = fitted_centroids(start)
    sums = Model(kernel, start._assignment_rule(), None).assign_block(
        kernel.embed(X), np.ones(len(X), np.int64), C
    )[1]
    found = start.partial_fit(X).stream_.sums
    for name in ("mass", "totals", "observed"):
        assert_array_equal(
            getattr(found, name), getattr(sums, name).astype(object) << (19 + 32), err_msg=name
        )


@each_exact
@pytest.mark.parametrize("half_life", [None, 37, 2000])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_against_plain_loops(make, half_life, weighted):
    """Labels are the model's predictions before each block; all sums are computed with Python
    integers.
    """
    X = stream_rows()
    weights = np.random.default_rng(1).integers(0, 5, len(X)) / 2 if weighted else None
    model = make(K, half_life=half_life, random_state=0, scale="global", beyond="clip")
    model.partial_fit(X[:200], sample_weight=None if weights is None else weights[:200])
    kernel, first = model.kernel_, model.stream_
    plain = PlainStream(K, 2 * D, first.clock.half_life)
    plain.time = first.clock.position if half_life else 0
    plain.mass = first.sums.mass.tolist()
    plain.totals = first.sums.totals.tolist()
    for a, b in pairwise((200, 201, 450, 1200)):
        labels = model.predict(X[a:b])
        F = kernel.embed(X[a:b])
        w = np.ones(b - a) if weights is None else weights[a:b]
        for f, units, c in zip(F, np.ldexp(w, first.clock.weight_bits), labels, strict=True):
            plain.add_row(f, int(units), c)
        model.partial_fit(X[a:b], sample_weight=None if weights is None else weights[a:b])
        assert model.stream_.sums.mass.tolist() == plain.mass
        assert model.stream_.sums.totals.tolist() == plain.totals
        centroids = np.array(plain.totals, float)
        a = centroids[:, :D]
        b = centroids[:, D:]
        if model.centroids == "rectified":
            assert_allclose(model.centroids_, (a + 1j * b) / np.hypot(a, b), atol=2e-7)


@each_exact
@pytest.mark.parametrize("weighted", [False, True])
def test_engines_and_threads_give_the_same_bits(make, weighted):
    X = stream_rows(gap=1.0)
    weights = np.random.default_rng(1).integers(0, 5, len(X)) / 3 if weighted else None
    models = [
        feed(make(K, half_life=333, random_state=0, engine=engine, n_threads=n), X, weights=weights)
        for engine, n in [("reference", 1), ("native", 1), ("native", 3)]
    ]
    assert_same_stream(models[0], models[1])
    assert_same_stream(models[0], models[2])


@each_exact
@pytest.mark.parametrize("half_life", [None, 37, 500])
def test_blocks_of_any_size_give_the_same_sums(make, half_life):
    """The labels do not depend on the blocks: the groups are far apart, and the first block is the
    same.
    """
    X = stream_rows(gap=12.0, missing=0.0)
    whole = feed(make(K, half_life=half_life, random_state=0), X, (0, 150, 1200))
    for cuts in (CUTS, (0, 150, *range(151, 1201))):
        parts = feed(make(K, half_life=half_life, random_state=0), X, cuts)
        assert_same_sums(whole, parts)
        assert_array_equal(whole.centroids_, parts.centroids_)
        assert_array_equal(whole.stream_.recent.X, parts.stream_.recent.X)


@each_exact
@pytest.mark.parametrize("half_life", [None, 37])
def test_a_row_of_weight_two_equals_two_rows(make, half_life):
    X = stream_rows(300)
    times = np.random.default_rng(2).integers(1, 4, len(X))
    repeated = np.repeat(X, times, axis=0)
    cuts = [0, 100, 300]
    starts = stream_rows(K, seed=3, missing=0)
    options = {"half_life": half_life, "init": starts, "scale": "global"}
    one = feed(make(K, **options), X, cuts, times.astype(float))
    two = feed(make(K, **options), repeated, np.concatenate([[0], np.cumsum(times)])[cuts])
    assert_array_equal(one.centroids_, two.centroids_)
    scale = 2 ** (one.stream_.clock.weight_bits - two.stream_.clock.weight_bits)
    for name in ("mass", "totals"):
        a, b = (np.array(getattr(model.stream_.sums, name), float) for model in (one, two))
        assert_allclose(a / scale, b, rtol=1e-12)


@each_form
def test_blocks_of_all_table_types_give_the_same_stream(make):
    X = stream_rows(missing=0)
    names = [f"c{j}" for j in range(D)]
    whole = feed(make(K, half_life=300, random_state=0), X)
    for form in (pd.DataFrame, pl.DataFrame, sparse.csr_array, sparse.coo_matrix):
        model = make(K, half_life=300, random_state=0)
        for a, b in pairwise(CUTS):
            is_frame = form in (pd.DataFrame, pl.DataFrame)
            model.partial_fit(
                form(
                    X[a:b],
                    **(
                        {"columns": names}
                        if form is pd.DataFrame
                        else {"schema": names}
                        if is_frame
                        else {}
                    ),
                )
            )
        assert_allclose(model.cluster_centers_, whole.cluster_centers_, rtol=1e-9)
        if make in EXACT.values():
            assert_array_equal(model.centroids_, whole.centroids_)
            assert_array_equal(model.labels_, whole.labels_)


@each_form
def test_labels_equal_those_of_predict(make):
    X = stream_rows()
    model = feed(make(K, half_life=200, random_state=0), X)
    assert_array_equal(model.labels_, model.predict(X[900:]))
    assert model.inertia_ == pytest.approx(-model.score(X[900:]))
    assert (model.n_steps_, model.n_samples_seen_) == (6, 1200)


@pytest.mark.parametrize("name", REAL)
def test_engines_agree_up_to_rounding_for_real_numbers(name):
    X = stream_rows()
    one, two = (
        feed(REAL[name](K, half_life=200, random_state=0, engine=engine), X)
        for engine in ("reference", "native")
    )
    assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-7)


def test_linear_centers_are_fading_means():
    """With a half-life, the center of one cluster is the mean of its rows weighted by 2^(-age/half-
    life).
    """
    X = stream_rows(1000, missing=0)
    model = feed(KernelKMeans(1, kernel="linear", half_life=100, scale=None), X, range(0, 1001, 50))
    w = 2.0 ** (np.arange(1000) / 100)
    assert_allclose(model.cluster_centers_[0], w @ X / w.sum(), atol=0.05)
    all_alike = feed(KernelKMeans(1, kernel="linear", scale=None), X, range(0, 1001, 50))
    assert_allclose(all_alike.cluster_centers_[0], X.mean(axis=0), rtol=1e-12)


def test_saved_pickled_and_cloned_models(tmp_path):
    X = stream_rows()
    model = feed(RectifiedEulerKMeans(K, half_life=200, random_state=0), X[:900], CUTS[:-1])
    save(model, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.get_params()["half_life"] == 200
    copy = pickle.loads(pickle.dumps(model))
    assert_same_stream(copy.partial_fit(X[900:]), model.partial_fit(X[900:]))
    assert not hasattr(clone(model), "stream_")
    loaded.partial_fit(X[900:])  # starts from the centroids of the file, which have no weight
    assert_allclose(
        np.sort(loaded.cluster_centers_, axis=0), np.sort(model.cluster_centers_, axis=0), atol=0.5
    )


def test_fit_discards_the_stream():
    X = stream_rows()
    model = feed(RectifiedEulerKMeans(K, random_state=0), X).fit(X)
    assert_same_fit(model, RectifiedEulerKMeans(K, random_state=0).fit(X))
    assert not hasattr(model, "stream_")


def test_a_cluster_without_rows_keeps_its_centroid():
    X = stream_rows(missing=0)
    model = RectifiedEulerKMeans(K, random_state=0).fit(X)
    before = model.cluster_centers_
    c = model.labels_[0]
    model.partial_fit(X[:1])
    assert_array_equal(np.delete(model.cluster_centers_, c, 0), np.delete(before, c, 0))


@pytest.mark.parametrize("kernel", sorted(set(KERNELS) - {"euler", "linear", "rbf", "laplace-l2"}))
def test_kernels_without_additive_sums_raise(kernel):
    with pytest.raises(ValueError, match="requires additive sums") as caught:
        KernelKMeans(
            2, kernel=kernel, centroids="mean" if kernel == "precomputed" else "rectified"
        ).partial_fit(np.eye(5))
    assert_message_states_fix(caught.value)


@pytest.mark.parametrize(
    ("change", "X", "words"),
    [
        ({}, stream_rows(2), "n_clusters=3 requires at least 3 rows"),
        ({"half_life": 0}, stream_rows(9), "half_life"),
        ({"half_life": "ten"}, stream_rows(9), "half_life"),
        ({}, lambda: iter([stream_rows(9)]), "partial_fit requires a block in memory"),
    ],
    ids=["few", "zero", "text", "iterator"],
)
def test_invalid_first_blocks_raise(change, X, words):
    with pytest.raises(ValueError, match=words) as caught:
        RectifiedEulerKMeans(K, **change).partial_fit(X)
    assert_message_states_fix(caught.value)


@each_exact
@pytest.mark.parametrize("weight", [1.0, 3.0, 64.0])
def test_rows_of_many_half_lives_give_the_same_sums_in_any_blocks(make, weight):
    X = stream_rows(40, gap=12.0, missing=0.0)
    start = make(K, half_life=1, random_state=0).fit(X)
    ends = {}
    for cuts in ((0, 40), (0, 1, 7, 40)):
        model = pickle.loads(pickle.dumps(start))
        model.partial_fit(X[:2], sample_weight=np.full(2, 64.0))  # the same first block
        for a, b in pairwise(cuts):
            model.partial_fit(X[a:b], sample_weight=np.full(b - a, weight))
        ends[cuts] = model
    assert_same_sums(*ends.values())


@pytest.mark.parametrize("weight", [1.0, 1e5])
def test_a_half_life_too_short_for_its_rows_raises(weight):
    X = stream_rows(500, missing=0)
    for model, weights in (
        (RectifiedEulerKMeans(K, half_life=1e-3 * weight), np.full(500, weight)),
        (RectifiedEulerKMeans(K, half_life=weight / 100).fit(X), np.full(500, weight)),
    ):
        with pytest.raises(
            ValueError, match=r"half_life=.*must be at least 1/64 of the weight"
        ) as caught:
            model.partial_fit(X, sample_weight=weights)
        assert_message_states_fix(caught.value)
        assert not hasattr(model, "stream_")
    with pytest.raises(ValueError, match=r"half_life=0\.001 .* \(here 0\.015625\)"):
        RectifiedEulerKMeans(K, half_life=1e-3).partial_fit(X)


def test_invalid_later_blocks_raise_and_change_nothing():
    X = pd.DataFrame(stream_rows(), columns=list("abcd"))
    model = RectifiedEulerKMeans(K, random_state=0).partial_fit(X)
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(X.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="X has 3 features"):
        model.partial_fit(X.to_numpy()[:, :3])
    with pytest.raises(ValueError, match="at most 64"):
        model.partial_fit(X, sample_weight=np.full(len(X), 65.0))
    with pytest.raises(ValueError, match="differs from the 3 clusters"):
        model.set_params(n_clusters=4).partial_fit(X)
    model.set_params(n_clusters=3)
    assert pickle.dumps(vars(model)) == before  # an invalid block changes nothing


@each_form
@pytest.mark.parametrize("first", [0, 980], ids=["integers", "subnormal"])
def test_a_column_missing_in_later_blocks_keeps_its_center(make, first):
    """Integer sums lose their last bits after 60 to 100 half-lives, real sums after 1022."""
    random = np.random.default_rng(0)
    rows = random.normal([0.0, 5.0], size=(400, 2))
    model = make(1, half_life=10, random_state=0).partial_fit(rows)
    later = np.c_[random.normal(size=10 * (first + 120)), np.full(10 * (first + 120), np.nan)]
    center = model.centroids_[0, 1]
    for block in np.split(later, range(10 * first, len(later), 20)):
        if len(block):
            model.partial_fit(block)
        assert abs(model.centroids_[0, 1] - center) <= 2.0**-22
