"""Sums of many blocks or partitions without overflow: large integers become Python's."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import numpy as np

from .._grid import ROOM, Array
from ..model import Sums


def widen(values: Array) -> Array:
    """Return 64-bit integers as Python integers if a million such arrays might overflow."""
    if values.dtype.kind != "i":
        return values
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    return values.astype(object) if largest >> ROOM else values


def widen_sums(sums: Sums) -> Sums:
    """Return the sums of a block to which a million others can be added without overflow."""
    return sums.map_values(lambda value: widen(value) if isinstance(value, np.ndarray) else value)


def add_phase_sums(pairs: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the phase sums of all blocks from those of each block, in any order."""
    wide = ((widen(turns), widen(masses)) for turns, masses in pairs)
    return reduce(lambda one, two: (one[0] + two[0], one[1] + two[1]), wide)
