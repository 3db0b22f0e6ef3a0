"""rekmeans predict, report and export: a fitted model on another table, or in another format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ..atomic import atomic_write, refuse_unwritable
from ..io.file_table import MOST_COLUMNS, ColumnSelection
from ..io.labels import write_labels
from ..io.model_file import load
from ..io.onnx import to_onnx
from . import _console, _workflow, stream
from ._options import FLAG, RUN, Csv, Debug, Drop, Json, Label, MaxColumns, Memory, ModelPath, Quiet, TablePath, Threads


def predict(
    model: ModelPath,
    table: TablePath,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=RUN, help="The labels; NAME-labels.parquet beside TABLE."),
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
    if stream.is_streamed(table, memory, None):
        names = getattr(clusterer, "feature_names_in_", None)
        source, rows = stream.open_stream(table, replace(selection, only=None if names is None else tuple(names)))
    else:
        rows = _workflow.read_table_of_model(clusterer, table, selection)
        source = rows.X
    with _workflow.explain_memory(table.name, rows):
        labels = clusterer.predict(source)
    with _workflow.note_earlier_outputs(path), atomic_write(path) as part:
        write_labels(part, rows.labels_of_file(labels), rows.ids)
    sizes = np.bincount(labels, minlength=len(clusterer.centroids_)).tolist()
    if as_json:
        result = {"command": "predict", "rows": len(labels), "sizes": sizes, "reading": rows.notes, "labels": str(path)}
        _console.print_json(result)
    elif not quiet:
        _console.print_shares(sizes)
        _console.print_notes(rows)
        _console.print_lines(f"labels: {path}")


def report(
    model: ModelPath,
    table: TablePath,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=RUN, help="The page; NAME-report.html beside TABLE.")
    ] = None,
    label: Label = None,
    drop: Drop = None,
    max_columns: MaxColumns = MOST_COLUMNS,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the report of a fitted model on any table with its columns."""
    _workflow.refuse_missing_libraries("jinja2", "matplotlib")
    path = out or table.parent / f"{_workflow.table_stem(table)}-report.html"
    _workflow.refuse_other_endings(path, ".html")
    refuse_unwritable(path.parent)
    _workflow.refuse_overwriting([path], table, model)
    clusterer = _workflow.load_clusterer(model)
    selection = ColumnSelection(label, tuple(drop or ()), max_columns=max_columns)
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
    onnx: Annotated[bool, typer.Option("--onnx", metavar=FLAG, help="Write an ONNX graph beside MODEL.")] = False,
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
