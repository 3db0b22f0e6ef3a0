"""The topology learned by neural gas: prototypes over two columns, and lines between neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._grid import Array
from .._text import shorten_name
from ..analysis.fit_analysis import MAX_ROWS_DRAWN, column_names
from ..table.validation import read_table
from ._style import BACKGROUND, COLOURS, FAINT, SOFT

WIDEST = 4.0  # width of the line with the most rows, in points


class GraphDisplay:
    """Prototypes in the plane of two columns.

    Two prototypes are joined by a line if they are the two nearest to some row. The width of a
    line increases with the number of these rows.

    Parameters
    ----------
    centres : array of shape (k, 2)
        Prototypes.
    graph : sparse array of shape (k, k)
        Symmetric; the number of rows for which two prototypes are the nearest ones.
    rows : array of shape (m, 2)
        Rows to draw.
    names : list of str
        Names of the two columns.

    Attributes
    ----------
    ax_, figure_ : the matplotlib axes and figure.
    lines_ : the lines, one for each pair with rows.
    marks_ : the prototypes.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import NeuralGas
    >>> from rekmeans.displays import GraphDisplay
    >>> X = np.stack([np.linspace(0, 1, 100), np.zeros(100)], axis=1)
    >>> display = GraphDisplay.from_estimator(NeuralGas(n_clusters=5, random_state=0).fit(X), X)
    >>> len(display.lines_.get_segments())  # a chain of five
    4
    """

    def __init__(self, centres: Array, graph: Any, rows: Array, names: Sequence[str]) -> None:
        self.centres = centres
        self.graph = graph
        self.rows = rows
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        *,
        features: tuple[int, int] = (0, 1),
        names: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the graph of a fitted NeuralGas over two columns.

        Parameters
        ----------
        model : NeuralGas
            The fitted model to draw.
        X : table of shape (n_samples, n_features) or None
            Rows to draw below the graph; none by default.
        features : (int, int), default=(0, 1)
            Numbers of the two columns.
        names : array of str or None
            Names of the columns; by default those of the fitted table.
        ax : matplotlib Axes or None
            Where to draw; a new figure by default.

        Returns
        -------
        GraphDisplay
            The plotted display.
        """
        check_is_fitted(model)
        if not hasattr(model, "graph_"):
            raise TypeError(f"GraphDisplay supports only NeuralGas; got {type(model).__name__}.")
        columns = column_names(model, names)
        pair = np.asarray(features)
        d = model.n_features_in_
        if pair.shape != (2,) or pair.dtype.kind not in "iu" or pair.min() < 0 or pair.max() >= d:
            raise ValueError(
                f"features must be two column numbers from 0 to {d - 1}; got {features!r}."
            )
        rows = np.empty((0, 2))
        if X is not None:
            table = read_table(model, X, fitting=False)
            step = max(1, -(-table.n_rows // MAX_ROWS_DRAWN))
            rows = np.asarray(table.dense(slice(None, None, step)), np.float64)[:, pair]
        return cls(
            model.cluster_centers_[:, pair], model.graph_, rows, [columns[j] for j in pair]
        ).plot(ax)

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
        ax = plt.subplots(figsize=(5.2, 4.4), layout="constrained")[1] if ax is None else ax
        ax.plot(*self.rows.T, "o", ms=3, color=FAINT, mec="none", zorder=1)
        pairs = sparse.triu(self.graph, 1).tocoo()
        ends = np.stack([self.centres[pairs.row], self.centres[pairs.col]], axis=1)  # (edges, 2, 2)
        widths = WIDEST * np.sqrt(pairs.data / pairs.data.max(initial=np.finfo(float).tiny))
        self.lines_ = LineCollection(
            list(ends), linewidths=widths, colors=SOFT, capstyle="round", zorder=2
        )
        ax.add_collection(self.lines_)
        (self.marks_,) = ax.plot(
            *self.centres.T, "o", ms=8, color=COLOURS[0], mec=BACKGROUND, mew=1, zorder=3
        )
        ax.set_xlabel(shorten_name(self.names[0]), parse_math=False)
        ax.set_ylabel(shorten_name(self.names[1]), parse_math=False)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
