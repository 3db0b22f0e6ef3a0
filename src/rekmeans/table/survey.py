"""Survey an out-of-core table: validate all rows and collect statistics in one pass."""

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
        survey = survey_block(MemoryTable(np.asarray(X), weights), names, first)
    return replace(survey, digest=digest_rows(X, weights, first)) if has_digest else survey


def survey_block(block: MemoryTable, names: Sequence[ColumnName], first: int = 0) -> Survey:
    """Return the survey of a block that starts at row `first`; raise an error for invalid rows."""
    validation.reject_bad_rows(block.X, names, first)
    # do not use `extent`: the thread that holds its lock may wait for this block
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
    """Raise ValueError if a survey has no rows or too large a range of weights."""
    if survey is None:
        raise ValueError(
            "X has 0 sample(s) while a minimum of 1 is required. Pass at least one row."
        )
    if survey.largest_weight is not None:
        validation.reject_weight_range(survey.largest_weight, survey.smallest_weight)
    return survey
