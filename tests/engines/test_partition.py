"""Partitions and the labels that a process keeps for them, with several threads."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from dask import array

from rekmeans import RectifiedEulerKMeans
from rekmeans.engines.dask.partition import Partition, PassRequest, keep_labels, kept_labels
from rekmeans.engines.native import Native
from rekmeans.estimators.placement import place_for_fit
from support.assertions import assert_same_fit
from support.streams import stream_rows

K = 4
N_THREADS = 4
X = stream_rows()
POINTS = np.random.default_rng(5).uniform(-2, 14, (K, 3))

pytestmark = [
    pytest.mark.filterwarnings("ignore::rekmeans.scales.left_out.IgnoredValuesWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture
def frequent_switches():
    """Switch threads as often as Python allows."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_threads_keep_labels_of_their_own_runs(frequent_switches):
    labels = np.zeros(1, np.int32)

    def keep_many(thread):
        for number in range(5000):
            keep_labels(PassRequest(f"{thread}-{number}", 0, None, None, None), 0, labels)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(keep_many, range(8)))


def test_kept_labels_belong_to_the_previous_pass():
    labels = np.arange(3)
    keep_labels(PassRequest("kept", 4, None, None, None), 2, labels)
    assert kept_labels(PassRequest("kept", 5, None, None, None), 2) is labels
    assert kept_labels(PassRequest("kept", 6, None, None, None), 2) is None
    assert kept_labels(PassRequest("kept", 5, None, None, None), 3) is None
    assert kept_labels(PassRequest("other", 5, None, None, None), 2) is None


def test_fits_in_threads_give_the_same_fit_as_in_memory(frequent_switches):
    lazy = array.from_array(X, chunks=(101, 3))

    def fit(seed):
        return RectifiedEulerKMeans(K, init="random", n_init=3, random_state=seed).fit(lazy)

    with ThreadPoolExecutor(N_THREADS) as pool:
        fits = list(pool.map(fit, range(2 * N_THREADS)))
    for seed, one in enumerate(fits):
        assert_same_fit(
            one, RectifiedEulerKMeans(K, init="random", n_init=3, random_state=seed).fit(X)
        )


def place_on_native(stages):
    return lambda table: Native().place(stages, table, 1, None)


def test_a_kept_partition_gives_each_thread_the_same_pass(frequent_switches):
    placed = place_for_fit(RectifiedEulerKMeans(K, random_state=0), np.tile(X, (20, 1)))
    kernel = placed.model.kernel
    before = kernel.from_points(POINTS)
    C = kernel.from_points(POINTS + 0.5)
    expected = None
    for attempt in range(20):
        part = Partition(place_on_native(placed.stages), placed.table, 0, is_kept=True)
        part.assign(PassRequest("run", 0, placed.model, None, before))
        with ThreadPoolExecutor(N_THREADS) as pool:
            one = PassRequest("run", 1, placed.model, before, C)
            found = [n_changed for n_changed, _, _ in pool.map(part.assign, [one] * N_THREADS)]
        expected = found[0] if expected is None else expected
        assert expected > 0
        assert found == [expected] * N_THREADS, attempt
