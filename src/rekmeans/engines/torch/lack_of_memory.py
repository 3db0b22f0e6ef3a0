"""A device's lack of memory, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .host_blocks import rows_that_fit

FREE_SHARE = 0.6  # of a card's free memory that mapped rows may take; the rest is for a pass


@contextmanager
def explain_lack_of_memory(table: Any, device: torch.device) -> Iterator[None]:
    """A device's lack of memory as a sentence that says how many rows would fit."""
    try:
        yield
    except torch.OutOfMemoryError:
        free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 0
        fit = rows_that_fit(table.n_columns, int(FREE_SHARE * free))
        raise MemoryError(
            f"the {table.n_rows:,} rows of X do not fit into the memory of {device}, about "
            f"{fit:,} would: "
            "pass X on the host, which is copied block by block, fewer rows, or use "
            "engine='native'."
        ) from None
