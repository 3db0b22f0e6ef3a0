"""What estimators on scaled and mapped rows share: the parameters of the map, how fitted attributes
are set, and warnings of cells that the scale leaves out and of clusters without rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from .. import _parameters, watching
from .._caller import caller_stacklevel
from .._grid import Array
from ..engines import Rows
from ..kernels.euler import Euler
from ..scales import BEYOND, SCALES, Scale
from ..scales.left_out import IgnoredValuesWarning, count_ignored_values, how_to_keep
from ..table import Table
from .placement import Placement


class Mapped(watching.Callbacks, BaseEstimator):
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


def refuse_uninformative_table(rows: Rows, scale: str | None) -> None:
    if rows.kernel.beyond == "ignore" and not rows.has_weight():
        raise ValueError(
            f"no row of X has a value within the {scale} range, so none would count: "
            "use another scale, or beyond='clip'."
        )


def warn_of_empty_clusters(rows: Rows, labels: Array, k: int, why: str) -> None:
    n_occupied = np.count_nonzero(rows.table.count_labels(labels, k))
    if n_occupied < k:
        warnings.warn(
            f"n_clusters={k}, but only {n_occupied} clusters have rows: {why}",
            ConvergenceWarning,
            stacklevel=caller_stacklevel(),
        )


def warn_of_what_is_left_out(placed: Placement, table: Table) -> None:
    """Cells that the scale leaves out may be gross errors, or a small group far away: the user has
    to know.
    """
    rows = placed.rows
    if rows.kernel.beyond != "ignore":
        return
    ignored = count_ignored_values(
        rows.kernel.scale, placed.summary, table.n_rows, rows.n_uninformative()
    )
    names = table.columns.get("feature_names_in_")
    if messages := ignored.messages(None if names is None else names.tolist()):
        text = " ".join([*messages, how_to_keep("beyond='clip'")])
        warnings.warn(text, IgnoredValuesWarning, stacklevel=caller_stacklevel())
