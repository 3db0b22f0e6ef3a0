"""The U-matrix of a self-organizing map: the mean distance of each node to its neighbours."""

from __future__ import annotations

from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._grid import Array
from .._text import shorten_name
from ..engines import host_values
from ..table.empty_rows import NO_LABEL, count_labels
from ._style import BACKGROUND, SOFT, cluster_colour, cluster_marker

LARGEST_MARK = 0.38  # radius of the mark of the node with the most rows, in widths of a node


class UMatrixDisplay:
    """The U-matrix of a self-organizing map; nodes that differ from their neighbours are dark.

    The size of the mark on a node shows its number of rows. With labels, each mark has the colour
    of the most frequent label among the rows of its node.

    Parameters
    ----------
    ridges : array of shape (rows, columns)
        Mean distance of each node to its neighbours.
    counts : array of shape (rows, columns)
        Number of rows of each node.
    winners : array of shape (rows, columns) or None
        Index in `names` of the most frequent label, the first one on ties, or -1 for nodes without
        rows. None without labels.
    names : list of str or None
        The labels.

    Attributes
    ----------
    ax_, figure_ : the matplotlib axes and figure.
    image_ : the image of the ridges.
    marks_ : list of artists, one for each label with nodes (one without labels).

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import SelfOrganizingMap
    >>> from rekmeans.displays import UMatrixDisplay
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> model = SelfOrganizingMap(grid=(3, 4)).fit(X)
    >>> display = UMatrixDisplay.from_estimator(model, labels=X[:, 0] > 0.5)
    >>> display.counts.shape, int(display.counts.sum()), display.names
    ((3, 4), 200, ['False', 'True'])
    """

    def __init__(
        self,
        ridges: Array,
        counts: Array,
        winners: Array | None = None,
        names: list[str] | None = None,
    ) -> None:
        self.ridges = ridges
        self.counts = counts
        self.winners = winners
        self.names = names

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, *, labels: ArrayLike | None = None, ax: Any = None
    ) -> Self:
        """Draw the U-matrix of a fitted map.

        Parameters
        ----------
        model : SelfOrganizingMap
            The fitted map.
        X : table of shape (n_samples, n_features) or None
            The rows to count; by default those of the fit.
        labels : array of shape (n_samples,) or None
            Labels of the rows, for the colours of the marks.
        ax : matplotlib Axes or None
            Where to draw; a new figure by default.

        Returns
        -------
        UMatrixDisplay
            The plotted display.
        """
        check_is_fitted(model)
        if not hasattr(model, "u_matrix_"):
            raise TypeError(
                f"UMatrixDisplay supports only SelfOrganizingMap; got {type(model).__name__}."
            )
        nodes = host_values(model.labels_ if X is None else model.predict(X))
        shape = model.u_matrix_.shape
        counts = count_labels(nodes, model.u_matrix_.size)
        if labels is None:
            return cls(model.u_matrix_, counts.reshape(shape)).plot(ax)
        if np.shape(labels) != nodes.shape:
            raise ValueError(
                f"labels must have one label for each of the {len(nodes)} rows; got an array of "
                f"shape {np.shape(labels)}."
            )
        names, codes = np.unique(np.asarray(labels), return_inverse=True)
        table = np.zeros((len(counts), len(names)), np.int64)
        has_node = nodes != NO_LABEL
        np.add.at(table, (nodes[has_node], codes[has_node]), 1)
        winners = np.where(counts > 0, table.argmax(axis=1), -1)
        return cls(
            model.u_matrix_, counts.reshape(shape), winners.reshape(shape), [str(n) for n in names]
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
        high, wide = self.ridges.shape
        if ax is None:
            ax = plt.subplots(
                figsize=(min(1.6 + 0.5 * wide, 12), min(1.0 + 0.5 * high, 12)), layout="constrained"
            )[1]
        self.image_ = ax.imshow(self.ridges, cmap="Greys", interpolation="none")
        ax.figure.colorbar(
            self.image_, ax=ax, shrink=0.8, label="distance to neighbours"
        ).outline.set_visible(False)
        y, x = np.nonzero(self.counts)
        radius = LARGEST_MARK * np.sqrt(self.counts[y, x] / self.counts.max(initial=1))
        winners = np.full(len(x), -1) if self.winners is None else self.winners[y, x]
        # approximate width of a node, because axes have no size before they are drawn
        points = 72 * ax.figure.get_figwidth() / (wide + 2.2)
        self.marks_ = []
        for c in np.unique(winners):
            at = winners == c
            style: dict[str, Any] = {"color": SOFT}
            if c >= 0:
                name = str(c) if self.names is None else self.names[c]
                style = {
                    "color": cluster_colour(c),
                    "marker": cluster_marker(c),
                    "label": shorten_name(name),
                }
            size = (2 * radius[at] * points) ** 2 * np.pi / 4
            self.marks_.append(
                ax.scatter(x[at], y[at], s=size, edgecolors=BACKGROUND, linewidths=0.8, **style)
            )
        if self.winners is not None:
            legend = ax.legend(
                loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=5, frameon=False
            )
            for handle in legend.legend_handles:
                handle.set(sizes=[40.0])
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        ax.tick_params(length=0)
        ax.set(xlabel="column of the map", ylabel="row of the map")
        ax.spines[:].set_visible(False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
