"""Progress reports on the partitions of a step while a cluster works on them."""

import time
from itertools import groupby, pairwise

import dask
import numpy as np
import pytest
from dask import array
from distributed import Client, LocalCluster

from rekmeans import RectifiedEulerKMeans, watch_passes
from rekmeans.engines.dask import rows as dask_rows
from rekmeans.table.stream import watch_reading
from support.streams import stream_rows

# duration of each task: the first tasks end a second before the last, although workers read ahead
N_PARTITIONS = 20
SECONDS = 0.15
SIZE = 30
X = stream_rows(N_PARTITIONS * SIZE)


def read_slowly(at):
    time.sleep(SECONDS)
    return X[at : at + SIZE]


def slow_collection():
    parts = [
        array.from_delayed(dask.delayed(read_slowly)(at), (SIZE, 3), float)
        for at in range(0, len(X), SIZE)
    ]
    return array.concatenate(parts)


def reports_by_pass(memory_limit):
    """Return the reports up to the end of each pass of a fit on a cluster, and after the last."""
    reports = []
    number = [0]

    def count_pass(event):
        number[0] = event.number + 1

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=memory_limit
        ) as cluster,
        Client(cluster),
        watch_passes(count_pass),
        watch_reading(lambda *report: reports.append((number[0], *report))),
    ):
        RectifiedEulerKMeans(
            2, init=np.array([[0.0] * 3, [9.0] * 3]), max_iter=1, scale="range"
        ).fit(slow_collection())
    return {
        key: [report[1:] for report in group]
        for key, group in groupby(reports, key=lambda report: report[0])
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("memory", [2**30, 0], ids=["kept", "read in each pass"])
def test_a_cluster_reports_how_many_partitions_are_done(monkeypatch, memory):
    monkeypatch.setattr(dask_rows, "memory_on_workers", lambda client, limit: memory)
    reports = reports_by_pass("1GB")
    # the first pass and all steps before it, the last pass, the branches of pre-images
    assert list(reports) == [0, 1, 2]
    for number, of_pass in reports.items():
        assert {report[1:] for report in of_pass} == {(N_PARTITIONS, "partitions done")}
        done = [report[0] for report in of_pass]
        assert done[-1] == N_PARTITIONS
        # the count decreases only when the next step starts
        assert {one for one, two in pairwise(done) if two < one} <= {N_PARTITIONS}
        if number == 0 or memory == 0:  # in passes that read rows
            assert any(0 < count < N_PARTITIONS for count in done)
