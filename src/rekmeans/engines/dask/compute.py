"""Where the tasks of Dask run: on the cluster of the current client, watched, or on Dask's local
scheduler.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...table.reading import PARTITIONS_DONE, report_reading

try:
    import dask
    from dask.base import compute as compute_here
except ImportError:
    raise ImportError("Dask collections need Dask: pip install 'rekmeans[dask]'.") from None

# seconds: a fit fails if workers have tasks and none ends within this time; see rekmeans.timeout
TIMEOUT = 60.0
# the same while no worker has a task: a nanny may take minutes to restart a worker
WORKER_TIMEOUT = 300.0
STEP = 0.5  # seconds between two looks at what is being computed
MOST_NAMED = 5  # workers that an error message names


def current_client() -> Any:
    """Return the current client, or None where Dask's local scheduler computes.

    A task of a cluster that has no client of its own gets the client of its worker.
    """
    try:
        from distributed import default_client, get_client
    except ImportError:
        return None
    for find_client in (default_client, get_client):
        with suppress(ValueError):
            return find_client()
    return None


def futures_of(tasks: Sequence[Any]) -> list[Any]:
    """The future of each delayed value that a cluster keeps."""
    from distributed import futures_of as futures_in

    return [futures_in(task)[0] for task in tasks]


def compute(tasks: Sequence[Any], limit: Callable[[], float] = lambda: 0.0) -> list[Any]:
    """Return the results of delayed values; raise an error if the cluster makes no progress for too
    long.

    While workers have tasks, too long is `rekmeans.timeout` of Dask's configuration, in seconds, by
    default the larger of a minute and `limit()`. While no worker has a task, it is
    `rekmeans.worker-timeout`, by default five minutes, or more if the other one is longer.
    """
    client = current_client()
    if client is None:
        return list(compute_here(*tasks))
    return gather(
        client, client.compute(list(tasks), optimize_graph=False), limit, [1] * len(tasks)
    )


def gather(
    client: Any, futures: list[Any], limit: Callable[[], float], n_parts: Sequence[int] = ()
) -> list[Any]:
    """The results of futures, watched as those of `compute`."""
    wait_for(client, futures, limit, n_parts)
    return list(client.gather(futures))


def wait_for(
    client: Any, futures: list[Any], limit: Callable[[], float], n_parts: Sequence[int] = ()
) -> None:
    """Wait until all futures are done; an error where no task ends for too long.

    Where each of them stands for some partitions, it is reported how many of these are done.
    """
    if not all(future.done() for future in futures):
        with _outside_worker_threads():
            _watch_futures(client, futures, limit, n_parts)
    _report_done(futures, n_parts)


@contextmanager
def _outside_worker_threads() -> Iterator[None]:
    """Leave the worker's thread pool while a task waits for other tasks, which need its threads."""
    from distributed import rejoin, secede

    has_left = False
    # not a task, not a thread of the pool, or already outside
    with suppress(ValueError, AttributeError, KeyError):
        secede()
        has_left = True
    yield
    if has_left:
        rejoin()  # not after an error: if a task hangs, a thread of the pool may never become free


def _watch_futures(
    client: Any, futures: list[Any], limit: Callable[[], float], n_parts: Sequence[int]
) -> None:
    """Wait until all futures are done, and report how many are; raise an error where nothing
    changes for too long.
    """
    seen = None
    since = time.monotonic()
    while not _are_done(futures):
        _report_done(futures, n_parts)
        now = _waiting_tasks(client)
        if now != seen:
            seen = now
            since = time.monotonic()
        allowed = _allowed_seconds(bool(now), limit())
        if time.monotonic() - since > allowed:
            message = _timeout_message(client, sorted({worker for worker, _ in now}), allowed)
            client.cancel(futures)
            raise TimeoutError(message)


def _allowed_seconds(has_tasks: bool, least: float) -> float:
    """Return how many seconds a cluster may make no progress, depending on whether a worker has
    tasks.
    """
    timeout, worker_timeout = (
        dask.config.get(f"rekmeans.{name}", None) for name in ("timeout", "worker-timeout")
    )
    seconds = max(TIMEOUT, least) if timeout is None else float(timeout)
    if has_tasks:
        return seconds
    return max(WORKER_TIMEOUT, seconds) if worker_timeout is None else float(worker_timeout)


def _timeout_message(client: Any, workers: list[str], seconds: float) -> str:
    """Say which workers do not answer, or that there are none."""
    if workers:
        more = [f"{len(workers) - MOST_NAMED} more"] if len(workers) > MOST_NAMED else []
        *others, last = [*workers[:MOST_NAMED], *more]
        names = f"Workers {', '.join(others)} and {last} have" if others else f"Worker {last} has"
        return (
            f"{names} not finished a task for {seconds:.0f} s. Restart "
            f"{'them' if others else 'it'}, or raise "
            "rekmeans.timeout in Dask's configuration."
        )
    if n_connected := len(client.scheduler_info(n_workers=-1)["workers"]):
        connected = "1 Dask worker is" if n_connected == 1 else f"{n_connected} Dask workers are"
        return (
            f"{connected} connected, but got no task for {seconds:.0f} s. Check whether the "
            f"workers are paused because "
            "their memory is full, or raise rekmeans.worker-timeout in Dask's configuration."
        )
    return (
        f"No Dask workers are connected, and none came within {seconds:.0f} s. Start a worker, "
        f"or, if workers restart "
        "slowly, raise rekmeans.worker-timeout and distributed.deploy.lost-worker-timeout in "
        "Dask's configuration."
    )


def _are_done(futures: list[Any]) -> bool:
    """Wait until all are done, or a moment; whether they are."""
    from distributed import wait

    if not all(future.done() for future in futures):
        with suppress(TimeoutError):
            wait(futures, timeout=STEP)
    return all(future.done() for future in futures)


def _report_done(futures: list[Any], n_parts: Sequence[int]) -> None:
    """Report the partitions of the futures that are done."""
    if n_parts:
        n_done = sum(n for future, n in zip(futures, n_parts, strict=True) if future.done())
        report_reading(n_done, sum(n_parts), PARTITIONS_DONE)


def _waiting_tasks(client: Any) -> frozenset[tuple[str, str]]:
    """Which worker has which tasks to do."""
    return frozenset(
        (worker, str(key)) for worker, keys in client.processing().items() for key in keys
    )
