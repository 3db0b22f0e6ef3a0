"""A survey of a table that is not in memory: facts from one read of all rows, which rejects bad
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._grid import Array
from . import validation
from .base import ColumnName
from .memory import MemoryTable
from .row_digest import MODULUS, digest_rows
from .source_parts import BlockCells, ColumnCells


@dataclass(frozen=True)
class Survey:
    """The facts of all rows, or of some of them; surveys of different rows add."""

    n_rows: int
    n_counting: int  # rows whose weight is not 0
    # smallest and largest observed cell of rows with a weight, (d,); NaN where there is none
    low: Array
    high: Array
    has_missing: bool
    largest_weight: float | None  # None where all weights are equal
    smallest_weight: float = np.inf  # that is not 0
    digest: int | None = None  # share of these rows in the digest of all; None if not requested

    def __add__(self, other: Survey) -> Survey:
        """Return the survey of these rows and others."""
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
        )


def survey_raw_block(
    X: BlockCells,
    weights: Array | None,
    names: Sequence[ColumnName],
    first: int,
    has_digest: bool = False,
) -> Survey:
    """Survey a block as it was read, with its share in the digest of all rows if `has_digest` is
    set.
    """
    survey = _survey_cells(X, weights, names, first)
    return replace(survey, digest=digest_rows(X, weights, first)) if has_digest else survey


def _survey_cells(
    X: BlockCells, weights: Array | None, names: Sequence[ColumnName], first: int
) -> Survey:
    """Return the survey of a block without a copy by rows if all its cells are valid."""
    if isinstance(X, ColumnCells) and weights is None:
        low, high = (
            np.array([end(column) for column in X.columns], np.float64) for end in (np.min, np.max)
        )
        if (np.maximum(-low, high) <= validation.LARGEST_VALUE).all():  # not so where a cell is NaN
            return Survey(len(X), len(X), low, high, False, None)
    return survey_block(MemoryTable(np.asarray(X), weights), names, first)


def survey_block(block: MemoryTable, names: Sequence[ColumnName], first: int = 0) -> Survey:
    """Return the survey of a block that starts at row `first`; raise an error for bad rows."""
    validation.reject_bad_rows(block.X, names, first)
    # not `extent`: its lock may be held by a thread that waits for this block
    find_extent = block.column_summary().find_extent
    w = block.weights
    n = block.n_rows
    has_missing = block.has_missing()
    nothing = np.full(block.n_columns, np.nan)
    if w is None:
        return Survey(n, n, *find_extent(), has_missing, None)
    validation.reject_bad_weights(w)
    ends = find_extent() if w.any() else (nothing, nothing)
    smallest = float(w[w > 0].min(initial=np.inf))
    return Survey(n, int(np.count_nonzero(w)), *ends, has_missing, float(w.max()), smallest)


def reject_bad_survey(survey: Survey | None) -> Survey:
    """Return the survey of all rows; raise ValueError for no rows or a large range of weights."""
    if survey is None:
        raise ValueError("X has 0 sample(s) while a minimum of 1 is required: pass a row.")
    if survey.largest_weight is not None:
        validation.reject_weight_range(survey.largest_weight, survey.smallest_weight)
    return survey
