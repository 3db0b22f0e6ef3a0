"""Which store holds mapped rows on a device, and which run goes over them: the one place that asks what a device is."""

from __future__ import annotations

from typing import Any

import torch

from ...model import Model
from .grid_store import GridStore
from .plain_run import PlainRun


def choose_store(device: torch.device) -> Any:
    """The class of a store (n, d, device, blocks) of mapped rows on this device."""
    return GridStore


def choose_run(rows: Any, model: Model) -> Any:
    """A run of the model over rows on their device."""
    return PlainRun(rows, model)
