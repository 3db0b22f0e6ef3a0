"""What a person sees: a bar over starts and passes while a terminal looks on, and short tables."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ..io.file_table import FileTable, name_list
from ..watching import PassEvent, watch_passes

NAMED = 2  # features that say what a cluster is
NEAR = 0.01  # of a column's unit; a centre nearer to the middle is neither high nor low
NOTHING = "\N{EN DASH}"


class Screen(Console):
    """A console whose reader may go away, as in `| head`: rich itself would leave with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Bar:
    """A bar that fills as rows settle: a pass that moves none of the rows is the last."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.task = None if progress is None else progress.add_task("", total=None, note="")

    def says(self, what: str) -> None:
        """Name what goes on now."""
        if self.progress is not None and self.task is not None:
            self.progress.reset(self.task, description=escape(what), total=None, note="")

    def watching(self) -> AbstractContextManager[None]:
        """Shows each pass of the fits inside; without a terminal nothing is watched."""
        return nullcontext() if self.progress is None else watch_passes(self._show_pass)

    def _show_pass(self, event: PassEvent) -> None:
        start = f"start {event.start + 1}/{event.n_starts}  " if event.n_starts > 1 else ""
        note = f"objective {event.inertia:.6g}  rows moved {event.n_changed:,}"
        done = (event.start + 1 - event.n_changed / event.n_rows) / event.n_starts
        if self.progress is not None and self.task is not None:
            name, first = f"{start}pass {event.number + 1}", event.number == 0
            self.progress.update(self.task, description=name, total=1, completed=done, note=note, refresh=first)


@contextmanager
def bar(quiet: bool) -> Iterator[Bar]:
    """A bar on stderr, if that is a terminal and may be written to."""
    if quiet or not sys.stderr.isatty():
        yield Bar(None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bar(progress)


@contextmanager
def countdown(quiet: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Shows how many of many fits are done and how long the rest will take; None where nobody looks on."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=300) as progress:
        task = progress.add_task("reading", total=None)
        yield lambda done, total, what: progress.update(task, description=escape(what), total=total, completed=done)


def verdicts(results: dict[str, Any], title: str) -> None:
    """Print how many cells of each table got which verdict, and what is missing."""
    counts = {
        name: Counter(row["verdict"] for row in rows if "verdict" in row) for name, rows in results["tables"].items()
    }
    rows = [[name, ", ".join(f"{n} {verdict}" for verdict, n in count.most_common())] for name, count in counts.items()]
    if judged := [row for row in rows if row[1]]:
        table(title, ["table", "rows"], judged)
    for name, why in results["missing"].items():
        lines(f"missing: {name}: {why}")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> None:
    """Print a table; the columns named in `right` are numbers."""
    drawn = Table(title=escape(title), title_justify="left", title_style="bold")
    for name in columns:
        drawn.add_column(name, justify="right" if name in right else "left")
    for row in rows:
        drawn.add_row(*(escape(cell) for cell in row))
    Screen().print(drawn)


def lines(*texts: str) -> None:
    """Print lines as they are."""
    for text in texts:
        Screen().print(text, markup=False, highlight=False, soft_wrap=True)


def clusters(model: Any, sheet: FileTable, found: dict[str, Any]) -> None:
    """Print what a fit found."""
    title = f"{found['clusters']} clusters of {found['rows']:,} rows by {name_list(sheet.names)}"
    rows = [[*row, _apart(model, sheet, c)] for c, row in enumerate(shares(found["sizes"]))]
    table(title, ["cluster", "rows", "share", "stands out by"], rows, ["cluster", "rows", "share"])
    if sheet.skipped:
        lines("skipped: " + name_list([f"{name or 'the first column'} ({why})" for name, why in sheet.skipped.items()]))
    lines(f"objective {found['objective']:.6g} after {found['passes']} passes")
    if "accuracy" in found:
        lines(f"against the known classes: accuracy {found['accuracy']:.3f}, NMI {found['nmi']:.3f}")


def shares(sizes: Sequence[int]) -> list[list[str]]:
    """Number, rows and share of each cluster."""
    return [[f"{c}", f"{size:,}", f"{size / max(1, sum(sizes)):.1%}"] for c, size in enumerate(sizes)]


def _apart(model: Any, sheet: FileTable, c: int) -> str:
    """The features whose centre lies farthest from the middle of its column, high or low; a lone cluster has none."""
    if len(model.cluster_centers_) == 1:
        return NOTHING
    away = model.kernel_.scale.scaled(model.cluster_centers_[c])
    most = [j for j in np.argsort(-np.abs(away), kind="stable")[:NAMED] if abs(away[j]) > NEAR]
    return ", ".join(f"{'high' if away[j] > 0 else 'low'} {sheet.names[j]}" for j in most) or NOTHING
