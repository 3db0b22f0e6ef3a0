"""Run Dask tasks on the cluster of the current client, with timeouts, or on the local scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from ...table.stream import PARTITIONS_DONE, report_reading

try:
    import dask
    from dask.base import compute as compute_locally
except ImportError:
    raise ImportError(
        "Dask is not installed, but X is a Dask collection. Run: pip install 'rekmeans[dask]'."
    ) from None

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from distributed import Client, Future

Result = TypeVar("Result")  # the result of a task; the type of a Delayed does not declare it

# a fit fails if workers have tasks and no task ends within this number of seconds
TIMEOUT = 60.0
# the limit while no worker has a task: a nanny may take minutes to restart a worker
WORKER_TIMEOUT = 300.0
STEP = 0.5  # seconds between two checks for progress
MAX_NAMED_WORKERS = 5  # number of workers that an error message names


def current_client() -> Client | None:
    """Return the current client, or None if Dask uses its local scheduler.

    A task that runs on a cluster and has no client gets the client of its worker.
    """
    try:
        from distributed import default_client, get_client
    except ImportError:
        return None
    for find_client in (default_client, get_client):
        with suppress(ValueError):
            return find_client()
    return None


def futures_of(tasks: Sequence[Delayed]) -> list[Future[Result]]:
    """Return the future of each persisted delayed value."""
    from distributed import futures_of as find_futures

    return [find_futures(task)[0] for task in tasks]


def compute(tasks: Sequence[Delayed], limit: Callable[[], float] = lambda: 0.0) -> list[Result]:
    """Return the results of delayed values; raise TimeoutError if the cluster makes no progress.

    While workers have tasks, the limit in seconds is `rekmeans.timeout` in Dask's configuration.
    The default is the larger of 60 and `limit()`. While no worker has a task, the limit is
    `rekmeans.worker-timeout`. The default is the larger of 300 and the first limit.
    """
    client = current_client()
    if client is None:
        return list(compute_locally(*tasks))
    return gather(
        client, client.compute(list(tasks), optimize_graph=False), limit, [1] * len(tasks)
    )


def gather(
    client: Client,
    futures: Sequence[Future[Result]],
    limit: Callable[[], float],
    n_partitions: Sequence[int] = (),
) -> list[Result]:
    """Return the results of futures, with the timeout of `compute`."""
    wait_for(client, futures, limit, n_partitions)
    return list(client.gather(futures))


def wait_for(
    client: Client,
    futures: Sequence[Future[Result]],
    limit: Callable[[], float],
    n_partitions: Sequence[int] = (),
) -> None:
    """Wait until all futures are done; raise TimeoutError if no task ends for too long.

    `n_partitions` is the number of partitions of each future. If it is given, report how many
    partitions are done.
    """
    if not all(future.done() for future in futures):
        with _outside_worker_threads():
            _watch_futures(client, futures, limit, n_partitions)
    _report_done(futures, n_partitions)


@contextmanager
def _outside_worker_threads() -> Iterator[None]:
    """Leave the worker's thread pool while a task waits for other tasks that need its threads."""
    from distributed import rejoin, secede

    has_left = False
    # raised if this is not a task, not a thread of the pool, or a thread that has left it
    with suppress(ValueError, AttributeError, KeyError):
        secede()
        has_left = True
    yield
    if has_left:
        rejoin()  # skipped after an error: if a task hangs, no thread of the pool may become free


def _watch_futures(
    client: Client,
    futures: Sequence[Future[Result]],
    limit: Callable[[], float],
    n_partitions: Sequence[int],
) -> None:
    """Wait for all futures and report progress; raise TimeoutError if there is no progress."""
    seen = None
    since = time.monotonic()
    while not _are_done(futures):
        _report_done(futures, n_partitions)
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
    """Return how many seconds a cluster may go without progress.

    The limit depends on whether a worker has tasks.
    """
    timeout = dask.config.get("rekmeans.timeout", None)
    worker_timeout = dask.config.get("rekmeans.worker-timeout", None)
    seconds = max(TIMEOUT, least) if timeout is None else float(timeout)
    if has_tasks:
        return seconds
    return max(WORKER_TIMEOUT, seconds) if worker_timeout is None else float(worker_timeout)


def _timeout_message(client: Client, workers: list[str], seconds: float) -> str:
    """Return an error message that names the workers that make no progress, if there are any."""
    if workers:
        more = (
            [f"{len(workers) - MAX_NAMED_WORKERS} more"] if len(workers) > MAX_NAMED_WORKERS else []
        )
        *others, last = [*workers[:MAX_NAMED_WORKERS], *more]
        names = f"Workers {', '.join(others)} and {last} have" if others else f"Worker {last} has"
        return (
            f"{names} not finished a task for {seconds:.0f} s. Restart "
            f"{'them' if others else 'it'}, or increase rekmeans.timeout in Dask's configuration."
        )
    if n_connected := len(client.scheduler_info(n_workers=-1)["workers"]):
        connected = "1 Dask worker is" if n_connected == 1 else f"{n_connected} Dask workers are"
        return (
            f"{connected} connected, but got no task for {seconds:.0f} s. Check whether the "
            f"workers are paused because their memory is full, or increase "
            f"rekmeans.worker-timeout in Dask's configuration."
        )
    return (
        f"No Dask workers are connected, and none has connected within {seconds:.0f} s. Start a "
        f"worker. If workers restart slowly, increase rekmeans.worker-timeout and "
        f"distributed.deploy.lost-worker-timeout in Dask's configuration."
    )


def _are_done(futures: Sequence[Future[Result]]) -> bool:
    """Wait for a moment, or until all futures are done, and return whether they are."""
    from distributed import wait

    if not all(future.done() for future in futures):
        with suppress(TimeoutError):
            wait(futures, timeout=STEP)
    return all(future.done() for future in futures)


def _report_done(futures: Sequence[Future[Result]], n_partitions: Sequence[int]) -> None:
    """Report the number of partitions whose futures are done."""
    if n_partitions:
        n_done = sum(n for future, n in zip(futures, n_partitions, strict=True) if future.done())
        report_reading(n_done, sum(n_partitions), PARTITIONS_DONE)


def _waiting_tasks(client: Client) -> frozenset[tuple[str, str]]:
    """Return (worker, task) for each task that is assigned to a worker."""
    return frozenset(
        (worker, str(key)) for worker, keys in client.processing().items() for key in keys
    )
