"""If several rows are equally far, an empty cluster moves to the first of them, on any engine and
with any blocks.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans import EulerKMeans, KernelKMeans, RectifiedEulerKMeans
from rekmeans.engines.native.exact import NativeRows
from rekmeans.engines.reference import ReferenceRows
from rekmeans.kernels.euler import Euler
from rekmeans.kernels.points import Linear
from rekmeans.scales import identity_scale
from rekmeans.table import MemoryTable
from rekmeans.watching import watch_passes

# rows 2 to 5 are equally far from 0
TIED = np.array([[0.0], [0.0], [1.0], [-1.0], [1.0], [-1.0], [0.0]])
WEIGHTS = np.array([2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 1.0])  # row 2 has no weight
METHODS = {
    "rectified": RectifiedEulerKMeans(2, alpha=0.25),
    "mean": EulerKMeans(2, alpha=0.25),
    "linear": KernelKMeans(2, kernel="linear"),
    "rbf": KernelKMeans(2, kernel="rbf", gamma=0.5),
    "rbf mean": KernelKMeans(2, kernel="rbf", centroids="mean", gamma=0.5),
}


def relocated_to(model, X, weights=None):
    """Return the value to which the empty second cluster moves in the first pass."""
    model.set_params(scale=None, init=[[0.0], [3.9]], max_iter=1).fit(X, sample_weight=weights)
    assert model.history_["n_relocated"][0] == 1
    labels = model.labels_
    assert (labels == 1).any()
    return float(X[labels == 1][0, 0])


@pytest.mark.parametrize("is_watched", [False, True])
@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("name", ["rectified", "mean", "linear", "rbf"])
def test_the_lowest_row_number_wins_on_any_engine(name, engine, is_watched):
    """Check watched fits, which return to Python after every pass, compiled fits, and shuffled
    rows, whose numbers differ.
    """
    model = METHODS[name].set_params(engine=engine)
    cases = [
        (TIED, None, 1.0),
        (TIED, WEIGHTS, -1.0),
        (TIED[::-1], None, -1.0),
        (-TIED, None, -1.0),
    ]
    for X, weights, place in cases:
        if is_watched:
            with watch_passes(lambda event: None):
                assert relocated_to(model, X, weights) == place
        else:
            assert relocated_to(model, X, weights) == place


@pytest.mark.parametrize("cuts", [[0, 7], [0, 3, 7], [0, 1, 2, 3, 4, 5, 6, 7], [0, 5, 6, 7]])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(
    "kernel", [Euler(identity_scale(1), alpha=0.25), Linear(identity_scale(1))]
)
def test_any_blocks_give_the_lowest_number(kernel, weights, cuts):
    rows = ReferenceRows(kernel, MemoryTable(TIED, weights), np.array(cuts))
    assert rows.farthest(kernel.from_points(np.zeros((1, 1)))).number == (
        2 if weights is None else 3
    )


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_any_number_of_threads_gives_the_lowest_number(n_threads):
    kernel = Euler(identity_scale(1), alpha=0.25)
    X = np.tile(TIED, (3000, 1))
    rows = NativeRows(kernel, MemoryTable(X), n_threads)
    assert rows.farthest(kernel.from_points(np.zeros((1, 1)))).number == 2


def test_without_ties_a_fit_does_not_depend_on_the_row_order():
    """Break the tie in the same tables: then any order of the rows gives the same fit."""
    X = TIED + np.arange(7)[:, None] / 128
    start = {"scale": None, "init": [[0.0], [3.9]]}
    for model in METHODS.values():
        plain = model.set_params(**start).fit(X).labels_.copy()
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(7)
            assert_array_equal(model.fit(X[order]).labels_, plain[order])
