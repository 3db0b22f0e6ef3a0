"""Rows of a table on the devices of the torch engine, or block by block where they are too many for
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...kernels.euler import Euler
from ...model import Model
from ...table.torch import TorchTable
from ..blocks import BlockRows
from .device_rows import MOST_DEVICE_ROWS
from .devices import devices_for
from .float_rows import TorchPoints
from .host_blocks import BlockedTable, rows_that_fit
from .lack_of_memory import FREE_SHARE, explain_lack_of_memory
from .parts import PartedRows
from .rows import TorchRows

LEAST_BLOCK_ROWS = 256  # of a block, whatever the limit


def place_on_devices(stages: Sequence[Model], table: Any, memory_limit: int | None) -> Any:
    """The rows of a table, mapped on its device, on several, or anew in every pass where they are
    too many.
    """
    kernel = stages[-1].kernel
    devices = devices_for(table)
    device = devices[0]
    with explain_lack_of_memory(table, device):
        if kernel.formula != Euler.formula:
            return TorchPoints(kernel, table, device)
        if not table.is_in_memory:
            return BlockRows(kernel, table, lambda block: TorchRows(kernel, block, device))
        if isinstance(table, TorchTable):
            return TorchRows(kernel, table, device)
        if len(devices) > 1:
            return PartedRows(kernel, table, devices)
        room = device_room(device, memory_limit)
        most = (
            MOST_DEVICE_ROWS
            if room is None
            else min(MOST_DEVICE_ROWS, rows_that_fit(table.n_columns, room))
        )
        if table.n_rows <= most:
            return TorchRows(kernel, table, device)
        # one is copied while one is computed
        blocks: Any = BlockedTable(table, max(LEAST_BLOCK_ROWS, most // 2))
        return BlockRows(kernel, blocks, lambda block: TorchRows(kernel, block, device))


def device_room(device: torch.device, memory_limit: int | None) -> int | None:
    """Bytes of a device that mapped rows may take; None for no limit."""
    if memory_limit is not None or device.type != "cuda":
        return memory_limit
    return int(FREE_SHARE * torch.cuda.mem_get_info(device)[0])
