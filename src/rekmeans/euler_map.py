"""The Euler map as a scikit-learn transformer: each feature becomes (cos, sin) of alpha pi (x - centre)/unit."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from . import _parameters, _table, _watch
from ._grid import GRID, Array
from ._scale import BEYOND, SCALES, column_range
from .kernels.euler import Euler


class Mapped(_watch.Callbacks, BaseEstimator):
    """What estimators on Euler-mapped rows share: the parameters of the map."""

    alpha: float
    scale: str | None
    beyond: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kernel_")

    def _check_map(self) -> None:
        _parameters.real("alpha", self.alpha, above=0, most=_parameters.STEEPEST)
        _parameters.one_of("scale", self.scale, SCALES)
        _parameters.one_of("beyond", self.beyond, BEYOND)

    def _kernel(self, table: _table.Table) -> Any:
        """The Euler map that the parameters give for this table."""
        scale = SCALES[self.scale](table.X, table.weights, getattr(self, "n_threads", None))
        return Euler(float(self.alpha), scale, self.beyond if self.scale else "wrap")


class EulerMap(TransformerMixin, Mapped):
    """The Euler map as a transformer: each feature becomes (cos, sin) of its phase.

    Parameters
    ----------
    alpha : float
        Half-turns of the circle per unit of the scaled feature.
    scale : {"robust", "range", "global"} or None
        What a unit of a feature is; see :class:`RectifiedEulerKMeans`.
    beyond : {"ignore", "clip", "wrap"}
        What a value outside the scaled range does.

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

    @_watch.told
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the scale of each column."""
        self._check_map()
        table = _table.read(self, X, sample_weight, fitting=True)
        tasks = _watch.Tasks(self, X, y, sample_weight)
        kernel = self._kernel(table)
        extent = kernel.scale if self.scale else column_range(table.X, table.weights)
        _table.remember(self, table, {"kernel_": kernel, "middle_": (extent.low + extent.high) / 2})
        tasks.end()
        return self

    def transform(self, X: Any) -> Array:
        """[cos | sin], (n, 2d); (0, 0) for a cell that says nothing."""
        check_is_fitted(self)
        rows = _table.read(self, X, fitting=False).X
        return self.kernel_.embed(rows.toarray() if issparse(rows) else rows) / GRID

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Values in the units of the table, on the branch nearest the middle of each range; NaN from (0, 0)."""
        check_is_fitted(self)
        d = self.n_features_in_
        F = _table.circle_points(X, d)
        values = self.kernel_.preimage(F, self.kernel_.line(self.middle_))
        return np.where((F[:, :d] == 0) & (F[:, d:] == 0), np.nan, values)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """cos(name) for all features, then sin(name)."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array([f"{part}({name})" for part in ("cos", "sin") for name in names], dtype=object)
