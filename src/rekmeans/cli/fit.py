"""Arguments of `rekmeans fit`, implemented in fitting.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..io import MAX_COLUMNS
from ._options import (
    FLAG,
    METHOD,
    RUN,
    BeyondName,
    Csv,
    Debug,
    Drop,
    Json,
    Keep,
    Label,
    MaxColumns,
    Memory,
    MethodName,
    Quiet,
    ScaleName,
    Threads,
)


def fit(
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="TABLE",
            help="csv, tsv, parquet, feather, npy, npz or libsvm file; parquet folder or pattern.",
        ),
    ] = None,
    clusters: Annotated[
        int | None, typer.Option("-k", "--clusters", help="Number of clusters.")
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(
            rich_help_panel=METHOD, help="Half-turns of the circle per unit of a scaled feature."
        ),
    ] = 0.9,
    method: Annotated[
        MethodName, typer.Option(rich_help_panel=METHOD, help="Rectified centroids or means.")
    ] = "rek",
    scale: Annotated[
        ScaleName,
        typer.Option(
            rich_help_panel=METHOD, help="Method that determines the unit of each feature."
        ),
    ] = "robust",
    beyond: Annotated[
        BeyondName,
        typer.Option(
            rich_help_panel=METHOD, help="Treatment of values far outside the range of a column."
        ),
    ] = "ignore",
    label: Label = None,
    drop: Drop = None,
    keep: Keep = None,
    max_columns: MaxColumns = MAX_COLUMNS,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=RUN,
            help="Folder for the outputs. Default: NAME-rekmeans beside TABLE.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(rich_help_panel=METHOD, help="Seed of the random starts.")
    ] = 0,
    starts: Annotated[
        int | None, typer.Option(rich_help_panel=METHOD, help="Number of starts; the best is kept.")
    ] = None,
    threads: Threads = None,
    memory: Memory = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RUN,
            help="File from which an interrupted fit continues.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=RUN,
            help="Dask scheduler to compute on, tcp://HOST:PORT.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", metavar=FLAG, help="Cluster 178 Italian wines; needs no table and no -k."
        ),
    ] = False,
    no_report: Annotated[
        bool,
        typer.Option(
            "--no-report",
            metavar=FLAG,
            rich_help_panel=RUN,
            help="Do not write report.html; saves about a second.",
        ),
    ] = False,
    csv: Csv = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Cluster a table; write labels, model, summary and report.

    The folder gets labels.parquet, model.safetensors, report.html and
    summary.json: all of them, or none.
    """
    # imported here to keep --help fast: NumPy and scikit-learn load slowly
    from ..io.selection import ColumnSelection
    from .fitting import Method, Screen, fit_table

    fit_table(
        table,
        ColumnSelection(label, tuple(drop or ()), None, max_columns, tuple(keep or ())),
        Method(clusters, alpha, method, scale, beyond, seed, starts, threads, memory, checkpoint),
        out,
        cluster,
        demo=demo,
        csv=csv,
        with_report=not no_report,
        screen=Screen(as_json, quiet),
    )
