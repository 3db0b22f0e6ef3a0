"""Starts of large and wide tables: the same bits on every engine, weights as repeated rows, a better start."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans import EulerKMeans, RectifiedEulerKMeans, sample_fits
from rekmeans.sample_fits import sample_start
from rekmeans.seeding import plus_plus

K = 6
RANDOM = np.random.default_rng(4)
GROUPS = RANDOM.integers(0, K, 600)
X = RANDOM.normal(0, 4, (K, 3))[GROUPS] + RANDOM.normal(size=(600, 3))


@pytest.fixture
def large(monkeypatch):
    """A table of 600 rows is large."""
    monkeypatch.setattr(sample_fits, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(sample_fits, "ROWS_PER_CLUSTER", 10)


def fit(method=RectifiedEulerKMeans, rows=X, weights=None, **parameters):
    return method(K, n_init=1, random_state=0, **parameters).fit(rows, sample_weight=weights)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("method", [RectifiedEulerKMeans, EulerKMeans])
@pytest.mark.parametrize("weights", [None, np.arange(600) % 4], ids=["", "weights"])
def test_engines_threads_and_memory_give_the_same_fit(method, weights):
    reference = fit(method, weights=weights, engine="reference")
    for parameters in ({}, {"n_threads": 1}, {"n_threads": 5}, {"memory_limit": 1}):
        native = fit(method, weights=weights, engine="native", **parameters)
        assert_array_equal(native.labels_, reference.labels_)
        assert_array_equal(native.centroids_, reference.centroids_)
        assert_array_equal(native.history_["inertia"], reference.history_["inertia"])


@pytest.mark.usefixtures("large")
def test_a_weight_is_the_row_so_many_times():
    times = np.arange(600) % 3
    weighted = fit(weights=times.astype(float))
    repeated = fit(rows=np.repeat(X, times, axis=0))
    assert_array_equal(np.repeat(weighted.labels_, times), repeated.labels_)
    assert_array_equal(weighted.centroids_, repeated.centroids_)


@pytest.mark.usefixtures("large")
def test_passes_on_the_sample_are_not_counted_and_the_start_is_where_they_end():
    model = fit()
    first = model.history_["inertia"][0]
    assert len(model.history_["inertia"]) <= model.n_iter_ + 1
    plain = sample_fits.LARGE
    try:
        sample_fits.LARGE = 10**9
        without = fit()
    finally:
        sample_fits.LARGE = plain
    assert first < without.history_["inertia"][0]  # seeds are rows, and settled centroids are not
    assert model.inertia_ <= without.inertia_ * 1.05


def test_small_tables_start_as_before():
    class Rows:
        kernel = fit().kernel_

        def __len__(self):
            return 600

    asked = []
    sample_start(lambda *given: asked.append(given), None, 0.0)(Rows(), K, None)
    assert len(asked) == 1


def test_wide_tables_make_several_short_fits(monkeypatch):
    monkeypatch.setattr(sample_fits, "WIDE", 3)
    calls = []
    monkeypatch.setattr("rekmeans.seeding.STARTS", {"k-means++": lambda *given: calls.append(1) or plus_plus(*given)})
    fit()
    assert len(calls) == sample_fits.N_FITS
