"""What a hostile review of the seams found, each as the law it broke."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rekmeans import (
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
    watch_passes,
)
from rekmeans.centroids import CENTROIDS, rectified
from rekmeans.table.base import EXACT_ROWS

X = np.random.default_rng(0).normal(size=(300, 3))


class OwnRule(RectifiedEulerKMeans):
    """Rectified centroids by a rule of its own."""

    centroids = "own"


def test_a_new_centroid_rule_runs_on_the_reference(monkeypatch):
    monkeypatch.setitem(CENTROIDS, "own", lambda kernel, sums, C: rectified(kernel, sums, C))
    model = OwnRule(3, init=X[:3]).fit(X)
    assert model.engine_ == "reference"
    assert model.inertia_ == RectifiedEulerKMeans(3, init=X[:3]).fit(X).inertia_
    with pytest.raises(ValueError, match="engine='native' knows the centroid rules mean and rectified only"):
        OwnRule(3, init=X[:3], engine="native").fit(X)


@pytest.mark.parametrize("make", [FuzzyCMeans, NeuralGas, lambda k, **own: SelfOrganizingMap((1, k), **own)])
def test_soft_rules_take_more_columns_than_64_bits_hold(make):
    wide = np.random.default_rng(1).normal(size=(6, 33_000))
    model = make(2, init=wide[:2], max_iter=2).fit(wide)
    assert_array_equal(model.predict(wide), model.labels_)
    assert np.isfinite(model.inertia_)


def test_rows_of_no_weight_do_not_change_the_scale_of_a_large_table():
    table = np.random.default_rng(0).normal(size=(EXACT_ROWS - 1000, 2))
    more = np.concatenate([table, table[:2000] + 5])
    weights = np.concatenate([np.ones(len(table)), np.zeros(2000)])
    own = {"n_clusters": 3, "init": table[:3], "max_iter": 3}
    alone, beside = RectifiedEulerKMeans(**own).fit(table), RectifiedEulerKMeans(**own).fit(more, sample_weight=weights)
    assert alone.inertia_ == beside.inertia_
    assert_array_equal(alone.labels_, beside.labels_[: len(table)])


@pytest.mark.parametrize(
    "model", [SelfOrganizingMap((3, 3)), NeuralGas(5), SelfOrganizingMap((2, 2), n_init=3, init="random")]
)
@pytest.mark.parametrize("stop", [0, 3, 12])
def test_a_fit_stopped_in_any_stage_answers_as_it_was_left(model, stop):
    with watch_passes(lambda event: event.number == stop):
        model.set_params(random_state=0).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
    assert -model.score(X) == model.inertia_
    lengths = {name: len(values) for name, values in model.history_.items()}
    assert set(lengths.values()) == {len(model.history_["inertia"])}
    assert model.history_["stage"][-1] == model.stages - 1
    assert model.history_["reach"][-1] == model.reach


@pytest.mark.parametrize("answer", ["predict", "transform", "score", "score_samples"])
def test_an_engine_that_is_none_is_refused_in_every_answer(answer):
    model = RectifiedEulerKMeans(2, random_state=0).fit(X).set_params(engine="bogus")
    with pytest.raises(ValueError, match="engine must be one of"):
        getattr(model, answer)(X)


def test_answers_go_by_the_fitted_kernel_not_by_a_parameter_set_later():
    model = KernelKMeans(2, random_state=0).fit(X)
    labels = model.predict(X)
    assert_array_equal(model.set_params(kernel="bogus").predict(X), labels)


def test_an_estimator_of_any_parameter_can_be_shown():
    assert "KernelKMeans" in KernelKMeans(kernel=["rbf"])._repr_html_()


def test_a_wide_sparse_table_is_refused_before_it_is_made_dense():
    table = sparse.csr_array(([1.0, 2.0], ([0, 7], [1, 200_000])), shape=(5000, 300_000))
    with pytest.raises(ValueError, match="at most 500 are taken; got 300000"):
        MahalanobisFuzzyCMeans(2).fit(table)


def test_what_is_no_function_cannot_watch():
    with pytest.raises(TypeError, match="watch_passes needs a function of a PassEvent, got 3"), watch_passes(3):
        pass
