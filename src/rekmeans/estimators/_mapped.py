"""What estimators on scaled and mapped rows share: the parameters of the map, and how fitted
attributes are set.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from .. import _parameters, _watch
from ..kernels.euler import Euler
from ..scales import BEYOND, SCALES, Scale
from ..table import Table


class Mapped(_watch.Callbacks, BaseEstimator):
    """The parameters of the map, and scikit-learn's tags."""

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
        _parameters.check_real("alpha", self.alpha, above=0, most=_parameters.STEEPEST)
        _parameters.check_one_of("scale", self.scale, SCALES)
        _parameters.check_one_of("beyond", self.beyond, BEYOND)

    def _euler_kernel(self, scale: Scale) -> Euler:
        """The Euler map that the parameters give for columns of this scale."""
        return Euler(scale, self._beyond(), float(self.alpha))

    def _beyond(self) -> str:
        """The rule for values out of range: without a scale no value is."""
        return self.beyond if self.scale else "wrap"


def set_fitted_attributes(estimator: Any, table: Table, attributes: dict[str, Any]) -> None:
    """Give an estimator the columns of its table and its attributes; nothing of a fit before is
    left.
    """
    for name in [
        name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")
    ]:
        delattr(estimator, name)
    vars(estimator).update(table.columns | attributes)
