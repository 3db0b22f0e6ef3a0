"""A sample of recent rows of a stream, used to compute the scale.

The probability that a row is in the sample halves with every half-life.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from scipy import sparse

from .._grid import Array
from .base import Cells, ColumnAttributes, dense, is_sparse
from .memory import MemoryTable

# The sample has at most MAX_RECENT rows and MAX_RECENT_CELLS cells (32 MB), but MIN_RECENT rows are
# always allowed.
MAX_RECENT = 1 << 12
MAX_RECENT_CELLS = 1 << 22
MIN_RECENT = 1 << 8
WORD_BITS = 64
RECENT_SEED = 0  # seed of the random words, one for each row number of the stream


def _no_numbers() -> Array:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class RecentRows:
    """A sample of rows, each with a level.

    The level of a row is the number of half-lives before it plus the number of leading zeros of its
    random word. A row with e half-lives before it has level L or more with probability
    min(1, 2^(e - L)). The sample keeps rows at `least_level` and above. This is the lowest level
    at which the sample is small enough, so the sample does not depend on the blocks.
    """

    X: Cells | None = None  # (m, d); None before the first block
    weights: Array = field(default_factory=_no_numbers)  # (m,)
    epochs: Array = field(default_factory=_no_numbers)  # (m,) number of half-lives before each row
    levels: Array = field(default_factory=_no_numbers)  # (m,)
    least_level: int = 0
    n_rows_before: int = 0  # all rows of the stream so far

    def add(self, table: MemoryTable, epochs: Array) -> RecentRows:
        """Return the sample after a block; `epochs` are the half-lives before each of its rows."""
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
        """Drop the lowest levels until the sample is small enough."""
        if self.X is None:
            return self
        most = max(MIN_RECENT, min(MAX_RECENT, MAX_RECENT_CELLS // self.X.shape[1]))
        if len(self.levels) <= most:
            return self
        least = int(np.sort(self.levels)[-most - 1]) + 1
        kept = np.flatnonzero(self.levels >= least)
        of_rows = {name: getattr(self, name)[kept] for name in ("X", "weights", "epochs", "levels")}
        return replace(self, **of_rows, least_level=least)

    def table(self, columns: ColumnAttributes) -> MemoryTable:
        """Return the rows with decayed weights, corrected for the sampling probability."""
        X = cast(Cells, self.X)  # the scale is never computed before the first block
        ages = np.maximum(self.epochs, self.least_level)
        weights = np.ldexp(self.weights, np.maximum(ages - ages.max(), -WORD_BITS // 4))
        return MemoryTable(X, None if (weights == weights[0]).all() else weights, columns)


def _stack(blocks: tuple[Cells, ...]) -> Cells:
    """Stack blocks vertically; the result is sparse if all blocks are."""
    if all(is_sparse(block) for block in blocks):
        return sparse.vstack(blocks, format="csr")
    return np.concatenate([dense(block) for block in blocks]).astype(np.float64)
