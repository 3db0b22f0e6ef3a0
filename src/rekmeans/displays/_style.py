"""Shared style of all figures: colours, markers and marks of clusters, numbers as text."""

from __future__ import annotations

import math

from matplotlib.axes import Axes

# Paul Tol's "bright" palette, which is safe for colour-blind readers
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
LIGHT = ("#ee6677", "#ccbb44", "#66ccee")  # colours on which dark text is easier to read
MARKERS = "osD^vPX<>*"  # the marker changes each time the colours repeat
# colours of the text on marks
ON_DARK = "#ffffff"
ON_LIGHT = "#141a20"
TEXT = "#202a33"
SOFT = "#6b7884"
FAINT = "#dde3e8"
BACKGROUND = "#fdfdfc"
MAX_LANES = 10  # maximum number of clusters drawn with lanes and numbers
NO_VALUE = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
RANGE = " \N{EN DASH} "


def cluster_colour(cluster: int) -> str:
    """Return the colour of a cluster; colours repeat with another marker."""
    return COLOURS[cluster % len(COLOURS)]


def cluster_marker(cluster: int) -> str:
    """Return the marker of a cluster."""
    return MARKERS[cluster // len(COLOURS) % len(MARKERS)]


def draw_numbered_mark(ax: Axes, cluster: int, x: float, y: float) -> None:
    """Draw a mark with the colour and the number of a cluster."""
    colour = cluster_colour(cluster)
    text_colour = ON_LIGHT if colour in LIGHT else ON_DARK
    ax.plot([x], [y], "o", ms=12, color=colour, mec=BACKGROUND, mew=1, zorder=4)
    ax.text(
        x,
        y,
        str(cluster),
        size=7.5,
        color=text_colour,
        ha="center",
        va="center_baseline",
        weight="bold",
        zorder=5,
    )


def rgb(colour: str) -> tuple[float, ...]:
    """Return the red, green and blue values of a colour #rrggbb, between 0 and 1."""
    return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))


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
