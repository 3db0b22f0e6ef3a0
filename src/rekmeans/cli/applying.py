"""Implementation of `rekmeans predict`, `report` and `export`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..atomic import atomic_write, reject_unwritable
from ..export.model_file import load
from ..export.onnx import to_onnx
from ..io.labels import write_label_blocks, write_labels
from ..io.selection import ColumnSelection
from ..table.empty_rows import NO_LABEL
from . import _results, _workflow, plugin, stream


def predict_table(
    model: Path,
    table: Path,
    selection: ColumnSelection,
    out: Path | None,
    *,
    n_threads: int | None,
    memory: str | None,
    csv: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the labels that a fitted model assigns to a table."""
    path = out or _workflow.place_beside(table, f"-labels{_workflow.labels_ending(csv)}")
    _workflow.reject_other_endings(path, ".csv", ".parquet")
    reject_unwritable(path.parent)
    _workflow.reject_overwriting([path], table, model)
    clusterer = _workflow.load_clusterer(model).set_params(n_threads=n_threads, memory_limit=memory)
    with _workflow.progress_bar(quiet) as bar:
        bar.show_step("computing labels")
        # skip the check of text columns, because blocks are read only once
        rows = _workflow.read_table(table, selection, memory, model=clusterer, checks_text=False)
        counts = np.zeros(len(clusterer.centroids_) + 1, np.int64)  # of the labels, from -1 on
        if stream.is_streamed(table, memory, None):
            blocks = stream.predict_blocks(clusterer, rows.X, rows.names, counts)
            with (
                bar.show_passes(),
                _workflow.note_earlier_outputs(path),
                atomic_write(path) as part,
            ):
                write_label_blocks(part, blocks)
        else:
            with _workflow.explain_memory(table.name, rows):
                labels = clusterer.predict(rows.X)
            with _workflow.note_earlier_outputs(path), atomic_write(path) as part:
                write_labels(part, labels, rows.ids)
            counts += np.bincount(labels - NO_LABEL, minlength=len(counts))
    n_empty, *sizes = counts.tolist()
    if as_json:
        result = {
            "command": "predict",
            "rows": n_empty + sum(sizes),
            "rows_without_values": n_empty,
            "sizes": sizes,
            "reading": rows.notes,
            "labels": str(path),
        }
        plugin.print_json(result)
    elif not quiet:
        _results.print_shares(sizes)
        _results.print_notes(rows)
        plugin.print_lines(f"labels: {path}")


def report_table(
    model: Path,
    table: Path,
    selection: ColumnSelection,
    out: Path | None,
    *,
    memory: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the report of a fitted model for a table."""
    plugin.reject_missing_libraries("jinja2", "matplotlib")
    path = out or _workflow.place_beside(table, "-report.html")
    _workflow.reject_other_endings(path, ".html")
    reject_unwritable(path.parent)
    _workflow.reject_overwriting([path], table, model)
    clusterer = _workflow.load_clusterer(model).set_params(memory_limit=memory)
    _workflow.check_has_report(clusterer)
    rows = _workflow.read_table(table, selection, memory, model=clusterer)
    if stream.is_streamed(table, memory, None):
        rows = stream.describe_by_sample(clusterer, rows.X, rows)
    with _workflow.explain_memory(table.name, rows):
        summary = _workflow.summarize(clusterer, rows, table.name)
    with _workflow.note_earlier_outputs(path), atomic_write(path) as part:
        _workflow.write_report(part, summary)
    if as_json:
        plugin.print_json({"command": "report", "report": str(path), "summary": summary})
    elif not quiet:
        plugin.print_lines(f"report: {path}")


def export_onnx(model: Path, *, as_json: bool, quiet: bool) -> None:
    """Write a fitted model as an ONNX graph next to it."""
    path = model.with_suffix(".onnx")
    _workflow.reject_overwriting([path], model)
    fitted = load(model)
    with _workflow.note_earlier_outputs(path), atomic_write(path) as part:
        to_onnx(fitted, part)
    if as_json:
        plugin.print_json({"command": "export", "onnx": str(path)})
    elif not quiet:
        plugin.print_lines(f"onnx: {path}")
