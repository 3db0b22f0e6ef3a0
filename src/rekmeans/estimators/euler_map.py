"""The Euler map as a transformer: features become cos and sin of alpha pi (x - shift)/unit."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from .. import watching
from .._grid import GRID, Array
from ..kernels.euler import OnCircles
from ..table.stream_input import read_host_table
from ..table.validation import circle_points
from ._parameter_table import EULER_MAP
from .base import Mapped, set_fitted_attributes


class EulerMap(TransformerMixin, Mapped):
    """Map each feature to the cosine and sine of its phase on a circle.

    Parameters
    ----------
    alpha : float, default=0.9
        Half-turns of the circle per unit of a scaled feature, for the Euler kernel. Values above 1
        wrap around, so distant values can look close.
    scale : {"robust", "range", "global"} or None, default="robust"
        How features are scaled before they are mapped:

        - "robust": by the bulk of each feature. Groups far from the bulk are kept, and the gaps
          between them are closed. Isolated values far from the bulk are outliers; see `beyond`.
        - "range": by the range of each feature.
        - "global": by the range of all features together.
        - None: not at all, as in the paper.
    beyond : {"ignore", "clip", "wrap"}, default="ignore"
        How to treat values outside the range kept by `scale`:

        - "ignore": as missing values. Rows without any other value are clipped.
        - "clip": as the nearest bound of the range.
        - "wrap": as they are, wrapped around the circle.

        Has no effect if `scale` is None.

    Attributes
    ----------
    n_features_in_ : int
        Number of features of the fitted table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Defined only if all column names of X are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import EulerMap
    >>> EulerMap(alpha=0.5, scale="range").fit_transform(np.array([[0.0], [1.0]]))
    array([[1., 0.],
           [0., 1.]])
    """

    _interface = EULER_MAP

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
            Rows that determine the scale. NaN and null are missing values. In memory: a NumPy
            array, a SciPy sparse matrix, a pandas, polars or pyarrow table, or the result of
            `read_table`. Columns of data frames and files that contain ids or text are ignored with
            a warning.

            Out of core, read in blocks: the path of a .csv, .feather, .npy or parquet file, of a
            directory of parquet files or a glob pattern; a pyarrow dataset; a zarr array; or a
            callable that returns a new iterator over blocks.
        y : None
            Ignored. Exists for compatibility with scikit-learn.
        sample_weight : array of shape (n_samples,), str or None
            Row weights. A row of weight 2 counts as two equal rows. None: all weights are 1. For a
            table that is not in memory, the name of the column of weights.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        table = read_host_table(self, X, sample_weight, fitting=True)
        tasks = watching.Tasks(self, X, y, sample_weight)
        summary = table.column_summary()
        kernel = self._make_kernel(self._find_scale(summary))
        ends = np.array(kernel.scale.bounds)
        if not np.isfinite(ends).all():  # unbounded intervals: use the range of the data
            ends = np.where(np.isfinite(ends), ends, np.nan_to_num(summary.extent))
        # the value whose image is the middle of the images of both ends
        middle = kernel.scale.from_units(kernel.scale.to_units(ends, "clip").mean(axis=0)[None])[0]
        set_fitted_attributes(self, table, {"kernel_": kernel, "middle_": middle})
        tasks.end()
        return self

    def transform(self, X: Any) -> Array:
        """Map the rows of X to the circles.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the features of the fit, of any type that `fit` accepts.

        Returns
        -------
        array of shape (n_samples, 2 * n_features)
            Cosines of all features, then sines, as float64; both are 0 for a missing or ignored
            value. The array is in memory even if X is read in blocks.
        """
        check_is_fitted(self)
        table = read_host_table(self, X, fitting=False)
        mapped = np.empty((table.n_rows, 2 * table.n_columns))
        for rows, X_block in table.dense_blocks():
            mapped[rows] = self.kernel_.embed(X_block) / GRID
        return mapped

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Map rows back to values in the units of the fitted table.

        Of all values with the same phase, the one nearest to the middle of the feature's range is
        returned.

        Parameters
        ----------
        X : array of shape (n_samples, 2 * n_features)
            Mapped rows, as returned by `transform`.

        Returns
        -------
        array of shape (n_samples, n_features)
            Values; NaN if cosine and sine are both 0.
        """
        check_is_fitted(self)
        d = self.n_features_in_
        F = circle_points(X, d)
        middle = self.kernel_.within_bounds().coordinates(self.middle_[None])
        values = self.kernel_.preimage(OnCircles(F), middle)
        return np.where((F[:, :d] == 0) & (F[:, d:] == 0), np.nan, values)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the mapped features: cos(name) for all, then sin(name) for all.

        Parameters
        ----------
        input_features : array of str or None
            Names of the features. None: those of the fitted table.

        Returns
        -------
        array of shape (2 * n_features,)
            Names.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(
            [f"{part}({name})" for part in ("cos", "sin") for name in names], dtype=object
        )
