"""Assign partitions to workers, and merge their results in a tree of tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from dask.delayed import Delayed, delayed

from ...machine_memory import machine_memory
from ...table.stream_input import DECODED_SHARE
from .compute import Result, compute, current_client, gather, wait_for
from .partition import merge_results

if TYPE_CHECKING:
    from distributed import Client, Future

FAN_IN = 8  # number of results that one task of the tree merges
# the share of a worker's memory limit for kept rows; above 0.6, Dask spills them to disk
KEPT_SHARE = 0.5


def memory_on_workers(client: Client, limit: Callable[[], float]) -> float:
    """Return how many bytes kept rows may take on all workers together.

    A worker with a memory limit may use KEPT_SHARE of it. All workers of a machine without a memory
    limit may together use the share of its memory that decoded blocks may use. One worker on each
    of these machines measures its memory.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    limits = sum(worker["memory_limit"] or 0 for worker in workers.values())
    unlimited = {
        worker["host"]: address for address, worker in workers.items() if not worker["memory_limit"]
    }
    tasks = [
        client.submit(machine_memory, workers=[address], allow_other_workers=True, pure=False)
        for address in unlimited.values()
    ]
    memories: list[int] = gather(client, tasks, limit)
    return KEPT_SHARE * limits + sum(memories) / DECODED_SHARE


def share_partitions(
    owners: Sequence[Sequence[str]], threads: dict[str, int]
) -> dict[str, list[int]]:
    """Return the partition numbers of each worker, in proportion to its number of threads.

    A worker first gets partitions that it already has, then surplus partitions of other workers.
    """
    total = sum(threads.values())
    shares: dict[str, list[int]] = {worker: [] for worker in threads}

    def can_take_more(worker: str) -> bool:
        return worker in shares and len(shares[worker]) * total < len(owners) * threads[worker]

    spare: list[int] = []
    for number, workers in enumerate(owners):
        worker = next(filter(can_take_more, workers), None)
        (spare if worker is None else shares[worker]).append(number)
    for number in spare:
        shares[next(filter(can_take_more, shares))].append(number)
    return shares


def compute_merged(
    merge: Callable[[Result, Result], Result],
    tasks: Sequence[Delayed],
    limit: Callable[[], float],
) -> Result:
    """Run one task for each partition, merge the results in a tree, and report progress.

    At least one partition has rows, so at least one result is not None.
    """
    client = current_client()
    tree = reduce_tree(merge, tasks)
    results: list[Result]
    if client is None:
        results = compute([tree])
    else:
        merged, *futures = client.compute([tree, *tasks], optimize_graph=False)
        wait_for(client, futures, limit, [1] * len(futures))
        results = gather(client, [merged], limit)
    return results[0]


def reduce_tree(
    merge: Callable[[Result, Result], Result],
    tasks: Sequence[Delayed] | Sequence[Future[Result | None]],
) -> Delayed:
    """Return a task that merges all results in order, through tasks that merge FAN_IN results."""
    function = delayed(partial(merge_results, merge), pure=False, traverse=False)

    while True:
        tasks = [function(list(tasks[at : at + FAN_IN])) for at in range(0, len(tasks), FAN_IN)]
        if len(tasks) <= 1:
            return cast("Delayed", tasks[0])
