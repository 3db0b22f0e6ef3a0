"""Where the tasks of Dask run: on the cluster of the current client, watched, or on Dask's local scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .reading import PARTITIONS_DONE, report_reading

try:
    import dask
    from dask.base import compute as compute_here
except ImportError:
    raise ImportError("Dask collections need Dask: pip install 'rekmeans[dask]'.") from None

TIMEOUT = 60.0  # seconds without any task ending after which a cluster is given up, unless rekmeans.timeout says more
STEP = 0.5  # seconds between two looks at what is being computed


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
    """The results of delayed values; a cluster on which no task ends for too long is an error that names its workers.

    Too long is `rekmeans.timeout` of Dask's configuration, in seconds, or the larger of a minute and `limit()`.
    """
    client = current_client()
    if client is None:
        return list(compute_here(*tasks))
    return gather(client, client.compute(list(tasks), optimize_graph=False), limit, [1] * len(tasks))


def gather(client: Any, futures: list[Any], limit: Callable[[], float], n_parts: Sequence[int] = ()) -> list[Any]:
    """The results of futures, watched as those of `compute`."""
    wait_for(client, futures, limit, n_parts)
    return list(client.gather(futures))


def wait_for(client: Any, futures: list[Any], limit: Callable[[], float], n_parts: Sequence[int] = ()) -> None:
    """Wait until all futures are done; an error where no task ends for too long.

    Where each of them stands for some partitions, it is reported how many of these are done.
    """
    if not all(future.done() for future in futures):
        with _outside_worker_threads():
            _watch_futures(client, futures, limit, n_parts)
    _report_done(futures, n_parts)


@contextmanager
def _outside_worker_threads() -> Iterator[None]:
    """Leave the thread pool of the worker while a task of it waits for other tasks, which need its threads."""
    from distributed import rejoin, secede

    try:
        secede()
    except (ValueError, AttributeError, KeyError):  # not a task, not a thread of the pool, or it has left the pool
        yield
        return
    yield
    rejoin()  # not after an error: where a task hangs, no thread of the pool may ever be free


def _watch_futures(client: Any, futures: list[Any], limit: Callable[[], float], n_parts: Sequence[int]) -> None:
    most = dask.config.get("rekmeans.timeout", None)
    seen, since = None, time.monotonic()
    while not _are_done(futures):
        _report_done(futures, n_parts)
        now = _waiting_tasks(client)
        if now != seen:
            seen, since = now, time.monotonic()
        allowed = max(TIMEOUT, limit()) if most is None else float(most)
        if time.monotonic() - since > allowed:
            workers = ", ".join(sorted({worker for worker, _ in now})) or "no worker at all"
            client.cancel(futures)
            raise TimeoutError(
                f"no task ended for {allowed:.0f} s, {workers} did not answer: restart it, or raise rekmeans.timeout."
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
    return frozenset((worker, str(key)) for worker, keys in client.processing().items() for key in keys)
