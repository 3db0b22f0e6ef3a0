"""Passes over partitions that the workers keep, grouped by worker and thread."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from dask.base import annotate

from .compute import gather, wait_for
from .partition import Partition, PartitionPass, PassRequest, assign_partitions, merge_results
from .sharing import FAN_IN, reduce_tree, share_partitions

if TYPE_CHECKING:
    from distributed import Client, Future

# seconds between two queries for the list of workers; a query delays a pass by a few milliseconds
QUERY_SECONDS = 1.0


class WorkerGroups:
    """The futures of partitions, one group for each thread of a worker."""

    def __init__(self, futures: list[Future[Partition]], longest_wait: Callable[[], float]) -> None:
        self.futures = futures
        self.longest_wait = longest_wait
        self.workers: dict[str, int] = {}  # worker: number of threads
        self.groups: list[tuple[str, list[Future[Partition]]]] = []  # (worker, partitions)
        self.next_query = 0.0
        self.last_tasks: list[Future[PartitionPass | None]] = []

    def assign(
        self, client: Client, request: PassRequest, max_partitions: int
    ) -> PartitionPass | None:
        """Make a pass, with at most `max_partitions` in a task; return None if no worker exists.

        A client sends its first message at once and the next one 10 ms later. Therefore all tasks
        are sent in one message, and the tasks of the previous pass are released after it.
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
            assign = partial(assign_partitions, request)
            tasks = client.map(assign, partitions, key=keys, pure=False)
        is_large = len(tasks) > FAN_IN
        last = (
            client.compute([reduce_tree(PartitionPass.merge, tasks)], optimize_graph=False)
            if is_large
            else tasks
        )
        self.last_tasks = [*tasks, *last]
        wait_for(client, tasks, self.longest_wait, [len(group) for group in partitions])
        results: list[PartitionPass | None] = gather(client, last, self.longest_wait)
        return merge_results(PartitionPass.merge, results)

    def _find_groups(self, client: Client) -> None:
        """Assign the partitions to the workers again if workers have joined or left."""
        if time.monotonic() < self.next_query:
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
        self.next_query = time.monotonic() + QUERY_SECONDS
