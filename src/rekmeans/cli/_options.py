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
        help="csv, tsv, parquet, feather, npy, npz or libsvm file; parquet folder or pattern.",
    ),
]
ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="model.safetensors, as written by fit.")
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of known classes to compare with; not a feature. In npz, libsvm: y.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column to ignore; may be repeated."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="Use this column although it looks like an id; may be repeated."
    ),
]
MaxColumns = Annotated[
    int,
    typer.Option(
        min=1, metavar="NUMBER", help="Reject files with more columns (usually a wrong separator)."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        rich_help_panel=RUN,
        help="Number of threads; all by default. The result does not change.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        rich_help_panel=RUN,
        help="Read the table in blocks within this much memory, such as 2GB.",
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
    typer.Option(
        "--json", metavar=FLAG, rich_help_panel=RUN, help="Print one JSON object and nothing else."
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", metavar=FLAG, rich_help_panel=RUN, help="No progress bar, no tables."
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", metavar=FLAG, rich_help_panel=RUN, help="Show the traceback of an error."
    ),
]
