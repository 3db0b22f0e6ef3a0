"""Shared style of all figures: the colours, markers and numbered marks of clusters."""

from __future__ import annotations

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
MAX_LANES = 10  # more clusters do not fit as lanes and numbers


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
