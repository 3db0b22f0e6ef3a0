"""Which inputs are torch tensors or arrays on a card, told without importing their library."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._grid import Array

# DLPack's numbers of memory that the processor reads: plain, pinned, managed
HOST_DEVICES = {1, 3, 11, 13}


def is_tensor(X: Any) -> bool:
    """Whether X is a tensor of torch; nothing is one where torch is not imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_on_card(X: Any) -> bool:
    """Whether X is an array in the memory of a card, of any library that speaks DLPack."""
    if is_tensor(X):
        return bool(X.device.type != "cpu")
    return hasattr(X, "__dlpack_device__") and int(X.__dlpack_device__()[0]) not in HOST_DEVICES


def host_values(values: Any) -> Array:
    """Answers for each row, such as labels, as a NumPy array: tensors and CuPy's arrays are copied
    from their card.
    """
    if is_tensor(values):
        return np.asarray(values.detach().cpu())
    return np.asarray(values.get() if is_on_card(values) and hasattr(values, "get") else values)


def device_name(X: Any) -> str:
    """The device of an array, as its library calls it."""
    return str(getattr(X, "device", "a card"))
