"""Rows split over several devices: each has a part of its own, and what the parts leave adds up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import torch

from ...model import Assignment, Model
from ..blocks import BlockRows, BlockRun
from ..wide_sums import widen_sums
from .host_blocks import BlockedTable
from .rows import TorchRows


class PartedRows(BlockRows):
    """A part of the rows on each device, mapped once."""

    def __init__(self, kernel: Any, table: Any, devices: Sequence[torch.device]) -> None:
        size = -(-table.n_rows // len(devices))
        blocked = BlockedTable(table, size)
        super().__init__(kernel, blocked, lambda some: TorchRows(kernel, some, devices[0]))  # type: ignore[arg-type]
        # of fewer rows than devices the first few
        places = list(zip(blocked.blocks(size), devices, strict=False))

        def place_part(place: tuple[slice, torch.device]) -> tuple[slice, TorchRows]:
            return place[0], TorchRows(kernel, blocked.rows_at(place[0]), place[1])

        with ThreadPoolExecutor(len(places)) as pool:
            self.parts = list(pool.map(place_part, places))

    def read_rows(self) -> Iterator[tuple[slice, Any]]:
        yield from self.parts
        self.n_uninformative_rows = sum(rows.n_uninformative() for _, rows in self.parts)

    def start_run(self, model: Model) -> PartedRun:
        return PartedRun(self, model)


class PartedRun(BlockRun):
    """A run on every device, all passes at once."""

    def __init__(self, rows: PartedRows, model: Model) -> None:
        super().__init__(rows, model)
        self.runs = [part.start_run(model) for _, part in rows.parts]

    def assign(self, C: Any) -> Assignment:
        with ThreadPoolExecutor(len(self.runs)) as pool:
            assignments = list(pool.map(lambda run: run.assign(C), self.runs))
        self.n_passes += 1
        sums = reduce(add, (widen_sums(one.sums.fetch()) for one in assignments))
        return Assignment(sum(one.n_changed for one in assignments), sums)

    def labels(self) -> Any:
        return np.concatenate([run.labels() for run in self.runs])
