"""Rows of tables, each a dict from column to value: their columns, their CSV, their digits."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

Row = dict[str, Any]
Tables = dict[str, list[Row]]


def csv_text(rows: list[Row]) -> str:
    """A table as CSV; a cell that a row has not is empty."""
    out = StringIO(newline="")
    lines = csv.DictWriter(out, row_columns(rows), lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return out.getvalue()


def row_columns(rows: list[Row]) -> list[str]:
    """The names of all columns, in the order they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row))


def six_digits(value: float) -> float:
    """Six significant digits."""
    return float(f"{value:.6g}")
