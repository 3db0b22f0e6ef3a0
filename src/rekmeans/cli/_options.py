"""Arguments and options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

FLAG = " "  # shown in place of a type for flags
# panels in the --help output
METHOD = "Method"
RUN = "Output and run"

MethodName = Literal["rek", "eulerk"]
ScaleName = Literal["robust", "range", "global", "none"]
BeyondName = Literal["ignore", "clip", "wrap"]

TablePath = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="A csv, tsv, parquet, feather, npy, npz or libsvm file, a folder of parquet "
        "files, or a glob pattern that matches parquet files.",
    ),
]
ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file written by a fit (model.safetensors).")
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of known classes, compared with the clusters and not used as a feature "
        "(y in npz and libsvm files).",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column to ignore. Can be repeated."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="Column to use even if it looks like an id. Can be repeated."
    ),
]
MaxColumns = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="NUMBER",
        help="Reject files with more columns than this (usually a wrong separator).",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        rich_help_panel=RUN,
        help="Number of threads (default: all). Does not affect the result.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        rich_help_panel=RUN,
        help="Memory limit, such as 2GB. The table is read in blocks.",
    ),
]
Csv = Annotated[
    bool,
    typer.Option(
        "--csv", metavar=FLAG, rich_help_panel=RUN, help="Write labels as csv instead of parquet."
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", metavar=FLAG, rich_help_panel=RUN, help="Print the result as JSON."),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        metavar=FLAG,
        rich_help_panel=RUN,
        help="Do not print the progress bar or tables.",
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        metavar=FLAG,
        rich_help_panel=RUN,
        help="Show the full traceback if an error occurs.",
    ),
]
