"""Warnings about many ignored values in one column, or in several columns of the same row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._grid import Array
from ..table import ColumnSummary
from .record import Scale

MIN_SHARE = 0.01  # a smaller share of the cells of a column, or of the rows, is not reported
MIN_CELLS = 3  # columns with fewer ignored cells are not reported
CHANCE_FACTOR = 3.0  # rows with several outliers are reported above this multiple of chance
MAX_COLUMNS_NAMED = 3  # columns named in a message; the others are counted


class IgnoredValuesWarning(UserWarning):
    """A scale ignored many values, which may be errors or a small group of distant rows."""


LeftOutWarning = IgnoredValuesWarning  # the name until version 0.2


@dataclass(frozen=True)
class IgnoredValues:
    """Counts of the values outside the kept intervals of a scale."""

    scale: Scale
    shares: Array  # (d,) share of the cells of each column
    n_rows: int
    n_in_several: int  # rows with such values in two columns or more
    n_uninformative: int  # rows without a kept value

    @property
    def expected_in_several(self) -> float:
        """The number of rows that would have such values in several columns by chance."""
        shares = np.minimum(self.shares, 1 - 1e-12)
        none = float(np.prod(1 - shares))
        return self.n_rows * max(0.0, 1 - none * (1 + float((shares / (1 - shares)).sum())))

    def messages(self, names: Sequence[str] | None = None) -> list[str]:
        """Return a message for each notable finding, none if few values are ignored."""
        n_ignored = self.shares * self.n_rows
        columns = np.flatnonzero((self.shares > MIN_SHARE) & (n_ignored > MIN_CELLS - 0.5))
        found = []
        if len(columns):
            found.append(self._column_message(columns, names))
        if self.n_uninformative:
            verbs = ("has", "does") if self.n_uninformative == 1 else ("have", "do")
            found.append(
                f"{self.n_uninformative:,} of {self.n_rows:,} rows {verbs[0]} no kept value and "
                f"{verbs[1]} not influence the centroids."
            )
        elif (
            self.n_in_several >= max(2.0, MIN_SHARE * self.n_rows)
            and self.n_in_several >= CHANCE_FACTOR * self.expected_in_several
        ):
            found.append(
                f"{self.n_in_several:,} rows are extreme in several columns "
                f"({self.expected_in_several:,.0f} expected by chance). They may be a real group."
            )
        return found

    def _column_message(self, columns: Array, names: Sequence[str] | None) -> str:
        """Return a message about these columns, which names those with the largest shares."""
        columns = columns[np.argsort(-self.shares[columns], kind="stable")]
        parts = [
            (
                f"{self.shares[j]:.1%} of {f'column {j}' if names is None else f'`{names[j]}`'}",
                f"(kept: {self._kept_text(j)})",
            )
            for j in columns[:MAX_COLUMNS_NAMED]
        ]
        n_others = len(columns) - len(parts)
        if len(columns) == 1:
            share, kept = parts[0]
            return f"Ignored {share} as outliers {kept}."
        listed = [f"{share} {kept}" for share, kept in parts]
        if n_others:
            columns_text = "column" if n_others == 1 else "columns"
            listed.append(f"more than {MIN_SHARE:.0%} of {n_others} other {columns_text}")
        return f"Ignored as outliers: {', '.join(listed[:-1])} and {listed[-1]}."

    def _kept_text(self, column: int) -> str:
        """Return the kept ranges of a column as text, such as "0 to 12 and 90 to 99"."""
        ranges = self.scale.kept_ranges(column)
        texts = [f"{_bound_text(low)} to {_bound_text(high)}" for low, high in ranges]
        return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def how_to_keep(option: str) -> str:
    """Return advice for the case that the ignored values are real."""
    return f"If these values are real, pass {option}."


def count_ignored_values(
    scale: Scale, summary: ColumnSummary, n_rows: int, n_uninformative: int
) -> IgnoredValues:
    """Return counts of the values that the scale ignores.

    For a large table, counts are based on the sample from which its scale was computed.
    """
    shares = np.zeros(scale.n_columns) if scale.left_out is None else scale.left_out
    n_in_several = 0
    if np.count_nonzero(shares > MIN_SHARE / 2) > 1:
        counts = summary.find_compiled(cells_left_out_by_row)(summary, scale)
        n_in_several = round(np.count_nonzero(counts > 1) / len(counts) * n_rows)
    return IgnoredValues(scale, shares, n_rows, n_in_several, n_uninformative)


def cells_left_out_by_row(summary: ColumnSummary, scale: Scale) -> Array:
    """Return the number of cells of each row outside the kept intervals, (n,)."""
    counts = np.zeros(summary.rows.n_rows, np.int64)
    for columns, X in summary.column_blocks():
        counts += np.count_nonzero(~scale.take(columns).inside(X) & ~np.isnan(X), axis=1)
    return counts


def _bound_text(value: float) -> str:
    """Return the end of an interval with four digits, and thousands separators if it is large."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"
