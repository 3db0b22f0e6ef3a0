"""Rows and centroids of single columns on the mapped circle, at angle pi (x - origin)/half_turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from .._grid import Array
from .._text import shorten_name
from ..analysis.fit_analysis import analyse_fit, circle_coordinates, column_names
from ._style import (
    BACKGROUND,
    COLOURS,
    MARKERS,
    MAX_LANES,
    SOFT,
    cluster_colour,
    cluster_marker,
    draw_numbered_mark,
    format_number,
)

FIRST_LANE = 1.07  # inner radius of the first lane; the circle has radius 1
LANE = 0.08  # width of a lane
LONGEST = 0.45  # length of the longest bar
N_STYLES = len(COLOURS) * len(MARKERS)  # number of distinct cluster styles
STROKE = {"lw": 0.9, "alpha": 0.7}
BAR = {"lw": 4.5, "color": SOFT, "alpha": 0.6}
BINS = 48  # bars of row counts around the circle, if there are too many clusters for lanes


class CircleDisplay:
    """Rows and centroids on the mapped circle of one or several columns.

    Each cluster has a ring outside the circle. With more than 10 clusters, bars count the rows at
    each angle instead.

    Parameters
    ----------
    circles : dict
        The labels (m,), and the features: a list of dicts with name, turns (m,), centroids (k, 2)
        and arcs.

    Attributes
    ----------
    ax_ : matplotlib Axes, or an array of Axes for several columns.
    figure_ : the matplotlib figure.
    ticks_ : list of artists, one for each column and cluster with rows, or one for all bars.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.displays import CircleDisplay
    >>> X = np.array([[0.0, 5.0], [0.1, 6.0], [0.9, 9.0], [1.0, 9.5]])
    >>> display = CircleDisplay.from_estimator(RectifiedEulerKMeans(2, random_state=0).fit(X), X,
    ...     features=[0, 1])
    >>> len(display.ax_)
    2
    """

    def __init__(self, circles: dict[str, Any]) -> None:
        self.circles = circles

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        features: int | Sequence[int] | None = None,
        names: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the circles of a fitted model on X.

        Parameters
        ----------
        model : fitted estimator
            The model to draw.
        X : table of shape (n_samples, n_features)
            The rows to draw, with the columns of the fit.
        features : int, list of int or None
            Column numbers; by default the two with the largest separation.
        names : array of str or None
            Names of the columns; by default those of the fitted table.
        ax : matplotlib Axes, array of Axes or None
            Where to draw, one for each column; a new figure by default.

        Returns
        -------
        CircleDisplay
            The plotted display.
        """
        analysis = analyse_fit(model, X)
        columns = column_names(model, names)
        return cls(
            circle_coordinates(analysis, columns, analysis.column_numbers(features, 2))
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, array of Axes or None
            Where to draw, one for each column; a new figure by default.

        Returns
        -------
        self
            The display itself.
        """
        columns = self.circles["features"]
        if ax is None:
            size = (3.4 * len(columns), 3.6)
            ax = plt.subplots(1, len(columns), figsize=size, layout="constrained", squeeze=False)[1]
        axes = np.ravel(np.asarray(ax, dtype=object))
        pairs = zip(axes, columns, strict=True)
        self.ticks_ = [
            tick for one_ax, column in pairs for tick in self._draw_circle(one_ax, column)
        ]
        self.ax_ = axes if len(axes) > 1 else axes[0]
        self.figure_ = axes[0].figure
        return self

    def _draw_circle(self, ax: Axes, column: dict[str, Any]) -> list[Any]:
        """Draw the circle of one column, and return the artists of its rows."""
        labels = np.asarray(self.circles["labels"])
        turns = np.array(column["turns"], dtype=np.float64)  # None becomes NaN
        centroids = np.array(column["centroids"])  # (k, 2)
        k = len(centroids)
        ax.add_patch(Circle((0, 0), 1, fill=False, ec=SOFT, lw=1))
        _draw_values(ax, column)
        observed = ~np.isnan(turns)
        strokes = (
            _lane_strokes(turns[observed], labels[observed])
            if k <= MAX_LANES
            else _count_bars(turns[observed])
        )
        ticks = [ax.plot(x, y, solid_capstyle="butt", **style)[0] for x, y, style in strokes]
        _draw_centroids(ax, centroids)
        edge = FIRST_LANE + (LANE * k if k <= MAX_LANES else LONGEST) + 0.02
        ax.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
        ax.set_axis_off()
        ax.set_title(shorten_name(column["name"]), size=10, weight="bold", parse_math=False)
        return ticks


def _draw_values(ax: Axes, column: dict[str, Any]) -> None:
    """Write round values of the column at their angles, if one turn contains all values."""
    arcs = column["arcs"]
    ends = [
        (arc[end] - arc["origin"]) / arc["half_turn"] for arc in arcs for end in ("low", "high")
    ]
    if not ends or not 0 < max(ends) - min(ends) <= 2:
        return
    for arc in arcs:
        for value in MaxNLocator(max(1, 5 // len(arcs))).tick_values(arc["low"], arc["high"]):
            if arc["low"] <= value <= arc["high"]:
                angle = np.pi * (value - arc["origin"]) / arc["half_turn"]
                x, y = np.cos(angle), np.sin(angle)
                ax.plot([0.95 * x, x], [0.95 * y, y], color=SOFT, lw=1)
                ax.text(
                    0.76 * x,
                    0.76 * y,
                    format_number(value),
                    size=8,
                    color=SOFT,
                    ha="center",
                    va="center_baseline",
                )


def _draw_centroids(ax: Axes, centroids: Array) -> None:
    """Draw a spoke and a mark for each centroid, with numbers if there is space."""
    k = len(centroids)
    for c in range(min(k, N_STYLES)):
        a, b = centroids[c::N_STYLES].T  # centroids with the same style are drawn together
        x, y = (np.stack([0 * v, v, np.nan * v], axis=1).ravel() for v in (a, b))
        ax.plot(x, y, color=cluster_colour(c), lw=1 if k <= MAX_LANES else 0.5, alpha=0.8)
        if k <= MAX_LANES:
            draw_numbered_mark(ax, c, a[0], b[0])
        else:
            mark: Any = {"ms": 6, "color": cluster_colour(c), "mec": BACKGROUND, "mew": 0.6}
            ax.plot(a, b, cluster_marker(c), ls="none", zorder=4, **mark)


def _lane_strokes(turns: Array, labels: Array) -> Iterator[tuple[Array, Array, dict[str, Any]]]:
    """Yield the strokes of each cluster: one per row, in the lane of the cluster."""
    for c in np.unique(labels):
        strokes = _radial_strokes(
            turns[labels == c], FIRST_LANE + LANE * (c + 0.1), FIRST_LANE + LANE * (c + 0.9)
        )
        yield *strokes, STROKE | {"color": cluster_colour(c)}


def _count_bars(turns: Array) -> Iterator[tuple[Array, Array, dict[str, Any]]]:
    """Yield the bars at 48 angles, with lengths proportional to the number of rows."""
    counts, edges = np.histogram(np.mod(turns, 2), bins=BINS, range=(0, 2))
    filled = counts > 0
    angles = (edges[:-1] + edges[1:])[filled] / 2
    yield (
        *_radial_strokes(
            angles, FIRST_LANE, FIRST_LANE + LONGEST * counts[filled] / counts.max(initial=1)
        ),
        BAR,
    )


def _radial_strokes(turns: Array, near: ArrayLike, far: ArrayLike) -> tuple[Array, Array]:
    """Return x and y of radial strokes at these angles, as one line with gaps."""
    r = np.broadcast_arrays(near, far, np.nan, turns)[:3]
    radius = np.stack(r, axis=1)  # (m, 3)
    angle = np.pi * turns[:, None]
    return (radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel()
