"""The core computes all distances of small tables: the bits of the reference for any width and
weights.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans.assignment import Hard
from rekmeans.centroids import CENTROIDS
from rekmeans.engines.native.exact import NativeRows
from rekmeans.engines.reference import ReferenceRows
from rekmeans.model import Model, Stop
from rekmeans.seeding import SeedingPlan
from rekmeans.short_fits import _best_run
from rekmeans.table import MemoryTable
from support.models import euler, scale_of
from support.native import SETS

ROWS = 61
K = 5
PLAN = SeedingPlan(K, 4, 4)
STOP = Stop(6, 0.0)
WIDTHS = (1, 13, 31, 32, 33, 64)  # float64 sums of up to 31 columns are exact
WEIGHTS = {
    "none": lambda random: None,
    "counts": lambda random: random.integers(0, 4, ROWS).astype(float),
    "reals": lambda random: random.uniform(0.5, 1, ROWS),
    "one heavy row": lambda random: np.where(np.arange(ROWS) == 7, 2.0**20, 1.0),
}


def assert_same_best_fit(table, kernel, rule):
    """Compare the best of three drawn starts, in one call of the core and one by one in the
    reference.
    """
    model = Model(kernel, Hard(), rule)
    words = np.random.PCG64(1).random_raw(3 * PLAN.n_words).reshape(3, -1)
    found = NativeRows(kernel, table).start_run(model).fit_drawn_starts(PLAN, words, STOP)
    expected = _best_run(ReferenceRows(kernel, table), model, PLAN, words, STOP)
    assert_array_equal(found.centroids.f, expected.centroids.f)
    assert found.loss == expected.loss
    assert [one.n_changed for one in found.passes] == [one.n_changed for one in expected.passes]


@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize("rule", CENTROIDS.values(), ids=CENTROIDS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("d", WIDTHS)
def test_drawn_fits_equal_those_of_the_reference(d, weights, rule, instructions, monkeypatch):
    monkeypatch.setenv("REKMEANS_ISA", instructions)
    random = np.random.default_rng(d)
    X = random.normal(0, 2, (K, d))[random.integers(0, K, ROWS)] + random.normal(size=(ROWS, d))
    X[random.random(X.shape) < 0.1] = np.nan
    X[np.isnan(X).all(axis=1)] = 0.0
    w = WEIGHTS[weights](random)
    assert_same_best_fit(MemoryTable(X, w), euler(0.9, scale_of("robust", X, w), "ignore"), rule)


@pytest.mark.parametrize("d", WIDTHS)
def test_rows_on_opposite_sides_of_all_circles_have_the_largest_distances(d):
    random = np.random.default_rng(3)
    X = (
        np.where(random.random((ROWS, d)) < 0.5, 0.0, 1.0)
        + np.where(np.arange(ROWS) < 20, 1e-3, 0.0)[:, None]
    )
    X[0] = 0.0
    X[1] = 1.0
    assert_same_best_fit(
        MemoryTable(X), euler(1.0, scale_of("range", X), "wrap"), CENTROIDS["rectified"]
    )
