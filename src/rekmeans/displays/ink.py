"""What all drawings share: colours and marks of clusters, short names, numbers for people."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")  # Paul Tol's bright: safe for all eyes
LIGHT = ("#ee6677", "#ccbb44", "#66ccee")  # those on which dark text reads better than white
MARKERS = "osD^vPX<>*"  # the next shape where the colours begin again
ONTO, DARK = "#ffffff", "#141a20"  # text on a mark
INK, SOFT, FAINT, PAPER = "#202a33", "#6b7884", "#dde3e8", "#fdfdfc"
LANES = 10  # clusters that have room for a lane and a number each
NOTHING, MINUS, TO = "\N{EN DASH}", "\N{MINUS SIGN}", " \N{EN DASH} "


def colour(cluster: int) -> str:
    """The colour of a cluster; they repeat, with another marker."""
    return COLOURS[cluster % len(COLOURS)]


def marker(cluster: int) -> str:
    """The marker of a cluster."""
    return MARKERS[cluster // len(COLOURS) % len(MARKERS)]


def short(name: str, most: int = 26) -> str:
    """A name that fits a figure: its beginning and its end, which often holds the number."""
    end = most // 3
    return name if len(name) <= most else f"{name[: most - end - 1]}…{name[-end:]}"


def numbered(ax: Axes, cluster: int, x: float, y: float) -> None:
    """A cluster's number on its mark."""
    ink = DARK if colour(cluster) in LIGHT else ONTO
    ax.plot([x], [y], "o", ms=12, color=colour(cluster), mec=PAPER, mew=1, zorder=4)
    ax.text(x, y, str(cluster), size=7.5, color=ink, ha="center", va="center_baseline", weight="bold", zorder=5)


def amount(value: float | None, width: float | None = None) -> str:
    """A number for people: three digits, or the decimals that tell values apart over a range of this width."""
    if value is None or not np.isfinite(value):
        return NOTHING
    if width and 1e-4 <= width < 1e7 and abs(value) < 1e9:
        text = f"{value:,.{max(0, 2 - math.floor(math.log10(width)))}f}"
    else:
        text = f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.3g}"
    return text.replace("-", MINUS if text.strip("-0.") else "")  # no minus before a rounded zero


def span(f: dict[str, Any]) -> float | None:
    """Width of a column's 5-95 % range; None where it has no values."""
    return None if f["q05"] is None else float(f["q95"] - f["q05"])


def rgb(tint: str) -> tuple[float, ...]:
    """Red, green and blue of a #rrggbb, each 0 to 1."""
    return tuple(int(tint[at : at + 2], 16) / 255 for at in (1, 3, 5))
