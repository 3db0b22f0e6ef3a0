"""The Table protocol and column summaries.

Scales, kernel widths and initialization use only this protocol, however the rows are stored.
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

EXACT_ROWS = 100_000  # quantiles and counts are exact up to this number of rows
# sample size for larger tables: the error of quartiles is 0.5% of the interquartile range
SUMMARY_ROWS = 1 << 16

# cells that one thread summarizes at a time; a few copies fit in the cache
SUMMARY_CELLS = 1 << 20

Item = TypeVar("Item")
Statistic = Callable[[Array, Array | None], tuple[float, ...]]
BlockStatistic = Callable[[Array, Array | None, float], Array]
# a function of a ColumnSummary and optionally a Scale
SummaryFunction = Callable[..., Array]
# an engine's compiled versions, which return bitwise identical results
CompiledFunctions = Mapping[SummaryFunction, SummaryFunction]

Cells: TypeAlias = Array | sparse.csr_array  # the cells of a table in memory, (n, d)
ColumnName: TypeAlias = str | int  # a position if columns have no names


class ColumnAttributes(TypedDict, total=False):
    """The column attributes defined by scikit-learn, and the schema of the table."""

    n_features_in_: int
    feature_names_in_: Array
    schema_: TableSchema


class SummaryRows(NamedTuple):
    """The rows from which column statistics are computed."""

    X: Array | sparse.csc_array  # the whole dense table, or a CSC copy of the rows
    numbers: Array | None  # row numbers in X, (n,); None for all rows
    weights: Array | None = None  # (n,) positive integers; None if all are equal
    # integer weight of a row of weight 1, or the mean integer weight if weights are not counts
    row_weight: float = 1.0

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0]) if self.numbers is None else len(self.numbers)

    def columns(self, block: slice) -> Array:
        """Return the cells of the rows in these columns, (n, m) float64, NaN where missing."""
        cells = dense(self.X[:, block])
        return np.array(cells if self.numbers is None else cells[self.numbers], np.float64)


class TableFacts(Protocol):
    """The properties that determine whether an engine supports a table."""

    @property
    def is_in_memory(self) -> bool:
        """Whether all rows are in memory; otherwise they are read block by block."""

    @property
    def is_partitioned(self) -> bool:
        """Whether the rows are partitions of a collection that workers process."""

    @property
    def is_on_host(self) -> bool:
        """Whether the rows are in host memory or on disk; otherwise they are in a tensor."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...


class Table(TableFacts, Protocol):
    """Rows of numbers, NaN for missing cells; weights (n,) or None if all are equal."""

    @property
    def columns(self) -> ColumnAttributes: ...

    @property
    def weights(self) -> Array | None: ...

    @property
    def empty_rows(self) -> Array:
        """The numbers of the rows without an observed value, in ascending order.

        Their weight is 0.
        """

    @property
    def largest_weight(self) -> float | None:
        """The largest weight of the whole table, or None if these rows are not a block."""

    def sample(self, count: int, seed: int) -> Table:
        """Return all rows with nonzero weight, or a sample of `count` rows, in memory.

        Rows are drawn in proportion to their weights. The weight of a row in the sample is the
        number of times it was drawn.
        """

    def take(self, rows: Array, weights: Array) -> Table:
        """Return the selected rows in memory, with the given weights."""

    def column_summary(self, n_threads: int | None = None) -> ColumnSummary: ...

    def dense(self, rows: slice | Array) -> Array:
        """Return the selected rows as a dense array."""

    def has_missing(self) -> bool:
        """Return whether any cell is missing."""

    def digest(self) -> int:
        """Return a digest of all rows in order and of their weights.

        The digest does not depend on how the table is stored.
        """

    def blocks(self, size: int) -> Iterator[slice]:
        """Yield slices of all rows in order, `size` rows at a time."""

    def mark_empty_rows(self, values: Array) -> Array:
        """Return values of all rows, with -1 (integers) or NaN for rows without an observed value.

        The values are copied if there is such a row.
        """

    def to_input_type(self, values: Array) -> Array:
        """Mark empty rows, and convert the values to the array type of X: NumPy, Dask or torch."""

    def count_labels(self, labels: Array, k: int) -> Array:
        """Return the number of rows with each label, (k,), without rows of `empty_rows`."""


@dataclass(frozen=True)
class ColumnSummary:
    """The range of each column over all rows, and other statistics of the columns.

    Scales are computed from this summary alone. Statistics are computed from all rows if there are
    at most EXACT_ROWS, otherwise from SUMMARY_ROWS rows drawn by weight. This rule is part of the
    definition of the result, so every engine returns the same values.
    """

    n_columns: int
    find_extent: Callable[[], tuple[Array, Array]]
    find_rows: Callable[[], SummaryRows]
    n_threads: int | None = None
    compiled_functions: CompiledFunctions = field(default_factory=dict)

    @lazy_property
    def extent(self) -> tuple[Array, Array]:
        """The smallest and largest observed cell of each column, (d,).

        Rows of weight 0 are ignored. The result is NaN for a column without observed cells.
        """
        return self.find_extent()

    def by_column(self, statistic: Statistic) -> list[tuple[float, ...]]:
        """Apply `statistic(x, w)` to each column in order.

        `x` are the observed cells of the column in float64, `w` their integer weights or None.
        """

        def statistics(X: Array, w: Array | None, row_weight: float) -> list[tuple[float, ...]]:
            observed = ~np.isnan(X)
            pairs = (
                (x[at], None if w is None else w[at]) for x, at in zip(X.T, observed.T, strict=True)
            )
            return [statistic(*pair) for pair in pairs]

        return list(chain.from_iterable(self._map_blocks(statistics)))

    def by_block(self, statistic: BlockStatistic) -> Array:
        """Return `statistic(X, w, v)` of all columns, (p, d), computed a few columns at a time.

        `X` (n, m) are the cells, NaN where missing. `w` (n,) are their integer weights or None. `v`
        is the integer weight of a row of weight 1.
        """
        return np.concatenate(self._map_blocks(statistic), axis=1)

    def find_compiled(self, function: SummaryFunction) -> SummaryFunction:
        """Return the compiled version of a summary function, or the function itself."""
        return self.compiled_functions.get(function, function)

    @lazy_property
    def rows(self) -> SummaryRows:
        """The rows that statistics are computed from."""
        return self.find_rows()

    def column_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield slices of a few columns and their cells (n, m), NaN where missing."""
        return ((block, self.rows.columns(block)) for block in self._blocks())

    def _blocks(self) -> list[slice]:
        """Split the columns into slices of a few columns each."""
        size = max(1, SUMMARY_CELLS // self.rows.n_rows)
        return [slice(at, min(at + size, self.n_columns)) for at in range(0, self.n_columns, size)]

    def _map_blocks(self, statistic: Callable[[Array, Array | None, float], Item]) -> list[Item]:
        """Return `statistic(X, w, v)` for each slice of columns, in order."""
        rows = self.rows
        blocks = self._blocks()
        if len(blocks) == 1:
            return [statistic(rows.columns(blocks[0]), rows.weights, rows.row_weight)]
        # NumPy releases the GIL while sorting
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(
                pool.map(
                    lambda block: statistic(rows.columns(block), rows.weights, rows.row_weight),
                    blocks,
                )
            )


def draw_rows(weights: Array | int, words: Array) -> Array:
    """Draw one row for each random 64-bit word r.

    The result is the first row whose cumulative integer weight exceeds total r/2^64. If `weights`
    is a number, it is the number of rows, and all weights are equal.
    """
    if isinstance(weights, int):
        return draw_goals(weights, words)
    ends = np.cumsum(weights, dtype=np.int64)
    goals = draw_goals(int(ends[-1]), words)
    # the last row if all weights are 0
    return np.minimum(np.searchsorted(ends, goals, side="right"), len(ends) - 1)


def draw_goals(total: int, words: Array) -> Array:
    """Return total r/2^64 for each 64-bit word r, rounded down.

    The cumulative weight of the drawn row is the first that exceeds this value.
    """
    return _high_words(words, total).astype(np.int64)


def is_sparse(X: object) -> TypeGuard[sparse.csr_array]:
    """Return whether the cells are a sparse array."""
    return bool(sparse.issparse(X))


def dense(X: Cells) -> Array:
    """Return the cells of a dense or sparse table as a dense array."""
    return X.toarray() if is_sparse(X) else np.asarray(X)


def _high_words(words: Array, factor: int) -> Array:
    """Return words * factor >> 64 for 64-bit words and a factor below 2^63."""
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
    """Return the selected row numbers without creating an array of all n of them."""
    if isinstance(rows, slice):
        return np.arange(*rows.indices(n))
    numbers = np.asarray(rows)
    if numbers.dtype == bool:
        return np.flatnonzero(numbers)
    if numbers.size and not -n <= int(numbers.min()) <= int(numbers.max()) < n:
        raise IndexError(
            f"row numbers must be between 0 and {n - 1}, got {numbers.min()} to {numbers.max()}."
        )
    return np.where(numbers < 0, numbers + n, numbers)
