"""Starting centroids: greedy k-means++ with local-search swaps, random mapped rows, or a start of the kernel's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from ._grid import Array

SWAP_BATCHES = 25  # batches of local search; more gains little (0.76 % above the best objective found)
SWAP_CANDIDATES = 8  # rows tried in one batch
SWAP_PATIENCE = 3  # batches without gain after which the search ends
DRAW_ROUNDS = 8  # of draws of k rows, until k are different


class Bits(Protocol):
    """A source of raw random 64-bit words, such as numpy.random.PCG64."""

    def random_raw(self) -> int: ...


class Seeding(Protocol):
    """Starting centroids as they are chosen, with each row's distance to the nearest and the second nearest."""

    @property
    def centroids(self) -> Any:
        """The centroids chosen so far."""

    def sample(self, bits: Bits, count: int) -> Array:
        """`count` row numbers, each in proportion to weight times loss (weight alone before the first centroid)."""

    def add_best(self, numbers: Array) -> None:
        """Take as a new centroid the candidate row that leaves the least loss."""

    def swap_best(self, numbers: Array) -> bool:
        """Put the best candidate row in the place of the best centroid to lose, if that lowers the loss."""


Start = Callable[[Any, int, Bits], Any]  # (rows, k, bits) -> centroids


def plus_plus(rows: Any, k: int, bits: Bits) -> Any:
    """Rows drawn in proportion to their loss, the best of 2 + ln k each time; then swaps that lower the loss."""
    few = rows.kernel.seeding_sample
    seeding = (rows if few is None or len(rows) <= few else rows.sample(few, bits.random_raw())).start_seeding()
    seeding.add_best(seeding.sample(bits, 1))
    for _ in range(k - 1):
        seeding.add_best(seeding.sample(bits, 2 + int(math.log(k))))
    n_failed = 0
    for _ in range(SWAP_BATCHES if k > 1 else 0):
        n_failed = 0 if seeding.swap_best(seeding.sample(bits, SWAP_CANDIDATES)) else n_failed + 1
        if n_failed == SWAP_PATIENCE:
            break
    return seeding.centroids


def random_rows(rows: Any, k: int, bits: Bits) -> Any:
    """k different mapped rows, drawn by weight; where few rows carry nearly all weight, the first others fill up."""
    seeding, numbers = rows.start_seeding(), dict[int, None]()
    for _ in range(DRAW_ROUNDS):
        numbers |= dict.fromkeys(seeding.sample(bits, k).tolist())
        if len(numbers) >= k:
            break
    else:
        numbers |= dict.fromkeys(np.argsort(rows.weights() == 0, kind="stable")[: 2 * k].tolist())
    return rows.rows_as_centroids(np.array(list(numbers)[:k]))


def starts_of(kernel: Any) -> Mapping[str, Start]:
    """All starts by name: those of every kernel, and the kernel's own."""
    of_kernel = {name: _without_rows(start) for name, start in kernel.starts.items()}
    return STARTS | of_kernel


def _without_rows(start: Callable[[int, Bits], Any]) -> Start:
    return lambda rows, k, bits: start(k, bits)


STARTS: dict[str, Start] = {"k-means++": plus_plus, "random": random_rows}
