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
            help="A csv, tsv, parquet, feather, npy, npz or libsvm file, a folder of parquet "
            "files, or a glob pattern that matches parquet files.",
        ),
    ] = None,
    clusters: Annotated[
        int | None, typer.Option("-k", "--clusters", help="Number of clusters.")
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(
            rich_help_panel=METHOD, help="Half-turns on the circle per unit of a scaled feature."
        ),
    ] = 0.9,
    method: Annotated[
        MethodName,
        typer.Option(rich_help_panel=METHOD, help="Rectified centroids (rek) or means (eulerk)."),
    ] = "rek",
    scale: Annotated[
        ScaleName,
        typer.Option(rich_help_panel=METHOD, help="Scaling method."),
    ] = "robust",
    beyond: Annotated[
        BeyondName,
        typer.Option(
            rich_help_panel=METHOD, help="How to treat values far outside the range of a column."
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
            help="Output folder. Default: NAME-rekmeans next to TABLE.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(rich_help_panel=METHOD, help="Random seed.")] = 0,
    starts: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=METHOD, help="Number of random starts. The best result is kept."
        ),
    ] = None,
    threads: Threads = None,
    memory: Memory = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RUN,
            help="Checkpoint file, from which an interrupted fit resumes.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=RUN,
            help="Address of a Dask scheduler, tcp://HOST:PORT.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            metavar=FLAG,
            help="Cluster a built-in table of 178 wines. Needs no TABLE and no -k.",
        ),
    ] = False,
    no_report: Annotated[
        bool,
        typer.Option(
            "--no-report",
            metavar=FLAG,
            rich_help_panel=RUN,
            help="Do not write report.html, which takes about a second.",
        ),
    ] = False,
    csv: Csv = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Cluster a table and write labels, model, summary and report.

    The output files are labels.parquet, model.safetensors, report.html and
    summary.json. Either all of them are written or none.
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
