"""What a scale leaves out, said aloud: columns with many such cells, and rows left out in several
columns at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._grid import Array
from ..table import ColumnSummary
from .record import Scale

NOTABLE = 0.01  # of a column's cells, or of the rows, may be left out without a word
FEW = 2  # and so many cells of it
CHANCE = 3.0  # times as many rows as chance would leave out in several columns are no chance
COLUMNS_NAMED = 3  # columns named in a sentence


class LeftOutWarning(UserWarning):
    """Cells or rows that a scale leaves out may be errors, or a small group far away: the user has
    to know.
    """


@dataclass(frozen=True)
class LeftOut:
    """Cells in no kept interval, by column, and the rows that they are in."""

    shares: Array  # (d,) of each column's cells
    n_rows: int
    n_in_several: int  # rows left out in two columns or more
    n_uninformative: int  # rows of which every cell is left out

    @property
    def expected_in_several(self) -> float:
        """Rows left out in two columns or more if each column left out its cells by chance."""
        shares = np.minimum(self.shares, 1 - 1e-12)
        none = float(np.prod(1 - shares))
        return self.n_rows * max(0.0, 1 - none * (1 + float((shares / (1 - shares)).sum())))

    @property
    def is_notable_in_several(self) -> bool:
        """Whether the same rows are left out in several columns more often than by chance."""
        is_notable = self.n_in_several >= max(2.0, NOTABLE * self.n_rows)
        return is_notable and self.n_in_several >= CHANCE * self.expected_in_several

    def sentences(self, names: Sequence[str] | None = None) -> list[str]:
        """What a person has to know; nothing where little is left out."""
        columns = np.flatnonzero((self.shares > NOTABLE) & (self.shares * self.n_rows > FEW + 0.5))
        found = []
        if len(columns):
            found.append(
                f"{_column_shares(self.shares, columns, names)} left out as far from all others."
            )
        if self.n_uninformative:
            found.append(
                f"{self.n_uninformative:,} of {self.n_rows:,} rows take no part: all their cells "
                f"are left out."
            )
        elif self.is_notable_in_several:
            found.append(
                f"{self.n_in_several:,} of {self.n_rows:,} rows are left out in several columns "
                f"at once, "
                f"{self.expected_in_several:,.0f} by chance: a group of their own?"
            )
        return found


def way_out(option: str) -> str:
    """What to do if groups are left out, in the words of the interface that says so."""
    return f"If these are not errors, use {option}."


def _column_shares(shares: Array, columns: Array, names: Sequence[str] | None) -> str:
    """The columns that leave out most, with their shares."""
    most = columns[np.argsort(-shares[columns], kind="stable")]
    shown = [
        f"{shares[j]:.1%} of {f'column {j}' if names is None else names[j]}"
        for j in most[:COLUMNS_NAMED]
    ]
    more = len(most) - len(shown)
    return ", ".join(shown) + (
        f" and more than {NOTABLE:.0%} of {more} other columns" if more else ""
    )


def count_left_out(
    scale: Scale, summary: ColumnSummary, n_rows: int, n_uninformative: int
) -> LeftOut:
    """What the scale leaves out; rows of a large table are counted in the sample that its scale is
    made of.
    """
    shares = np.zeros(scale.n_columns) if scale.left_out is None else scale.left_out
    n_in_several = 0
    if np.count_nonzero(shares > NOTABLE / 2) > 1:
        counts = summary.find_compiled(cells_left_out_by_row)(summary, scale)
        n_in_several = round(np.count_nonzero(counts > 1) / len(counts) * n_rows)
    return LeftOut(shares, n_rows, n_in_several, n_uninformative)


def cells_left_out_by_row(summary: ColumnSummary, scale: Scale) -> Array:
    """How many cells of each row are in no kept interval, (n,)."""
    counts = np.zeros(summary.rows.n_rows, np.int64)
    for columns, X in summary.column_blocks():
        counts += np.count_nonzero(~scale.take(columns).inside(X) & ~np.isnan(X), axis=1)
    return counts
