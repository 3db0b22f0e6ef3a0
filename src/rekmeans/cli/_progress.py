"""A progress bar for starts, passes and rows read, shown if stderr is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..table.stream import watch_reading
from ..watching import PassEvent, watch_passes
from .plugin import is_watched


class Bar:
    """A progress bar that fills as fewer rows change their label."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.note = ""
        self.task = None if progress is None else progress.add_task("", total=None, note="")

    def show_step(self, what: str) -> None:
        """Show the name of the current step."""
        if self.progress is not None and self.task is not None:
            self.note = ""
            self.progress.reset(self.task, description=escape(what), total=None, note="")

    @contextmanager
    def show_passes(self) -> Iterator[None]:
        """Show the passes of fits and the rows read in this context, if stderr is a terminal."""
        if self.progress is None:
            yield
            return
        with watch_passes(self._show_pass), watch_reading(self._show_reading):
            yield

    def _show_reading(self, n_done: int, n_all: int | None, what: str) -> None:
        """Show the number of rows read out of core, or of finished Dask partitions."""
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
    """Show a progress bar on stderr if it is a terminal and --quiet is not set."""
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
