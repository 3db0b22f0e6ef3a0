"""Timeouts of a fit that waits for the tasks and workers of a cluster, and their errors."""

import os
import signal
from types import SimpleNamespace

import dask
import numpy as np
import pytest
from dask import array
from distributed import Client, LocalCluster

from rekmeans import RectifiedEulerKMeans, watch_passes
from rekmeans.engines.dask import compute
from rekmeans.engines.dask.compute import wait_for
from support.assertions import assert_same_fit, raises_mentioning
from support.streams import stream_rows

K = 4
X = np.tile(stream_rows(), (20, 1))
POINTS = np.random.default_rng(5).uniform(-2, 14, (K, 3))
SLOW_START = """
import os, time
import rekmeans.engines.dask.rows
if os.path.exists({flag!r}):
    time.sleep({seconds})
"""

pytestmark = [
    pytest.mark.filterwarnings("ignore::rekmeans.scales.left_out.IgnoredValuesWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def fit_and_kill(client):
    """Run a fit whose only worker is killed after the first pass."""
    pids = list(client.run(os.getpid).values())

    def kill_worker(event):
        if pids:
            os.kill(pids.pop(), signal.SIGKILL)

    with watch_passes(kill_worker):
        return RectifiedEulerKMeans(K, init=POINTS).fit(array.from_array(X, chunks=(997, 3)))


@pytest.mark.long
@pytest.mark.parametrize("worker_timeout", [None, 2])
def test_a_fit_waits_for_a_worker_that_restarts_slowly(tmp_path, worker_timeout):
    """Restart slower than the task timeout. A LocalCluster would close such a nanny after 15 s."""
    flag = tmp_path / "restart"
    preload = SLOW_START.format(flag=str(flag), seconds=9)
    with (
        dask.config.set({"rekmeans.timeout": 6, "rekmeans.worker-timeout": worker_timeout}),
        dask.config.set({"distributed.deploy.lost-worker-timeout": "120s"}),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", preload=preload
        ) as cluster,
        Client(cluster) as client,
    ):
        flag.touch()
        if worker_timeout is None:
            lazy = fit_and_kill(client)
            assert_same_fit(lazy, RectifiedEulerKMeans(K, init=POINTS).fit(X))
        else:
            with raises_mentioning(
                TimeoutError, "No Dask workers are connected", "2 s", "rekmeans.worker-timeout"
            ):
                fit_and_kill(client)


class StuckClient:
    """A client of a cluster on which no task ever finishes."""

    def __init__(self, tasks, n_connected):
        self.tasks = tasks
        self.n_connected = n_connected
        self.n_cancelled = 0

    def processing(self):
        return self.tasks

    def scheduler_info(self, n_workers):
        return {"workers": {str(number): {} for number in range(self.n_connected)}}

    def cancel(self, futures):
        self.n_cancelled += len(futures)


STUCK = {
    "one worker": (
        {"tcp://a:1": ["x"]},
        1,
        "Worker tcp://a:1 has not finished a task for 0 s. Restart it, or increase "
        "rekmeans.timeout in Dask's",
    ),
    "two workers": (
        {"tcp://b:1": ["x"], "tcp://a:1": ["y"], "tcp://c:1": []},
        3,
        "Workers tcp://a:1 and tcp://b:1 have not finished a task for 0 s. Restart them, or "
        "increase rekmeans.timeout",
    ),
    "many workers": (
        {str(worker): ["x"] for worker in range(8)},
        8,
        "Workers 0, 1, 2, 3, 4 and 3 more have not",
    ),
    "no worker": (
        {},
        0,
        "No Dask workers are connected, and none has connected within 0 s. Start a worker. If "
        "workers restart slowly, increase",
    ),
    "one idle worker": ({"a": []}, 1, "1 Dask worker is connected, but got no task for 0 s."),
    "idle workers": ({"a": []}, 2, "2 Dask workers are connected, but got no task for 0 s."),
}


@pytest.mark.parametrize(("tasks", "n_connected", "message"), STUCK.values(), ids=STUCK)
def test_the_error_names_the_workers_without_progress(monkeypatch, tasks, n_connected, message):
    monkeypatch.setattr(compute, "_are_done", lambda futures: False)
    client = StuckClient(tasks, n_connected)
    with (
        dask.config.set({"rekmeans.timeout": 0.1, "rekmeans.worker-timeout": 0.2}),
        pytest.raises(TimeoutError) as caught,
    ):
        wait_for(client, [SimpleNamespace(done=lambda: False)], lambda: 0.0)
    assert str(caught.value).startswith(message)
    assert client.n_cancelled == 1


@pytest.mark.parametrize(
    ("config", "has_tasks", "slow_task", "seconds"),
    [
        ({}, True, 0, 60),
        ({}, True, 500, 500),
        ({}, False, 0, 300),
        ({}, False, 500, 500),
        ({"rekmeans.timeout": 3}, True, 500, 3),
        ({"rekmeans.timeout": 3}, False, 500, 300),
        ({"rekmeans.timeout": 900}, False, 0, 900),
        ({"rekmeans.worker-timeout": 7}, False, 0, 7),
        ({"rekmeans.worker-timeout": 7}, True, 0, 60),
    ],
)
def test_the_wait_depends_on_the_configuration_and_on_whether_workers_have_tasks(
    config, has_tasks, slow_task, seconds
):
    with dask.config.set(config):
        assert compute._allowed_seconds(has_tasks, slow_task) == seconds
