"""Partitions that workers keep, in a group for each thread of theirs; a pass is a task for each
group, where it is.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from dask.base import annotate

from .compute import gather, wait_for
from .partition import PartPass, RunPass, assign_parts, merge_some
from .sharing import FAN_IN, reduce_tree, share_partitions

# between two questions which workers there are: each holds up a pass by some milliseconds
LOOK_SECONDS = 1.0


class WorkerGroups:
    """The futures of partitions, by the workers that have them."""

    def __init__(self, futures: list[Any], longest_wait: Callable[[], float]) -> None:
        self.futures = futures
        self.longest_wait = longest_wait
        self.workers: dict[str, int] = {}  # and how many threads each has
        self.groups: list[tuple[str, list[Any]]] = []
        self.next_look = 0.0
        self.last_tasks: list[Any] = []

    def assign(self, client: Any, one: RunPass, most_parts: int) -> PartPass | None:
        """A pass by tasks of at most so many partitions; None where there is no worker.

        Dask sends what a client has to say at once, and what follows 10 ms later. So all tasks are
        one message, and those of the pass before are let go after it.
        """
        self._find_groups(client)
        if not self.groups:
            return None
        cuts = [
            (worker, group[at : at + most_parts])
            for worker, group in self.groups
            for at in range(0, len(group), most_parts)
        ]
        workers, parts = zip(*cuts, strict=True)
        keys = [f"assign_parts-{secrets.token_hex(16)}" for _ in parts]
        with annotate(
            workers=dict(zip(keys, workers, strict=True)).__getitem__, allow_other_workers=True
        ):
            tasks = client.map(partial(assign_parts, one), parts, key=keys, pure=False)
        is_large = len(tasks) > FAN_IN
        last = (
            client.compute([reduce_tree(PartPass.merge, tasks)], optimize_graph=False)
            if is_large
            else tasks
        )
        self.last_tasks = [*tasks, *last]
        wait_for(client, tasks, self.longest_wait, [len(some) for some in parts])
        found: PartPass | None = merge_some(PartPass.merge, gather(client, last, self.longest_wait))
        return found

    def _find_groups(self, client: Any) -> None:
        """Share the partitions out anew where workers have come or gone: each gets its own, and of
        too many others.
        """
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
