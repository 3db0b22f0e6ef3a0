"""What a user has to know of a fit: cells that the scale leaves out, clusters without rows."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._caller import caller_stacklevel
from .._grid import Array
from ..engines import Rows
from ..scales.left_out import LeftOutWarning, count_left_out, way_out
from ..table import Table
from .placement import Placement


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
    left_out = count_left_out(
        rows.kernel.scale, placed.summary, table.n_rows, rows.n_uninformative()
    )
    names = table.columns.get("feature_names_in_")
    if sentences := left_out.sentences(None if names is None else names.tolist()):
        text = " ".join([*sentences, way_out("scale='range'")])
        warnings.warn(text, LeftOutWarning, stacklevel=caller_stacklevel())
