"""Scales that ask for the extent of the columns alone, or for nothing."""

from __future__ import annotations

import numpy as np

from ..table import ColumnSummary
from .record import Scale, positive_unit


def identity_scale(n_columns: int) -> Scale:
    """No shift, unit 1, nothing is beyond: the paper's bare map."""
    zeros = np.zeros(n_columns)
    ends = np.full(n_columns, np.inf)
    return Scale.of_intervals(-ends, ends, zeros, np.ones(n_columns))


# the scale of kernels that are asked what they are before a table is there
NO_COLUMNS = identity_scale(0)


def no_scale(summary: ColumnSummary) -> Scale:
    """The identity, whatever the table holds."""
    return identity_scale(summary.n_columns)


def range_scale(summary: ColumnSummary) -> Scale:
    """Minimum to maximum of each column becomes [0, 1]."""
    low, high = (np.nan_to_num(end) for end in summary.extent)
    return Scale.of_intervals(low, high, low, positive_unit(high - low))


def global_scale(summary: ColumnSummary) -> Scale:
    """Minimum to maximum of the table becomes [0, 1]."""
    # NaN where no cell is observed
    ends = (np.fmin.reduce(summary.extent[0]), np.fmax.reduce(summary.extent[1]))
    low, high = (np.full(summary.n_columns, np.nan_to_num(end)) for end in ends)
    return Scale.of_intervals(low, high, low, positive_unit(high - low))
