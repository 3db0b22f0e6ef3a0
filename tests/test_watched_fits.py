"""verbose=1 and scikit-learn's callbacks do not change the bits or the history of a fit."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from rekmeans import RectifiedEulerKMeans
from support.assertions import assert_same_fit
from support.clusterers import CLUSTERERS

try:
    import sklearn.callback  # noqa: F401
except ImportError:  # callbacks came with scikit-learn 1.9
    HAS_CALLBACKS = False
else:
    HAS_CALLBACKS = True

N = 60
RNG = np.random.default_rng(8)
X = RNG.uniform(0, 3, (4, 3))[RNG.integers(0, 4, N)] + 0.4 * RNG.standard_t(4, (N, 3))
SIMILARITY = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))  # (N, N)
LARGE = RNG.uniform(0, 3, (12, 12))[RNG.integers(0, 12, 30_000)] + 0.8 * RNG.standard_t(
    4, (30_000, 12)
)
# A precomputed kernel has no rectified centroids.
NAMES = [name for name in CLUSTERERS if name != "KernelKMeans-precomputed-rectified"]
WAYS = {
    "one start": {"n_init": 1},
    "three starts": {"init": "random", "n_init": 3},
    "two passes": {"n_init": 1, "max_iter": 2},
    "a tolerance": {"n_init": 1, "tol": 0.02},
}


class CountingCallback:
    """A callback that counts finished tasks and never stops a fit."""

    def __init__(self):
        self.n_tasks = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.n_tasks += 1
        return False


def fit_quietly(model, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # empty clusters and rows out of range
        return model.fit(table)


def verbose_fit(model, table, capsys):
    capsys.readouterr()
    watched = fit_quietly(clone(model).set_params(verbose=1), table)
    assert len(capsys.readouterr().out.splitlines()) >= watched.n_iter_
    return watched


def fit_with_callbacks(model, table, capsys):
    if not HAS_CALLBACKS:
        pytest.skip("scikit-learn before 1.9 has no callbacks")
    counting = CountingCallback()
    watched = fit_quietly(clone(model).set_callbacks(counting), table)
    assert counting.n_tasks > watched.n_iter_
    return watched


WATCHED = {"verbose": verbose_fit, "callbacks": fit_with_callbacks}
each_watch = pytest.mark.parametrize("watch", WATCHED)


def table_of(name):
    return SIMILARITY if "precomputed" in name else X


@each_watch
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_a_watched_fit_equals_the_unwatched_fit(name, way, watch, capsys):
    model = CLUSTERERS[name](random_state=0, **({"max_iter": 20} | WAYS[way]))
    table = table_of(name)
    assert_same_fit(WATCHED[watch](model, table, capsys), fit_quietly(clone(model), table))


@each_watch
@pytest.mark.parametrize("name", NAMES)
def test_a_watched_fit_uses_the_engine_of_the_unwatched_fit(name, watch, capsys):
    model = CLUSTERERS[name](random_state=0, n_init=1, max_iter=5)
    table = table_of(name)
    unwatched = fit_quietly(clone(model), table)
    assert isinstance(unwatched.engine_, str)
    assert WATCHED[watch](model, table, capsys).engine_ == unwatched.engine_


@each_watch
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_a_large_watched_fit_equals_the_unwatched_fit(init, watch, capsys):
    """The compiled shortcut for small fits is not used, because n d k is above 2^22."""
    model = RectifiedEulerKMeans(12, init=init, n_init=2, max_iter=30, random_state=0)
    assert LARGE.size * model.n_clusters > 2**22
    assert_same_fit(WATCHED[watch](model, LARGE, capsys), fit_quietly(clone(model), LARGE))
