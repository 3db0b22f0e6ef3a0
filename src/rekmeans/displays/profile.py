"""Cluster centres against the overall spread of each column: x = (centre - q05)/(q95 - q05)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from .._grid import Array
from .._text import shorten_name
from ..analysis.fit_analysis import analyse_fit, column_names, column_profile
from ._style import (
    BACKGROUND,
    FAINT,
    MAX_LANES,
    RANGE,
    SOFT,
    cluster_colour,
    cluster_marker,
    format_number,
    rgb,
)

# colours of centres below and above the middle of a column, with many clusters
BELOW = "#4477aa"
ABOVE = "#cc4455"
POINT = 1 / 72  # inches
LANE_POINTS = 10.0  # height of a lane in points
MAX_COLUMNS_DRAWN = 24  # columns drawn by default
EDGE = 0.3  # centres are drawn at most this far outside the 5-95 % band, in widths of the band


class ProfileDisplay:
    """Cluster centres, in the units of the table, against the overall spread of each column.

    Parameters
    ----------
    features : list of dict
        The name, q05, q25, median, q75, q95 and centres (one for each cluster) of each column, as
        under "features" in a summary.

    Attributes
    ----------
    ax_, figure_ : the matplotlib axes and figure.
    marks_ : list of artists, one for each cluster (one image for more than 10 clusters).

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.displays import ProfileDisplay
    >>> X = np.array([[0.0, 5.0], [0.1, 6.0], [0.9, 9.0], [1.0, 9.5]])
    >>> display = ProfileDisplay.from_estimator(RectifiedEulerKMeans(2, random_state=0).fit(X), X)
    >>> [f["name"] for f in display.features]
    ['x0', 'x1']
    """

    def __init__(self, features: list[dict[str, Any]]) -> None:
        self.features = features

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        features: Sequence[int] | None = None,
        names: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the profile of a fitted model on X.

        Parameters
        ----------
        model : fitted estimator
            The model to draw.
        X : table of shape (n_samples, n_features)
            The rows to draw, with the columns of the fit.
        features : list of int or None
            Column numbers; by default the 24 with the largest separation.
        names : array of str or None
            Names of the columns; by default those of the fitted table.
        ax : matplotlib Axes or None
            Where to draw; a new figure by default.

        Returns
        -------
        ProfileDisplay
            The plotted display.
        """
        analysis = analyse_fit(model, X)
        columns = column_names(model, names)
        numbers = analysis.column_numbers(features, MAX_COLUMNS_DRAWN)
        return cls([column_profile(analysis, columns, j) for j in numbers]).plot(ax)

    @property
    def height(self) -> float:
        """The height of the figure in inches."""
        d = len(self.features)
        k = len(self.features[0]["centres"])
        points = d * (k + 2.6) * LANE_POINTS + 26 if k <= MAX_LANES else d * 15 + 34
        return points * POINT

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Each cluster has a lane. More than 10 clusters are drawn as a table of colours.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; a new figure by default.

        Returns
        -------
        self
            The display itself.
        """
        ax = plt.subplots(figsize=(5.6, self.height), layout="constrained")[1] if ax is None else ax
        k = len(self.features[0]["centres"])
        self.marks_ = (self._draw_lanes if k <= MAX_LANES else self._draw_cells)(ax, k)
        for spine in ax.spines.values():
            spine.set_visible(False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _draw_lanes(self, ax: Axes, k: int) -> list[Any]:
        """Draw the 5-95 % and 25-75 % ranges, the median, and a numbered mark for each centre."""
        tall = k + 2.6
        d = len(self.features)
        at = np.array([_band_positions(f, f["centres"]) for f in self.features])  # (d, k)
        for row, f in enumerate(self.features):
            top = row * tall + 1.7
            q25, median, q75 = _band_positions(f, [f["q25"], f["median"], f["q75"]])
            ax.add_patch(Rectangle((0, top), 1, k, color=FAINT, lw=0))
            ax.add_patch(Rectangle((q25, top), q75 - q25, k, color=SOFT, alpha=0.35, lw=0))
            ax.plot([median, median], [top, top + k], color=SOFT, lw=1.2, solid_capstyle="butt")
            ax.text(
                0,
                top - 0.25,
                shorten_name(f["name"], 34),
                size=9.5,
                weight="bold",
                va="bottom",
                parse_math=False,
            )
            ends = RANGE.join(format_number(f[q], band_width(f)) for q in ("q05", "q95"))
            ax.text(1, top - 0.25, ends, size=8.5, color=SOFT, ha="right", va="bottom")
        y = np.arange(d)[:, None] * tall + 1.7 + np.arange(k) + 0.5  # (d, k)
        for x_, y_, c in ((at[r, c], y[r, c], c) for r in range(d) for c in range(k)):
            ax.text(x_ + 0.02, y_, str(c), size=8.5, va="center_baseline")
        ax.set(
            xlim=(min(-0.03, at.min() - 0.03), max(1.03, at.max() + 0.05)),
            ylim=(d * tall + 0.1, 0),
            yticks=[],
        )
        ax.set_xticks([0, 1], ["5 % of rows below", "95 % of rows below"], size=8.5, color=SOFT)
        left, right = ax.get_xticklabels()
        left.set_horizontalalignment("left")
        right.set_horizontalalignment("right")
        ax.tick_params(length=0)
        style: Any = {"ms": 7.5, "mec": BACKGROUND, "mew": 0.7, "zorder": 3}
        return [
            ax.plot(at[:, c], y[:, c], cluster_marker(c), color=cluster_colour(c), **style)[0]
            for c in range(k)
        ]

    def _draw_cells(self, ax: Axes, k: int) -> list[Any]:
        """Draw a table of columns by clusters: blue below the middle, red above, paler near it."""
        # (d, k), from -1 at the 5 % quantile to 1 at the 95 % quantile
        z = np.array([2 * _band_positions(f, f["centres"]) - 1 for f in self.features])
        tints = np.where((z > 0)[..., None], rgb(ABOVE), rgb(BELOW))
        shades = np.concatenate([tints, np.clip(np.abs(z), 0, 1)[..., None]], axis=2)  # (d, k, 4)
        image = ax.imshow(shades, extent=(0, k, len(z), 0), aspect="auto", interpolation="none")
        for at in range(1, len(z)):
            ax.axhline(at, color=BACKGROUND, lw=1)
        for at in range(1, k if k <= 60 else 1):
            ax.axvline(at, color=BACKGROUND, lw=1)
        d = len(self.features)
        ax.set(xlim=(0, k), ylim=(d, 0))
        step = -(-k // 20)  # there is space for 20 numbers
        ax.set_xticks(np.arange(0, k, step) + 0.5, [str(c) for c in range(0, k, step)], size=8)
        names = [shorten_name(f["name"], 16) for f in self.features]
        ax.set_yticks(np.arange(d) + 0.5, names, size=8.5, parse_math=False)
        ax.tick_params(length=0, top=False)
        ax.set_xlabel("cluster")
        return [image]


def _band_positions(f: dict[str, Any], values: ArrayLike) -> Array:
    """Return the positions of values in the 5-95 % band of a column, from 0 to 1.

    Distant values are drawn at the EDGE. All positions are 0.5 if the band has no width.
    """
    low, high = (np.nan if f[q] is None else f[q] for q in ("q05", "q95"))
    values = np.array(values, dtype=np.float64)
    if not high > low:
        return np.full(values.shape, 0.5)
    return np.clip((values - low) / (high - low), -EDGE, 1 + EDGE)


def band_width(profile: dict[str, Any]) -> float | None:
    """Return the width of the 5-95 % range of a column, or None if it has no values."""
    return None if profile["q05"] is None else float(profile["q95"] - profile["q05"])
