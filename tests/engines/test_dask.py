"""Fits of Dask collections have the same bits as in memory, for any partitions, on threads and on a
cluster.
"""

import os
import pickle
import signal
import threading
import time
from itertools import pairwise

import dask
import numpy as np
import pytest
from dask import array, bag
from dask import dataframe as dd
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import (
    EulerKMeans,
    EulerMap,
    FuzzyCMeans,
    KernelKMeans,
    RectifiedEulerKMeans,
    watch_passes,
)
from rekmeans.engines.dask.partition import Partition, PassRequest, merge_results
from rekmeans.engines.dask.sharing import share_partitions
from rekmeans.engines.dask.worker_groups import WorkerGroups
from rekmeans.engines.native import Native
from rekmeans.estimators.placement import place_for_fit
from rekmeans.short_fits import SMALL
from rekmeans.table import MemoryTable
from support.assertions import assert_same_fit, raises_mentioning
from support.streams import CUTS, frame, parquet_folder, stream_rows, stream_weights

K = 4
X = stream_rows()
W = stream_weights()
POINTS = np.random.default_rng(5).uniform(-2, 14, (K, 3))
UNEVEN = tuple(np.diff(CUTS).tolist())  # partitions with a single row, no rows and many rows
PARTITIONS = {
    "uneven": UNEVEN,
    "one": (1000,),
    "many": (31,) * 32 + (8,),
    "first empty": (0, 500, 0, 500, 0),
}

pytestmark = [
    pytest.mark.filterwarnings("ignore::rekmeans.scales.left_out.IgnoredValuesWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
weighted = pytest.mark.parametrize("w", [None, W], ids=["equal", "weighted"])


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GB"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


def collection(rows, partitions="uneven"):
    lengths = PARTITIONS[partitions]
    return array.from_array(rows, chunks=(lengths, *rows.shape[1:]))


def unknown_lengths(w=None):
    """Return a data frame with an empty partition and unknown partition lengths."""
    whole = frame(X, w)
    parts = [dask.delayed(whole[a:b]) for a, b in pairwise(CUTS)]
    return dd.from_delayed(parts, meta=whole[:0])


def fit(estimator, X, w=None, **parameters):
    return estimator(K, **{"random_state": 0} | parameters).fit(X, sample_weight=w)


@weighted
@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("estimator", [EulerKMeans, RectifiedEulerKMeans])
def test_any_partitions_give_the_same_fit_as_in_memory(estimator, partitions, w):
    weights = None if w is None else collection(w, partitions)
    lazy = fit(estimator, collection(X, partitions), weights)
    assert_same_fit(lazy, fit(estimator, X, w))
    assert lazy.engine_ == "dask (local threads)"
    assert isinstance(lazy.labels_, array.Array)


@weighted
@pytest.mark.parametrize(
    "init",
    ["k-means++", "k-means||", "random", "circle", POINTS],
    ids=["plus", "parallel", "random", "circle", "points"],
)
def test_frames_of_unknown_lengths_give_the_same_fit_as_in_memory(w, init):
    lazy = fit(
        RectifiedEulerKMeans, unknown_lengths(w), None if w is None else "w", init=init, n_init=2
    )
    assert_same_fit(lazy, fit(RectifiedEulerKMeans, X, w, init=init, n_init=2))
    assert list(lazy.feature_names_in_) == ["c0", "c1", "c2"]


@weighted
@pytest.mark.parametrize("partitions", PARTITIONS)
def test_k_means_parallel_draws_from_all_partitions(partitions, w):
    weights = None if w is None else collection(w, partitions)
    lazy = fit(
        RectifiedEulerKMeans, collection(X, partitions), weights, init="k-means||", max_iter=1
    )
    assert_same_fit(lazy, fit(RectifiedEulerKMeans, X, w, init="k-means||", max_iter=1))


@weighted
@pytest.mark.parametrize("init", ["k-means++", "k-means||", "random"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplace-l2"])
def test_float_kernels_agree_with_the_fit_in_memory(kernel, init, w):
    parameters = {"kernel": kernel, "init": init, "n_init": 1}
    lazy = fit(KernelKMeans, collection(X), None if w is None else collection(w), **parameters)
    memory = fit(KernelKMeans, X, w, **parameters)
    assert_allclose(lazy.cluster_centers_, memory.cluster_centers_, rtol=1e-9)
    assert_array_equal(lazy.labels_.compute(), memory.labels_)
    assert lazy.inertia_ == pytest.approx(memory.inertia_, rel=1e-12)
    assert lazy.n_iter_ == memory.n_iter_


def test_parquet_and_column_chunks_give_the_same_fit_as_in_memory(tmp_path):
    memory = fit(RectifiedEulerKMeans, X)
    assert_same_fit(
        fit(RectifiedEulerKMeans, dd.read_parquet(parquet_folder(tmp_path, X, None))), memory
    )
    assert_same_fit(fit(RectifiedEulerKMeans, array.from_array(X, chunks=(300, 2))), memory)
    assert_same_fit(fit(RectifiedEulerKMeans, collection(X), W), fit(RectifiedEulerKMeans, X, W))


def test_seeding_on_a_sample_gives_the_same_fit_as_in_memory():
    large = stream_rows(SMALL // 6 + 1000, 3)
    for init in ("k-means++", "k-means||", "random"):
        lazy = fit(
            RectifiedEulerKMeans, array.from_array(large, chunks=(7001, 3)), init=init, n_init=1
        )
        assert_same_fit(lazy, fit(RectifiedEulerKMeans, large, init=init, n_init=1))


def test_empty_clusters_move_to_the_farthest_row_of_all_partitions():
    points = np.concatenate([POINTS[:1], POINTS[:1], POINTS[:1], POINTS[:1] + 500])
    lazy = fit(RectifiedEulerKMeans, collection(X), init=points, scale="range")
    assert lazy.history_["n_relocated"].sum() > 0
    assert_same_fit(lazy, fit(RectifiedEulerKMeans, X, init=points, scale="range"))


def test_results_are_lazy_and_equal_those_in_memory():
    model = fit(RectifiedEulerKMeans, X)
    n_read = []

    def read(a, b):
        n_read.append(b - a)
        return X[a:b]

    parts = [
        array.from_delayed(dask.delayed(read)(a, b), (np.nan, 3), float) for a, b in pairwise(CUTS)
    ]
    lazy = array.concatenate(parts, allow_unknown_chunksizes=True)
    results = [model.predict(lazy), model.transform(lazy), model.score_samples(lazy)]
    assert n_read == []
    for answer, expected in zip(
        results, [model.predict(X), model.transform(X), model.score_samples(X)], strict=True
    ):
        assert isinstance(answer, array.Array)
        assert_array_equal(answer.compute(), expected)
    assert model.score(collection(X), sample_weight=W) == model.score(X, sample_weight=W)


# one partition


def test_a_partition_without_the_last_pass_counts_the_same_changes():
    placed = place_for_fit(RectifiedEulerKMeans(K, random_state=0), X)
    model = placed.model
    kernel = placed.model.kernel
    centroids = [kernel.from_points(POINTS + step) for step in (0.0, 0.5, 1.0)]

    def counts(is_kept, forget):
        part = Partition(PlaceOnNative(placed.stages), placed.table, 0, is_kept)
        found = []
        for t, C in enumerate(centroids):
            part = pickle.loads(pickle.dumps(part)) if forget else part
            run = f"{is_kept}{forget}" + (str(t) if forget and not is_kept else "")
            found.append(
                part.assign(PassRequest(run, t, model, centroids[t - 1] if t else None, C))
            )
        return [n_changed for n_changed, _, _ in found], [sums.loss for _, sums, _ in found]

    run = placed.rows.start_run(model)
    expected = [run.assign(C) for C in centroids]
    wanted = [one.n_changed for one in expected]
    assert wanted[0] == len(X) > wanted[1] > 0
    for is_kept in (False, True):
        for forget in (False, True):
            assert counts(is_kept, forget)[0] == wanted


class PlaceOnNative:
    """A function that maps tables on the native engine and can be pickled."""

    def __init__(self, stages):
        self.stages = stages

    def __call__(self, table):
        return Native().place(self.stages, table, 1, None)


def test_merge_results_keeps_the_order_and_skips_none():
    assert merge_results(lambda a, b: a + b, [None, "a", None, "b", "c"]) == "abc"
    assert merge_results(lambda a, b: a + b, [None]) is None


def test_partitions_move_only_if_a_worker_has_too_many():
    owners = [["a"], ["a"], ["a"], ["b"], [], ["a", "b"]]
    assert share_partitions(owners, {"a": 1, "b": 1}) == {"a": [0, 1, 2], "b": [3, 5, 4]}
    assert share_partitions(owners, {"a": 2, "b": 1}) == {"a": [0, 1, 2, 5], "b": [3, 4]}
    assert share_partitions([["gone"]] * 3, {"a": 1, "b": 1}) == {"a": [0, 1], "b": [2]}


# a cluster of worker processes


@weighted
def test_a_cluster_gives_the_same_fit_as_in_memory(client, w):
    lazy = fit(RectifiedEulerKMeans, collection(X), None if w is None else collection(w))
    assert lazy.engine_ == "dask"
    assert_same_fit(lazy, fit(RectifiedEulerKMeans, X, w))
    frames = fit(
        EulerKMeans, unknown_lengths(w), None if w is None else "w", init="random", n_init=2
    )
    assert_same_fit(frames, fit(EulerKMeans, X, w, init="random", n_init=2))


@pytest.fixture
def on_one_worker(client):
    """Return kept partitions of 100 rows, all on the first worker, with a pass over them and its
    result.
    """
    placed = place_for_fit(RectifiedEulerKMeans(K, random_state=0), X)
    kernel = placed.model.kernel
    place = PlaceOnNative(placed.stages)
    tables = [MemoryTable(X[at : at + 100]) for at in range(0, len(X), 100)]
    first = list(client.scheduler_info(n_workers=-1)["workers"])[:1]
    futures = [
        client.submit(Partition, place, table, i, True, workers=first)
        for i, table in enumerate(tables)
    ]
    one = PassRequest("run", 0, placed.model, None, kernel.from_points(POINTS))
    return (
        WorkerGroups(futures, lambda: 0.0),
        one,
        placed.rows.start_run(placed.model).assign(one.C).sums.fetch(),
    )


def test_surplus_partitions_move_to_other_workers(client, on_one_worker):
    groups, one, expected = on_one_worker
    found = groups.assign(client, one, max_partitions=5)
    assert (found.n_changed, found.sums.loss) == (len(X), expected.loss)
    assert_array_equal(found.sums.totals, expected.totals)
    holders = client.who_has(groups.futures)
    assert sorted(len(holders[future.key]) for future in groups.futures) == [1] * 5 + [2] * 5


def test_a_pass_is_one_message_to_the_scheduler(client, on_one_worker):
    groups, one, _ = on_one_worker

    def count_messages():
        return sum(event["action"] == "update-graph" for _, event in client.get_events(client.id))

    groups.assign(client, one, max_partitions=5)
    before = count_messages()
    for number in range(1, 4):
        groups.assign(client, one._replace(number=number, before=one.C), max_partitions=5)
    assert count_messages() - before == 3


def test_labels_do_not_depend_on_the_cluster(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2)
        lazy = fit(RectifiedEulerKMeans, collection(X))
    assert_array_equal(
        lazy.labels_.compute(scheduler="threads"), fit(RectifiedEulerKMeans, X).labels_
    )


def worker_pids(client):
    return list(client.run(os.getpid).values())


def fit_while(client, act, seconds):
    """Return a fit during which `act(pid of a worker)` is called this many seconds after the second
    pass has started.
    """
    pids = worker_pids(client)
    timers = []

    def start_timer(event):
        if event.number == 0 and not timers:
            timers.append(threading.Timer(seconds, act, [pids[0]]))
            timers[0].start()

    rows = np.tile(X, (20, 1))
    with watch_passes(start_timer):
        lazy = fit(
            RectifiedEulerKMeans, array.from_array(rows, chunks=(997, 3)), init=POINTS, n_init=1
        )
    timers[0].join()
    assert_same_fit(lazy, fit(RectifiedEulerKMeans, rows, init=POINTS, n_init=1))


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def test_killing_a_worker_does_not_change_the_result(client):
    fit_while(client, kill, 0.02)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_killing_a_worker_at_any_time_does_not_change_the_result(client, seed):
    fit_while(client, kill, np.random.default_rng(seed).uniform(0, 0.3))


@pytest.mark.long
def test_the_error_names_a_worker_that_never_finishes(cluster):
    with Client(cluster) as client, dask.config.set({"rekmeans.timeout": 3}):
        client.wait_for_workers(2)
        addresses = {pid: worker for worker, pid in client.run(os.getpid).items()}
        pid = next(iter(addresses))
        try:
            with raises_mentioning(TimeoutError, addresses[pid], "not finished a task for 3 s"):
                fit_while(client, lambda pid: os.kill(pid, signal.SIGSTOP), 0.0)
        finally:
            os.kill(pid, signal.SIGCONT)
    time.sleep(1)


@pytest.mark.long
@pytest.mark.parametrize("n_workers", [1, 4])
def test_any_number_of_workers_gives_the_same_fit_as_in_memory(n_workers):
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        for partitions in PARTITIONS:
            lazy = fit(RectifiedEulerKMeans, collection(X, partitions), collection(W, partitions))
            assert_same_fit(lazy, fit(RectifiedEulerKMeans, X, W))


# errors


def test_fits_that_need_all_rows_raise_an_error():
    with raises_mentioning(ValueError, "all rows at once", "'laplace'", "a table that is"):
        KernelKMeans(K, kernel="laplace").fit(collection(X))
    with raises_mentioning(ValueError, "only hard assignment"):
        FuzzyCMeans(K).fit(collection(X))
    with raises_mentioning(ValueError, "engine='native' does not support Dask collections"):
        RectifiedEulerKMeans(K, engine="native").fit(collection(X))
    with raises_mentioning(ValueError, "engine='reference' does not support Dask collections"):
        RectifiedEulerKMeans(K, engine="reference").fit(collection(X))
    with raises_mentioning(
        ValueError, "engine='dask' supports only a dask.array or a dask.dataframe"
    ):
        RectifiedEulerKMeans(K, engine="dask").fit(X)
    with raises_mentioning(TypeError, "a Dask", "X.compute()"):
        EulerMap().fit(collection(X))


def test_other_collections_and_invalid_rows_raise_an_error():
    with raises_mentioning(TypeError, "2-D dask.array or a dask.dataframe"):
        RectifiedEulerKMeans(K).fit(bag.from_sequence([1, 2]))
    with raises_mentioning(TypeError, "2-D dask.array or a dask.dataframe"):
        RectifiedEulerKMeans(K).fit(collection(X)[:, 0])
    bad = X.copy()
    bad[600, 1] = np.inf
    with raises_mentioning(ValueError, "in partition 4 of X", "infinity in row 88, column 1"):
        RectifiedEulerKMeans(K).fit(collection(bad))
    with pytest.warns(UserWarning, match=r"Ignored columns of X: c1 \(text\)"):
        model = RectifiedEulerKMeans(K, random_state=0).fit(unknown_lengths().assign(c1="text"))
    assert "c1" not in model.feature_names_in_
    with raises_mentioning(ValueError, "sample_weight='v' is not a column of X"):
        RectifiedEulerKMeans(K).fit(unknown_lengths(W), sample_weight="v")
    with raises_mentioning(ValueError, "partition lengths of X are unknown"):
        RectifiedEulerKMeans(K).fit(unknown_lengths(), sample_weight=W)
    with raises_mentioning(ValueError, "must have as many partitions as X (6), got 1"):
        RectifiedEulerKMeans(K).fit(
            unknown_lengths(), sample_weight=array.from_array(W, chunks=1000)
        )
    with raises_mentioning(ValueError, "at least 2000 rows"):
        RectifiedEulerKMeans(2000).fit(collection(X))
