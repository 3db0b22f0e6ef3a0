"""Starting centroids: greedy k-means++ with swaps, k-means||, random rows, or a kernel's start."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from ._grid import Array
from .model import Centroids

if TYPE_CHECKING:
    from .engines import Rows
    from .kernels.base import Kernel

# batches of local search; further ones gain little (25 end 0.76 % above the best objective found)
SWAP_BATCHES = 25
SWAP_CANDIDATES = 8  # candidate rows of a batch
SWAP_PATIENCE = 3  # the search stops after this many batches without gain
# With MANY_CLUSTERS or more, k-means++ chooses from candidates: DRAWS per cluster, drawn in ROUNDS
# rounds. With NOT_GREEDY or more, there are FEWER_DRAWS per cluster, and k-means++ is not greedy.
MANY_CLUSTERS = 128
DRAWS = 5
ROUNDS = 5
NOT_GREEDY = 1000
FEWER_DRAWS = 2
DRAW_ROUNDS = 8  # rounds of k random rows, until k rows differ


class Bits(Protocol):
    """A source of raw random 64-bit words, such as numpy.random.PCG64."""

    def random_raw(self, size: int, /) -> Array: ...


class Seeding(Protocol):
    """The state of k-means++: the centroids chosen so far.

    It stores the losses of each row at the nearest and the second nearest of these centroids.
    """

    if TYPE_CHECKING:  # read-only: an attribute or a property implements it

        @property
        def centroids(self) -> Centroids:
            """The centroids chosen so far."""

    def sample(self, words: Array) -> Array:
        """Return a row number for each word, drawn in proportion to weight times loss.

        Before the first centroid, rows are drawn by weight.
        """

    def add_best(self, numbers: Array) -> None:
        """Add the candidate row that leaves the smallest loss."""

    def add_all(self, numbers: Array) -> None:
        """Add all of these rows; no swap may follow."""

    def add_drawn(self, words: Array) -> None:
        """Draw a row with each word and add it before the next draw; no swap may follow."""
        for word in words:
            self.add_all(self.sample(word[None]))

    def swap_best(self, numbers: Array) -> bool:
        """Make the best swap of a centroid and a candidate row if it lowers the loss.

        Return whether it did.
        """

    def nearest_masses(self) -> Array:
        """Return the weight of the rows nearest to each centroid, (k,)."""

    def add_rows(self, words: Array) -> None:
        """Draw candidates with each row of words (steps, count), and add the best of them."""
        for step in words:
            self.add_best(self.sample(step))

    def swap_rows(self, words: Array, patience: int) -> None:
        """Draw candidates with each row of words (steps, count), and swap the best.

        Stop after `patience` steps in a row that do not lower the loss.
        """
        n_failed = 0
        for step in words:
            n_failed = 0 if self.swap_best(self.sample(step)) else n_failed + 1
            if n_failed == patience:
                break


Start: TypeAlias = "Callable[[Rows, int, Bits], Centroids]"  # (rows, k, bits) -> centroids


class SeedingPlan(NamedTuple):
    """The numbers of draws and swaps of greedy k-means++."""

    k: int
    batches: int
    swap_candidates: int = SWAP_CANDIDATES  # of each batch

    @property
    def candidates(self) -> int:
        """The number of candidates for each centroid after the first."""
        return 2 + int(math.log(self.k))

    @property
    def n_words(self) -> int:
        """The number of random words for a start."""
        return 1 + (self.k - 1) * self.candidates + self.batches * self.swap_candidates


def plus_plus(rows: Rows, k: int, bits: Bits) -> Centroids:
    """Return centroids by greedy k-means++ with swaps, on a sample if the kernel limits its size.

    Many clusters are chosen from candidates weighted by the mass of their Voronoi cells.
    """
    max_rows = rows.kernel.seeding_sample or rows.max_seeding_rows
    if max_rows is not None and len(rows) > max_rows:
        rows = rows.place(rows.table.sample(max_rows, bits.random_raw(1).item()))
    rows = rows.in_memory()
    if k >= MANY_CLUSTERS and rows.kernel.is_additive:
        rows = _weighted_candidates(rows, k, bits)
    return _choose_rows(rows, k, bits)


def oversampled_rows(rows: Rows, k: int, bits: Bits) -> Centroids:
    """Return centroids by k-means|| over all rows: greedy k-means++ among candidates."""
    return _choose_rows(_weighted_candidates(rows, k, bits), k, bits)


def _choose_rows(rows: Rows, k: int, bits: Bits) -> Centroids:
    """Return k of these rows by greedy k-means++ with swaps, or by plain k-means++ for large k."""
    if k < NOT_GREEDY:
        return greedy_rows(rows, SeedingPlan(k, SWAP_BATCHES if k > 1 else 0), bits)
    seeding = rows.start_seeding()
    seeding.add_drawn(bits.random_raw(k))
    return seeding.centroids


def greedy_rows(rows: Rows, plan: SeedingPlan, bits: Bits) -> Centroids:
    """Return rows by greedy k-means++: the best of 2 + ln k draws each time, then swaps."""
    seeding = rows.start_seeding()
    seeding.add_rows(_words(bits, 1, 1))
    seeding.add_rows(_words(bits, plan.k - 1, plan.candidates))
    if plan.batches:
        seeding.swap_rows(_words(bits, plan.batches, plan.swap_candidates), SWAP_PATIENCE)
    return seeding.centroids


def _weighted_candidates(rows: Rows, k: int, bits: Bits) -> Rows:
    """Return the candidates of k-means|| (Bahmani et al. 2012).

    They are weighted by the mass of their Voronoi cells.
    """
    count = (DRAWS if k < NOT_GREEDY else FEWER_DRAWS) * k
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
    """Return raw random words, (steps, count)."""
    return bits.random_raw(steps * count).reshape(steps, count)


def random_rows(rows: Rows, k: int, bits: Bits) -> Centroids:
    """Return k different mapped rows, drawn by weight.

    If the draws give fewer than k different rows, the first other rows are added.
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


def starts_of(kernel: Kernel) -> Mapping[str, Start]:
    """Return all starts of a kernel by name, including those that not every kernel supports."""
    of_kernel = {name: partial(_kernel_start, start) for name, start in kernel.starts.items()}
    return STARTS | (ADDITIVE_STARTS if kernel.is_additive else {}) | of_kernel


def _kernel_start(
    start: Callable[[int, Bits], Centroids], rows: Rows, k: int, bits: Bits
) -> Centroids:
    """Run a start of the kernel, which needs no rows."""
    return start(k, bits)


STARTS: dict[str, Start] = {"k-means++": plus_plus, "random": random_rows}
ADDITIVE_STARTS: dict[str, Start] = {"k-means||": oversampled_rows}
BY_LOSS = ("k-means++", "k-means||")  # with these, one start is nearly as good as several
