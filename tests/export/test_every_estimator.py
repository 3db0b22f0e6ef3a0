"""Every estimator and kernel is saved and loaded with its fitted state and its stream."""

import pickle
import warnings
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from rekmeans import (
    EulerKMeans,
    EulerMap,
    FuzzyCMeans,
    KernelKMeans,
    RectifiedEulerKMeans,
    load,
    save,
)
from rekmeans.export import model_file
from rekmeans.kernels import KERNELS
from rekmeans.kernels.points import Linear
from rekmeans.model import Centroids
from rekmeans.scales import SCALES, range_scale
from rekmeans.table import MemoryTable
from support.assertions import raises_mentioning
from support.clusterers import CLUSTERERS
from support.model_files import assert_same, read_parts, write_parts

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(70, 3)) + 4 * RANDOM.integers(0, 3, (70, 1))
WEIGHTS = RANDOM.random(70) + 0.25
GAPS = X.copy()
GAPS[RANDOM.random(X.shape) < 0.1] = np.nan
GAPS[np.isnan(GAPS).all(axis=1)] = 0.0
SIMILARITY = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 8)
NAMES = [name for name in CLUSTERERS if name != "KernelKMeans-precomputed-rectified"]
METHODS = ("predict", "transform", "score_samples", "memberships")

pytestmark = pytest.mark.filterwarnings("ignore")


def saved_and_loaded(model, folder):
    save(model, folder / "model")
    return load(folder / "model")


def tables(name):
    """Return rows and weights that an estimator supports, with and without names and gaps."""
    if "precomputed" in name:
        return [(SIMILARITY, None), (SIMILARITY, WEIGHTS)]
    named = pd.DataFrame(X, columns=["a", "b", "c"])
    some = [(X, None), (named, WEIGHTS), (sparse.csr_array(X), None)]
    return some if "Mahalanobis" in name else [*some, (GAPS, None), (GAPS, WEIGHTS)]


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_clusterer_is_the_saved_one(name, tmp_path):
    for rows, weights in tables(name):
        model = CLUSTERERS[name](random_state=1).fit(rows, sample_weight=weights)
        same = saved_and_loaded(model, tmp_path)
        assert_same(same, model)
        methods = METHODS[:1] if "precomputed" in name else METHODS
        for method in methods:
            if hasattr(model, method):
                expected = getattr(model, method)(rows)
                assert_array_equal(getattr(same, method)(rows), expected, err_msg=method)
        save(same, tmp_path / "again")
        assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
        assert_same(pickle.loads(pickle.dumps(same)), model)
        assert_same(clone(same).get_params(), clone(model).get_params())


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_clusterer_fits_as_the_saved_one(name, tmp_path):
    rows = SIMILARITY if "precomputed" in name else X
    model = CLUSTERERS[name](random_state=1).fit(rows)
    again = saved_and_loaded(model, tmp_path).fit(rows)
    assert_array_equal(again.labels_, model.labels_)
    assert_array_equal(again.centroids_, model.centroids_)


@pytest.mark.parametrize("name", NAMES)
def test_no_fitted_attribute_is_left_behind(name, tmp_path):
    """A new attribute must be in `fitted_state` or be computed from the centroids."""
    model = CLUSTERERS[name](random_state=1).fit(SIMILARITY if "precomputed" in name else X)
    assert vars(saved_and_loaded(model, tmp_path)).keys() == vars(model).keys()


def test_the_order_in_memory_is_kept(tmp_path):
    """The order of the arrays affects the last bit of matrix products."""
    model = KernelKMeans(3, kernel="rbf", centroids="mean", random_state=0).fit(
        np.asfortranarray(X)
    )
    same = saved_and_loaded(model, tmp_path)
    for one, two in (
        (same.centroids_, model.centroids_),
        (same.kernel_.fitted, model.kernel_.fitted),
    ):
        assert one.flags.f_contiguous == two.flags.f_contiguous
        assert one.flags.c_contiguous == two.flags.c_contiguous


def test_arrays_of_rows_can_be_left_out(tmp_path):
    model = FuzzyCMeans(3, random_state=0).fit(X)
    save(model, tmp_path / "model", labels=False)
    same = load(tmp_path / "model")
    assert vars(model).keys() - vars(same).keys() == {"labels_", "memberships_"}
    assert_array_equal(same.memberships(X), model.memberships_)


# streams

STREAMS = {
    "EulerKMeans": partial(EulerKMeans, 3),
    "RectifiedEulerKMeans": partial(RectifiedEulerKMeans, 3),
    "RectifiedEulerKMeans-reference": partial(RectifiedEulerKMeans, 3, engine="reference"),
    "RectifiedEulerKMeans-bare": partial(RectifiedEulerKMeans, 3, scale=None, alpha=0.3),
    **{
        f"KernelKMeans-{kernel}-{rule}": partial(KernelKMeans, 3, kernel=kernel, centroids=rule)
        for kernel, rule in (
            ("euler", "rectified"),
            ("euler", "mean"),
            ("linear", "mean"),
            ("rbf", "rectified"),
            ("laplace-l2", "rectified"),
        )
    },
}


def blocks():
    """Return blocks with gaps, weights and names, some of them sparse; the last blocks drift."""
    random = np.random.default_rng(8)
    for number in range(6):
        B = random.normal(size=(40, 3)) + 4 * random.integers(0, 3, (40, 1))
        B += 30 * (number > 3)
        B[random.random(B.shape) < 0.05] = np.nan
        B[np.isnan(B).all(axis=1)] = 1.0
        yield B, None if number % 2 else random.random(40) + 0.5


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("half_life", [None, 25.0])
def test_a_loaded_stream_continues_to_the_same_bits(name, half_life, tmp_path):
    model = STREAMS[name](half_life=half_life, random_state=0)
    loaded = None
    for number, (block, weights) in enumerate(blocks()):
        model.partial_fit(block, sample_weight=weights)
        if loaded is not None:
            loaded.partial_fit(block, sample_weight=weights)
            for one in (model, loaded):
                del one.history_["seconds"]
            assert_same(loaded, model)
            for one in (model, loaded):
                one.history_["seconds"] = np.zeros(2)
        loaded = saved_and_loaded(model, tmp_path)
        assert_same(loaded, model)
        assert loaded.n_steps_ == number + 1


def test_a_stream_of_sparse_blocks_is_stored(tmp_path):
    rows = sparse.csr_array(np.where(RANDOM.random((50, 4)) < 0.5, 0.0, 1 + RANDOM.random((50, 4))))
    model = RectifiedEulerKMeans(3, random_state=0).partial_fit(rows)
    loaded = saved_and_loaded(model, tmp_path)
    assert_same(loaded, model)
    assert_array_equal(
        loaded.partial_fit(rows[:30]).centroids_, model.partial_fit(rows[:30]).centroids_
    )


def test_a_stream_can_be_left_out(tmp_path):
    model = RectifiedEulerKMeans(3, random_state=0).partial_fit(X)
    save(model, tmp_path / "model", stream=False)
    same = load(tmp_path / "model")
    assert vars(model).keys() - vars(same).keys() == {"stream_", "n_steps_", "n_samples_seen_"}
    assert_array_equal(same.predict(X), model.predict(X))


def test_a_registered_scale_stays_as_it_is_in_a_loaded_stream(tmp_path, monkeypatch):
    given = range_scale(MemoryTable(X, None).column_summary())
    monkeypatch.setitem(SCALES, "mine", lambda summary: given)
    model = RectifiedEulerKMeans(3, scale="mine", random_state=0).partial_fit(X)
    loaded = saved_and_loaded(model, tmp_path)
    far = np.concatenate([X, X + 100, X + 200])  # more than 5 % of the cells lie outside
    with warnings.catch_warnings(action="error"):
        loaded.partial_fit(far)
    assert_array_equal(loaded.centroids_, model.partial_fit(far).centroids_)
    assert_array_equal(loaded.scale_.high, given.high)


# a kernel of another package


@dataclass(frozen=True, eq=False)
class Where(Centroids):
    """A third-party record of centroids."""

    x: np.ndarray
    moved: np.ndarray


@dataclass(frozen=True)
class Foreign(Linear):
    """Plain k-means with a third-party record of centroids."""

    name: ClassVar[str] = "foreign"
    parameters: ClassVar[tuple[str, ...]] = ("gamma",)

    gamma: float = 1.0

    def mean(self, sums, C):
        x = super().mean(sums, C).x
        return Where(x, x - C.x)

    def from_rows(self, F, fallback=None):
        return Where(super().from_rows(F, fallback).x, np.zeros((len(F), F.shape[1])))

    def to_public(self, C):
        return {"centroids_": C.x, "moved_": C.moved}

    def from_public(self, attributes):
        return Where(attributes["centroids_"], attributes["moved_"])


def test_a_registered_kernel_is_stored_without_further_registration(tmp_path, monkeypatch):
    monkeypatch.setitem(KERNELS, "foreign", Foreign)
    model = KernelKMeans(3, kernel="foreign", gamma=0.5, random_state=0, init="random").fit(X)
    assert_same(saved_and_loaded(model, tmp_path), model)
    monkeypatch.delitem(KERNELS, "foreign")
    with raises_mentioning(
        ValueError, "contains no valid model", "kernel must be one of", "'foreign'"
    ):
        load(tmp_path / "model")


# the size of a file


@pytest.mark.filterwarnings("default")
def test_a_file_that_consists_of_rows_reports_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "LARGE_FILE", 5000)
    many = np.tile(X, (3, 1))
    mean = KernelKMeans(3, kernel="rbf", centroids="mean", random_state=0).fit(many)
    with pytest.warns(UserWarning, match="kB for the rows of the fit.*centroids='rect") as caught:
        save(mean, tmp_path / "model")
    size = (tmp_path / "model").stat().st_size
    assert f"takes {size / 1000:.3g} kB" in str(caught[0].message)
    assert caught[0].filename == __file__
    precomputed = KernelKMeans(3, kernel="precomputed", centroids="mean", random_state=0)
    with pytest.warns(UserWarning, match="Fit fewer rows"):
        save(precomputed.fit(np.tile(SIMILARITY, (3, 3))), tmp_path / "model")
    stream = RectifiedEulerKMeans(3, random_state=0).partial_fit(many)
    with pytest.warns(UserWarning, match="stream=False"):
        save(stream, tmp_path / "model")
    with warnings.catch_warnings(action="error"):
        save(stream, tmp_path / "model", stream=False)
        save(KernelKMeans(3, kernel="rbf", random_state=0).fit(X), tmp_path / "model")


# what cannot be written


def test_a_model_whose_kernel_was_renamed_is_refused(tmp_path):
    model = KernelKMeans(3, kernel="rbf", random_state=0).fit(X).set_params(kernel="laplace")
    with raises_mentioning(ValueError, "select the kernel Laplace", "fitted with RBF"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_centres_that_are_no_numbers_are_refused_when_the_file_is_written(tmp_path):
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    model.cluster_centers_ = np.full((3, 3), np.nan)
    with raises_mentioning(ValueError, "cluster_centers_ must not contain NaN"):
        save(model, tmp_path / "model")


# the column schema


ROWS_WITH_TEXT = pd.DataFrame(
    {
        "id": np.arange(len(X)) + 7000,
        "size": X[:, 0],
        "price": [f"${value:,.2f}" for value in 1000 * X[:, 1]],
        "city": ["Zürich", "Oslo"] * (len(X) // 2) + ["Rome"] * (len(X) % 2),
    }
)


@pytest.mark.filterwarnings("ignore:Ignored columns")
@pytest.mark.parametrize("make", [lambda: RectifiedEulerKMeans(3, random_state=0), EulerMap])
def test_a_column_schema_is_stored_and_restored(make, tmp_path):
    assert not hasattr(saved_and_loaded(make().fit(X), tmp_path), "schema_")
    model = make().fit(ROWS_WITH_TEXT)
    assert model.schema_.feature_names == ["size", "price"]
    same = saved_and_loaded(model, tmp_path)
    assert_same(same, model)
    assert_array_equal(same.transform(ROWS_WITH_TEXT), model.transform(ROWS_WITH_TEXT))
    header, arrays = read_parts(tmp_path / "model")
    columns = header["schema"]["columns"]
    for schema, words in (
        ({"kinds": 1}, "schema"),
        (
            header["schema"] | {"columns": columns[:2]},
            "the scale has 2 columns, but the model has 1",
        ),
    ):
        write_parts(tmp_path / "bad", header | {"schema": schema}, arrays)
        with raises_mentioning(ValueError, "no valid model", words):
            load(tmp_path / "bad")
