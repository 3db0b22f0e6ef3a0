"""The objective after each iteration."""

from __future__ import annotations

from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from ._style import BACKGROUND, COLOURS


class HistoryDisplay:
    """The objective after each iteration, which never increases.

    Parameters
    ----------
    history : dict
        The `history_` of an estimator.

    Attributes
    ----------
    ax_, figure_ : the matplotlib axes and figure.
    line_ : the line of the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.displays import HistoryDisplay
    >>> model = RectifiedEulerKMeans(2, random_state=0).fit(np.array([[0.0], [0.1], [0.9], [1.0]]))
    >>> len(HistoryDisplay.from_estimator(model).line_.get_xdata()) == model.n_iter_
    True
    """

    def __init__(self, history: dict[str, Any]) -> None:
        self.history = history

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw the history of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            The model to draw.
        ax : matplotlib Axes or None
            Where to draw; a new figure by default.

        Returns
        -------
        HistoryDisplay
            The plotted display.
        """
        check_is_fitted(model)
        return cls(model.history_).plot(ax)

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
        ax = plt.subplots(figsize=(5.0, 2.8), layout="constrained")[1] if ax is None else ax
        objective = np.asarray(self.history["inertia"], dtype=np.float64)
        iterations = np.arange(1, len(objective) + 1)
        style = "o-" if len(iterations) <= 40 else "-"
        (self.line_,) = ax.plot(
            iterations, objective, style, color=COLOURS[0], lw=1.6, ms=4.5, mec=BACKGROUND, mew=0.6
        )
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(4))
        ax.set(xlabel="iteration", ylabel="objective", xlim=(0.7, max(len(iterations), 2) + 0.3))
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
