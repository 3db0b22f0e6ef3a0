"""Short fits at the start: bits of all engines, weights as repeated rows, the best of several."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans import EulerKMeans, RectifiedEulerKMeans, lloyd, seeding, short_fits
from rekmeans.engines.native import exact
from rekmeans.estimators.placement import place_for_fit
from rekmeans.model import Stop
from rekmeans.seeding import SeedingPlan, greedy_rows

K = 6
RANDOM = np.random.default_rng(4)
GROUPS = RANDOM.integers(0, K, 600)
X = RANDOM.normal(0, 4, (K, 3))[GROUPS] + RANDOM.normal(size=(600, 3))
GAPS = np.where(RANDOM.random(X.shape) < 0.05, np.nan, X)
GAPS[np.isnan(GAPS).all(axis=1)] = 0.0


@pytest.fixture
def large(monkeypatch):
    """Treat a table of 600 rows as large."""
    monkeypatch.setattr(short_fits, "SMALL", 0)
    monkeypatch.setattr(short_fits, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(short_fits, "ROWS_PER_CLUSTER", 10)


@pytest.fixture
def many(monkeypatch):
    """Treat six clusters as many."""
    monkeypatch.setattr(seeding, "MANY_CLUSTERS", 6)
    monkeypatch.setattr(short_fits, "MANY_CLUSTERS", 6)


@pytest.fixture
def most(many, monkeypatch):
    """Treat six clusters as too many for greedy seeding."""
    monkeypatch.setattr(seeding, "NOT_GREEDY", 6)


@pytest.fixture
def swaps(monkeypatch):
    """Use more swaps instead of more short fits for six clusters."""
    monkeypatch.setattr(short_fits, "FEW_CLUSTERS", 6)


@pytest.fixture
def one_by_one(monkeypatch):
    """Disable short fits in a single call of the core."""
    monkeypatch.setattr(exact, "MAX_SHORT_FIT_WORK", 0)


def fit(method=RectifiedEulerKMeans, rows=X, weights=None, **parameters):
    return method(K, n_init=1, random_state=0, **parameters).fit(rows, sample_weight=weights)


def assert_same_fit(one, other):
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.centroids_, other.centroids_)
    assert_array_equal(one.history_["inertia"], other.history_["inertia"])


CASES = [
    [],
    ["large"],
    ["many"],
    ["most"],
    ["swaps"],
    ["swaps", "one_by_one"],
    ["large", "one_by_one"],
]


@pytest.mark.parametrize("case", CASES, ids=" and ".join)
@pytest.mark.parametrize("method", [RectifiedEulerKMeans, EulerKMeans])
@pytest.mark.parametrize("weights", [None, np.arange(600) % 4], ids=["", "weights"])
@pytest.mark.parametrize("rows", [X, GAPS], ids=["", "gaps"])
def test_the_fit_does_not_depend_on_engine_threads_or_memory(request, case, method, weights, rows):
    for name in case:
        request.getfixturevalue(name)
    reference = fit(method, rows, weights, engine="reference")
    for parameters in ({}, {"n_threads": 1}, {"n_threads": 5}, {"memory_limit": 1}):
        assert_same_fit(fit(method, rows, weights, engine="native", **parameters), reference)


@pytest.mark.parametrize("case", [[], ["large"], ["many"], ["large", "most"]], ids=" and ".join)
def test_integer_weights_equal_repeated_rows(request, case):
    for name in case:
        request.getfixturevalue(name)
    times = np.arange(600) % 3
    weighted = fit(weights=times.astype(float))
    repeated = fit(rows=np.repeat(X, times, axis=0))
    assert_array_equal(np.repeat(weighted.labels_, times), repeated.labels_)
    assert_array_equal(weighted.centroids_, repeated.centroids_)


@pytest.mark.usefixtures("large")
def test_passes_on_the_sample_improve_the_start_and_are_not_counted():
    model = fit()
    assert len(model.history_["inertia"]) <= model.n_iter_ + 1
    plain = fit(init=lambda X, k, random_state: X[:K])
    assert model.history_["inertia"][0] < plain.history_["inertia"][0]
    assert model.inertia_ <= plain.inertia_


def test_the_start_is_the_result_of_the_best_short_fit():
    estimator = RectifiedEulerKMeans(K, n_init=1, random_state=0)
    placed = place_for_fit(estimator, X)
    bits, again = np.random.PCG64(3), np.random.PCG64(3)
    found = short_fits.best_short_fit(placed.rows, placed.model, K, bits, 0.0)
    plan = SeedingPlan(K, *short_fits.SWAPS_OF_FEW)
    starts = [greedy_rows(placed.rows, plan, again) for _ in range(short_fits.FITS_OF_SMALL)]
    ends = [
        lloyd.run_to_end(placed.rows, placed.model, C, Stop(short_fits.PASSES, 0.0)).state
        for C in starts
    ]
    assert len({end.loss for end in ends}) > 1
    assert found == min(ends, key=lambda end: end.loss).centroids
    assert bits.random_raw() == again.random_raw()  # both used the same number of words


@pytest.mark.parametrize(("k", "batches"), [(1, 0), (2, 0), (2, 5), (7, 25), (31, 0), (99, 99)])
def test_a_plan_counts_the_random_words_of_a_start(k, batches):
    bits, again = np.random.PCG64(3), np.random.PCG64(3)
    rows = place_for_fit(RectifiedEulerKMeans(k), RANDOM.normal(size=(500, 2))).rows
    plan = SeedingPlan(k, batches)
    greedy_rows(rows, plan, bits)
    again.random_raw(plan.n_words)
    assert bits.random_raw() == again.random_raw()


@pytest.mark.usefixtures("many")
def test_candidates_are_weighted_by_the_number_of_their_nearest_rows(monkeypatch):
    monkeypatch.setattr(seeding, "DRAWS", 20)
    rows = place_for_fit(RectifiedEulerKMeans(K), X).rows
    candidates = seeding._weighted_candidates(rows, K, np.random.PCG64(0))
    weights = candidates.table.weights
    assert K < len(candidates) < len(rows)
    assert weights.sum() == len(rows)
    F, P = (part.core.grid(np.arange(len(part))).astype(np.int64) for part in (rows, candidates))
    nearest = ((F[:, None] - P) ** 2).sum(axis=2).argmin(axis=1)
    assert_array_equal(weights, np.bincount(nearest, minlength=len(P)))
