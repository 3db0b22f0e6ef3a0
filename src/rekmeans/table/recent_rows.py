"""Rows of a stream for the scale: a sample in which a row stays half as likely with every half-life
that follows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._grid import Array
from .base import dense
from .memory import MemoryTable

MOST_RECENT = 1 << 12  # rows that are kept
MOST_RECENT_CELLS = 1 << 22  # of a dense table, 32 MB, above
FEWEST_RECENT = 1 << 8  # rows
WORD_BITS = 64
RECENT_SEED = 0  # of the words, one for each row of the stream by its number


def _no_numbers() -> Array:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class RecentRows:
    """Rows of which each has a level: the half-lives before it, and the leading zeros of a random
    word of its own.

    A row has level L or more with the probability 2^(its half-lives - L), at most 1; those at
    `least_level` and above are kept. It is the least at which they are few enough, so where blocks
    are cut does not show.
    """

    X: Any = None  # (m, d), dense or CSR; None before the first block
    weights: Array = field(default_factory=_no_numbers)  # (m,) of the table
    epochs: Array = field(default_factory=_no_numbers)  # (m,) half-lives before each
    levels: Array = field(default_factory=_no_numbers)  # (m,)
    least_level: int = 0
    n_rows_before: int = 0  # of the stream so far, kept or not

    def add(self, table: MemoryTable, epochs: Array) -> RecentRows:
        """These rows and those of a block, before which there were so many half-lives."""
        n = table.n_rows
        words = np.random.PCG64(RECENT_SEED).advance(self.n_rows_before).random_raw(n)
        levels = epochs + WORD_BITS - np.frexp(words.astype(np.float64))[1]
        weights = np.ones(n) if table.weights is None else table.weights
        new = np.flatnonzero((levels >= self.least_level) & (weights > 0))
        parts = [(table.X[new], weights[new], epochs[new], levels[new])]
        if self.X is not None:
            parts.insert(0, (self.X, self.weights, self.epochs, self.levels))
        X, *columns = zip(*parts, strict=True)
        weights, epochs, levels = (np.concatenate(column) for column in columns)
        joined = RecentRows(
            _stack(X), weights, epochs, levels, self.least_level, self.n_rows_before + n
        )
        return joined._without_lowest()

    def _without_lowest(self) -> RecentRows:
        """The rows of the least level at which there are few enough."""
        most = max(FEWEST_RECENT, min(MOST_RECENT, MOST_RECENT_CELLS // self.X.shape[1]))
        if len(self.levels) <= most:
            return self
        least = int(np.sort(self.levels)[-most - 1]) + 1
        kept = np.flatnonzero(self.levels >= least)
        of_rows = {name: getattr(self, name)[kept] for name in ("X", "weights", "epochs", "levels")}
        return replace(self, **of_rows, least_level=least)

    def table(self, columns: dict[str, Any]) -> MemoryTable:
        """The rows with weights that make up for how likely each was kept, and halve with every
        half-life.
        """
        ages = np.maximum(self.epochs, self.least_level)
        weights = np.ldexp(self.weights, np.maximum(ages - ages.max(), -WORD_BITS // 4))
        return MemoryTable(self.X, None if (weights == weights[0]).all() else weights, columns)


def _stack(blocks: tuple[Any, ...]) -> Any:
    """Blocks one below the other; sparse if all are."""
    if all(sparse.issparse(block) for block in blocks):
        return sparse.vstack(blocks, format="csr")
    return np.concatenate([dense(block) for block in blocks]).astype(np.float64)
