"""The Euler clusterers as scikit-learn estimators: conventions, starts, stopping, history, failed
fits.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from rekmeans import REK1, REK2, EulerKMeans, EulerMap, RectifiedEulerKMeans
from rekmeans.estimators import base
from support.assertions import assert_same_fit
from support.euler import CLUSTERERS, blobs, each_clusterer
from support.sklearn_checks import weight_equivalence_failures
from support.tables import with_missing_cells


@parametrize_with_checks(
    [EulerKMeans(), RectifiedEulerKMeans(), EulerMap()],
    expected_failed_checks=weight_equivalence_failures,
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_rek1_and_rek2_are_the_rectified_class():
    assert REK1 is RectifiedEulerKMeans
    assert REK2 is RectifiedEulerKMeans


# a model and its data


@each_clusterer
def test_clones_and_pickles_give_the_same_results(clusterer):
    X = with_missing_cells(blobs())
    model = clusterer(3, alpha=0.6, scale="range", beyond="clip", random_state=4).fit(X)
    again = clone(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(again)
    assert_same_fit(again.fit(X), model)
    back = pickle.loads(pickle.dumps(model))
    assert_same_fit(back, model)
    for method in ("predict", "transform", "score_samples", "score"):
        assert_array_equal(getattr(back, method)(X), getattr(model, method)(X), err_msg=method)


@pytest.mark.parametrize(
    "estimator", [EulerKMeans(3, random_state=0), RectifiedEulerKMeans(3), EulerMap()]
)
@pytest.mark.parametrize("beyond", ["ignore", "clip", "wrap"])
def test_input_is_not_modified(estimator, beyond):
    X = with_missing_cells(blobs())
    w = np.arange(60.0)
    X[3] = 1e6
    before, weights = X.copy(), w.copy()
    model = clone(estimator).set_params(beyond=beyond).fit(X, sample_weight=w)
    model.transform(X)
    assert_array_equal(X, before)
    assert_array_equal(w, weights)


@each_clusterer
def test_parameters_are_not_modified(clusterer):
    start = blobs()[:3]
    model = clusterer(3, init=start, alpha=np.float32(0.5), n_init="auto")
    before = model.get_params()
    model.fit(blobs())
    assert all(model.get_params()[name] is value for name, value in before.items())


@each_clusterer
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
def test_results_depend_on_the_seed_only(clusterer, init):
    X = np.random.default_rng(5).random((80, 4))
    fits = [clusterer(8, init=init, n_init=1, random_state=seed).fit(X) for seed in (0, 0, 1, 2, 3)]
    assert_same_fit(fits[0], fits[1])
    assert len({fit.inertia_ for fit in fits}) > 1
    assert_same_fit(
        clone(fits[0]).set_params(random_state=np.random.RandomState(0)).fit(X), fits[0]
    )


@each_clusterer
def test_global_random_states_are_not_used(clusterer):
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    clusterer(3, random_state=0).fit(blobs())
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@each_clusterer
def test_the_number_of_threads_has_no_effect(clusterer):
    X = with_missing_cells(np.random.default_rng(2).random((400, 20)))
    one, two = (clusterer(5, n_threads=threads, random_state=0).fit(X) for threads in (1, 2))
    assert_same_fit(one, two)
    assert_array_equal(one.transform(X), two.transform(X))


@each_clusterer
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_a_common_weight_has_no_effect_on_tables_of_any_width(clusterer, engine):
    # blocks have a few hundred rows, and weighted sums exceed 64 bits
    X = np.random.default_rng(0).random((1000, 2000)) * 0.1
    factor = 3.0
    model = clusterer(1, scale=None, init=X[:1], engine=engine)
    plain = clone(model).fit(X)
    weighted = clone(model).fit(X, sample_weight=np.full(1000, factor))
    assert_array_equal(weighted.centroids_, plain.centroids_)
    assert_allclose(weighted.inertia_, factor * plain.inertia_, rtol=1e-12)


# Starts


@each_clusterer
def test_an_array_start_gives_the_first_centroids_in_units_of_x(clusterer):
    X = blobs() / 256
    start = X[:3]
    objective = CLUSTERERS[clusterer](X, start, 0.8, 1)[0].objective
    model = clusterer(3, alpha=0.8, scale=None, init=start).fit(X)
    assert_allclose(model.history_["inertia"][0], objective, rtol=1e-6)
    assert_same_fit(clone(model).set_params(init=start.tolist()).fit(X), model)


@each_clusterer
def test_a_callable_is_called_once_per_start(clusterer):
    X = blobs()
    asked = []

    def last_rows(table, k, random_state):
        asked.append((table.copy(), k, random_state))
        return table[-k:]

    model = clusterer(3, init=last_rows, random_state=0).fit(X)
    assert_same_fit(model, clusterer(3, init=X[-3:]).fit(X))
    assert len(asked) == 1
    assert_array_equal(asked[0][0], X)
    assert asked[0][1] == 3
    assert isinstance(asked[0][2], np.random.RandomState)
    clone(model).set_params(n_init=4).fit(X)
    assert len(asked) == 5


@pytest.mark.parametrize(("init", "starts"), [("k-means++", 1), ("random", 10), ("circle", 10)])
@pytest.mark.parametrize("n_init", ["auto", 3])
def test_n_init_counts_the_starts(monkeypatch, init, starts, n_init):
    found = []

    def count_starts(rows, stages, starts, *more):
        found.extend(starts)
        return best(rows, stages, found, *more)

    best = base.lloyd.fit_best_start
    monkeypatch.setattr(base.lloyd, "fit_best_start", count_starts)
    RectifiedEulerKMeans(4, init=init, n_init=n_init, random_state=0).fit(blobs())
    assert len(found) == (starts if n_init == "auto" else n_init)


@each_clusterer
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
def test_more_starts_are_never_worse(clusterer, init):
    X = np.random.default_rng(6).random((80, 4))
    seeds = range(5)
    counts = (1, 2, 4, 8)
    runs = [
        [clusterer(8, init=init, n_init=n, random_state=seed).fit(X).inertia_ for n in counts]
        for seed in seeds
    ]
    assert all(run == sorted(run, reverse=True) for run in runs)
    assert any(run[-1] < run[0] for run in runs)


# Stopping and history


@each_clusterer
@pytest.mark.parametrize("max_iter", [1, 2, 3, 300])
def test_max_iter_limits_the_passes_and_attributes_stay_consistent(clusterer, max_iter):
    X = np.random.default_rng(7).random((200, 3))
    start = X[:6]
    # max_iter updates, then a final assignment
    passes = CLUSTERERS[clusterer](X, start, 0.8, max_iter + 1)
    full = clusterer(6, alpha=0.8, scale=None, init=start).fit(X)
    model = clusterer(6, alpha=0.8, scale=None, init=start, max_iter=max_iter).fit(X)
    assert full.n_iter_ > 3
    assert model.n_iter_ == min(max_iter, full.n_iter_)
    n_passes = len(model.history_["inertia"])
    assert_array_equal(model.history_["inertia"], full.history_["inertia"][:n_passes])
    assert_array_equal(model.labels_, passes[-1].labels)
    assert_allclose(model.inertia_, passes[-1].objective, rtol=1e-6)
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose((model.transform(X).min(axis=1) ** 2).sum(), model.inertia_, rtol=1e-12)


@each_clusterer
@pytest.mark.parametrize("tol", [0.3, 0.03, 0.003])
def test_tol_stops_at_the_first_small_decrease(clusterer, tol):
    X = np.random.default_rng(8).random((300, 3))
    start = X[:8]
    full = clusterer(8, init=start).fit(X)
    model = clusterer(8, init=start, tol=tol).fit(X)
    objective = full.history_["inertia"]
    falls = 1 - objective[1:] / objective[:-1]
    # the pass with the first small decrease is kept and is the last one
    first = int(np.argmax(falls <= tol)) + 1
    assert first + 1 < len(objective)
    assert_array_equal(model.history_["inertia"], objective[: first + 1])
    assert_array_equal(model.predict(X), model.labels_)


@each_clusterer
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
def test_the_history_has_one_entry_per_pass(clusterer, init):
    X = np.random.default_rng(9).random((150, 3))
    model = clusterer(7, init=init, random_state=0).fit(X)
    assert set(model.history_) == {"inertia", "n_changed", "n_relocated", "seconds"}
    assert {len(values) for values in model.history_.values()} == {len(model.history_["inertia"])}
    assert model.n_iter_ <= len(model.history_["inertia"]) <= model.n_iter_ + 1
    assert model.history_["inertia"][-1] == model.inertia_
    assert (np.diff(model.history_["inertia"]) < 0).all()
    assert model.history_["n_changed"][0] == len(X)
    assert (model.history_["seconds"] >= 0).all()


@pytest.mark.parametrize("starts", [1, 3])
def test_verbose_prints_one_line_per_pass(capsys, starts):
    X = np.random.default_rng(9).random((150, 3))
    fits = RectifiedEulerKMeans(5, init="random", n_init=starts, random_state=0)
    fits.fit(X)
    assert capsys.readouterr().out == ""
    fits.set_params(verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    # in the first pass of a start, all rows change
    firsts = [i for i, line in enumerate(lines) if f"changed {len(X)} " in line]
    passes = np.diff([*firsts, len(lines)])
    assert len(firsts) == starts
    assert len(fits.history_["inertia"]) in passes
    assert any(f"objective {fits.inertia_:.6g} " in line for line in lines)
    if starts == 1:
        assert [line.split()[3] for line in lines] == [
            f"{value:.6g}" for value in fits.history_["inertia"]
        ]
        assert [line.split()[:2] for line in lines] == [
            ["pass", str(t + 1)] for t in range(len(lines))
        ]


def test_rows_without_kept_values_are_counted_in_a_warning():
    random = np.random.default_rng(0)
    X = np.vstack([random.standard_normal((95, 2)), 20 + random.standard_normal((5, 2))])
    with pytest.warns(UserWarning, match=r"5 of 100 rows have no kept value.*beyond='clip'"):
        RectifiedEulerKMeans(2, random_state=0).fit(X)
    labels = RectifiedEulerKMeans(2, scale="range", random_state=0).fit(X).labels_
    assert len(set(labels[95:])) == 1
    assert set(labels[95:]).isdisjoint(labels[:95])


# Failed fits


def failing_init(X, k, random_state):
    raise RuntimeError("no start")


FAILURES = {
    "alpha": ({"alpha": -1.0}, lambda X: X),
    "engine": ({"engine": "abacus"}, lambda X: X),
    "init shape": ({"init": np.zeros((9, 9))}, lambda X: X),
    "init callable": ({"init": failing_init}, lambda X: X),
    "infinity": ({}, lambda X: np.where(X == X[0, 0], np.inf, X)),
    "too few rows": ({}, lambda X: X[:2]),
    "1-D": ({}, lambda X: X[:, 0]),
}

each_failure = pytest.mark.parametrize(("parameters", "spoiled"), FAILURES.values(), ids=FAILURES)


@each_clusterer
@each_failure
def test_a_failed_fit_sets_no_attributes(clusterer, parameters, spoiled):
    model = clusterer(3, random_state=0).set_params(**parameters)
    with pytest.raises((ValueError, RuntimeError)):
        model.fit(spoiled(blobs()))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]


@each_clusterer
@each_failure
@pytest.mark.parametrize("columns", [2, 3])
def test_a_failed_refit_keeps_the_old_fit(clusterer, parameters, spoiled, columns):
    X = pd.DataFrame(blobs(), columns=list("abc"))
    model = clusterer(3, random_state=0).fit(X)
    before = pickle.loads(pickle.dumps(model))
    old = model.get_params()
    with pytest.raises((ValueError, RuntimeError)):
        model.set_params(**parameters).fit(spoiled(blobs(seed=1)[:, :columns]))
    model.set_params(**old)
    assert_same_fit(model, before)
    assert_array_equal(model.predict(X), before.predict(X))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_failed_refit_of_a_map_keeps_the_old_scale():
    X = blobs()
    euler = EulerMap().fit(X)
    F = euler.transform(X)
    with pytest.raises(ValueError, match="infinity"):
        euler.fit(np.full((3, 2), np.inf))
    assert_array_equal(euler.transform(X), F)
