"""rekmeans predict, report and export: a fitted model on another table, or in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..atomic import atomic_write, refuse_unwritable
from ..io.file_table import MOST_COLUMNS, ColumnSelection, FileTable
from ..io.labels import write_label_blocks, write_labels
from ..io.model_file import load
from ..io.onnx import to_onnx
from . import _console, _workflow, stream
from ._options import (
    FLAG,
    RUN,
    Csv,
    Debug,
    Drop,
    Json,
    Label,
    MaxColumns,
    Memory,
    ModelPath,
    Quiet,
    TablePath,
    Threads,
)


def predict(
    model: ModelPath,
    table: TablePath,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RUN,
            help="The labels; NAME-labels.parquet beside TABLE.",
        ),
    ] = None,
    drop: Drop = None,
    max_columns: MaxColumns = MOST_COLUMNS,
    threads: Threads = None,
    memory: Memory = None,
    csv: Csv = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Label the rows of another table by a fitted model.

    The model's columns are taken by name, in any order; others are ignored.
    The columns of a table without names are taken in their order.
    """
    path = out or _workflow.place_beside(table, f"-labels{_workflow.labels_ending(csv)}")
    _workflow.refuse_other_endings(path, ".csv", ".parquet")
    refuse_unwritable(path.parent)
    _workflow.refuse_overwriting([path], table, model)
    clusterer = _workflow.load_clusterer(model).set_params(n_threads=threads, memory_limit=memory)
    selection = ColumnSelection(drop=tuple(drop or ()), max_columns=max_columns)
    with _console.progress_bar(quiet) as bar:
        bar.show_step("labelling")
        if stream.is_streamed(table, memory, None):
            rows, sizes = _label_stream(clusterer, table, selection, path, bar)
        else:
            rows = _workflow.read_table_of_model(clusterer, table, selection)
            with _workflow.explain_memory(table.name, rows):
                labels = clusterer.predict(rows.X)
            with _workflow.note_earlier_outputs(path), atomic_write(path) as part:
                write_labels(part, rows.labels_of_file(labels), rows.ids)
            sizes = np.bincount(labels, minlength=len(clusterer.centroids_)).tolist()
    if as_json:
        result = {
            "command": "predict",
            "rows": sum(sizes),
            "sizes": sizes,
            "reading": rows.notes,
            "labels": str(path),
        }
        _console.print_json(result)
    elif not quiet:
        _console.print_shares(sizes)
        _console.print_notes(rows)
        _console.print_lines(f"labels: {path}")


def _label_stream(
    clusterer: Any, table: Path, selection: ColumnSelection, path: Path, bar: _console.Bar
) -> tuple[FileTable, list[int]]:
    """The columns of a table whose rows are read and labelled a block at a time, and the sizes of
    its clusters.
    """
    source, rows = stream.open_stream_of_model(clusterer, table, selection)
    sizes = np.zeros(len(clusterer.centroids_), np.int64)
    blocks = stream.predict_blocks(clusterer, source, rows.names, sizes)
    with bar.show_passes(), _workflow.note_earlier_outputs(path), atomic_write(path) as part:
        write_label_blocks(part, blocks)
    return rows, sizes.tolist()


def report(
    model: ModelPath,
    table: TablePath,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=RUN, help="The page; NAME-report.html beside TABLE."
        ),
    ] = None,
    label: Label = None,
    drop: Drop = None,
    max_columns: MaxColumns = MOST_COLUMNS,
    memory: Memory = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the report of a fitted model on any table with its columns."""
    _workflow.refuse_missing_libraries("jinja2", "matplotlib")
    path = out or _workflow.place_beside(table, "-report.html")
    _workflow.refuse_other_endings(path, ".html")
    refuse_unwritable(path.parent)
    _workflow.refuse_overwriting([path], table, model)
    clusterer = _workflow.load_clusterer(model).set_params(memory_limit=memory)
    selection = ColumnSelection(label, tuple(drop or ()), max_columns=max_columns)
    if stream.is_streamed(table, memory, None):
        rows = stream.describe_by_sample(
            clusterer, *stream.open_stream_of_model(clusterer, table, selection)
        )
    else:
        rows = _workflow.read_table_of_model(clusterer, table, selection)
    with _workflow.explain_memory(table.name, rows):
        summary = _workflow.summarize(clusterer, rows, table.name)
    with _workflow.note_earlier_outputs(path), atomic_write(path) as part:
        _workflow.write_report(part, summary)
    if as_json:
        _console.print_json({"command": "report", "report": str(path), "summary": summary})
    elif not quiet:
        _console.print_lines(f"report: {path}")


def export(
    model: ModelPath,
    onnx: Annotated[
        bool, typer.Option("--onnx", metavar=FLAG, help="Write an ONNX graph beside MODEL.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a fitted model in another format, beside it."""
    if not onnx:
        raise ValueError("name a format to export to: --onnx.")
    path = model.with_suffix(".onnx")
    _workflow.refuse_overwriting([path], model)
    fitted = load(model)
    with _workflow.note_earlier_outputs(path), atomic_write(path) as part:
        to_onnx(fitted, part)
    if as_json:
        _console.print_json({"command": "export", "onnx": str(path)})
    elif not quiet:
        _console.print_lines(f"onnx: {path}")
