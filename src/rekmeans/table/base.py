"""What a table answers wherever its rows are; scales, kernel widths, planes and starts ask nothing
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from .._grid import Array
from .._lazy_property import lazy_property

EXACT_ROWS = 100_000  # rows up to which quantiles and counts are those of the table itself
# rows drawn from a larger one: its quartiles err by half a percent of the quartile range
SUMMARY_ROWS = 1 << 16

# cells of the columns that one thread summarises at a time: a few copies stay near the cache
SUMMARY_CELLS = 1 << 20

Statistic = Callable[[Array, Array | None], tuple[float, ...]]
BlockStatistic = Callable[[Array, Array | None, float], Array]
# functions that an engine has compiled, to the same bits
CompiledFunctions = Mapping[Callable[..., Any], Callable[..., Any]]


class SummaryRows(NamedTuple):
    """The rows that statistics of columns are taken of."""

    X: Any  # the table they are in, dense, or SciPy's CSC of just these rows
    numbers: Array | None  # of the rows in X, (n,); None for all
    weights: Array | None = None  # (n,) integers, none of them 0; None for all equal
    # the integer that stands for one row: of weight 1, or the mean if they are no counts
    row_weight: float = 1.0

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0]) if self.numbers is None else len(self.numbers)

    def columns(self, block: slice) -> Array:
        """Their cells in these columns, (n, m) float64, NaN where missing."""
        cells = dense(self.X[:, block])
        return np.array(cells if self.numbers is None else cells[self.numbers], np.float64)


class Table(Protocol):
    """Rows of numbers, NaN for missing cells; weights (n,) or None for all equal."""

    # False: its rows are read block by block, and no engine holds them all
    is_in_memory: ClassVar[bool]
    # its rows are a collection of Dask's, and tasks go where they are
    is_partitioned: ClassVar[bool]
    is_on_host: ClassVar[bool]  # False: its rows are a tensor, perhaps on a GPU

    @property
    def columns(self) -> dict[str, Any]:
        """scikit-learn's n_features_in_, feature_names_in_."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def weights(self) -> Array | None: ...

    @property
    def largest_weight(self) -> float | None:
        """The largest weight of the table that these rows are a block of;

        None where they are a table of their own.
        """

    def sample(self, count: int, seed: int) -> Table:
        """The rows that count, or `count` of them drawn by weight, in memory; how often is each
        one's weight.
        """

    def take(self, rows: Array, weights: Array) -> Table:
        """These rows, in memory, with these weights."""

    def column_summary(self, n_threads: int | None = None) -> ColumnSummary: ...

    def dense(self, rows: slice | Array) -> Array:
        """These rows as a dense array."""

    def has_missing(self) -> bool:
        """Whether any cell is missing."""

    def digest(self) -> int:
        """A digest of all rows in order and of their weights, the same wherever they are."""

    def blocks(self, size: int) -> Iterator[slice]:
        """All rows in order, so many at a time."""

    def answer(self, values: Any) -> Any:
        """An answer for each row, in the kind of array that X is of."""

    def count_labels(self, labels: Array, k: int) -> Array:
        """Return the number of rows with each label, (k,)."""


@dataclass(frozen=True)
class ColumnSummary:
    """What a scale may know of the columns: their extent over all rows, and statistics of single
    columns.

    Statistics are those of all rows up to EXACT_ROWS, above that of SUMMARY_ROWS rows drawn by
    weight: that is part of the definition of the answer, so that every place gives the same.
    """

    n_columns: int
    find_extent: Callable[[], tuple[Array, Array]]
    find_rows: Callable[[], SummaryRows]
    n_threads: int | None = None
    compiled_functions: CompiledFunctions = field(default_factory=dict)

    @lazy_property
    def extent(self) -> tuple[Array, Array]:
        """Smallest and largest observed cell of each column among rows that count, (d,);

        NaN where there is none.
        """
        return self.find_extent()

    def by_column(self, statistic: Statistic) -> list[tuple[float, ...]]:
        """`statistic(x, w)` of the cells x of each column, float64, and their integer weights or
        None, in order.
        """

        def statistics(X: Array, w: Array | None, row_weight: float) -> list[tuple[float, ...]]:
            observed = ~np.isnan(X)
            pairs = (
                (x[at], None if w is None else w[at]) for x, at in zip(X.T, observed.T, strict=True)
            )
            return [statistic(*pair) for pair in pairs]

        return list(chain.from_iterable(self._map_blocks(statistics)))

    def by_block(self, statistic: BlockStatistic) -> Array:
        """`statistic(X, w, v)`, (p, m), of the cells X (n, m) of a few columns, NaN where missing;
        of all, (p, d).

        w (n,) are integer weights or None, v the one that stands for one row.
        """
        return np.concatenate(self._map_blocks(statistic), axis=1)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the compiled form of this function of a summary, else the function itself."""
        return self.compiled_functions.get(function, function)

    @lazy_property
    def rows(self) -> SummaryRows:
        """The rows that statistics are taken of."""
        return self.find_rows()

    def column_blocks(self) -> Iterator[tuple[slice, Array]]:
        """A few columns at a time, and their cells (n, m), NaN where missing."""
        return ((block, self.rows.columns(block)) for block in self._blocks())

    def _blocks(self) -> list[slice]:
        """A few columns each, all of them in order."""
        size = max(1, SUMMARY_CELLS // self.rows.n_rows)
        return [slice(at, min(at + size, self.n_columns)) for at in range(0, self.n_columns, size)]

    def _map_blocks(self, statistic: Callable[[Array, Array | None, float], Any]) -> list[Any]:
        """`statistic` of the cells of a few columns at a time and of the weights of their rows, in
        order.
        """
        rows = self.rows
        blocks = self._blocks()
        if len(blocks) == 1:
            return [statistic(rows.columns(blocks[0]), rows.weights, rows.row_weight)]
        # NumPy sorts without holding the interpreter
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(
                pool.map(
                    lambda block: statistic(rows.columns(block), rows.weights, rows.row_weight),
                    blocks,
                )
            )


def draw_rows(weights: Array | int, words: Array) -> Array:
    """The row that each 64-bit word r draws: the first whose running sum of integer weights exceeds
    total r/2^64.

    A number instead of weights is that of rows of equal weight.
    """
    if isinstance(weights, int):
        return draw_goals(weights, words)
    ends = np.cumsum(weights, dtype=np.int64)
    goals = draw_goals(int(ends[-1]), words)
    # where no row has weight, the last
    return np.minimum(np.searchsorted(ends, goals, side="right"), len(ends) - 1)


def draw_goals(total: int, words: Array) -> Array:
    """total r/2^64 of each 64-bit word r, rounded down: what the running sum of a drawn row
    exceeds.
    """
    return _high_words(words, total).astype(np.int64)


def dense(X: Any) -> Array:
    """A table as a dense array, sparse or not."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _high_words(words: Array, factor: int) -> Array:
    """words * factor >> 64, for 64-bit words and a factor below 2^63, by halves of 32 bits."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    high = np.uint64(factor >> 32)
    low = np.uint64(factor & 0xFFFFFFFF)
    top = words >> half
    bottom = words & mask
    middle = top * low + ((bottom * low) >> half)  # below 2^64: (2^32 - 1)^2 + 2^32 - 1
    other = bottom * high + (middle & mask)
    return top * high + (middle >> half) + (other >> half)


def numbers_of_rows(rows: slice | Array, n: int) -> Array:
    """The numbers of these of n rows; only as many numbers are made as there are rows asked for."""
    if isinstance(rows, slice):
        return np.arange(*rows.indices(n))
    numbers = np.asarray(rows)
    if numbers.dtype == bool:
        return np.flatnonzero(numbers)
    if numbers.size and not -n <= int(numbers.min()) <= int(numbers.max()) < n:
        raise IndexError(
            f"numbers of rows must be between 0 and {n - 1}, got {numbers.min()} to "
            f"{numbers.max()}."
        )
    return np.where(numbers < 0, numbers + n, numbers)
