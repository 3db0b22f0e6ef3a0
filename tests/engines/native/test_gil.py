"""Long calls of the core release the GIL, so that other Python threads can run."""

import sys
import threading
import time

import numpy as np
import pytest

from rekmeans.engines.native import _core


@pytest.fixture
def ticks(monkeypatch):
    """Return a list to which a second thread appends while it holds the GIL.

    The thread never takes the GIL from a running thread.
    """
    interval = sys.getswitchinterval()
    found = []
    done = threading.Event()
    sys.setswitchinterval(60.0)

    def tick():
        while not done.wait(0.0005):
            found.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    yield found
    done.set()
    sys.setswitchinterval(interval)
    thread.join()


def rows_of(n, d):
    ends = [np.full(d, end) for end in (-10.0, 10.0, 0.0)]
    scale = _core.Scale(*ends, np.full(d, 0.1), np.zeros(d), "clip")
    X = np.random.default_rng(0).normal(size=(n, d))
    return _core.DenseRows(X, scale, np.arange(n) % 3, True, 1, ""), scale


def long_calls():
    rows, _ = rows_of(3, 2000)
    wide = _core.Run(rows, 500, True)
    C = np.zeros((500, 4000), np.int32)
    wide.assign(C)
    yield "Run.centroids", lambda: wide.centroids(True, C)
    yield "Run.totals", wide.totals
    many, scale = rows_of(2_000_000, 1)
    yield "Run", lambda: _core.Run(many, 2, True)
    run = _core.Run(many, 2, True)
    yield "Run.assign", lambda: run.assign(np.zeros((2, 2), np.int32))
    yield "Run.labels", run.labels
    yield "Seeding", lambda: _core.Seeding(many, None)
    seeding = _core.Seeding(many, None)
    seeding.add_all(np.zeros((2, 2), np.int32))
    yield "Seeding.sample", lambda: seeding.sample(np.zeros((1, 2000), np.uint64))
    yield "Seeding.nearest_masses", seeding.nearest_masses
    yield "Rows.weights", many.weights
    blocks = _core.BlockRun(scale, 50_000, 1, "")
    yield (
        "BlockRun.start_pass",
        lambda: [blocks.start_pass(np.zeros((50_000, 2), np.int32)) for _ in range(20)],
    )
    yield "BlockRun.loss", lambda: [blocks.loss for _ in range(50)]
    yield "BlockRun.totals", lambda: [blocks.totals() for _ in range(50)]


def test_other_threads_run_during_long_calls(ticks):
    waited = []
    for name, call in long_calls():
        ticks.clear()
        for _ in range(20):  # short calls may end between two ticks
            call()
            if ticks:
                break
        else:
            waited.append(name)
    assert waited == []


def test_a_run_in_use_raises_in_a_second_thread():
    rows, _ = rows_of(300_000, 4)
    run = _core.Run(rows, 60, False)
    seeding = _core.Seeding(rows, None)
    P = np.random.default_rng(1).integers(-1000, 1000, (60, 8)).astype(np.int32)
    for call, read in (
        (lambda: run.assign(P), run.labels),
        (lambda: seeding.add_all(P), seeding.centroids),
    ):
        thread = threading.Thread(target=call)
        thread.start()
        with pytest.raises(RuntimeError, match="is in use by another thread"):
            read_until_the_end_of(thread, read)
        thread.join()
        read()


def read_until_the_end_of(thread, read):
    while thread.is_alive():
        read()
        time.sleep(0)
