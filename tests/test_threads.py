"""The default number of threads: CPU affinity, container quota, and OMP_NUM_THREADS in workers."""

import io
import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
from joblib.externals.loky.backend import context

from rekmeans import RectifiedEulerKMeans, threads
from rekmeans.engines.native.exact import NativeRows
from rekmeans.estimators.placement import place_for_fit
from rekmeans.table import MemoryTable
from rekmeans.threads import MAX_THREADS, count_threads

X = np.arange(12.0)[:, None]
V2 = "/sys/fs/cgroup/cpu.max"
V1 = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"


@pytest.fixture(autouse=True)
def without_named_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.fixture
def sixteen_cpus(monkeypatch):
    """Simulate 16 CPUs without a quota; tests add the files of a quota to the returned dict."""
    files = {}
    exists = os.path.exists
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    monkeypatch.setattr(
        os.path, "exists", lambda path: path in files if "cgroup" in str(path) else exists(path)
    )
    monkeypatch.setattr(context, "open", lambda path: io.StringIO(files[path]), raising=False)
    threads._count_cpus.cache_clear()
    yield files
    threads._count_cpus.cache_clear()


def threads_of_fit(n_threads=None):
    """Return the number of threads that the core uses for a fit."""
    rows = place_for_fit(RectifiedEulerKMeans(2, n_threads=n_threads), X).rows
    assert isinstance(rows, NativeRows)
    return rows.threads


@pytest.mark.parametrize(
    ("found", "number"),
    [
        ({}, 16),
        ({V2: "max 100000\n"}, 16),
        ({V2: "250000 100000\n"}, 3),
        ({V2: "50000 100000\n"}, 1),
        ({V1[0]: "400000\n", V1[1]: "100000\n"}, 4),
        ({V1[0]: "-1\n", V1[1]: "100000\n"}, 16),
    ],
)
def test_the_quota_of_a_container_limits_the_threads(sixteen_cpus, found, number):
    sixteen_cpus.update(found)
    assert count_threads() == number
    assert threads_of_fit() == number
    assert MemoryTable(X).column_summary().n_threads == number


def test_an_explicit_number_of_threads_takes_precedence(sixteen_cpus, monkeypatch):
    sixteen_cpus[V2] = "100000 100000\n"
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    for number in (1, 5, 64):
        assert count_threads(number) == threads_of_fit(number) == number
    assert count_threads(10**6) == MAX_THREADS


@pytest.mark.parametrize(
    ("text", "number"), [("3", 3), ("4,2", 4), (" 5 ", 5), ("", 16), ("many", 16), ("0", 16)]
)
def test_omp_num_threads_sets_the_default(sixteen_cpus, monkeypatch, text, number):
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert count_threads() == number


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no CPU affinity")
def test_a_process_bound_to_one_cpu_uses_one_thread():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
        "from rekmeans.engines import ENGINES; print(ENGINES['native'].describe())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.rstrip().endswith(" 1 threads")


def test_workers_of_joblib_use_their_share_of_threads():
    with joblib.parallel_config(backend="loky", n_jobs=2, inner_max_num_threads=3):
        assert joblib.Parallel()(joblib.delayed(count_threads)() for _ in range(2)) == [3, 3]
