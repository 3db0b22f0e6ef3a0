"""Shared by all estimators: the scale and the Euler map, fitted attributes, and warnings about
ignored cells and empty clusters.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from .. import watching
from .._caller import caller_stacklevel
from .._grid import Array
from ..engines import Rows
from ..kernels.euler import Euler
from ..scales import Scale
from ..scales.left_out import IgnoredValuesWarning, count_ignored_values, how_to_keep
from ..table import Table
from ._parameter_table import Interface
from .placement import Placement


class Mapped(watching.Callbacks, BaseEstimator):
    """An estimator that scales the columns of a table and maps them by a kernel."""

    _interface: ClassVar[Interface]

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

    def _check_parameters(self) -> None:
        """Raise an error for parameters that no fit accepts."""
        self._interface.check(self)

    def _euler_kernel(self, scale: Scale) -> Euler:
        """Return the Euler kernel for columns of this scale."""
        return Euler(scale, self._beyond(), float(self.alpha))

    def _beyond(self) -> str:
        """Return the rule for values out of range, which is "wrap" without a scale."""
        return self.beyond if self.scale else "wrap"


def set_fitted_attributes(estimator: Any, table: Table, attributes: dict[str, Any]) -> None:
    """Set the fitted attributes of an estimator, and delete those of an earlier fit."""
    for name in [
        name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")
    ]:
        delattr(estimator, name)
    vars(estimator).update(table.columns | attributes)


def check_has_informative_rows(rows: Rows, scale: str | None) -> None:
    """Raise an error if `beyond="ignore"` would ignore every row."""
    if rows.kernel.beyond == "ignore" and not rows.has_weight():
        raise ValueError(
            f"All values of X are outside the intervals of scale={scale!r}, so that no row would "
            f"count. Use another scale, or beyond='clip'."
        )


def warn_of_empty_clusters(rows: Rows, labels: Array, k: int, why: str) -> None:
    """Warn if some clusters have no rows."""
    n_occupied = np.count_nonzero(rows.table.count_labels(labels, k))
    if n_occupied < k:
        warnings.warn(
            f"Only {n_occupied} of {k} clusters {'has' if n_occupied == 1 else 'have'} rows: {why}",
            ConvergenceWarning,
            stacklevel=caller_stacklevel(),
        )


def warn_of_ignored_cells(placed: Placement, table: Table) -> None:
    """Warn if many cells are ignored: they may be gross errors, or a small group far away."""
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
