"""The protocol of tables, and the summaries of their columns.

Scales, kernel widths and starts use this protocol only, wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Protocol, TypeAlias, TypedDict, TypeGuard, TypeVar

import numpy as np
from scipy import sparse

from .._grid import Array
from ..threads import lazy_property
from .schema import TableSchema

EXACT_ROWS = 100_000  # quantiles and counts of at most so many rows are exact
# rows that are drawn from a larger table: quartiles err by 0.5 % of the interquartile range
SUMMARY_ROWS = 1 << 16

# cells that one thread summarizes at a time: a few copies of them fit in the cache
SUMMARY_CELLS = 1 << 20

Item = TypeVar("Item")
Statistic = Callable[[Array, Array | None], tuple[float, ...]]
BlockStatistic = Callable[[Array, Array | None, float], Array]
# a function of a ColumnSummary, and perhaps of a Scale
SummaryFunction = Callable[..., Array]
# functions that an engine has compiled, to the same bits
CompiledFunctions = Mapping[SummaryFunction, SummaryFunction]

Cells: TypeAlias = Array | sparse.csr_array  # the cells of a table in memory, (n, d)
ColumnName: TypeAlias = str | int  # a number where columns have no names


class ColumnAttributes(TypedDict, total=False):
    """scikit-learn's attributes of the columns of a table, and its schema."""

    n_features_in_: int
    feature_names_in_: Array
    schema_: TableSchema


class SummaryRows(NamedTuple):
    """The rows that the statistics of columns are computed from."""

    X: Array | sparse.csc_array  # the whole dense table, or a copy of the rows by columns
    numbers: Array | None  # of the rows in X, (n,); None for all
    weights: Array | None = None  # (n,) integers, none of them 0; None for all equal
    # the integer weight of one row: that of weight 1, or the mean if weights are not counts
    row_weight: float = 1.0

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0]) if self.numbers is None else len(self.numbers)

    def columns(self, block: slice) -> Array:
        """Return the cells of the rows in these columns, (n, m) float64, NaN where missing."""
        cells = dense(self.X[:, block])
        return np.array(cells if self.numbers is None else cells[self.numbers], np.float64)


class TableFacts(Protocol):
    """The facts by which an engine decides whether it can run a fit."""

    @property
    def is_in_memory(self) -> bool:
        """Whether all rows are in memory; otherwise they are read block by block."""

    @property
    def is_partitioned(self) -> bool:
        """Whether the rows are partitions of a collection, and tasks run where they are."""

    @property
    def is_on_host(self) -> bool:
        """Whether the host's memory or disk has the rows; otherwise a tensor has them."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...


class Table(TableFacts, Protocol):
    """Rows of numbers, NaN for missing cells; weights (n,) or None for all equal."""

    @property
    def columns(self) -> ColumnAttributes: ...

    @property
    def weights(self) -> Array | None: ...

    @property
    def largest_weight(self) -> float | None:
        """The largest weight of the table that these rows are a block of.

        None if they are a table of their own.
        """

    def sample(self, count: int, seed: int) -> Table:
        """Return all rows with a weight above 0, or `count` of them drawn by weight, in memory.

        The weight of a drawn row is the number of times that it was drawn.
        """

    def take(self, rows: Array, weights: Array) -> Table:
        """Return these rows, in memory, with these weights."""

    def column_summary(self, n_threads: int | None = None) -> ColumnSummary: ...

    def dense(self, rows: slice | Array) -> Array:
        """Return these rows as a dense array."""

    def has_missing(self) -> bool:
        """Return whether any cell is missing."""

    def digest(self) -> int:
        """Return a digest of all rows in order and of their weights, the same for any kind of
        table.
        """

    def blocks(self, size: int) -> Iterator[slice]:
        """Yield slices of all rows in order, `size` rows at a time."""

    def to_input_type(self, values: Array) -> Array:
        """Convert values of all rows to the kind of array that X is: of NumPy, Dask or torch."""

    def count_labels(self, labels: Array, k: int) -> Array:
        """Return the number of rows with each label, (k,)."""


@dataclass(frozen=True)
class ColumnSummary:
    """The extent of the columns over all rows, and statistics of single columns.

    Scales use nothing else. The statistics of a table of at most EXACT_ROWS rows are those of all
    rows. Those of a larger table come from SUMMARY_ROWS rows drawn by weight. This rule is part of
    the definition of the result, so that every engine gives the same.
    """

    n_columns: int
    find_extent: Callable[[], tuple[Array, Array]]
    find_rows: Callable[[], SummaryRows]
    n_threads: int | None = None
    compiled_functions: CompiledFunctions = field(default_factory=dict)

    @lazy_property
    def extent(self) -> tuple[Array, Array]:
        """The smallest and the largest observed cell of each column, (d,).

        Rows of weight 0 are ignored. A column without any observed cell has NaN.
        """
        return self.find_extent()

    def by_column(self, statistic: Statistic) -> list[tuple[float, ...]]:
        """Return `statistic(x, w)` of each column in order.

        x are the observed cells of the column in float64, w their integer weights or None.
        """

        def statistics(X: Array, w: Array | None, row_weight: float) -> list[tuple[float, ...]]:
            observed = ~np.isnan(X)
            pairs = (
                (x[at], None if w is None else w[at]) for x, at in zip(X.T, observed.T, strict=True)
            )
            return [statistic(*pair) for pair in pairs]

        return list(chain.from_iterable(self._map_blocks(statistics)))

    def by_block(self, statistic: BlockStatistic) -> Array:
        """Return `statistic(X, w, v)` of a few columns at a time, (p, m), side by side, (p, d).

        X (n, m) are the cells, NaN where missing, w (n,) their integer weights or None, and v is
        the weight of one row.
        """
        return np.concatenate(self._map_blocks(statistic), axis=1)

    def find_compiled(self, function: SummaryFunction) -> SummaryFunction:
        """Return the compiled form of this function of a summary, else the function itself."""
        return self.compiled_functions.get(function, function)

    @lazy_property
    def rows(self) -> SummaryRows:
        """The rows that statistics are computed from."""
        return self.find_rows()

    def column_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield a few columns at a time with their cells (n, m), NaN where missing."""
        return ((block, self.rows.columns(block)) for block in self._blocks())

    def _blocks(self) -> list[slice]:
        """Return slices of a few columns each, all columns in order."""
        size = max(1, SUMMARY_CELLS // self.rows.n_rows)
        return [slice(at, min(at + size, self.n_columns)) for at in range(0, self.n_columns, size)]

    def _map_blocks(self, statistic: Callable[[Array, Array | None, float], Item]) -> list[Item]:
        """Return `statistic(X, w, v)` of a few columns at a time, in order."""
        rows = self.rows
        blocks = self._blocks()
        if len(blocks) == 1:
            return [statistic(rows.columns(blocks[0]), rows.weights, rows.row_weight)]
        # NumPy releases the interpreter lock while it sorts
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(
                pool.map(
                    lambda block: statistic(rows.columns(block), rows.weights, rows.row_weight),
                    blocks,
                )
            )


def draw_rows(weights: Array | int, words: Array) -> Array:
    """Return the row that each 64-bit word r draws.

    This is the first row whose running sum of integer weights exceeds total r/2^64. If `weights` is
    a number, it is the number of rows, all of the same weight.
    """
    if isinstance(weights, int):
        return draw_goals(weights, words)
    ends = np.cumsum(weights, dtype=np.int64)
    goals = draw_goals(int(ends[-1]), words)
    # if all weights are 0, the last row
    return np.minimum(np.searchsorted(ends, goals, side="right"), len(ends) - 1)


def draw_goals(total: int, words: Array) -> Array:
    """Return total r/2^64 of each 64-bit word r, rounded down.

    The running sum of the drawn row is the first that exceeds it.
    """
    return _high_words(words, total).astype(np.int64)


def is_sparse(X: object) -> TypeGuard[sparse.csr_array]:
    """Return whether the cells of a table are stored in sparse form."""
    return bool(sparse.issparse(X))


def dense(X: Cells) -> Array:
    """Return the cells of a dense or sparse table as a dense array."""
    return X.toarray() if is_sparse(X) else np.asarray(X)


def _high_words(words: Array, factor: int) -> Array:
    """Return words * factor >> 64 for 64-bit words and a factor below 2^63, by 32-bit halves."""
    half = np.uint64(32)
    mask = np.uint64(0xFFFFFFFF)
    high = np.uint64(factor >> 32)
    low = np.uint64(factor & 0xFFFFFFFF)
    top = words >> half
    bottom = words & mask
    middle = top * low + ((bottom * low) >> half)  # below 2^64: (2^32 - 1)^2 + 2^32 - 1
    other = bottom * high + (middle & mask)
    return top * high + (middle >> half) + (other >> half)


def numbers_of_rows(rows: slice | Array, n: int) -> Array:
    """Return the numbers of the selected rows of n, without an array of all n numbers."""
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
