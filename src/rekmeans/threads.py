"""The number of threads, limits for other libraries, and a cached property without a lock."""

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
MAX_THREADS = 256  # more threads only use more memory


def count_threads(n_threads: int | None = None) -> int:
    """Return the requested number of threads, up to 256.

    The default is OMP_NUM_THREADS, which joblib and Dask set in their workers, or else the number
    of available CPUs. joblib counts these, within the affinity of the process and the quota of its
    container (cgroup).

    OMP_NUM_THREADS may be a list with a number for each level of nesting. The first one counts.
    """
    if n_threads:
        return min(n_threads, MAX_THREADS)
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:
        return min(int(first), MAX_THREADS)
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return min(_count_cpus(affinity, os.environ.get("LOKY_MAX_CPU_COUNT")), MAX_THREADS)


@lru_cache
def _count_cpus(affinity: int, limit: str | None) -> int:
    """Return joblib's count of the CPUs, cached for each affinity and limit.

    joblib reads the files of the container's quota each time.
    """
    return int(joblib.cpu_count())


def limit_threads(threads: int | None) -> AbstractContextManager[Any]:
    """Limit the threads of the libraries that NumPy calls; None sets no limit."""
    if threads is None:
        return nullcontext()
    return _thread_pools(len(sys.modules)).limit(limits=threads)


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """Return the libraries with thread pools, cached until more modules are loaded.

    The search takes a few milliseconds.
    """
    return ThreadpoolController()


class lazy_property(Generic[Value]):  # noqa: N801 - named like functools.cached_property
    """A cached property that two threads may compute at the same time.

    Before Python 3.12, `functools.cached_property` holds one lock for all instances of the class
    while it computes. A fit that holds this lock and waits for a Dask cluster blocks the other fits
    of its process. If these fits occupy the threads of a worker, the cluster cannot finish the
    tasks of the first fit, and all of them wait forever.
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
