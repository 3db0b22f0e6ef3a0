"""Rows and centroids of single columns on the mapped circle: angle pi (x - origin)/half_turn."""

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
from ..report.look import looked
from ..report.summary import circles, column_names
from .ink import COLOURS, LANES, MARKERS, PAPER, SOFT, amount, colour, marker, numbered, short

NEAR, LANE, LONGEST = (
    1.07,
    0.08,
    0.45,
)  # where rows begin, the width of a lane, the longest bar; the circle has radius 1
STROKE = {"lw": 0.9, "alpha": 0.7}
BAR = {"lw": 4.5, "color": SOFT, "alpha": 0.6}
BINS = 48  # angles at which rows are counted where clusters are too many for lanes


class CircleDisplay:
    """Rows on the mapped circle of one or several columns, a lane outside it for each cluster, and the centroids.

    For more than 10 clusters the lanes give way to bars that count the rows at each angle.

    Parameters
    ----------
    circles : dict
        labels (m,), and features: a list of name, turns (m,), centroids (k, 2), origin, half_turn, low, high.

    Attributes
    ----------
    ax_ : Axes, or an array of them for several columns.
    figure_ : the matplotlib figure.
    ticks_ : list of artists, for each column one a cluster with rows (or one of all bars).

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.displays import CircleDisplay
    >>> X = np.array([[0.0, 5.0], [0.1, 6.0], [0.9, 9.0], [1.0, 9.5]])
    >>> display = CircleDisplay.from_estimator(RectifiedEulerKMeans(2, random_state=0).fit(X), X, features=[0, 1])
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
        """The circles of a fitted model on X; `features` are column numbers, by default the two most separating."""
        look, columns = looked(model, X), column_names(model, names)
        return cls(circles(model, look, columns, look.columns(features, 2))).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it, on an Axes for each column."""
        several = self.circles["features"]
        if ax is None:
            size = (3.4 * len(several), 3.6)
            ax = plt.subplots(1, len(several), figsize=size, layout="constrained", squeeze=False)[1]
        axes = np.ravel(np.asarray(ax, dtype=object))
        self.ticks_ = [tick for one, on in zip(several, axes, strict=True) for tick in self._circle(on, one)]
        self.ax_, self.figure_ = axes if len(axes) > 1 else axes[0], axes[0].figure
        return self

    def _circle(self, ax: Axes, one: dict[str, Any]) -> list[Any]:
        """One column's circle."""
        labels = np.asarray(self.circles["labels"])
        turns = np.array(one["turns"], dtype=np.float64)  # None becomes NaN
        k = len(one["centroids"])
        ax.add_patch(Circle((0, 0), 1, fill=False, ec=SOFT, lw=1))
        self._scale(ax, one)
        seen = ~np.isnan(turns)
        strokes = _lanes(turns[seen], labels[seen]) if k <= LANES else _bars(turns[seen])
        ticks = [ax.plot(x, y, solid_capstyle="butt", **style)[0] for x, y, style in strokes]
        centroids = np.array(one["centroids"])  # (k, 2)
        for c in range(min(k, len(COLOURS) * len(MARKERS))):  # those that look alike are drawn at once
            a, b = centroids[c :: len(COLOURS) * len(MARKERS)].T
            x, y = (np.stack([0 * v, v, np.nan * v], axis=1).ravel() for v in (a, b))
            ax.plot(x, y, color=colour(c), lw=1 if k <= LANES else 0.5, alpha=0.8)
            if k <= LANES:
                numbered(ax, c, a[0], b[0])
            else:
                ax.plot(a, b, marker(c), ms=6, color=colour(c), mec=PAPER, mew=0.6, ls="none", zorder=4)
        out = NEAR + (LANE * k if k <= LANES else LONGEST) + 0.02
        ax.set(xlim=(-out, out), ylim=(-out, out), aspect="equal")
        ax.set_axis_off()
        ax.set_title(short(one["name"]), size=10, weight="bold", parse_math=False)
        return ticks

    @staticmethod
    def _scale(ax: Axes, one: dict[str, Any]) -> None:
        """Round values of the column at their angles, where a turn holds them all."""
        if one["low"] is None or not 0 < one["high"] - one["low"] <= 2 * one["half_turn"]:
            return
        for value in MaxNLocator(5).tick_values(one["low"], one["high"]):
            if one["low"] <= value <= one["high"]:
                angle = np.pi * (value - one["origin"]) / one["half_turn"]
                x, y = np.cos(angle), np.sin(angle)
                ax.plot([0.95 * x, x], [0.95 * y, y], color=SOFT, lw=1)
                ax.text(0.76 * x, 0.76 * y, amount(value), size=8, color=SOFT, ha="center", va="center_baseline")


def _lanes(turns: Array, labels: Array) -> Iterator[tuple[Array, Array, dict[str, Any]]]:
    """A stroke for each row, in its cluster's lane."""
    for c in np.unique(labels):
        yield (
            *_strokes(turns[labels == c], NEAR + LANE * (c + 0.1), NEAR + LANE * (c + 0.9)),
            STROKE | {"color": colour(c)},
        )


def _bars(turns: Array) -> Iterator[tuple[Array, Array, dict[str, Any]]]:
    """A bar for each of 48 angles, as long as rows are many."""
    counts, edges = np.histogram(np.mod(turns, 2), bins=BINS, range=(0, 2))
    some = counts > 0
    middles = (edges[:-1] + edges[1:])[some] / 2
    yield *_strokes(middles, NEAR, NEAR + LONGEST * counts[some] / counts.max(initial=1)), BAR


def _strokes(turns: Array, near: ArrayLike, far: ArrayLike) -> tuple[Array, Array]:
    """x and y of radial strokes at these angles, with gaps between: one line."""
    r = np.broadcast_arrays(near, far, np.nan, turns)[:3]
    radius = np.stack(r, axis=1)  # (m, 3)
    angle = np.pi * turns[:, None]
    return (radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel()
