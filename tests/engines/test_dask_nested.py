"""Fits of Dask collections inside tasks of the same cluster."""

import dask
import pytest
from dask import array
from distributed import Client, LocalCluster
from numpy.testing import assert_array_equal

from rekmeans import RectifiedEulerKMeans
from support.streams import stream_rows

K = 4
X = stream_rows()
TIMEOUT = 10
CONFIG = {"rekmeans.timeout": TIMEOUT}

pytestmark = pytest.mark.filterwarnings("ignore::rekmeans.scales.left_out.IgnoredValuesWarning")


def fit_in_task(rows, seed):
    model = RectifiedEulerKMeans(K, random_state=seed).fit(rows)
    return model.engine_, model.inertia_, model.labels_.compute()


@pytest.mark.parametrize(("n_workers", "processes"), [(1, True), (2, True), (1, False)])
def test_fits_in_tasks_give_the_same_fits_as_in_memory(n_workers, processes):
    """Run several fits in parallel, on workers with one thread, of a collection of tasks and of a
    persisted one.
    """
    lazy = array.from_array(X, chunks=(250, 3))
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=processes, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        # not in the tasks: their threads may share a process, where the last one to leave would
        # restore the setting of another
        dask.config.set(CONFIG),
    ):
        if processes:
            client.run(dask.config.set, CONFIG)
        tasks = [
            client.submit(fit_in_task, X, seed)
            for seed, X in enumerate([lazy, lazy, client.persist(lazy)])
        ]
        for seed, task in enumerate(tasks):
            engine, inertia, labels = task.result(timeout=6 * TIMEOUT)
            expected = RectifiedEulerKMeans(K, random_state=seed).fit(X)
            assert (engine, inertia) == ("dask", expected.inertia_)
            assert_array_equal(labels, expected.labels_)
