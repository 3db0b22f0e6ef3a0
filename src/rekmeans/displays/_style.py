"""What all drawings share: colours and markers of clusters, numbered marks."""

from __future__ import annotations

from matplotlib.axes import Axes

# Paul Tol's bright: safe for all eyes
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
LIGHT = ("#ee6677", "#ccbb44", "#66ccee")  # those on which dark text reads better than white
MARKERS = "osD^vPX<>*"  # the next shape where the colours begin again
# text on a mark
ON_DARK = "#ffffff"
ON_LIGHT = "#141a20"
TEXT = "#202a33"
SOFT = "#6b7884"
FAINT = "#dde3e8"
BACKGROUND = "#fdfdfc"
MAX_LANES = 10  # clusters that have room for a lane and a number each


def cluster_colour(cluster: int) -> str:
    """The colour of a cluster; they repeat, with another marker."""
    return COLOURS[cluster % len(COLOURS)]


def cluster_marker(cluster: int) -> str:
    """The marker of a cluster."""
    return MARKERS[cluster // len(COLOURS) % len(MARKERS)]


def draw_numbered_mark(ax: Axes, cluster: int, x: float, y: float) -> None:
    """A mark in the colour of a cluster with its number on it."""
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
    """Red, green and blue of a #rrggbb, each 0 to 1."""
    return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
