"""Survey an out-of-core table: validate all rows and collect statistics in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._grid import Array
from ..threads import lazy_property
from . import validation
from .base import ColumnName
from .empty_rows import weights_without_rows
from .memory import MemoryTable
from .row_digest import MODULUS, digest_rows, shift_digest
from .source_parts import BlockCells, ColumnCells


@dataclass(frozen=True)
class Survey:
    """Statistics of some or all rows. Surveys of different rows can be added."""

    n_rows: int
    n_counting: int  # rows with a nonzero weight
    # smallest and largest observed cell of rows with nonzero weight, (d,); NaN if there is none
    low: Array
    high: Array
    has_missing: bool
    largest_weight: float | None  # None if all weights are equal
    smallest_weight: float = np.inf  # smallest nonzero weight
    digest: int | None = (
        None  # contribution of these rows to the digest of all rows; None if not requested
    )
    # numbers of the rows without an observed value, by block, in any order
    empty_by_block: tuple[Array, ...] = ()

    @lazy_property
    def empty_rows(self) -> Array:
        """The numbers of the rows without an observed value, in ascending order."""
        return np.sort(np.concatenate([np.empty(0, np.int64), *self.empty_by_block]))

    @property
    def largest_row_weight(self) -> float | None:
        """The largest weight, where rows without an observed value have weight 0.

        None if all rows have the same weight.
        """
        has_empty = any(map(len, self.empty_by_block))
        return 1.0 if self.largest_weight is None and has_empty else self.largest_weight

    def __add__(self, other: Survey) -> Survey:
        """Return the combined survey."""
        weights = self.largest_weight, other.largest_weight
        return Survey(
            self.n_rows + other.n_rows,
            self.n_counting + other.n_counting,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            self.has_missing or other.has_missing,
            None if None in weights else max(weights),  # type: ignore[type-var]
            min(self.smallest_weight, other.smallest_weight),
            None
            if self.digest is None or other.digest is None
            else (self.digest + other.digest) % MODULUS,
            self.empty_by_block + other.empty_by_block,
        )

    def shift(self, n_rows: int) -> Survey:
        """Return the survey of the same rows if `n_rows` more rows precede them."""
        return replace(
            self,
            digest=None if self.digest is None else shift_digest(self.digest, n_rows),
            empty_by_block=tuple(rows + n_rows for rows in self.empty_by_block),
        )


def survey_raw_block(
    X: BlockCells,
    weights: Array | None,
    names: Sequence[ColumnName],
    first: int,
    has_digest: bool = False,
) -> Survey:
    """Return the survey of a raw block, with its contribution to the digest if requested.

    The block is copied to row-major order only if a cell may be invalid.
    """
    survey = None
    if isinstance(X, ColumnCells) and weights is None:
        low, high = (
            np.array([end(column) for column in X.columns], np.float64) for end in (np.min, np.max)
        )
        if (np.maximum(-low, high) <= validation.LARGEST_VALUE).all():  # False if a cell is NaN
            survey = Survey(len(X), len(X), low, high, False, None)
    if survey is None:
        block = MemoryTable(np.asarray(X), weights)
        survey = survey_block(block, names, first)
        if weights is not None and len(block.empty_rows):
            weights = weights_without_rows(weights, len(X), block.empty_rows)
    return replace(survey, digest=digest_rows(X, weights, first)) if has_digest else survey


def survey_block(block: MemoryTable, names: Sequence[ColumnName], first: int = 0) -> Survey:
    """Return the survey of a block that starts at row `first`.

    Raise an error for invalid values or weights.
    """
    validation.reject_bad_values(block.X, names, first)
    if block.weights is not None:
        validation.reject_bad_weights(block.weights)
    empty = block.empty_rows
    n = block.n_rows
    table = MemoryTable.of_input(block.X, block.weights)
    # not `extent`: the thread that holds its lock may wait for this block
    find_extent = table.column_summary().find_extent
    has_missing = block.has_missing()
    w = table.weights
    n_counting = n if w is None else int(np.count_nonzero(w))
    nothing = np.full(block.n_columns, np.nan)
    ends = find_extent() if n_counting else (nothing, nothing)
    survey = Survey(
        n, n_counting, *ends, has_missing, None, empty_by_block=(empty + first,) * bool(len(empty))
    )
    if block.weights is None:
        return survey
    w = np.asarray(w)
    smallest = float(w[w > 0].min(initial=np.inf))
    return replace(survey, largest_weight=float(w.max()), smallest_weight=smallest)


def reject_bad_survey(survey: Survey | None) -> Survey:
    """Raise ValueError if a survey has no rows, no value or too large a range of weights."""
    if survey is None:
        raise ValueError(
            "X has 0 sample(s) while a minimum of 1 is required. Pass at least one row."
        )
    validation.reject_few_rows(survey.n_rows, len(survey.empty_rows), 1, "")
    if survey.largest_weight is not None:
        validation.reject_weight_range(survey.largest_weight, survey.smallest_weight)
    return survey
