"""Starting centroids: greedy k-means++ with local-search swaps, random mapped rows, random points of the circle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ._grid import Array, cospi_sinpi

if TYPE_CHECKING:
    from .engines import Bits, Rows

SWAPS = 25  # batches of local search; more gains little (0.76 % above the best objective found)
CANDIDATES = 8  # rows tried in one batch
PATIENCE = 3  # batches without gain after which the search ends

Start = Callable[["Rows", int, "Bits"], Array]


def plus_plus(rows: Rows, k: int, bits: Bits) -> Array:
    """Rows drawn in proportion to their loss, the best of 2 + ln k each time; then swaps that lower the loss."""
    seeding = rows.seeding()
    seeding.extend(seeding.drawn(bits, 1))
    for _ in range(k - 1):
        seeding.extend(seeding.drawn(bits, 2 + int(math.log(k))))
    failed = 0
    for _ in range(SWAPS if k > 1 else 0):
        failed = 0 if seeding.exchange(seeding.drawn(bits, CANDIDATES)) else failed + 1
        if failed == PATIENCE:
            break
    return seeding.C


def random_rows(rows: Rows, k: int, bits: Bits) -> Array:
    """k different mapped rows, drawn by weight; where few rows carry nearly all weight, the first others fill up."""
    seeding, numbers = rows.seeding(), dict[int, None]()
    for _ in range(8):
        numbers |= dict.fromkeys(seeding.drawn(bits, k).tolist())
    numbers |= dict.fromkeys(np.argsort(rows.weights() == 0, kind="stable")[: 2 * k].tolist())
    return rows.mapped(np.array(list(numbers)[:k]))


def circle(rows: Rows, k: int, bits: Bits) -> Array:
    """Random points of the circle, every angle as likely."""
    d = rows.mapped(np.zeros(1, np.int64)).shape[1] // 2
    turns = np.array([[bits.random_raw() >> 11 for _ in range(d)] for _ in range(k)]) * 2.0**-52  # [0, 2)
    return np.concatenate(cospi_sinpi(turns), axis=1)


STARTS: dict[str, Start] = {"k-means++": plus_plus, "random": random_rows, "circle": circle}
