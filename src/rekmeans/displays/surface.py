"""Decision surfaces over two columns, with the borders of Lemma 1 or 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import ArrayLike

from .._grid import GRID, Array
from .._text import shorten_name
from ..analysis.fit_analysis import FitAnalysis, analyse_fit, column_names
from ..surfaces import mean_surface, rectified_surface
from ._style import SOFT, cluster_colour, cluster_marker, draw_numbered_mark, rgb

GRID_POINTS = 300  # points along each axis
SURFACES = {"mean": mean_surface, "rectified": rectified_surface}


class SurfaceDisplay:
    """The cluster of each pair of values of two columns.

    The surfaces of Lemma 1 or 2 are drawn between adjacent clusters. The other columns are treated
    as missing.

    Parameters
    ----------
    grid : pair of arrays
        The values x and y of the two columns.
    response : array of shape (len(y), len(x))
        Cluster of each point.
    sides : dict
        An array of shape (len(y), len(x)) for each pair of clusters (p, q): positive on the side of
        p, negative on the side of q, and zero on the border.
    rows : array of shape (m, 2)
        Rows to draw.
    labels : array of shape (m,)
        Clusters of the rows.
    centres : array of shape (k, 2)
        Cluster centres.
    names : list of str
        Names of the two columns.

    Attributes
    ----------
    ax_, figure_ : the matplotlib axes and figure.
    surface_ : the image of the clusters.
    borders_ : dict of (p, q) -> contour set.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.displays import SurfaceDisplay
    >>> X = np.array([[0.0, 5.0], [0.1, 6.0], [0.9, 9.0], [1.0, 9.5]])
    >>> model = RectifiedEulerKMeans(2, random_state=0).fit(X)
    >>> list(SurfaceDisplay.from_estimator(model, X, features=(0, 1)).borders_)
    [(0, 1)]
    """

    def __init__(
        self,
        grid: tuple[Array, Array],
        response: Array,
        sides: dict[tuple[int, int], Array],
        rows: Array,
        labels: Array,
        centres: Array,
        names: Sequence[str],
    ) -> None:
        self.grid = grid
        self.response = response
        self.sides = sides
        self.rows = rows
        self.labels = labels
        self.centres = centres
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        features: tuple[int, int] = (0, 1),
        names: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the decision surface of a fitted model for two columns, over the range of X.

        Parameters
        ----------
        model : fitted estimator
            The model to draw.
        X : table of shape (n_samples, n_features)
            The rows to draw, with the columns of the fit.
        features : (int, int), default=(0, 1)
            Numbers of the two columns.
        names : array of str or None
            Names of the columns; by default those of the fitted table.
        ax : matplotlib Axes or None
            Where to draw; a new figure by default.

        Returns
        -------
        SurfaceDisplay
            The plotted display.
        """
        analysis = analyse_fit(model, X)
        columns = column_names(model, names)
        d = analysis.table.n_columns
        if d < 2:
            raise ValueError(
                f"SurfaceDisplay needs a table with at least two columns, got {d}: use "
                f"CircleDisplay."
            )
        pair = analysis.column_numbers(features, 2).tolist()
        if len(pair) != 2:
            raise ValueError(f"features must be two column numbers, got {features!r}.")
        numbers = analysis.rows_to_draw()
        grid = _axis_values(analysis, pair[0]), _axis_values(analysis, pair[1])
        response, sides = _decision_surface(analysis, pair, grid)
        return cls(
            grid,
            response,
            sides,
            rows=analysis.dense_rows(numbers)[:, pair],
            labels=analysis.labels[numbers],
            centres=model.cluster_centers_[:, pair],
            names=[columns[j] for j in pair],
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
        x, y = self.grid
        k = len(self.centres)
        tints = np.array([[*rgb(cluster_colour(c)), 0.25] for c in range(k)])
        extent = (x[0], x[-1], y[0], y[-1])
        self.surface_ = ax.imshow(
            tints[self.response], origin="lower", extent=extent, aspect="auto"
        )
        self.borders_ = {}
        for (p, q), side in self.sides.items():
            side_of_pair = np.where((self.response == p) | (self.response == q), side, np.nan)
            self.borders_[p, q] = ax.contour(
                x, y, side_of_pair, levels=[0.0], colors=[SOFT], linewidths=1
            )
        for c in range(k):
            x_c, y_c = self.rows[np.asarray(self.labels) == c].T
            ax.plot(
                x_c, y_c, cluster_marker(c), ms=3.5, color=cluster_colour(c), alpha=0.8, mec="none"
            )
        for c in range(k):
            draw_numbered_mark(ax, c, *self.centres[c])
        ax.set(xlim=extent[:2], ylim=extent[2:])
        ax.set_xlabel(shorten_name(self.names[0]), parse_math=False)
        ax.set_ylabel(shorten_name(self.names[1]), parse_math=False)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _axis_values(analysis: FitAnalysis, column: int) -> Array:
    """Return GRID_POINTS values over the range of a column, slightly extended."""
    x = analysis.column_values(column)
    low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
    pad = 0.04 * (high - low) or 0.5
    return np.linspace(low - pad, high + pad, GRID_POINTS)


def _decision_surface(
    analysis: FitAnalysis, pair: list[int], grid: tuple[Array, Array]
) -> tuple[Array, dict[tuple[int, int], Array]]:
    """Return the nearest cluster at each point of the grid, and the sides of adjacent clusters."""
    # (GRID_POINTS^2, 2)
    points = np.stack([values.ravel() for values in np.meshgrid(*grid)], axis=1)
    d = analysis.table.n_columns
    kernel = replace(analysis.kernel, scale=analysis.kernel.scale.take(pair))
    C = kernel.from_rows(analysis.C.f[:, [*pair, *(d + j for j in pair)]])
    F = kernel.embed(points)
    shape = (len(grid[1]), len(grid[0]))
    response = kernel.distance(F, C).argmin(axis=1).reshape(shape)
    m = analysis.model.centroids_[:, pair]
    surface = SURFACES[analysis.model.centroids]
    pairs = _adjacent_clusters(response)
    return response, {(p, q): surface(m[p], m[q]).side(F / GRID).reshape(shape) for p, q in pairs}


def _adjacent_clusters(response: Array) -> list[tuple[int, int]]:
    """Return the pairs of clusters that share a border on the grid, in ascending order."""
    sides = [(response[:, :-1], response[:, 1:]), (response[:-1], response[1:])]
    pairs = np.concatenate([np.stack([a[a != b], b[a != b]], axis=1) for a, b in sides])
    return sorted({(int(min(pair)), int(max(pair))) for pair in np.unique(pairs, axis=0)})
