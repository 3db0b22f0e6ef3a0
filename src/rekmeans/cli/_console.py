"""What a person sees: a bar over starts and passes while a terminal is there, short tables, lines,
JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..analysis.number_format import printable_text
from ..io.file_table import FileTable, name_list
from ..scales.left_out import way_out
from ..table.reading import watch_reading
from ..watching import PassEvent, watch_passes

N_FEATURES = 2  # that describe a cluster: more do not fit a line
NEAR_MIDDLE = 0.01  # of a column's unit; a centre nearer to the mean is neither high nor low
NOTHING = "\N{EN DASH}"


class PipeConsole(Console):
    """A console whose reader may go away, as in `| head`: rich itself would leave with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Bar:
    """A bar that fills as fewer rows change their label: a pass that changes the label of no row is
    the last.
    """

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.note = ""
        self.task = None if progress is None else progress.add_task("", total=None, note="")

    def show_step(self, what: str) -> None:
        """Name what goes on now."""
        if self.progress is not None and self.task is not None:
            self.note = ""
            self.progress.reset(self.task, description=escape(what), total=None, note="")

    @contextmanager
    def show_passes(self) -> Iterator[None]:
        """Show each pass of the fits inside, and how far tables are read; without a terminal
        nothing is watched.
        """
        if self.progress is None:
            yield
            return
        with watch_passes(self._show_pass), watch_reading(self._show_reading):
            yield

    def _show_reading(self, n_done: int, n_all: int | None, what: str) -> None:
        """The rows read of a table that is not in memory, or the partitions that a cluster is done
        with.
        """
        of_all = "" if n_all is None else f" of {n_all:,}"
        if self.progress is not None and self.task is not None:
            self.progress.update(self.task, note=f"{self.note}  {what} {n_done:,}{of_all}".strip())

    def _show_pass(self, event: PassEvent) -> None:
        start = f"start {event.start + 1}/{event.n_starts}  " if event.n_starts > 1 else ""
        self.note = f"objective {event.inertia:.6g}  rows changed {event.n_changed:,}"
        done = (event.start + 1 - event.n_changed / event.n_rows) / event.n_starts
        if self.progress is not None and self.task is not None:
            name = f"{start}pass {event.number + 1}"
            is_first = event.number == 0
            self.progress.update(
                self.task,
                description=name,
                total=1,
                completed=done,
                note=self.note,
                refresh=is_first,
            )


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Bar]:
    """A bar on stderr, if that is a terminal and may be written to."""
    if not is_watched(quiet):
        yield Bar(None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bar(progress)


def is_watched(quiet: bool) -> bool:
    """Whether progress can be shown: stderr is a terminal, and --quiet is not given."""
    return not quiet and sys.stderr.isatty()


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """Print a table; the columns named in `right` are numbers."""
    table = Table(title=escape(printable_text(title)), title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(escape(printable_text(cell)) for cell in row))
    PipeConsole().print(table)


def print_lines(*texts: str) -> None:
    """Print lines as they are."""
    for text in texts:
        PipeConsole().print(printable_text(text), markup=False, highlight=False, soft_wrap=True)


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object on one line."""
    typer.echo(json.dumps(result))


def print_clusters(model: Any, table: FileTable, result: dict[str, Any]) -> None:
    """Print the result of a fit."""
    title = f"{result['clusters']} clusters of {result['rows']:,} rows by {name_list(table.names)}"
    sizes = result["sizes"]
    rows = [
        [*row, _distinctive_features(model, table, sizes, c)]
        for c, row in enumerate(share_rows(sizes))
    ]
    print_table(
        title, ["cluster", "rows", "share", "stands out by"], rows, ["cluster", "rows", "share"]
    )
    if table.skipped:
        columns = name_list(
            [f"{name or 'the first column'} ({why})" for name, why in table.skipped.items()]
        )
        print_lines(f"skipped: {columns}")
    if result["left_out"]["notes"]:
        print_lines(" ".join([*result["left_out"]["notes"], way_out("--scale range")]))
    print_lines(f"objective {result['objective']:.6g} after {result['passes']} passes")
    if "accuracy" in result:
        print_lines(
            f"against the known classes: accuracy {result['accuracy']:.3f}, NMI {result['nmi']:.3f}"
        )


def print_notes(table: FileTable) -> None:
    """Print what was done to the file of a table."""
    print_lines(*table.notes)


def print_shares(sizes: Sequence[int]) -> None:
    """Print how many rows each cluster has."""
    columns = ["cluster", "rows", "share"]
    print_table(f"{sum(sizes):,} rows", columns, share_rows(sizes), columns)


def share_rows(sizes: Sequence[int]) -> list[list[str]]:
    """Number, rows and share of each cluster."""
    return [
        [f"{c}", f"{size:,}", f"{size / max(1, sum(sizes)):.1%}"] for c, size in enumerate(sizes)
    ]


def _distinctive_features(model: Any, table: FileTable, sizes: Sequence[int], c: int) -> str:
    """The features whose centre lies farthest from the mean of all rows', high or low; a lone
    cluster has none.
    """
    if len(model.cluster_centers_) == 1:
        return NOTHING
    centres = model.kernel_.scale.to_units(model.cluster_centers_, "clip")
    away = (centres - np.average(centres, axis=0, weights=sizes))[c]
    most = [
        j
        for j in np.argsort(-np.abs(away), kind="stable")[:N_FEATURES]
        if abs(away[j]) > NEAR_MIDDLE
    ]
    return (
        ", ".join(f"{'high' if away[j] > 0 else 'low'} {table.names[j]}" for j in most) or NOTHING
    )
