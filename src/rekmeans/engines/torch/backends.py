"""Which store holds mapped rows on a device, and which run goes over them: the one place that asks
what a device is.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch

from ...model import Model
from ...table import MemoryTable
from ...table.torch import TorchTable
from ..native import Native
from .grid_store import GridStore
from .plain_run import PlainRun

# of a table whose starts a processor finds sooner than a card: launches take longer than the work
FEW_CELLS = 1 << 21
MOST_PACKED_COLUMNS = 16_383  # whose squared lengths, centred, stay inside 64 bits
# kernels number two moves of each row, and a tile more, in 32 bits
MOST_PACKED_ROWS = (1 << 30) - (1 << 12)


def choose_store(device: torch.device, n: int, d: int) -> Any:
    """Return the class of a store (n, d, device, blocks, spread_rows) of n mapped rows with d
    columns.
    """
    fits = n <= MOST_PACKED_ROWS and d <= MOST_PACKED_COLUMNS
    if device.type == "cuda" and fits and find_spec("triton"):
        from .packed_rows import PackedRows

        return PackedRows
    return GridStore


def place_few_rows(kernel: Any, table: Any, device: torch.device) -> Any:
    """The rows of a small table in the compiled core, to the same bits;

    None where they are best left on the device.
    """
    if device.type != "cuda" or table.n_rows * table.n_columns > FEW_CELLS or Native().missing():
        return None
    from ..native.exact import NativeRows  # the core is loaded only where it is asked for

    if isinstance(table, TorchTable):
        table = MemoryTable(table.dense(), table.weights, table.columns, table.largest_weight)
    return NativeRows(kernel, table)


def choose_run(rows: Any, model: Model) -> Any:
    """A run of the model over rows on their device."""
    if isinstance(rows.store, GridStore):
        return PlainRun(rows, model)
    from .triton_run import TritonRun  # Triton is loaded only where a card is

    return TritonRun(rows, model)
