"""The partitions that the workers of a cluster keep, with and without memory limits."""

from pathlib import Path

import dask
import numpy as np
import pytest
from dask import array
from distributed import Client, LocalCluster

from rekmeans import RectifiedEulerKMeans
from rekmeans.engines.dask import sharing
from rekmeans.engines.dask.sharing import memory_on_workers
from rekmeans.machine_memory import machine_memory
from support.assertions import assert_same_fit
from support.streams import stream_rows

K = 4
N_PARTITIONS = 5
SIZE = 200
X = stream_rows()
POINTS = np.random.default_rng(5).uniform(-2, 14, (K, 3))

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def read_rows(at, log):
    with Path(log).open("a") as file:
        file.write("x")
    return X[at : at + SIZE]


def count_reads(log, max_iter):
    """Return how often a fit with this number of passes reads partitions."""
    parts = [
        array.from_delayed(dask.delayed(read_rows)(at, str(log)), (SIZE, 3), float)
        for at in range(0, 1000, SIZE)
    ]
    log.write_text("")
    lazy = RectifiedEulerKMeans(K, init=POINTS, scale="range", max_iter=max_iter).fit(
        array.concatenate(parts)
    )
    n_reads = log.stat().st_size
    assert lazy.n_iter_ == max_iter
    assert_same_fit(
        lazy, RectifiedEulerKMeans(K, init=POINTS, scale="range", max_iter=max_iter).fit(X)
    )
    return n_reads


def test_workers_without_a_memory_limit_keep_partitions_of_a_share_of_the_machine(
    tmp_path, monkeypatch
):
    """Check that passes over kept partitions read nothing."""
    log = tmp_path / "reads"
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        assert count_reads(log, 1) == count_reads(log, 3)
        # both workers share one machine
        assert memory_on_workers(client, lambda: 0.0) == machine_memory() / 4
        monkeypatch.setattr(sharing, "DECODED_SHARE", 2**50)
        assert count_reads(log, 1) + 2 * N_PARTITIONS == count_reads(log, 3)


class SharedCluster:
    """A client of a cluster in which workers without a memory limit report the memory of their
    machine.
    """

    machines = {"a": 1000, "b": 3000, "c": 0}  # noqa: RUF012
    workers = {  # noqa: RUF012
        "tcp://a:1": {"host": "a", "memory_limit": 0},
        "tcp://a:2": {"host": "a", "memory_limit": None},
        "tcp://b:1": {"host": "b", "memory_limit": None},
        "tcp://c:1": {"host": "c", "memory_limit": 600},
        "tcp://c:2": {"host": "c", "memory_limit": 200},
    }

    def scheduler_info(self, n_workers):
        return {"workers": self.workers}

    def submit(self, function, workers, **_):
        assert function is machine_memory
        return self.machines[self.workers[workers[0]]["host"]]


def test_memory_is_counted_once_per_machine_and_limits_once_per_worker(monkeypatch):
    monkeypatch.setattr(sharing, "gather", lambda client, tasks, limit: tasks)
    assert memory_on_workers(SharedCluster(), lambda: 0.0) == 800 / 2 + 4000 / 4
