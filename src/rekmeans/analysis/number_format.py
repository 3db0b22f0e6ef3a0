"""Numbers and names as text, for figures and the report."""

from __future__ import annotations

import math
from typing import Any

from .._text import shorten_name as shorten_name

NO_VALUE = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
RANGE = " \N{EN DASH} "


def format_number(value: float | None, width: float | None = None) -> str:
    """Return a number as text, with three digits or with the decimals that a range needs."""
    if value is None or not math.isfinite(value):
        return NO_VALUE
    if width and 1e-4 <= width < 1e7 and abs(value) < 1e9:
        text = f"{value:,.{max(0, 2 - math.floor(math.log10(width)))}f}"
    else:
        text = f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.3g}"
    return text.replace("-", MINUS if text.strip("-0.") else "")  # no minus sign before 0.00


def format_seconds(seconds: float | None) -> str:
    """Return a time as text in s, ms or µs."""
    if seconds is None:
        return NO_VALUE
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def band_width(profile: dict[str, Any]) -> float | None:
    """Return the width of the 5-95 % range of a column, or None if it has no values."""
    return None if profile["q05"] is None else float(profile["q95"] - profile["q05"])
