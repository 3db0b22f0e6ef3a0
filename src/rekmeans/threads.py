"""How many threads to use: as many as were asked for, else all that this process may use. A cached
property without a lock.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

import joblib
from threadpoolctl import ThreadpoolController

Value = TypeVar("Value")
MAX_THREADS = 256  # more only cost memory


def count_threads(n_threads: int | None = None) -> int:
    """The number asked for; None for OMP_NUM_THREADS, which workers of joblib and Dask set, else
    the CPUs at hand.

    These are the CPUs of the process's affinity and of its container's quota (cgroup), as joblib
    counts them.
    """
    if n_threads:
        return min(n_threads, MAX_THREADS)
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return min(
        _openmp_threads() or _cpus(affinity, os.environ.get("LOKY_MAX_CPU_COUNT")), MAX_THREADS
    )


@lru_cache
def _cpus(affinity: int, limit: str | None) -> int:
    """joblib's count, which reads files of the container's quota: once for each affinity and limit
    by environment.
    """
    return int(joblib.cpu_count())


def _openmp_threads() -> int:
    """The first number of OMP_NUM_THREADS, which may be a list by level of nesting; 0 where it
    names none.
    """
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdecimal() else 0


def limit_threads(threads: int | None) -> AbstractContextManager[Any]:
    """Libraries that NumPy calls keep to this number of threads; without one nothing is searched
    for.
    """
    return (
        nullcontext() if threads is None else _thread_pools(len(sys.modules)).limit(limits=threads)
    )


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """Libraries with threads of their own; searched for anew, some milliseconds, once more modules
    are loaded.
    """
    return ThreadpoolController()


class lazy_property(Generic[Value]):  # noqa: N801 - used like functools.cached_property
    """A cached property that two threads may compute at the same time.

    Before Python 3.12, `functools.cached_property` holds one lock for all instances of the class
    while it computes. A fit that waits for a cluster with this lock blocks the other fits of its
    process. If those fits occupy the threads of a worker, the cluster cannot finish the tasks that
    the first fit waits for.
    """

    def __init__(self, compute_value: Callable[[Any], Value]) -> None:
        self.compute_value = compute_value
        self.__doc__ = compute_value.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Value | lazy_property[Value]:
        if instance is None:
            return self
        value = vars(instance)[self.name] = self.compute_value(instance)
        return value
