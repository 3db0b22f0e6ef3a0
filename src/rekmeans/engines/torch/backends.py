"""Which store holds mapped rows on a device, and which run goes over them: the one place that asks what a device is."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch

from ...model import Model
from .grid_store import GridStore
from .plain_run import PlainRun

MOST_PACKED_COLUMNS = 16_383  # whose squared lengths, centred, stay inside 64 bits


def choose_store(device: torch.device, d: int) -> Any:
    """The class of a store (n, d, device, blocks, spread_rows) of mapped rows with d columns on this device."""
    if device.type == "cuda" and d <= MOST_PACKED_COLUMNS and find_spec("triton"):
        from .packed_rows import PackedRows

        return PackedRows
    return GridStore


def choose_run(rows: Any, model: Model) -> Any:
    """A run of the model over rows on their device."""
    if isinstance(rows.store, GridStore):
        return PlainRun(rows, model)
    from .triton_run import TritonRun  # Triton is loaded only where a card is

    return TritonRun(rows, model)
