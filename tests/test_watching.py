"""watch_passes: the order of events, unchanged results, stopping, and the end of the context."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans import (
    FuzzyCMeans,
    NeuralGas,
    PassEvent,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
    watch_passes,
)
from rekmeans.watching import ACTIVE_CALLBACKS

X = np.random.default_rng(0).normal(size=(300, 4))
MODELS = {
    "one start": RectifiedEulerKMeans(6, random_state=0),
    "three starts": RectifiedEulerKMeans(6, init="random", n_init=3, random_state=0),
    "reference": RectifiedEulerKMeans(
        6, init="random", n_init=2, engine="reference", random_state=0
    ),
    "fuzzy": FuzzyCMeans(4, random_state=0),
    "stages": NeuralGas(5, random_state=0),
}


def fit_watched(model, callback):
    with watch_passes(callback):
        return model.fit(X)


def test_the_events_of_two_starts_come_in_order():
    events = []
    model = fit_watched(
        RectifiedEulerKMeans(6, init="random", n_init=2, random_state=0), events.append
    )
    passes = [sum(event.start == start for event in events) for start in range(2)]
    order = [(start, number) for start in range(2) for number in range(passes[start])]
    assert min(passes) > 1
    assert [(event.start, event.number) for event in events] == order
    assert {(type(event), event.n_starts, event.n_rows) for event in events} == {
        (PassEvent, 2, len(X))
    }
    assert [event.n_changed == len(X) for event in events] == [
        event.number == 0 for event in events
    ]
    courses = [[event for event in events if event.start == start] for start in range(2)]
    best = min(courses, key=lambda course: course[-1].inertia)
    for name in ("inertia", "n_changed", "n_relocated", "seconds"):
        assert_array_equal(model.history_[name], [getattr(event, name) for event in best])


@pytest.mark.parametrize("name", MODELS)
def test_watching_changes_only_the_times(name):
    unwatched = vars(MODELS[name].fit(X)).copy()
    watched = vars(fit_watched(MODELS[name], lambda event: None))
    assert watched.keys() == unwatched.keys()
    for key in ("labels_", "centroids_", "cluster_centers_", "inertia_", "n_iter_"):
        assert_array_equal(watched[key], unwatched[key])
    assert watched["history_"].keys() == unwatched["history_"].keys()
    for key in watched["history_"].keys() - {"seconds"}:
        assert_array_equal(watched["history_"][key], unwatched["history_"][key])


def test_a_callback_stops_only_the_current_start():
    model = RectifiedEulerKMeans(6, init="random", n_init=2, random_state=0)
    events, stopped = [], []
    fit_watched(model, events.append)
    last = max(event.number for event in events if event.start == 1)
    fit_watched(model, lambda event: stopped.append(event) or (event.start, event.number) == (0, 2))
    assert max(event.number for event in events if event.start == 0) > 2
    assert max(event.number for event in stopped if event.start == 0) == 2
    assert max(event.number for event in stopped if event.start == 1) == last


def test_a_stopped_fit_has_the_passes_up_to_the_stop():
    stopped = fit_watched(RectifiedEulerKMeans(6, init=X[:6]), lambda event: event.number == 2)
    assert stopped.n_iter_ == 3
    assert_array_equal(stopped.labels_, stopped.predict(X))


def test_nested_contexts_all_get_events_until_their_blocks_end():
    outer, inner, order = [], [], []
    model = RectifiedEulerKMeans(6, init=X[:6])
    with watch_passes(lambda event: outer.append(event) or order.append("outer")):
        with watch_passes(lambda event: inner.append(event) or order.append("inner")):
            model.fit(X)
        n = len(inner)
        assert outer == inner
        assert order == ["outer", "inner"] * n
        model.fit(X)
    assert (len(outer), len(inner)) == (2 * n, n)
    model.fit(X)
    assert (len(outer), len(inner)) == (2 * n, n)
    assert ACTIVE_CALLBACKS.get() == ()


def test_a_stop_by_one_callback_does_not_stop_the_others():
    events = []
    with watch_passes(lambda event: True), watch_passes(events.append):
        RectifiedEulerKMeans(6, init=X[:6]).fit(X)
    assert [event.number for event in events] == [0]


def test_an_error_in_a_callback_ends_the_fit_and_the_context():
    def fail(event):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fit_watched(RectifiedEulerKMeans(6, init=X[:6]), fail)
    assert ACTIVE_CALLBACKS.get() == ()


def test_another_thread_is_not_watched():
    events = []
    with watch_passes(events.append):
        thread = threading.Thread(target=RectifiedEulerKMeans(6, init=X[:6]).fit, args=(X,))
        thread.start()
        thread.join()
    assert events == []


def test_only_a_boolean_true_stops_the_fit():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = RectifiedEulerKMeans(4, random_state=0)
    unwatched = model.fit(X).n_iter_
    for answer in (5, "text", [1], np.int64(1)):
        with watch_passes(lambda event, answer=answer: answer):
            assert model.fit(X).n_iter_ == unwatched
    with watch_passes(lambda event: np.True_):
        assert model.fit(X).n_iter_ == 1


ROWS = np.random.default_rng(0).normal(size=(300, 3))


@pytest.mark.parametrize(
    "model",
    [SelfOrganizingMap((3, 3)), NeuralGas(5), SelfOrganizingMap((2, 2), n_init=3, init="random")],
)
@pytest.mark.parametrize("stop", [0, 3, 12])
def test_a_fit_stopped_in_any_stage_is_consistent(model, stop):
    with watch_passes(lambda event: event.number == stop):
        model.set_params(random_state=0).fit(ROWS)
    assert_array_equal(model.predict(ROWS), model.labels_)
    assert -model.score(ROWS) == model.inertia_
    lengths = {name: len(values) for name, values in model.history_.items()}
    assert set(lengths.values()) == {len(model.history_["inertia"])}
    assert model.history_["stage"][-1] == model.stages - 1
    assert model.history_["reach"][-1] == model.reach


def test_a_callback_that_is_not_a_function_raises():
    with (
        pytest.raises(TypeError, match="callback must be a function of a PassEvent; got 3"),
        watch_passes(3),
    ):
        pass
