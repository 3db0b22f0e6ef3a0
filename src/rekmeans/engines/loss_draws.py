"""Draws by weight times loss: the first row whose running sum exceeds total r/2^64, exact for
integers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from .._grid import Array, mass_of, weighted_total
from ..assignment import Hard, nearest, one_hot
from ..centroids import rectified
from ..model import Model

DRAW_ROWS = 1 << 12  # of a part whose sum is known: a draw looks at the rows of one


def draw_parts(n: int) -> list[slice]:
    """All rows in parts of DRAW_ROWS."""
    return [slice(at, min(at + DRAW_ROWS, n)) for at in range(0, n, DRAW_ROWS)]


def weighted_loss(w: Array, losses: Array) -> Any:
    """Sum of weight times loss, exact for integers."""
    if w.dtype.kind == "f":
        return float((w * losses).sum())  # no BLAS: to wake its threads takes longer than the sum
    return weighted_total(w, losses)


def running_totals(parts: Sequence[slice], w: Array, losses: Array) -> list[Any]:
    """Weight times loss of all rows up to the end of each part."""
    return list(accumulate(weighted_loss(w[at], losses[at]) for at in parts))


def nearest_masses(rows: Any, C: Any) -> Array:
    """Weight of the rows that each of these centroids is the nearest of by loss, the first of
    several, (k,).
    """
    kernel = rows.kernel
    if kernel.is_exact:  # its losses are its distances
        return rows.start_run(Model(kernel, Hard(), rectified)).assign(C).sums.mass
    owners = rows.map_blocks(lambda F: nearest(kernel.loss(kernel.distance(F, C))))
    return mass_of(one_hot(owners, rows.weights(), len(C)))


def draw_goal(total: Any, word: int) -> Any:
    """What the running sum of a drawn row exceeds."""
    return word / 2.0**64 * total if isinstance(total, float) else (word * total) >> 64


def draw_by_weighted_loss(w: Array, losses: Array, words: Array) -> Array | None:
    """A row number for each word, by weight times loss; None where all of it is 0."""
    parts = draw_parts(len(w))
    totals = running_totals(parts, w, losses)
    if not totals[-1]:
        return None
    goals = (draw_goal(totals[-1], word) for word in words.tolist())
    return np.array([row_at_goal(parts, totals, w, losses, goal) for goal in goals])


def row_at_goal(
    parts: Sequence[slice], totals: Sequence[Any], w: Array, losses: Array, goal: Any
) -> int:
    """The row at which the running sum of weight times loss first exceeds the goal."""
    b = min(bisect_right(totals, goal), len(parts) - 1)
    before = totals[b - 1] if b else 0
    at = parts[b]
    kind = float if w.dtype.kind == "f" else object
    mass = np.cumsum(w[at].astype(kind) * losses[at].astype(kind))
    return at.start + min(int(np.searchsorted(mass, goal - before, side="right")), len(mass) - 1)
