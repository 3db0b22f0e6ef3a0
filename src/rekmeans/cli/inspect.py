"""Arguments of `rekmeans inspect`, implemented in inspecting.py."""

from __future__ import annotations

from ..io import MAX_COLUMNS
from ._options import Debug, Drop, Json, Keep, Label, MaxColumns, TablePath


def inspect(
    table: TablePath,
    label: Label = None,
    drop: Drop = None,
    keep: Keep = None,
    max_columns: MaxColumns = MAX_COLUMNS,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Show how each column of a table is read, and why.

    The output lists the kind of each column, how its cells are converted to
    numbers and why, the number of missing cells, and examples. No files are
    written.
    """
    # imported here to keep --help fast: NumPy and scikit-learn load slowly
    from ..io.selection import ColumnSelection
    from .inspecting import inspect_columns

    selection = ColumnSelection(label, tuple(drop or ()), None, max_columns, tuple(keep or ()))
    inspect_columns(table, selection, as_json=as_json)
