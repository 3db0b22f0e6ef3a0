"""rekmeans reproduce: the paper's tables and figures, or the study of other kernels, made anew in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..cli import plugin
from ..cli.plugin import FLAG, RUN, Debug, Json, Quiet
from ..io.atomic import refuse_unwritable


def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", metavar=FLAG, help="Minutes instead of hours: fewer alphas, starts and sets.")
    ] = False,
    beyond: Annotated[
        bool, typer.Option("--beyond", metavar=FLAG, help="The study of other kernels and of gross errors instead.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="TABLE", help="A table to make instead of all; may be given again.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", rich_help_panel=RUN, help="Folder for the outputs; reproduction, or beyond."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=RUN, help="Processes; one a core by default. The answer is the same."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Make the paper's tables and figures anew, beside the printed values.

    The folder gets index.html, results.json, a csv for each table, an svg and a
    png for each figure. Stopped half way, the same command continues; the study
    --beyond, of a quarter of an hour, begins anew.
    Data sets are looked for in the folder that REKMEANS_DATA names first.
    """
    plugin.refuse_missing_libraries("jinja2", "matplotlib")
    out = out or Path("beyond" if beyond else "reproduction")
    refuse_unwritable(out)
    make, plan = _study(beyond, quick)
    with _countdown(quiet) as show:
        results = make(out, plan, tuple(only or ()), workers, show)
    page = out / "index.html"
    if as_json:
        plugin.print_json({"command": "reproduce", "page": str(page)} | results)
    elif not quiet:
        _print_verdicts(results, "the study beyond" if beyond else "beside the printed values")
        plugin.print_lines(f"page: {page}")


def _study(beyond: bool, quick: bool) -> tuple[Callable[..., dict[str, Any]], Any]:
    """What makes the reproduction, or the study beyond it, and the plan of it."""
    from . import beyond as kernel_study
    from . import protocol, reproduction

    make, plans = (kernel_study.beyond, kernel_study) if beyond else (reproduction.reproduce, protocol)
    return make, plans.QUICK if quick else plans.FULL


@contextmanager
def _countdown(quiet: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Shows how many of many fits are done and how long the rest will take; None where there is no terminal."""
    if not plugin.is_watched(quiet):
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=300) as progress:
        task = progress.add_task("reading", total=None)
        yield lambda done, total, what: progress.update(task, description=escape(what), total=total, completed=done)


def _print_verdicts(results: dict[str, Any], title: str) -> None:
    """Print how many cells of each table got which verdict, and what is missing."""
    counts = {
        name: Counter(row["verdict"] for row in rows if "verdict" in row) for name, rows in results["tables"].items()
    }
    rows = [[name, ", ".join(f"{n} {verdict}" for verdict, n in count.most_common())] for name, count in counts.items()]
    if judged := [row for row in rows if row[1]]:
        plugin.print_table(title, ["table", "rows"], judged)
    for name, why in results["missing"].items():
        plugin.print_lines(f"missing: {name}: {why}")
