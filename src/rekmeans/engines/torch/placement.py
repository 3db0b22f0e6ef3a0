"""Rows of a table on the devices of the torch engine, or block by block where they are too many for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model import Model
from .devices import devices_for
from .rows import TorchRows


def place_on_devices(stages: Sequence[Model], table: Any, memory_limit: int | None) -> Any:
    """The rows of a table, mapped on its device."""
    kernel = stages[-1].kernel
    device = devices_for(table)[0]
    return TorchRows(kernel, table, device)
