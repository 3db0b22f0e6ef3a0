"""Notable rows: typical of a cluster, between two clusters, or unlike all centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._grid import Array
from .fit_analysis import FitAnalysis

LIST_LENGTH = 8  # rows in each list
MAX_TYPICAL_CLUSTERS = 26  # the largest clusters, for which typical rows are listed


def notable_rows(analysis: FitAnalysis, names: list[str], columns: Array) -> dict[str, Any]:
    """Return the rows of each list, with their values in these columns."""
    lists = {
        "typical": typical_rows(analysis),
        "doubtful": doubtful_rows(analysis),
        "unusual": smallest_first(analysis.scores, LIST_LENGTH),
    }
    return {
        "columns": [names[j] for j in columns],
        **{
            name: [_row_record(analysis, columns, i) for i in numbers]
            for name, numbers in lists.items()
        },
    }


def typical_rows(analysis: FitAnalysis) -> Array:
    """Return the numbers of the rows with the highest scores in each of the largest clusters."""
    sizes = analysis.sizes
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MAX_TYPICAL_CLUSTERS])
    members = [np.flatnonzero(analysis.labels == c) for c in largest]
    each = max(1, LIST_LENGTH // len(sizes))
    return np.concatenate([rows[smallest_first(-analysis.scores[rows], each)] for rows in members])


def doubtful_rows(analysis: FitAnalysis) -> Array:
    """Return the numbers of the rows with the smallest margins, none with a single cluster."""
    if len(analysis.sizes) == 1:
        return np.empty(0, np.intp)
    return smallest_first(analysis.margins, LIST_LENGTH)


def smallest_first(values: Array, count: int) -> Array:
    """Return the indices of the smallest values in ascending order, without a full sort.

    Ties keep their order.
    """
    if len(values) <= count:
        return np.argsort(values, kind="stable")
    bound = np.partition(values, count - 1)[count - 1]
    small = np.flatnonzero(values <= bound)
    return small[np.argsort(values[small], kind="stable")][:count]


def _row_record(analysis: FitAnalysis, columns: Array, row: Any) -> dict[str, Any]:
    """Return the number, clusters, score, margin and some values of one row."""
    clusters = analysis.clusters_by_distance(row)
    return {
        "row": int(row),
        "cluster": int(analysis.labels[row]),
        "next": int(clusters[1]) if len(clusters) > 1 else None,
        "score": analysis.scores[row],
        "margin": analysis.margins[row],
        "values": analysis.dense_rows(np.array([row]))[0, columns],
    }
