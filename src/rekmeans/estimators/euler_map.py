"""The Euler map as a scikit-learn transformer: each feature becomes (cos, sin) of alpha pi (x -
shift)/unit.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .. import watching
from .._grid import GRID, Array
from ..kernels.euler import OnCircles
from ..scales import SCALES
from ..table.refusals import circle_points
from ..table.stream_input import read_host_table
from ._mapped import Mapped, set_fitted_attributes


class EulerMap(TransformerMixin, Mapped):
    """The Euler map as a transformer: each feature becomes (cos, sin) of its phase.

    Parameters
    ----------
    alpha : float, default=0.9
        Half-turns of the circle per unit of the scaled feature.
    scale : {"robust", "range", "global"} or None, default="robust"
        What a unit of a feature is; see :class:`RectifiedEulerKMeans`.
    beyond : {"ignore", "clip", "wrap"}, default="ignore"
        What a value outside the kept intervals does.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import EulerMap
    >>> EulerMap(alpha=0.5, scale="range").fit_transform(np.array([[0.0], [1.0]]))
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(
        self,
        *,
        alpha: float = 0.9,
        scale: Literal["robust", "range", "global"] | None = "robust",
        beyond: Literal["ignore", "clip", "wrap"] = "ignore",
    ) -> None:
        self.alpha = alpha
        self.scale = scale
        self.beyond = beyond

    @watching.with_fit_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | str | None = None) -> Self:
        """Learn the scale of each column.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, SciPy sparse, pandas, polars or pyarrow table; NaN or null for missing
            values. Also what `read_table` returns, or a table that is read block by block: the
            path of a csv, feather, .npy or parquet file, a folder of parquet files or a pattern, a
            pyarrow dataset, a zarr array, or a function that returns a new iterator over blocks
            each time.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), str or None
            Row weights. The name of a column where the table is read block by block and has column
            names.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        table = read_host_table(self, X, sample_weight, fitting=True)
        tasks = watching.Tasks(self, X, y, sample_weight)
        summary = table.column_summary()
        kernel = self._euler_kernel(SCALES[self.scale](summary))
        ends = np.array(kernel.scale.bounds)
        if not np.isfinite(ends).all():  # nothing is beyond: the middle of what is there
            ends = np.where(np.isfinite(ends), ends, np.nan_to_num(summary.extent))
        set_fitted_attributes(self, table, {"kernel_": kernel, "middle_": ends.sum(axis=0) / 2})
        tasks.end()
        return self

    def _check_parameters(self) -> None:
        self._check_map()

    def transform(self, X: Any) -> Array:
        """Map the rows of X to the circle.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As in `fit`, with the columns of the fit.

        Returns
        -------
        array of shape (n_samples, 2 * n_features)
            [cos | sin] in float64; (0, 0) for a missing or ignored cell. The array is in memory;
            the rows of X are read block by block.
        """
        check_is_fitted(self)
        table = read_host_table(self, X, fitting=False)
        mapped = np.empty((table.n_rows, 2 * table.n_columns))
        for rows, X_block in table.dense_blocks():
            mapped[rows] = self.kernel_.embed(X_block) / GRID
        return mapped

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the values that mapped rows have in the units of the table.

        Of the values that share a phase, the one nearest to the middle of the column's range is
        returned.

        Parameters
        ----------
        X : array of shape (n_samples, 2 * n_features)
            Mapped rows [cos | sin], as `transform` returns them.

        Returns
        -------
        array of shape (n_samples, n_features)
            The values; NaN for (0, 0).
        """
        check_is_fitted(self)
        d = self.n_features_in_
        F = circle_points(X, d)
        near = self.kernel_.within_bounds().coordinates(self.middle_[None])
        values = self.kernel_.preimage(OnCircles(F), near)
        return np.where((F[:, :d] == 0) & (F[:, d:] == 0), np.nan, values)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the mapped columns: cos(name) of all features, then sin(name).

        Parameters
        ----------
        input_features : array of str or None
            Names of the features; by default those of the fitted table.

        Returns
        -------
        array of shape (2 * n_features,)
            The names.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(
            [f"{part}({name})" for part in ("cos", "sin") for name in names], dtype=object
        )
