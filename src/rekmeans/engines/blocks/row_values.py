"""Arrays with a value for each row of a table that may be larger than memory."""

from __future__ import annotations

import math
import mmap
import os
import tempfile

import numpy as np
from numpy.typing import DTypeLike

from ..._grid import Array

FILE_SHARE = 4  # an array above this part of the memory limit is kept in an unnamed file


def empty_row_values(shape: tuple[int, ...], dtype: DTypeLike, memory_limit: int | None) -> Array:
    """Return an uninitialized array, in an unnamed file if it is too large for memory."""
    kind = np.dtype(dtype)
    size = kind.itemsize * math.prod(shape)
    if memory_limit is None or size * FILE_SHARE <= memory_limit or kind.hasobject:
        return np.empty(shape, kind)
    with tempfile.TemporaryFile(prefix="rekmeans-labels-") as file:
        # on a full disk this raises here; a later write to the mapping would crash
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        # not np.memmap: other processes would find its file by name
        return np.frombuffer(mmap.mmap(file.fileno(), size), kind).reshape(shape)
