"""scikit-learn's callbacks: tasks nest as fit > start > pass, can stop a fit, and keep its bits."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rekmeans import EulerKMeans, EulerMap, NeuralGas, RectifiedEulerKMeans, SelfOrganizingMap
from rekmeans.estimators.placement import place_fitted, starting_centroids
from support.assertions import assert_same_fit

callback = pytest.importorskip(
    "sklearn.callback", reason="scikit-learn before 1.9 has no callbacks"
)

X = np.random.default_rng(0).normal(size=(300, 4))
each_clusterer = pytest.mark.parametrize("clusterer", [EulerKMeans, RectifiedEulerKMeans])


class RecordingCallback:
    """A callback that records each hook with the path of its task, and stops if `stop(path)`."""

    def __init__(self, stop=lambda path: False):
        self.lines = []
        self.models = []
        self.stop = stop

    def setup(self, estimator, context):
        self.lines.append(("setup", path(context)))

    def teardown(self, estimator, context):
        self.lines.append(("teardown", path(context)))

    def on_fit_task_begin(self, estimator, context):
        self.lines.append(("begin", path(context)))

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.lines.append(("end", path(context)))
        if fitted_estimator is not None:
            self.models.append((path(context), fitted_estimator))
        return self.stop(path(context))

    def at(self, hook, depth):
        return [line[1] for line in self.lines if line[0] == hook and len(line[1]) == depth]


class PropagatingCallback(RecordingCallback):
    """A recording callback that a meta-estimator passes to its sub-estimators."""

    max_propagation_depth = None


def path(context):
    """Return the task names and numbers from the outermost level to this one."""
    above = () if context.parent is None else path(context.parent)
    return (*above, (context.task_name, context.task_id))


@each_clusterer
@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize(
    "params", [{}, {"init": "random", "n_init": 4}, {"max_iter": 2}, {"tol": 0.02}], ids=str
)
def test_callbacks_do_not_change_the_bits(clusterer, engine, params):
    model = clusterer(6, engine=engine, random_state=0, **params)
    assert_same_fit(clone(model).set_callbacks(RecordingCallback()).fit(X), model.fit(X))


@each_clusterer
def test_the_tasks_nest_as_fit_start_pass(clusterer):
    recording = RecordingCallback()
    model = clusterer(6, init="random", n_init=3, random_state=0).set_callbacks(recording).fit(X)
    fit = (("fit", 0),)
    assert recording.lines[:2] == [("setup", fit), ("begin", fit)]
    assert recording.lines[-2:] == [("end", fit), ("teardown", fit)]
    starts = [(*fit, ("start", s)) for s in range(3)]
    assert recording.at("begin", 2) == recording.at("end", 2) == starts
    assert recording.at("begin", 3) == recording.at("end", 3)
    open_tasks = []
    for hook, task in recording.lines[1:-1]:  # each task ends before its parent
        if hook == "begin":
            assert open_tasks == list(task[:-1]) or not open_tasks
            open_tasks.append(task[-1])
        else:
            assert open_tasks == list(task)
            open_tasks.pop()
    passes = [
        sum(task[:2] == start for task, _ in recording.models if len(task) == 3) for start in starts
    ]
    alone = [
        len(clusterer(6, init=init, random_state=0).fit(X).history_["inertia"])
        for init in first_points(model, 3)
    ]
    assert passes == alone


def first_points(model, n):
    """Return the initial centroids of the model's starts as arrays for `init`."""
    starts = list(starting_centroids(model, place_fitted(model, X)))
    return [model.kernel_.preimage(C, np.zeros((1, X.shape[1]))) for C in starts[:n]]


@each_clusterer
def test_each_pass_provides_the_estimator_fitted_so_far(clusterer):
    recording = RecordingCallback()
    model = clusterer(5, n_init=1, random_state=1).set_callbacks(recording).fit(X)
    *passes, last = [shown for _, shown in recording.models]
    objective = model.history_["inertia"]
    assert_array_equal([-shown.score(X) for shown in passes], objective)
    assert_array_equal([shown.inertia_ for shown in passes], objective)
    for t, shown in enumerate(passes):
        assert_array_equal(shown.predict(X), shown.labels_)
        assert_array_equal(shown.history_["inertia"], objective[: t + 1])
    for shown in (passes[-1], last):
        assert_same_fit(shown, model)


@pytest.mark.parametrize(
    "clusterer", [NeuralGas(4, stages=3, random_state=0), SelfOrganizingMap((2, 2), stages=3)]
)
def test_each_pass_of_an_annealed_fit_provides_the_history_so_far(clusterer):
    recording = RecordingCallback()
    fitted = clone(clusterer).set_callbacks(recording).fit(X)
    shown = [model for task, model in recording.models if task[-1][0] == "pass"]
    assert len(shown) == len(fitted.history_["reach"])
    assert len(np.unique(fitted.history_["reach"])) == 3
    for t, model in enumerate(shown):
        for name in ("inertia", "n_changed", "reach"):
            assert_array_equal(model.history_[name], fitted.history_[name][: t + 1])


def test_the_scoring_monitor_logs_each_pass():
    monitor = callback.ScoringMonitor(scoring={"score": lambda model, X, y: model.score(X)})
    model = (
        RectifiedEulerKMeans(5, n_init=1, random_state=1)
        .set_callbacks(monitor)
        .fit(X, np.zeros(len(X)))
    )
    scores = [score["score"] for *_, score in monitor._log]
    assert_array_equal(scores[:-1], -model.history_["inertia"])


@each_clusterer
def test_a_callback_can_stop_a_start_after_a_pass(clusterer):
    full = clusterer(6, init="random", n_init=1, random_state=0).fit(X)
    stopped = (
        clone(full).set_callbacks(RecordingCallback(lambda task: task[2:] == (("pass", 2),))).fit(X)
    )
    assert_array_equal(stopped.history_["inertia"], full.history_["inertia"][:3])
    assert stopped.n_iter_ == 3 < full.n_iter_
    assert_array_equal(stopped.predict(X), stopped.labels_)


def test_a_callback_can_stop_the_fit_after_a_start():
    model = RectifiedEulerKMeans(6, init="random", n_init=4, random_state=3)
    recording = RecordingCallback(lambda task: task[1:] == (("start", 0),))
    stopped = clone(model).set_callbacks(recording).fit(X)
    assert_same_fit(stopped, model.set_params(n_init=1).fit(X))
    assert len(recording.at("end", 2)) == 1


def test_the_progress_bars_nest(capsys):
    pytest.importorskip("rich")
    model = RectifiedEulerKMeans(6, init="random", n_init=2, random_state=0)
    model.set_callbacks(callback.ProgressBar()).fit(X)
    lines = [line for line in capsys.readouterr().out.splitlines() if "100%" in line]
    assert [line.split("━")[0].rstrip() for line in lines[-3:]] == [
        "RectifiedEulerKMeans - fit",
        "  RectifiedEulerKMeans - start #0",
        "  RectifiedEulerKMeans - start #1",
    ]


def test_callbacks_work_in_a_pipeline_and_a_search(recwarn):
    pipe = make_pipeline(EulerMap(), RectifiedEulerKMeans(4, n_init=1, random_state=0))
    plain = clone(pipe).fit(X)
    recording = PropagatingCallback()
    assert_same_fit(pipe.set_callbacks(recording).fit(X)[-1], plain[-1])
    # The map comes first, then the clusterer.
    assert [task[-1] for task in recording.at("begin", 2)] == [("fit", 0), ("fit", 1)]
    assert [task[-1] for task in recording.at("begin", 3)] == [("start", 0)]
    assert len(recording.at("end", 4)) >= len(plain[-1].history_["inertia"])
    recording = PropagatingCallback()
    search = GridSearchCV(RectifiedEulerKMeans(random_state=0), {"n_clusters": [2, 3]}, cv=2)
    expected = clone(search).fit(X).cv_results_["mean_test_score"]
    assert_array_equal(
        search.set_callbacks(recording).fit(X).cv_results_["mean_test_score"], expected
    )
    # 2 x 2 folds, and the refit.
    assert sum(task[-1] == ("start", 0) for _, task in recording.lines if task) >= 2 * 5
    assert not [str(w.message) for w in recwarn if "callback" in str(w.message)]


def test_the_map_has_one_task():
    recording = RecordingCallback()
    model = EulerMap().set_callbacks(recording).fit(X)
    fit = (("fit", 0),)
    assert recording.lines == [(hook, fit) for hook in ("setup", "begin", "end", "teardown")]
    assert_array_equal(recording.models[0][1].transform(X), model.transform(X))


def test_a_clone_keeps_its_callbacks():
    recording = RecordingCallback()
    clone(RectifiedEulerKMeans(3, random_state=0).set_callbacks(recording)).fit(X)
    assert recording.at("begin", 1) == [(("fit", 0),)]


@each_clusterer
def test_a_failing_callback_does_not_change_the_estimator(clusterer):
    def fail(task):
        raise RuntimeError("no more")

    recording = RecordingCallback(fail)
    model = clusterer(3, random_state=0).set_callbacks(recording)
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X)
    assert vars(model) == before
    assert recording.lines[-1][0] == "teardown"
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert_same_fit(model.set_callbacks().fit(X), clusterer(3, random_state=0).fit(X))


def test_verbose_prints_the_start_number_if_there_are_several(capsys):
    model = RectifiedEulerKMeans(6, init="random", n_init=3, random_state=0, verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    firsts = [line for line in lines if f"changed {len(X)} " in line]
    assert [line.split("  ")[0] for line in firsts] == [f"start {s}/3" for s in (1, 2, 3)]
    best = [line for line in lines if f"objective {model.inertia_:.6g} " in line]
    assert any(f"pass {len(model.history_['inertia'])} " in line for line in best)


@each_clusterer
@pytest.mark.parametrize("has_callbacks", [False, True])
def test_a_warning_refers_to_the_line_that_called_fit(clusterer, has_callbacks):
    model = clusterer(3).set_callbacks(*[RecordingCallback()] * has_callbacks)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(np.ones((5, 2)))
    assert {warning.filename for warning in caught} == {__file__}


OLD = """
import sys
import sklearn.pipeline  # needs sklearn.callback itself
sys.modules["sklearn.callback"] = None  # simulates scikit-learn before 1.9
import numpy as np
from rekmeans import EulerMap, RectifiedEulerKMeans
X = np.random.default_rng(0).normal(size=(300, 4))
assert not hasattr(RectifiedEulerKMeans, "set_callbacks")
model = RectifiedEulerKMeans(6, init="random", n_init=3, random_state=0, verbose=1)
model.fit(EulerMap().fit_transform(X))
print(repr(model.inertia_))
"""


def test_fits_do_not_depend_on_the_callback_support_of_scikit_learn():
    done = subprocess.run([sys.executable, "-c", OLD], capture_output=True, text=True, check=True)
    model = RectifiedEulerKMeans(6, init="random", n_init=3, random_state=0).fit(
        EulerMap().fit_transform(X)
    )
    assert done.stdout.splitlines()[-1] == repr(model.inertia_)
