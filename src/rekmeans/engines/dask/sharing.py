"""How partitions are shared among workers, and how what they leave is merged: in a tree of few
tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dask.delayed import delayed

from ...machine_memory import machine_memory
from ...table.stream_input import DECODED_SHARE
from .compute import compute, current_client, gather, wait_for
from .partition import merge_some

FAN_IN = 8  # results that one task of the tree adds up
# of the memory limit of a worker that kept rows may take: Dask spills rows above 0.6
KEPT_SHARE = 0.5


def room_on_workers(client: Any, limit: Callable[[], float]) -> float:
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
    return KEPT_SHARE * limits + sum(gather(client, tasks, limit)) / DECODED_SHARE


def share_partitions(
    owners: Sequence[Sequence[str]], threads: dict[str, int]
) -> dict[str, list[int]]:
    """Numbers of partitions for each worker, by its threads: its own first, and what others have
    too many of.
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
    merge: Callable[[Any, Any], Any], parts: Sequence[Any], limit: Callable[[], float]
) -> Any:
    """What a task for each partition gives, merged in a tree; a client is told of each that is
    done.
    """
    client = current_client()
    tree = reduce_tree(merge, parts)
    if client is None:
        return compute([tree])[0]
    merged, *futures = client.compute([tree, *parts], optimize_graph=False)
    wait_for(client, futures, limit, [1] * len(futures))
    return gather(client, [merged], limit)[0]


def reduce_tree(merge: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """All parts merged in their order, a few of them in one task."""
    function = delayed(partial(merge_some, merge), pure=False, traverse=False)
    while True:
        parts = [function(list(parts[at : at + FAN_IN])) for at in range(0, len(parts), FAN_IN)]
        if len(parts) == 1:
            return parts[0]
