"""Print the clusters of a fit and the cluster sizes as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._text import name_list
from ..scales.left_out import how_to_keep
from ..table.file_table import FileTable
from .plugin import print_lines, print_table

N_FEATURES = 2  # features shown per cluster; more would not fit on a line
NEAR_MIDDLE = 0.01  # in scaled units; smaller deviations are neither high nor low
NOTHING = "\N{EN DASH}"


def print_clusters(model: Any, table: FileTable, result: dict[str, Any]) -> None:
    """Print the result of a fit."""
    title = f"{result['clusters']} clusters of {result['rows']:,} rows by {name_list(table.names)}"
    sizes = result["sizes"]
    rows = [
        [*row, _distinctive_features(model, table, sizes, c)]
        for c, row in enumerate(share_rows(sizes))
    ]
    print_table(
        title,
        ["cluster", "rows", "share", "distinctive features"],
        rows,
        ["cluster", "rows", "share"],
    )
    if table.skipped:
        columns = name_list(
            [f"{name or 'the first column'} ({why})" for name, why in table.skipped.items()]
        )
        print_lines(f"skipped: {columns}")
    if result["left_out"]["notes"]:
        print_lines(" ".join([*result["left_out"]["notes"], how_to_keep("`--beyond clip`")]))
    print_lines(f"objective {result['objective']:.6g} after {result['passes']} passes")
    if "accuracy" in result:
        print_lines(
            f"agreement with known classes: accuracy {result['accuracy']:.3f}, "
            f"NMI {result['nmi']:.3f}"
        )


def print_notes(table: FileTable) -> None:
    """Print notes on how cells were read."""
    print_lines(*table.notes)


def print_shares(sizes: Sequence[int]) -> None:
    """Print the size of each cluster."""
    columns = ["cluster", "rows", "share"]
    print_table(f"{sum(sizes):,} rows", columns, share_rows(sizes), columns)


def share_rows(sizes: Sequence[int]) -> list[list[str]]:
    """Return the number, size and share of each cluster."""
    return [
        [f"{c}", f"{size:,}", f"{size / max(1, sum(sizes)):.1%}"] for c, size in enumerate(sizes)
    ]


def _distinctive_features(model: Any, table: FileTable, sizes: Sequence[int], c: int) -> str:
    """Return the features whose center is farthest from the mean, marked high or low.

    The list is empty for a single cluster.
    """
    if len(model.cluster_centers_) == 1:
        return NOTHING
    centres = model.kernel_.scale.to_units(model.cluster_centers_, "clip")
    away = (centres - np.average(centres, axis=0, weights=sizes))[c]
    most = [
        j
        for j in np.argsort(-np.abs(away), kind="stable")[:N_FEATURES]
        if abs(away[j]) > NEAR_MIDDLE
    ]
    return (
        ", ".join(f"{'high' if away[j] > 0 else 'low'} {table.names[j]}" for j in most) or NOTHING
    )
