"""Starting centroids: greedy k-means++ with swaps, k-means||, random mapped rows, or a start of the
kernel's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from ._grid import Array

# batches of local search; more gains little (0.76 % above the best objective found)
SWAP_BATCHES = 25
SWAP_CANDIDATES = 8  # rows tried in one batch
SWAP_PATIENCE = 3  # batches without gain after which the search ends
MANY_CLUSTERS = 128  # from which on candidates are drawn first, many at a time,
# so many for each cluster, in so many rounds
DRAWS = 5
ROUNDS = 5
MOST_GREEDY = 1000  # clusters from which on
DRAWS_OF_MOST = 2  # are drawn, and each draw is taken
DRAW_ROUNDS = 8  # of draws of k rows, until k are different


class Bits(Protocol):
    """A source of raw random 64-bit words, such as numpy.random.PCG64."""

    def random_raw(self, size: int, /) -> Array: ...


class Seeding(Protocol):
    """Starting centroids as they are chosen, with each row's distance to the nearest and the second
    nearest.
    """

    centroids: Any  # chosen so far

    def sample(self, words: Array) -> Array:
        """A row number for each word, in proportion to weight times loss (weight alone before the
        first centroid).
        """

    def add_best(self, numbers: Array) -> None:
        """Take as a new centroid the candidate row that leaves the least loss."""

    def add_all(self, numbers: Array) -> None:
        """Take all of these rows as centroids; no swap may follow."""

    def add_drawn(self, words: Array) -> None:
        """Take the row that each word draws after the one before is taken; no swap may follow."""
        for word in words:
            self.add_all(self.sample(word[None]))

    def swap_best(self, numbers: Array) -> bool:
        """Put the best candidate row in the place of the best centroid to lose, if that lowers the
        loss.
        """

    def nearest_masses(self) -> Array:
        """Weight of the rows that each centroid is the nearest of, (k,)."""

    def add_rows(self, words: Array) -> None:
        """Draw candidates by each row of words (steps, count), and add the best of them."""
        for step in words:
            self.add_best(self.sample(step))

    def swap_rows(self, words: Array, patience: int) -> None:
        """Draw candidates by each row of words (steps, count), and swap the best, until `patience`
        in a row fail.
        """
        n_failed = 0
        for step in words:
            n_failed = 0 if self.swap_best(self.sample(step)) else n_failed + 1
            if n_failed == patience:
                break


Start = Callable[[Any, int, Bits], Any]  # (rows, k, bits) -> centroids


class SeedingPlan(NamedTuple):
    """How greedy k-means++ draws k rows, and in how many batches some are swapped."""

    k: int
    batches: int
    swap_candidates: int = SWAP_CANDIDATES  # of each batch

    @property
    def candidates(self) -> int:
        """Of each draw after the first."""
        return 2 + int(math.log(self.k))

    @property
    def n_words(self) -> int:
        """Random words of a start."""
        return 1 + (self.k - 1) * self.candidates + self.batches * self.swap_candidates


def plus_plus(rows: Any, k: int, bits: Bits) -> Any:
    """Greedy k-means++ with swaps, on a sample where the kernel asks for one.

    Many clusters are drawn from candidates, each with the weight of the rows that it is the nearest
    of; a thousand and more by plain k-means++.
    """
    few = rows.kernel.seeding_sample or rows.max_seeding_rows
    if few is not None and len(rows) > few:
        rows = rows.place(rows.table.sample(few, bits.random_raw(1).item()))
    rows = rows.in_memory()
    if k >= MANY_CLUSTERS and rows.kernel.is_additive:
        rows = _weighted_candidates(rows, k, bits)
    return _choose_rows(rows, k, bits)


def oversampled_rows(rows: Any, k: int, bits: Bits) -> Any:
    """k-means|| over all rows, wherever they are: candidates in a few rounds, and of these greedy
    k-means++.
    """
    return _choose_rows(_weighted_candidates(rows, k, bits), k, bits)


def _choose_rows(rows: Any, k: int, bits: Bits) -> Any:
    """k of these rows by greedy k-means++ with swaps; a thousand and more by plain k-means++."""
    if k < MOST_GREEDY:
        return greedy_rows(rows, SeedingPlan(k, SWAP_BATCHES if k > 1 else 0), bits)
    seeding = rows.start_seeding()
    seeding.add_drawn(bits.random_raw(k))
    return seeding.centroids


def greedy_rows(rows: Any, plan: SeedingPlan, bits: Bits) -> Any:
    """Rows drawn in proportion to their loss, the best of 2 + ln k each time; then swaps that lower
    the loss.
    """
    seeding = rows.start_seeding()
    seeding.add_rows(_words(bits, 1, 1))
    seeding.add_rows(_words(bits, plan.k - 1, plan.candidates))
    if plan.batches:
        seeding.swap_rows(_words(bits, plan.batches, plan.swap_candidates), SWAP_PATIENCE)
    return seeding.centroids


def _weighted_candidates(rows: Any, k: int, bits: Bits) -> Any:
    """Rows drawn in a few rounds (k-means||, Bahmani et al. 2012), as heavy as those that they are
    the nearest of.
    """
    count = (DRAWS if k < MOST_GREEDY else DRAWS_OF_MOST) * k
    if len(rows) <= count:
        return rows.in_memory()
    seeding = rows.start_seeding()
    numbers = [seeding.sample(bits.random_raw(1))]
    seeding.add_all(numbers[0])
    for _ in range(ROUNDS):
        numbers.append(np.unique(seeding.sample(bits.random_raw(count // ROUNDS))))
        seeding.add_all(numbers[-1])
    return rows.place(rows.table.take(np.concatenate(numbers), seeding.nearest_masses()))


def _words(bits: Bits, steps: int, count: int) -> Array:
    """Raw random words, (steps, count)."""
    return bits.random_raw(steps * count).reshape(steps, count)


def random_rows(rows: Any, k: int, bits: Bits) -> Any:
    """k different mapped rows, drawn by weight; where few rows carry nearly all weight, the first
    others fill up.
    """
    seeding = rows.start_seeding()
    numbers = dict[int, None]()
    for _ in range(DRAW_ROUNDS):
        numbers |= dict.fromkeys(seeding.sample(bits.random_raw(k)).tolist())
        if len(numbers) >= k:
            break
    else:
        numbers |= dict.fromkeys(np.argsort(rows.weights() == 0, kind="stable")[: 2 * k].tolist())
    return rows.rows_as_centroids(np.array(list(numbers)[:k]))


def starts_of(kernel: Any) -> Mapping[str, Start]:
    """All starts by name: those of every kernel, that of kernels whose sums add, and the kernel's
    own.
    """
    of_kernel = {name: _without_rows(start) for name, start in kernel.starts.items()}
    return STARTS | (ADDITIVE_STARTS if kernel.is_additive else {}) | of_kernel


def _without_rows(start: Callable[[int, Bits], Any]) -> Start:
    return lambda rows, k, bits: start(k, bits)


STARTS: dict[str, Start] = {"k-means++": plus_plus, "random": random_rows}
ADDITIVE_STARTS: dict[str, Start] = {"k-means||": oversampled_rows}
BY_LOSS = ("k-means++", "k-means||")  # starts of which one is nearly as good as several
