"""Notable rows: typical of each cluster, doubtful between two, unlike any centre."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._grid import Array
from .fit_analysis import FitAnalysis

LIST_LENGTH = 8  # rows in each list
MAX_TYPICAL_CLUSTERS = 26  # clusters with typical rows of their own, the largest


def notable_rows(analysis: FitAnalysis, names: list[str], columns: Array) -> dict[str, Any]:
    """The rows of each list, with their values in these columns."""
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
    """Row numbers of the highest scores in each of the largest clusters, by cluster."""
    sizes = analysis.sizes
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MAX_TYPICAL_CLUSTERS])
    members = [np.flatnonzero(analysis.labels == c) for c in largest]
    each = max(1, LIST_LENGTH // len(sizes))
    return np.concatenate([rows[smallest_first(-analysis.scores[rows], each)] for rows in members])


def doubtful_rows(analysis: FitAnalysis) -> Array:
    """Row numbers of the smallest margins; none with one cluster."""
    return (
        smallest_first(analysis.margins, LIST_LENGTH)
        if len(analysis.sizes) > 1
        else np.empty(0, np.intp)
    )


def smallest_first(values: Array, count: int) -> Array:
    """Places of the smallest values, in order, the first of several first; without sorting them
    all.
    """
    if len(values) <= count:
        return np.argsort(values, kind="stable")
    bound = np.partition(values, count - 1)[count - 1]
    places = np.flatnonzero(values <= bound)
    return places[np.argsort(values[places], kind="stable")][:count]


def _row_record(analysis: FitAnalysis, columns: Array, row: Any) -> dict[str, Any]:
    """One row of the table: its number, cluster, score, margin, second nearest cluster and some
    values.
    """
    clusters = analysis.clusters_by_distance(row)
    return {
        "row": int(row),
        "cluster": int(analysis.labels[row]),
        "next": int(clusters[1]) if len(clusters) > 1 else None,
        "score": analysis.scores[row],
        "margin": analysis.margins[row],
        "values": analysis.dense_rows(np.array([row]))[0, columns],
    }
