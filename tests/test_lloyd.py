"""The loop with plain k-means, rectified RBF and fuzzy Euler, each against its oracle."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from rekmeans.assignment import Fuzzy, Hard
from rekmeans.centroids import mean, rectified
from rekmeans.engines.reference import ReferenceRows
from rekmeans.kernels.points import RBF, Linear
from rekmeans.lloyd import run
from rekmeans.model import Assignment, Model, Stop
from rekmeans.table import MemoryTable
from support import oracle
from support.models import euler, scale_of

SIGMA = 0.8
ALPHA = 0.3


def blobs(seed, n=150, d=4, k=4):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, (k, d))[rng.integers(0, k, n)] + 0.7 * rng.normal(size=(n, d))
    return X, X[:k]


def fit_of(kernel, assign, centroids, X, start, max_iter=300, weights=None, cuts=None):
    rows = ReferenceRows(kernel, MemoryTable(X, weights), cuts)
    return run(
        rows, Model(kernel, assign, centroids), kernel.from_points(start), Stop(max_iter, 0.0)
    )


def plain(X, start, **limits):
    return fit_of(Linear(scale_of(None, X)), Hard(), mean, X, start, **limits)


def welsch(X, start, **limits):
    return fit_of(
        RBF(scale_of(None, X), gamma=1 / (2 * SIGMA**2)), Hard(), rectified, X, start, **limits
    )


def fuzzy(fuzziness):
    return lambda X, start, **limits: fit_of(
        euler(ALPHA, scale_of(None, X)), Fuzzy(fuzziness), rectified, X, start, **limits
    )


CASES = {
    "k-means": (plain, lambda X, start, passes: oracle.kmeans(X, start, passes), 1e-9),
    "rectified rbf": (welsch, lambda X, start, passes: oracle.rbf(X, start, SIGMA, passes), 1e-9),
    "fuzzy 1.2": (
        fuzzy(1.2),
        lambda X, start, passes: oracle.fuzzy(X, start, ALPHA, 1.2, passes),
        1e-6,
    ),
    "fuzzy 2": (
        fuzzy(2.0),
        lambda X, start, passes: oracle.fuzzy(X, start, ALPHA, 2.0, passes),
        1e-6,
    ),
    "fuzzy 3": (
        fuzzy(3.0),
        lambda X, start, passes: oracle.fuzzy(X, start, ALPHA, 3.0, passes),
        1e-6,
    ),
}
cases = pytest.mark.parametrize("name", CASES)


@cases
@pytest.mark.parametrize("seed", range(3))
def test_every_pass_has_the_objective_of_the_oracle(name, seed):
    ours, paper, rtol = CASES[name]
    X, start = blobs(seed)
    fit = ours(X, start, max_iter=20)
    records = paper(X, start, 21)
    passes = len(fit.history["inertia"])
    assert passes >= min(len(records) - 1, 6)
    assert_allclose(
        fit.history["inertia"], [record.objective for record in records[:passes]], rtol=rtol
    )
    assert_array_equal(fit.labels, records[passes - 1].labels)


@cases
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_falls_to_the_final_value_of_the_oracle(name, seed):
    ours, paper, rtol = CASES[name]
    X, start = blobs(seed)
    fit = ours(X, start)
    last = paper(X, start, 301)[-1]
    assert (np.diff(fit.history["inertia"]) < 0).all()
    assert_allclose(fit.inertia, last.objective, rtol=rtol)


@pytest.mark.parametrize("seed", range(5))
def test_the_linear_kernel_agrees_with_scikit_learn(seed):
    X, start = blobs(seed, n=400)
    theirs = KMeans(len(start), init=start, n_init=1, algorithm="lloyd", tol=0).fit(X)
    fit = plain(X, start)
    assert_array_equal(fit.labels, theirs.labels_)
    assert_allclose(fit.centroids.x, theirs.cluster_centers_, rtol=1e-9)
    assert_allclose(fit.inertia, theirs.inertia_, rtol=1e-9)


@cases
def test_integer_weights_equal_repeated_rows_for_any_blocks(name):
    ours = CASES[name][0]
    X, start = blobs(7)
    times = np.random.default_rng(7).integers(1, 4, len(X))
    one = ours(np.repeat(X, times, axis=0), start, max_iter=10)
    two = ours(X, start, max_iter=10, weights=times.astype(float), cuts=np.array([0, 1, 64, 150]))
    assert_allclose(one.history["inertia"], two.history["inertia"], rtol=1e-9)
    assert_array_equal(one.labels, np.repeat(two.labels, times))


def test_a_row_on_one_centroid_belongs_to_it_and_a_row_on_two_belongs_to_both_equally():
    loss = np.array([[0.0, 4.0, 4.0], [0.0, 0.0, 9.0], [1.0, 1.0, 4.0]])
    labels, W, _ = Fuzzy(2.0)(loss, lambda D: D, np.ones(3))
    assert_array_equal(labels, [0, 0, 0])
    assert_allclose(np.sqrt(W), [[1, 0, 0], [0.5, 0.5, 0], [4 / 9, 4 / 9, 1 / 9]], rtol=1e-15)


class Losses:
    """Rows with given losses: the centroids are the index of the pass."""

    def __init__(self, losses):
        self.losses = losses
        self.kernel = SimpleNamespace(loss_unit=1.0)
        self.weight_bits = 0

    def start_run(self, model):
        return self

    def advance(self, state, stop, max_passes):
        return None

    def farthest(self, C):
        raise AssertionError("no cluster is empty")

    def assign(self, C):
        return Assignment(1, SimpleNamespace(loss=self.losses[C], mass=np.ones(1)))

    def update(self, sums, C):
        return C + 1


@pytest.mark.parametrize("loss", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("iteration", [1, 2, 3])
def test_the_error_for_a_non_finite_loss_names_the_iteration(loss, iteration):
    rows = Losses([9.0, 8.0, 7.0])
    rows.losses[iteration - 1] = np.float64(loss)
    with pytest.raises(ValueError, match=rf"^The loss of iteration {iteration} is {loss}: .* Use "):
        run(rows, SimpleNamespace(kernel=None), 0, Stop(10, 0.0))
