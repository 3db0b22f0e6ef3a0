"""Arguments of `rekmeans predict`, `report` and `export`, implemented in applying.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..io import MAX_COLUMNS
from ._options import (
    FLAG,
    RUN,
    Csv,
    Debug,
    Drop,
    Json,
    Label,
    MaxColumns,
    Memory,
    ModelPath,
    Quiet,
    TablePath,
    Threads,
)


def predict(
    model: ModelPath,
    table: TablePath,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RUN,
            help="Output file, csv or parquet. Default: NAME-labels.parquet next to TABLE.",
        ),
    ] = None,
    drop: Drop = None,
    max_columns: MaxColumns = MAX_COLUMNS,
    threads: Threads = None,
    memory: Memory = None,
    csv: Csv = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the cluster of each row of a table with a fitted model.

    Columns are matched by name, in any order, and other columns are ignored. In
    tables without column names, they are matched by position.
    """
    # imported here to keep --help fast: NumPy and scikit-learn load slowly
    from ..io.selection import ColumnSelection
    from .applying import predict_table

    selection = ColumnSelection(drop=tuple(drop or ()), max_columns=max_columns)
    predict_table(
        model,
        table,
        selection,
        out,
        n_threads=threads,
        memory=memory,
        csv=csv,
        as_json=as_json,
        quiet=quiet,
    )


def report(
    model: ModelPath,
    table: TablePath,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RUN,
            help="Output file. Default: NAME-report.html next to TABLE.",
        ),
    ] = None,
    label: Label = None,
    drop: Drop = None,
    max_columns: MaxColumns = MAX_COLUMNS,
    memory: Memory = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the report of a fitted model for a table with the same columns."""
    # imported here to keep --help fast: NumPy and scikit-learn load slowly
    from ..io.selection import ColumnSelection
    from .applying import report_table

    selection = ColumnSelection(label, tuple(drop or ()), max_columns=max_columns)
    report_table(model, table, selection, out, memory=memory, as_json=as_json, quiet=quiet)


def export(
    model: ModelPath,
    onnx: Annotated[
        bool, typer.Option("--onnx", metavar=FLAG, help="Write an ONNX graph next to MODEL.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Export a fitted model to another format."""
    if not onnx:
        raise ValueError("no export format given. Pass --onnx.")
    # imported here to keep --help fast: NumPy and scikit-learn load slowly
    from .applying import export_onnx

    export_onnx(model, as_json=as_json, quiet=quiet)
