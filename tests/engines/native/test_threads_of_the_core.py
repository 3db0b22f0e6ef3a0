"""Errors on threads of the core become Python exceptions, and work continues if the system cannot
start more threads.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from rekmeans.engines.native import _core

resource = pytest.importorskip("resource")

MAKE = """
import resource, sys
from pathlib import Path
import numpy as np
from rekmeans.engines.native import _core

d = 4
ends = [np.full(d, end) for end in (-10.0, 10.0, 0.0)]
scale = _core.Scale(*ends, np.full(d, 0.1), np.zeros(d), "clip")
X = np.random.default_rng(0).normal(size=(100_000, d))

def limit_memory(more):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))
"""


def run_limited(code):
    return subprocess.run(
        [sys.executable, "-c", MAKE + code], capture_output=True, text=True, timeout=120
    )


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits need Linux")
def test_if_no_more_threads_can_start_the_running_ones_do_the_work():
    done = run_limited("""
one = _core.DenseRows(X, scale, None, True, 1, "").grid(np.arange(1000))
limit_memory(30 << 20)  # less than the stacks of 200 threads
rows = _core.DenseRows(X, scale, None, True, 200, "")
print((rows.grid(np.arange(1000)) == one).all())
""")
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits need Linux")
@pytest.mark.skipif(
    "ASAN_OPTIONS" in os.environ, reason="the sanitizer aborts a process if an allocation fails"
)
def test_a_lack_of_memory_raises_memory_error():
    done = run_limited("""
rows = _core.DenseRows(X, scale, None, True, 4, "")
limit_memory(20 << 20)
for call in (
    lambda: _core.Run(rows, 1 << 24, True),
    lambda: rows.phase_sums(np.zeros(len(X), np.int32), 1 << 24),
    lambda: _core.soft_pass(
        X, None, np.zeros((3000, d)), "square", 1.0, "fuzzy", 2.0, None, 4, "", True
    ),
):
    try:
        call()
    except MemoryError:
        print("MemoryError")
""")
    assert (done.returncode, done.stdout.split()) == (0, ["MemoryError"] * 3), done.stderr


def test_an_exception_on_a_core_thread_is_raised():
    n, d = 10_000, 3
    ends = [np.full(d, end) for end in (-10.0, 10.0, 0.0)]
    scale = _core.Scale(*ends, np.full(d, 0.1), np.zeros(d), "clip")
    indices = np.zeros(n, np.int64)
    indptr = np.arange(n + 1)
    indices[n - 1] = d  # in the last part, which any thread may process
    with pytest.raises(ValueError, match="column 3 after -1"):
        _core.SparseRows(np.ones(n), indices, indptr, d, scale, None, 4, "")
