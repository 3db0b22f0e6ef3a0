"""Scales: the kept intervals and the unit of each column, and the inverse map."""

from collections.abc import Callable

from ..table import ColumnSummary
from .record import (
    BEYOND,
    MAX_INTERVALS,
    NO_COLUMNS,
    Scale,
    global_scale,
    identity_scale,
    no_scale,
    range_scale,
    uninformative_rows,
)
from .robust import robust_scale

SCALES: dict[str | None, Callable[[ColumnSummary], Scale]] = {
    "robust": robust_scale,
    "range": range_scale,
    "global": global_scale,
    None: no_scale,
}


__all__ = [
    "BEYOND",
    "MAX_INTERVALS",
    "NO_COLUMNS",
    "SCALES",
    "Scale",
    "identity_scale",
    "range_scale",
    "robust_scale",
    "uninformative_rows",
]
