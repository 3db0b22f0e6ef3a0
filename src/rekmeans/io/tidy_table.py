"""Tables as people keep them: columns of ids and columns and rows without a value are left out;
constants are named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._grid import Array
from ..analysis.number_format import shorten_name
from .file_table import ColumnSelection, FileTable, name_list

ID = "an id"  # why a column is skipped
# of a name, in small letters
ID_WORDS = {"id", "ids", "uuid", "guid", "key", "rowid", "index", "idx"}
NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # customer_id, customerID and Customer Id
FEWEST_IDS = 10  # rows from which integers that follow each other are no accident
ID_GAPS = 1.05  # times as many integers as rows: a few rows of a table were deleted
# from which neighbours are the same float: a number to tell rows apart, not to measure
LARGEST_INTEGER = 2**53


def without_ids(
    table: FileTable, n_texts: Mapping[str, int], selection: ColumnSelection
) -> FileTable:
    """The table without its columns of ids; `n_texts` has the columns of integers, and how many
    texts are in each.
    """
    if selection.only or selection.is_of_model or not table.has_names:
        return table
    n_empty = int(np.count_nonzero(~rows_with_values(table.X)))
    found = [
        j
        for j, name in enumerate(table.names)
        if name in n_texts
        and name not in selection.keep
        and is_id(table.X[:, j], name, n_empty + n_texts[name])
    ]
    if not found:
        return table
    items = [f"{shorten_name(table.names[j])} ({_n_values(table, j):,} integers)" for j in found]
    note = f"left out as ids: {name_list(items)}; --keep NAME takes one as a feature"
    return replace(_without_columns(table, found, ID), notes=[*table.notes, note])


def is_id(cells: Array, name: str, n_missing: int) -> bool:
    """Whether integers tell rows apart: beyond 2^53, or all different and either in a row or named
    so.
    """
    has_value = ~np.isnan(cells)
    if np.count_nonzero(~has_value) > n_missing or not has_value.any():
        return False
    values = cells[has_value].astype(np.float64, copy=False)
    low, high = float(values.min()), float(values.max())
    if max(-low, high) > LARGEST_INTEGER:
        return True
    follow = len(values) >= FEWEST_IDS and high - low < ID_GAPS * len(values)
    if not follow and not has_id_name(name):
        return False
    return bool((values == np.rint(values)).all()) and len(np.unique(values)) == len(values)


def has_id_name(name: str) -> bool:
    return any(word.lower() in ID_WORDS for word in NAME_WORDS.findall(name))


def without_empty_columns(table: FileTable) -> FileTable:
    """The table without columns of which every value is missing."""
    empty = [
        j for j in np.flatnonzero(np.isnan(table.X[0])).tolist() if np.isnan(table.X[:, j]).all()
    ]
    return _without_columns(table, empty, "every value is missing") if empty else table


def without_empty_rows(table: FileTable) -> FileTable:
    """The table without rows of which every value is missing; it remembers which of the file's rows
    they were.
    """
    has_value = rows_with_values(table.X)
    if has_value.all():
        return table
    n = len(has_value)
    n_empty = np.count_nonzero(~has_value)
    first = table.row_place(int(np.argmin(has_value)))
    note = (
        f"left out {n_empty:,} of {n:,} rows, which have no value (the first is {first}): "
        f"their cluster is empty"
    )
    y = None if table.y is None else table.y[has_value]
    return replace(
        table, X=table.X[has_value], y=y, has_value=has_value, notes=[*table.notes, note]
    )


def rows_with_values(X: Any) -> Array:
    """Which rows have a value; only rows that begin with a missing one are looked at further."""
    has_value = ~np.isnan(X[:, 0])
    rows = np.flatnonzero(~has_value)
    for j in range(1, X.shape[1]):
        if not len(rows):
            break
        rows = rows[np.isnan(X[rows, j])]
    has_value[:] = True
    has_value[rows] = False
    return has_value


def constant_notes(table: FileTable, low: Array, high: Array) -> list[str]:
    """The columns, by their least and largest value, that have one value in all rows."""
    if len(table.X) < 2 or not len(constant := np.flatnonzero(low == high)):
        return []
    items = [
        f"{shorten_name(table.names[j])} ({low[j]:.6g} in {_n_values(table, j):,} rows)"
        for j in constant.tolist()
    ]
    return [f"constant: {name_list(items)}"]


def _n_values(table: FileTable, j: int) -> int:
    return int(np.count_nonzero(~np.isnan(table.X[:, j])))


def _without_columns(table: FileTable, columns: list[int], why: str) -> FileTable:
    names = np.delete(np.array(list(table.names), dtype=object), columns).tolist()
    skipped = table.skipped | {table.names[j]: why for j in columns}
    return replace(table, X=np.delete(table.X, columns, axis=1), names=names, skipped=skipped)
