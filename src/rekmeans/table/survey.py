"""What one read of all rows tells of a table that is not in memory, and the rows that it
refuses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._grid import Array
from . import refusals
from .column_cells import ColumnCells
from .memory import MemoryTable
from .row_digest import MODULUS, digest_rows


@dataclass(frozen=True)
class Survey:
    """What one read of all rows tells of them."""

    n_rows: int
    n_counting: int  # rows whose weight is not 0
    low: Array  # (d,) least observed cell among the rows that count; NaN where there is none
    high: Array  # (d,)
    has_missing: bool
    largest_weight: float | None  # None where all weigh the same
    smallest_weight: float = np.inf  # that is not 0
    digest: int | None = None  # share of these rows in the digest of all; None if not requested

    def __add__(self, other: Survey) -> Survey:
        """What is known of these rows and others."""
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
    X: Any, weights: Array | None, names: list[Any], first: int, has_digest: bool = False
) -> Survey:
    """Survey a block as it was read, with its share in the digest of all rows if `has_digest` is
    set.
    """
    survey = _survey_cells(X, weights, names, first)
    return replace(survey, digest=digest_rows(X, weights, first)) if has_digest else survey


def _survey_cells(X: Any, weights: Array | None, names: list[Any], first: int) -> Survey:
    """What is known of a block as it was read; columns of good cells are not put side by side for
    it.
    """
    if isinstance(X, ColumnCells) and weights is None:
        low, high = (
            np.array([end(column) for column in X.columns], np.float64) for end in (np.min, np.max)
        )
        if (np.maximum(-low, high) <= refusals.LARGEST_VALUE).all():  # not so where a cell is NaN
            return Survey(len(X), len(X), low, high, False, None)
    return survey_block(MemoryTable(np.asarray(X), weights), names, first)


def survey_block(block: MemoryTable, names: list[Any], first: int = 0) -> Survey:
    """What is known of a block whose first row has this number; bad rows are refused."""
    refusals.refuse_bad_rows(block.X, names, first)
    # `extent` would wait for a thread that waits for this block
    find_extent = block.column_summary().find_extent
    w = block.weights
    n = block.n_rows
    has_missing = block.has_missing()
    nothing = np.full(block.n_columns, np.nan)
    if w is None:
        return Survey(n, n, *find_extent(), has_missing, None)
    refusals.refuse_bad_weights(w)
    ends = find_extent() if w.any() else (nothing, nothing)
    smallest = float(w[w > 0].min(initial=np.inf))
    return Survey(n, int(np.count_nonzero(w)), *ends, has_missing, float(w.max()), smallest)


def refuse_bad_survey(survey: Survey | None) -> Survey:
    """The survey of all rows, unless there are none or their weights do not fit together."""
    if survey is None:
        raise ValueError("X has 0 sample(s) while a minimum of 1 is required: pass a row.")
    if survey.largest_weight is not None:
        refusals.refuse_weight_range(survey.largest_weight, survey.smallest_weight)
    return survey
