"""Helpers shared by the commands: tables and models, summaries, output paths, progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from scipy import sparse

from .._text import name_list
from ..export.model_file import load
from ..io.file_names import is_pattern, is_several_files, table_files, would_read
from ..io.selection import ColumnSelection
from ..machine_memory import machine_memory, size_text
from ..table.empty_rows import NO_LABEL, count_labels
from ..table.file_table import FileTable, read_table_file
from ..table.inference import with_only
from ..table.stream import watch_reading
from ..watching import PassEvent, watch_passes
from . import stream
from .plugin import is_watched

# entries of "left_out" in a summary that the result of a fit contains
COUNTED = ("beyond", "missing", "cells", "notes")


def load_wine_table() -> FileTable:
    """Return the wine dataset: 178 rows, 13 measurements, three cultivars."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    classes = [str(name) for name in wine.target_names]
    return FileTable(wine.data, list(wine.feature_names), y=wine.target, classes=classes)


def load_clusterer(path: Path) -> Any:
    """Load a clusterer from a model file."""
    model = load(path)
    if not hasattr(model, "centroids_"):
        raise ValueError(
            f"{path} contains a {type(model).__name__}, which has no clusters. Use a model "
            f"written by rekmeans fit."
        )
    return model


def check_has_report(model: Any) -> None:
    """Raise ValueError unless a report supports this model."""
    from ..analysis import summary

    try:
        summary.check_has_report(model)
    except TypeError as error:
        raise ValueError(str(error)) from error


def read_table(
    path: Path,
    selection: ColumnSelection,
    memory: str | None,
    *,
    model: Any = None,
    checks_text: bool = True,
) -> FileTable:
    """Read a table into memory or in blocks. If a model is given, read only its columns."""
    in_blocks = stream.is_streamed(path, memory, None)
    if in_blocks:
        stream.reject_unstreamed(path, selection)
        if path.suffix in stream.ARRAYS and not is_several_files(path):
            return stream.array_table(path)
    schema = getattr(model, "schema_", None)
    if schema is not None and schema.has_names:
        selection = replace(selection, is_of_model=True, drop=())
    elif model is not None:
        schema = None
        names = getattr(model, "feature_names_in_", None)
        only = None if names is None else [name for name in names if name != selection.label]
        selection = with_only(selection, only)
    table = read_table_file(path, selection, schema, in_blocks=in_blocks, checks_text=checks_text)
    return table if model is None else _with_width_of_model(table, path, model)


def _with_width_of_model(table: FileTable, path: Path, model: Any) -> FileTable:
    """Return the table. Raise an error if its number of columns differs from that of the model."""
    n = len(table.names)
    # libsvm files do not store trailing empty columns
    if sparse.issparse(table.cells) and n < model.n_features_in_:
        table.cells.resize((table.cells.shape[0], model.n_features_in_))
        n = model.n_features_in_
    if n != model.n_features_in_:
        raise ValueError(
            f"{path.name} must have the {model.n_features_in_} columns of the model, got {n} "
            f"({name_list(table.names)}). Use --drop to ignore other columns."
        )
    return table


def summarize(model: Any, table: FileTable, title: str) -> dict[str, Any]:
    """Return the summary of the report, with skipped columns and notes on how cells were read."""
    from ..analysis.summary import summary  # imported after the fit to save memory

    y = None
    if table.y is not None:
        y = np.ma.masked_array(np.array([*table.classes, ""])[table.y], table.y < 0)
    reading = {"skipped": table.skipped, "reading": table.notes}
    return summary(model, table.cells, names=list(table.names), y=y, title=title) | reading


def write_report(path: Path, summary: dict[str, Any]) -> None:
    """Write the HTML report of a summary."""
    from ..html_report.html import render_page

    path.write_text(render_page(summary), encoding="utf-8")


def fit_result(model: Any, table: FileTable, summary: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a fit as plain values."""
    return {
        "rows": len(model.labels_),
        "rows_without_values": int(np.count_nonzero(model.labels_ == NO_LABEL)),
        "columns": list(table.names),
        "skipped": table.skipped,
        "reading": table.notes,
        "clusters": model.n_clusters,
        "sizes": count_labels(model.labels_, model.n_clusters).tolist(),
        "objective": model.inertia_,
        "passes": model.n_iter_,
        "left_out": {name: summary["left_out"][name] for name in COUNTED},
        **{name: summary["classes"][name] for name in ("accuracy", "nmi") if summary["classes"]},
    }


def place_beside(table: Path, ending: str) -> Path:
    """Return the path of an output next to a table or next to its folder."""
    whole = table
    while is_pattern(whole):
        whole = whole.parent
    if whole.name in ("", ".."):  # the current or a parent folder
        here = whole / f"{whole.absolute().resolve().name}{ending}"
        is_input = any(would_read(table, path) for path in (here, here / "labels.parquet"))
        return whole / ".." / here.name if is_input else here
    stem = whole.stem.removesuffix(".csv").removesuffix(".tsv")  # of data.csv.gz: data
    return whole.parent / f"{stem}{ending}"


def labels_ending(csv: bool) -> str:
    """Return the extension of the labels file: .csv with --csv or without pyarrow."""
    return ".csv" if csv or find_spec("pyarrow") is None else ".parquet"


def reject_other_endings(path: Path, *endings: str) -> None:
    if path.suffix not in endings:
        raise ValueError(f"--out must have the extension {' or '.join(endings)}, got {path.name}.")


def reject_overwriting(paths: Iterable[Path], *sources: Path | None) -> None:
    """Raise an error if an output would overwrite an input, or be an input of the next run."""
    given = [source for source in sources if source is not None]
    read = {
        _file_number(Path(file))
        for source in given
        for file in table_files(source)
        if Path(file).exists()
    }
    for path in paths:
        if path.exists() and _file_number(path) in read:
            raise ValueError(
                f"{path} is both an input and an output. Pass another --out, or rename the file."
            )
        for source in given:
            if is_several_files(source) and would_read(source, path):
                raise ValueError(
                    f"{path} would become part of the table {source}. Pass another --out."
                )


def _file_number(path: Path) -> tuple[int, int]:
    """Return the device and inode numbers of a file."""
    state = path.stat()
    return state.st_dev, state.st_ino


@contextmanager
def explain_memory(name: str, table: FileTable) -> Iterator[None]:
    """Add the size of the table to the error if a fit runs out of memory."""
    try:
        yield
    except MemoryError as error:
        n, d = getattr(table.X, "shape", (0, len(table.names)))
        reason = str(error).rstrip(".") or "out of memory"
        raise MemoryError(
            f"{name} ({n:,} rows, {d:,} columns) needs more memory than the "
            f"{size_text(machine_memory())} of this machine ({reason}). Use fewer rows or columns "
            f"(--drop), or read it in blocks (--memory 2GB)."
        ) from error


@contextmanager
def note_earlier_outputs(place: Path) -> Iterator[None]:
    """Add the output path to errors that occur while outputs are written."""
    try:
        yield
    except OSError as error:
        if error.strerror and error.filename is None:
            error.filename = str(place)
        error.add_note("earlier outputs are unchanged")
        raise


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
