"""Shared types of the studies, CSV output and parameter checks."""

from __future__ import annotations

import csv
import numbers
from collections.abc import Collection
from io import StringIO
from typing import Any

from numpy.typing import NDArray

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Array = NDArray[Any]  # any dtype and shape; comments state the shapes


def csv_text(rows: list[Row]) -> str:
    """Format a table as CSV; cells missing from a row are empty."""
    out = StringIO(newline="")
    lines = csv.DictWriter(out, row_columns(rows), lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return out.getvalue()


def row_columns(rows: list[Row]) -> list[str]:
    """Return the names of all columns in the order in which they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row))


def six_digits(value: float) -> float:
    """Round to six significant digits."""
    return float(f"{value:.6g}")


def require_choice(name: str, value: Any, valid: Collection[Any]) -> None:
    """Raise ValueError unless `value` is one of `valid`."""
    if not (value is None or isinstance(value, str)) or value not in valid:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, valid))}; got {value!r}.")


def require_integer(name: str, value: Any, least: int = 1, hint: str = "") -> None:
    """Raise ValueError unless `value` is an integer of at least `least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}{hint}; got {value!r}.")
