"""The command `rekmeans reproduce`: regenerate the paper's tables, or run the kernel study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from rekmeans.atomic import reject_unwritable
from rekmeans.cli import plugin
from rekmeans.cli.plugin import FLAG, RUN, Debug, Json, Quiet

if TYPE_CHECKING:
    from .study import Study


def reproduce(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            metavar=FLAG,
            help="Run for minutes instead of hours, with fewer alphas, starts and datasets.",
        ),
    ] = False,
    kernels: Annotated[
        bool,
        typer.Option(
            "--kernels",
            metavar=FLAG,
            help="Run the study of other kernels and of gross errors instead.",
        ),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="TABLE", help="Compute only this table. Can be repeated."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=RUN,
            help="Output folder. The default is reproduction, or kernel_study with --kernels.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            rich_help_panel=RUN,
            help="Number of processes, by default one per core. It does not change the results.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Regenerate the paper's tables and figures and compare them with the printed values.

    The output folder gets index.html, results.json, a CSV for each table, and an
    SVG and a PNG for each figure. If the command is interrupted, run it again to
    continue. The study with --kernels takes about 15 minutes and starts over.
    Datasets are read from the folder REKMEANS_DATA if it is set.
    """
    plugin.reject_missing_libraries("jinja2", "matplotlib")
    study = _load_study(kernels)
    out = out or Path(study.folder)
    reject_unwritable(out)
    from .study import make_study

    with _fit_progress(quiet) as show:
        results = make_study(
            study, out, study.quick if quick else study.full, tuple(only or ()), workers, show
        )
    page = out / "index.html"
    if as_json:
        plugin.print_json({"command": "reproduce", "page": str(page)} | results)
    elif not quiet:
        _print_verdicts(results, study.title)
        plugin.print_lines(f"page: {page}")


def _load_study(kernels: bool) -> Study[Any, Any]:
    """Import and return the reproduction or the kernel study; a late import keeps --help fast."""
    if kernels:
        from .kernel_study import KERNEL_STUDY

        return KERNEL_STUDY
    from .reproduction import REPRODUCTION

    return REPRODUCTION


@contextmanager
def _fit_progress(quiet: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Show the number of finished fits and the remaining time, or yield None without a terminal."""
    if not plugin.is_watched(quiet):
        yield None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=Console(stderr=True), transient=True, speed_estimate_period=300
    ) as progress:
        task = progress.add_task("reading", total=None)
        yield lambda done, total, what: progress.update(
            task, description=escape(what), total=total, completed=done
        )


def _print_verdicts(results: dict[str, Any], title: str) -> None:
    """Print the number of rows with each verdict in each table, and the missing datasets."""
    counts = {
        name: Counter(row["verdict"] for row in rows if "verdict" in row)
        for name, rows in results["tables"].items()
    }
    rows = [
        [name, ", ".join(f"{n} {verdict}" for verdict, n in count.most_common())]
        for name, count in counts.items()
    ]
    if with_verdict := [row for row in rows if row[1]]:
        plugin.print_table(title, ["table", "rows"], with_verdict)
    for name, why in results["missing"].items():
        plugin.print_lines(f"missing: {name}: {why}")
