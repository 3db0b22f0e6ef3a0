"""How many threads to use: as many as were asked for, else all that this process may use."""

from __future__ import annotations

import os

import joblib

MOST_THREADS = 256  # more only cost memory


def count_threads(n_threads: int | None = None) -> int:
    """The number asked for; None for OMP_NUM_THREADS, which workers of joblib and Dask set, else the CPUs at hand.

    These are the CPUs of the process's affinity and of its container's quota (cgroup), as joblib counts them.
    """
    return min(n_threads or _openmp_threads() or joblib.cpu_count(), MOST_THREADS)


def _openmp_threads() -> int:
    """The first number of OMP_NUM_THREADS, which may be a list by level of nesting; 0 where it names none."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdecimal() else 0
