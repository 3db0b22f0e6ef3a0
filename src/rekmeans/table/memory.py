"""Tables in memory: a NumPy array of any numeric dtype, or a SciPy CSR array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from .._grid import Array, integer_weights
from ..threads import count_threads, lazy_property
from .base import (
    EXACT_ROWS,
    SUMMARY_ROWS,
    Cells,
    ColumnAttributes,
    ColumnSummary,
    SummaryRows,
    dense,
    draw_rows,
    is_sparse,
)
from .empty_rows import count_labels, find_empty_rows, mark_rows, weights_without_rows
from .row_digest import digest_rows

MAPPED_CELLS = 1 << 18  # cells mapped at a time; a few copies fit in the cache
CELLS_AT_ONCE = 1 << 22  # cells between two checks for Ctrl-C
FOLD = 4096  # row length in cells at which NumPy reduces at full speed
MAX_COUNT = 2.0**53  # all larger floats are integers, so they are not treated as counts
SUMMARY_SEED = 0  # seed of the row sample for column summaries of large tables


@dataclass(frozen=True)
class MemoryTable:
    """Rows X (n, d) with NaN for missing cells, and weights (n,) or None if all are equal."""

    X: Cells
    weights: Array | None = None
    columns: ColumnAttributes = field(default_factory=ColumnAttributes)
    largest_weight: float | None = None  # over the whole table, if these rows are a block
    # whether the weights are 1, and 0 for rows without an observed value
    has_unit_weights: bool = False

    is_in_memory: ClassVar[bool] = True
    is_partitioned: ClassVar[bool] = False
    is_on_host: ClassVar[bool] = True

    @classmethod
    def of_input(
        cls, X: Cells, weights: Array | None, columns: ColumnAttributes | None = None
    ) -> Self:
        """Return the table of all input rows. Rows without an observed value get weight 0."""
        table = cls(X, weights, ColumnAttributes() if columns is None else columns)
        if not len(table.empty_rows):
            return table
        weights_of_rows = weights_without_rows(weights, table.n_rows, table.empty_rows)
        return replace(table, weights=weights_of_rows, has_unit_weights=weights is None)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def dense(self, rows: slice | Array = slice(None)) -> Array:
        return dense(self.X[rows])

    def column(self, number: int) -> Array:
        """Return one column as a dense array, (n,) float64."""
        return np.asarray(dense(self.X[:, [number]]), np.float64)[:, 0]

    def blocks(self, size: int) -> Iterator[slice]:
        return (slice(at, min(at + size, self.n_rows)) for at in range(0, self.n_rows, size))

    def dense_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the slice and the dense cells of each block of rows, in order."""
        return ((at, self.dense(at)) for at in self.blocks(max(1, MAPPED_CELLS // self.n_columns)))

    @lazy_property
    def empty_rows(self) -> Array:
        return find_empty_rows(self.X)

    def mark_empty_rows(self, values: Array) -> Array:
        return mark_rows(values, self.empty_rows)

    def to_input_type(self, values: Array) -> Array:
        return self.mark_empty_rows(values)

    def count_labels(self, labels: Array, k: int) -> Array:
        return count_labels(self.mark_empty_rows(labels), k)

    def has_missing(self) -> bool:
        """Return whether any cell is NaN."""
        cells = self.X.data if is_sparse(self.X) else self.X
        size = max(1, CELLS_AT_ONCE // (cells[:1].size or 1))
        return cells.dtype.kind == "f" and any(
            bool(np.isnan(cells[at : at + size]).any()) for at in range(0, len(cells), size)
        )

    def digest(self) -> int:
        return digest_rows(self.X, None if self.has_unit_weights else self.weights)

    def sample(self, count: int, seed: int) -> MemoryTable:
        if self.weights is None:
            if self.n_rows <= count:
                return self
        elif len(counting := np.flatnonzero(self.weights > 0)) <= count:
            return self.take(counting, self.weights[counting])
        rows, times = np.unique(self._draw_rows(count, seed), return_counts=True)
        return self.take(rows, times.astype(np.float64))

    def _draw_rows(self, count: int, seed: int) -> Array:
        """Draw row numbers in proportion to their weights, (count,)."""
        weights = self.n_rows if self.weights is None else integer_weights(self.weights)[0]
        return draw_rows(weights, np.random.PCG64(seed).random_raw(count))

    def repeat_rows(self) -> MemoryTable:
        """Return a table without weights that repeats rows. The weights must be counts."""
        times = (
            np.ones(self.n_rows, np.int64)
            if self.weights is None
            else self.weights.astype(np.int64)
        )
        return replace(self, X=self.X[np.repeat(np.arange(self.n_rows), times)], weights=None)

    def take(self, rows: Array, weights: Array) -> MemoryTable:
        """Return the selected rows with the given weights."""
        return replace(self, X=self.X[rows], weights=weights)

    def column_summary(self, n_threads: int | None = None) -> ColumnSummary:
        return ColumnSummary(
            self.n_columns, self._extent, self._summary_rows, count_threads(n_threads)
        )

    def _summary_rows(self) -> SummaryRows:
        """Return the rows of the column summary. Sparse rows are copied to CSC."""
        numbers = None
        weights = None
        row_weight = 1.0
        if (self.n_rows if self.weights is None else np.count_nonzero(self.weights)) > EXACT_ROWS:
            numbers = np.sort(self._draw_rows(SUMMARY_ROWS, SUMMARY_SEED))
        elif self.weights is not None:
            weights, row_weight = _weights_and_row(self.weights)
            if not weights.all():
                numbers = np.flatnonzero(weights)
                weights = weights[numbers]
        if not is_sparse(self.X):
            return SummaryRows(self.X, numbers, weights, row_weight)
        X = self.X if numbers is None else self.X[numbers]
        return SummaryRows(X.tocsc(), None, weights, row_weight)

    def _extent(self) -> tuple[Array, Array]:
        rows = self.X if self.weights is None or self.weights.all() else self.X[self.weights > 0]
        n, d = rows.shape
        if is_sparse(rows):
            stored = np.bincount(rows.indices, minlength=d)
            # cells that are not stored are zero
            low = np.where(stored < n, 0.0, np.nan)
            high = low.copy()
            np.fmin.at(low, rows.indices, rows.data)
            np.fmax.at(high, rows.indices, rows.data)
            return low, high
        fold = max(1, FOLD // d)
        if n < fold or not rows.flags.c_contiguous:
            fold = 1
        # join several rows into one, because NumPy reduces long rows faster
        wide = rows[: n // fold * fold].reshape(-1, fold * d)
        low, high = (
            end.reduce(
                np.concatenate(
                    [end.reduce(wide, axis=0).reshape(fold, d), rows[n // fold * fold :]]
                ),
                axis=0,
            )
            for end in (np.fmin, np.fmax)
        )
        return low.astype(np.float64), high.astype(np.float64)


@dataclass(frozen=True)
class PairwiseTable(MemoryTable):
    """Kernel values between rows. The last column is the value of each row with itself."""

    def take(self, rows: Array, weights: Array) -> MemoryTable:
        """Return the selected rows. A square table is also reduced to the matching columns."""
        columns = [*rows, -1] if self.n_columns == self.n_rows + 1 else slice(None)
        return replace(self, X=self.X[rows][:, columns], weights=weights)


def _weights_and_row(weights: Array) -> tuple[Array, float]:
    """Return integer weights and the integer weight of one row.

    The second value corresponds to weight 1 if the weights are counts. Otherwise it is the mean
    of the nonzero integer weights.
    """
    integers, b = integer_weights(weights)
    if weights.max() < MAX_COUNT and np.array_equal(weights, np.rint(weights)):
        return integers, 2.0**b
    return integers, int(integers.sum()) / np.count_nonzero(integers)
