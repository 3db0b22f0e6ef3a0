"""The sample of recent rows is bounded, independent of blocks, and fades with the half-life."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rekmeans.table import MemoryTable
from rekmeans.table.recent_rows import MAX_RECENT, MIN_RECENT, RecentRows

N = 60_000
HALF_LIFE = 5000
NUMBERS = np.arange(N, dtype=float)[:, None]  # the value of each row is its row number
EPOCHS = np.arange(N) // HALF_LIFE


def feed(cuts, X=NUMBERS, epochs=EPOCHS, weights=None):
    recent = RecentRows()
    for a, b in pairwise(cuts):
        recent = recent.add(
            MemoryTable(X[a:b], None if weights is None else weights[a:b]), epochs[a:b]
        )
    return recent


def test_few_rows_are_all_kept():
    assert_array_equal(feed((0, 1, 4000)).X, NUMBERS[:4000])


@pytest.mark.parametrize(
    "cuts", [(0, N), (0, 1, 2, 30_000, N), tuple(range(0, N + 1, 500))], ids=len
)
def test_where_blocks_are_cut_does_not_show(cuts):
    recent = feed(cuts)
    assert MAX_RECENT / 3 < len(recent.levels) <= MAX_RECENT
    assert_array_equal(recent.X, feed((0, N // 3, N)).X)


def test_a_row_stays_half_as_likely_with_every_half_life():
    recent = feed((0, N))
    counts = np.bincount(recent.epochs, minlength=EPOCHS[-1] + 1)
    least = recent.least_level
    expected = HALF_LIFE * 2.0 ** np.minimum(0, np.arange(len(counts)) - least)
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1).all()


def test_weights_make_up_for_it():
    """The weight of the rows of each epoch is their number times 2^(epochs since)."""
    table = feed((0, N)).table({})
    weights = np.ones(len(table.X)) if table.weights is None else table.weights
    recent = feed((0, N))
    found = np.bincount(recent.epochs, weights, EPOCHS[-1] + 1)
    expected = 2.0 ** np.arange(-EPOCHS[-1], 1)
    share, at = found / found.sum(), expected / expected.sum()
    assert (np.abs(share - at) < 0.03).all()


def test_without_a_half_life_all_rows_are_as_likely():
    recent = feed((0, N), epochs=np.zeros(N, int))
    assert recent.table({}).weights is None
    assert abs(recent.X.mean() - N / 2) < 5 * N / np.sqrt(12 * len(recent.X))


def test_rows_of_weight_0_are_not_kept():
    weights = np.arange(4000) % 2 * 3.0
    table = feed((0, 4000), weights=weights).table({})
    assert_array_equal(table.X, NUMBERS[1:4000:2])


def test_sparse_rows_stay_sparse_and_wide_rows_are_few():
    X = sparse.csr_array(np.eye(3000, 200_000))
    recent = feed((0, 1000, 3000), X)
    assert sparse.issparse(recent.X)
    assert MIN_RECENT / 3 < recent.X.shape[0] <= MIN_RECENT
