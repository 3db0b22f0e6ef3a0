"""Share partitions among workers, and merge their results in a tree of tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dask.delayed import Delayed, delayed

from ...machine_memory import machine_memory
from ...table.stream_input import DECODED_SHARE
from .compute import Result, compute, current_client, gather, wait_for
from .partition import merge_some

if TYPE_CHECKING:
    from distributed import Client, Future

FAN_IN = 8  # results that one task of the tree merges
# of the memory limit of a worker that kept rows may take: above 0.6, Dask spills rows to disk
KEPT_SHARE = 0.5


def room_on_workers(client: Client, limit: Callable[[], float]) -> float:
    """Return how many bytes kept rows may take on all workers.

    Workers with a memory limit keep a share of it. Workers without one together keep the part of
    their machine's memory that decoded blocks may take without a limit; one worker of each machine
    measures that memory.
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
    """Return the numbers of partitions for each worker, in proportion to its threads.

    A worker gets its own partitions first, then some of workers that have too many.
    """
    total = sum(threads.values())
    shares: dict[str, list[int]] = {worker: [] for worker in threads}

    def has_room(worker: str) -> bool:
        return worker in shares and len(shares[worker]) * total < len(owners) * threads[worker]

    spare: list[int] = []
    for number, workers in enumerate(owners):
        worker = next(filter(has_room, workers), None)
        (spare if worker is None else shares[worker]).append(number)
    for number in spare:
        shares[next(filter(has_room, shares))].append(number)
    return shares


def compute_merged(
    merge: Callable[[Result, Result], Result],
    tasks: Sequence[Delayed],
    limit: Callable[[], float],
) -> Result:
    """Return the results of a task for each partition, merged in a tree, and report progress.

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
    """Return a task that merges all results in their order, a few of them in one task."""
    function = delayed(partial(merge_some, merge), pure=False, traverse=False)

    def merge_groups(
        tasks: Sequence[Delayed] | Sequence[Future[Result | None]],
    ) -> list[Delayed]:
        return [function(list(tasks[at : at + FAN_IN])) for at in range(0, len(tasks), FAN_IN)]

    merged = merge_groups(tasks)
    while len(merged) > 1:
        merged = merge_groups(merged)
    return merged[0]
