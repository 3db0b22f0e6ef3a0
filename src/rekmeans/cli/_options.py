"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

FLAG = " "  # stands where an option without a value would show its type
# panels of the help
METHOD = "Method"
RUN = "Output and run"

MethodName = Literal["rek", "eulerk"]
ScaleName = Literal["robust", "range", "global", "none"]
BeyondName = Literal["ignore", "clip", "wrap"]

TablePath = Annotated[
    Path,
    typer.Argument(metavar="TABLE", help="csv, tsv, parquet, feather, npy, npz or libsvm file."),
]
ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="model.safetensors, as written by fit.")
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Known classes to compare with: never a feature. In npz and libsvm: y.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column to leave out; may be given again."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="A feature though it looks like an id; may be given again."
    ),
]
MaxColumns = Annotated[
    int,
    typer.Option(min=1, metavar="NUMBER", help="More columns are taken for damage, and refused."),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1, rich_help_panel=RUN, help="Threads; all by default. The answer is the same."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        rich_help_panel=RUN,
        help="Read parquet or npy in blocks within so much: 2GB.",
    ),
]
Csv = Annotated[
    bool,
    typer.Option(
        "--csv", metavar=FLAG, rich_help_panel=RUN, help="Write labels as csv, not as parquet."
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", metavar=FLAG, rich_help_panel=RUN, help="Print one JSON object and nothing else."
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar=FLAG, rich_help_panel=RUN, help="No bar, no table.")
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", metavar=FLAG, rich_help_panel=RUN, help="Show where an error came from."
    ),
]
