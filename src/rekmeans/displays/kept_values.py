"""A histogram of the kept intervals of a column, with counts of the values outside."""

from __future__ import annotations

from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from .._text import shorten_name
from ..analysis.fit_analysis import analyse_fit, column_histogram, column_names
from ._style import COLOURS, FAINT, SOFT, format_number

GAP = 0.12  # width of the fields between intervals, as a share of the width of all intervals


class KeptValuesDisplay:
    """A histogram of one column: its kept intervals side by side.

    The grey fields between them show how many values lie outside.

    Parameters
    ----------
    histogram : dict
        The name, the intervals (low, high and counts of each) and left_out (the numbers of values
        below, between and above them), as under "left_out" in a summary.

    Attributes
    ----------
    ax_, figure_ : the matplotlib axes and figure.
    bars_ : list of bar containers, one for each kept interval.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.displays import KeptValuesDisplay
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [0.4], [99.0]])
    >>> model = RectifiedEulerKMeans(2, random_state=0).fit(X)
    >>> KeptValuesDisplay.from_estimator(model, X, feature=0).histogram["left_out"].tolist()
    [0, 1]
    """

    def __init__(self, histogram: dict[str, Any]) -> None:
        self.histogram = histogram

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, feature: int = 0, names: ArrayLike | None = None, ax: Any = None
    ) -> Self:
        """Draw the values of one column of X with the kept intervals of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            The model to draw.
        X : table of shape (n_samples, n_features)
            The rows to draw, with the columns of the fit.
        feature : int, default=0
            Number of the column.
        names : array of str or None
            Names of the columns; by default those of the fitted table.
        ax : matplotlib Axes or None
            Where to draw; a new figure by default.

        Returns
        -------
        KeptValuesDisplay
            The plotted display.
        """
        analysis = analyse_fit(model, X)
        (column,) = analysis.column_numbers([feature], 1)
        return cls(column_histogram(analysis, column_names(model, names), column)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; a new figure by default.

        Returns
        -------
        self
            The display itself.
        """
        ax = plt.subplots(figsize=(5.0, 2.4), layout="constrained")[1] if ax is None else ax
        intervals = self.histogram["intervals"]
        widths = np.array([interval["high"] - interval["low"] for interval in intervals])
        whole = widths.sum() or 1.0
        starts = np.concatenate([[0.0], np.cumsum(np.maximum(widths, 0.02 * whole) + GAP * whole)])
        self.bars_ = [
            self._draw_interval(ax, *pair, whole) for pair in zip(starts, intervals, strict=False)
        ]
        most = max((max(interval["counts"]) for interval in intervals), default=1)
        for start, count in zip(starts, self.histogram["left_out"], strict=False):
            if count:
                _draw_outside(ax, start - GAP * whole, GAP * whole, most, int(count))
        ticks = [(start, interval) for start, interval in zip(starts, intervals, strict=False)]
        ax.set_xticks(
            [
                start + share * (one["high"] - one["low"])
                for start, one in ticks
                for share in (0, 1)
            ],
            [format_number(one[end]) for _, one in ticks for end in ("low", "high")],
        )
        ax.set(yticks=[], xlim=(-GAP * whole, starts[-1]), ylim=(0, 1.12 * most))
        ax.set_title(shorten_name(self.histogram["name"]), size=10, weight="bold", parse_math=False)
        ax.spines[["top", "right", "left"]].set_visible(False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _draw_interval(self, ax: Axes, start: float, interval: dict[str, Any], whole: float) -> Any:
        """Draw the bars of one kept interval, beginning at x = `start`."""
        counts = np.asarray(interval["counts"])
        width = max(interval["high"] - interval["low"], 0.02 * whole) / len(counts)
        return ax.bar(
            start + width * np.arange(len(counts)), counts, width, align="edge", color=COLOURS[0]
        )


def _draw_outside(ax: Axes, start: float, width: float, most: float, count: int) -> None:
    """Draw a grey field with the number of values outside the kept intervals."""
    ax.axvspan(start, start + width, color=FAINT, lw=0)
    text = f"{count:,} outside"
    ax.text(
        start + width / 2, most / 2, text, size=8, color=SOFT, ha="center", va="center", rotation=90
    )
