"""Partitions that workers keep, in one group for each thread; a pass is one task for each group."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from dask.base import annotate

from .compute import gather, wait_for
from .partition import Partition, PartitionPass, RunPass, assign_partitions, merge_some
from .sharing import FAN_IN, reduce_tree, share_partitions

if TYPE_CHECKING:
    from distributed import Client, Future

# between two queries for the workers: each delays a pass by some milliseconds
LOOK_SECONDS = 1.0


class WorkerGroups:
    """The futures of partitions, grouped by the workers that have them."""

    def __init__(self, futures: list[Future[Partition]], longest_wait: Callable[[], float]) -> None:
        self.futures = futures
        self.longest_wait = longest_wait
        self.workers: dict[str, int] = {}  # number of threads of each
        self.groups: list[tuple[str, list[Future[Partition]]]] = []  # worker, partitions
        self.next_look = 0.0
        self.last_tasks: list[Future[PartitionPass | None]] = []

    def assign(self, client: Client, one: RunPass, max_partitions: int) -> PartitionPass | None:
        """Make a pass by tasks of at most `max_partitions`; return None if there is no worker.

        A client sends its first message at once and the next one 10 ms later. So all tasks are one
        message, and the tasks of the previous pass are released after it.
        """
        self._find_groups(client)
        if not self.groups:
            return None
        cuts = [
            (worker, group[at : at + max_partitions])
            for worker, group in self.groups
            for at in range(0, len(group), max_partitions)
        ]
        workers, partitions = zip(*cuts, strict=True)
        keys = [f"assign_partitions-{secrets.token_hex(16)}" for _ in partitions]
        with annotate(
            workers=dict(zip(keys, workers, strict=True)).__getitem__, allow_other_workers=True
        ):
            tasks = client.map(partial(assign_partitions, one), partitions, key=keys, pure=False)
        is_large = len(tasks) > FAN_IN
        last = (
            client.compute([reduce_tree(PartitionPass.merge, tasks)], optimize_graph=False)
            if is_large
            else tasks
        )
        self.last_tasks = [*tasks, *last]
        wait_for(client, tasks, self.longest_wait, [len(some) for some in partitions])
        results: list[PartitionPass | None] = gather(client, last, self.longest_wait)
        return merge_some(PartitionPass.merge, results)

    def _find_groups(self, client: Client) -> None:
        """Share the partitions among the workers again if workers came or left."""
        if time.monotonic() < self.next_look:
            return
        workers = {
            name: info["nthreads"]
            for name, info in client.scheduler_info(n_workers=-1)["workers"].items()
        }
        if workers and workers != self.workers:
            wait_for(client, self.futures, self.longest_wait, [1] * len(self.futures))
            owners = client.who_has(self.futures)
            shares = share_partitions(
                [list(owners.get(future.key, ())) for future in self.futures], workers
            )
            groups = [
                (worker, shares[worker][i::n]) for worker, n in workers.items() for i in range(n)
            ]
            self.groups = [
                (worker, [self.futures[i] for i in group]) for worker, group in groups if group
            ]
            self.workers = workers
        self.next_look = time.monotonic() + LOOK_SECONDS
