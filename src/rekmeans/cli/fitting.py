"""Implementation of `rekmeans fit`: write labels, model, summary and report to a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._text import name_list
from ..atomic import atomic_writes, reject_unwritable, sha256_digest
from ..estimators import EulerKMeans, RectifiedEulerKMeans
from ..export.model_file import save
from ..io.labels import write_labels
from ..io.selection import ColumnSelection
from ..table.file_table import FileTable
from . import _results, _workflow, plugin, stream
from ._options import BeyondName, MethodName, ScaleName

METHODS = {"rek": RectifiedEulerKMeans, "eulerk": EulerKMeans}


class Screen(NamedTuple):
    """The output of a command: JSON, nothing, or tables."""

    as_json: bool
    quiet: bool


@dataclass(frozen=True)
class Method:
    """The parameters of the model."""

    n_clusters: int | None
    alpha: float
    name: MethodName
    scale: ScaleName
    beyond: BeyondName
    seed: int
    n_starts: int | None
    n_threads: int | None
    memory: str | None = None
    checkpoint: Path | None = None

    def make_model(self, table: FileTable) -> Any:
        """Return the clusterer; n_clusters defaults to the number of known classes."""
        return METHODS[self.name](
            len(table.classes) if self.n_clusters is None else self.n_clusters,
            alpha=self.alpha,
            scale=None if self.scale == "none" else self.scale,
            beyond=self.beyond,
            n_init="auto" if self.n_starts is None else self.n_starts,
            n_threads=self.n_threads,
            memory_limit=self.memory,
            checkpoint=self.checkpoint,
            random_state=self.seed,
        )


@dataclass(frozen=True)
class Outputs:
    """The files that a fit writes."""

    labels: Path
    model: Path
    summary: Path
    report: Path
    with_report: bool

    @property
    def paths(self) -> list[Path]:
        report = [self.report] if self.with_report else []
        # the summary comes last, because it contains digests of the other files
        return [self.labels, self.model, *report, self.summary]

    def write(self, model: Any, table: FileTable, summary: dict[str, Any]) -> None:
        """Write all files or none. The summary contains SHA-256 digests of the other files.

        Stale outputs of an earlier fit (report, labels in the other format) are removed.
        """
        is_second = self.model.exists()
        with _workflow.note_earlier_outputs(self.model.parent), atomic_writes(self.paths) as parts:
            labels, model_file, *report, summary_file = parts
            write_labels(labels, model.labels_, table.ids)
            save(model, model_file)
            for page in report:
                _workflow.write_report(page, summary)
            digests = {part.name: sha256_digest(part) for part in (labels, model_file, *report)}
            summary_file.write_text(
                json.dumps(summary | {"sha256": digests}, indent=1), encoding="utf-8"
            )
        if is_second:
            self.labels.with_suffix(".parquet" if self.labels.suffix == ".csv" else ".csv").unlink(
                missing_ok=True
            )
            if not self.with_report:
                self.report.unlink(missing_ok=True)


def fit_table(
    table: Path | None,
    selection: ColumnSelection,
    method: Method,
    out: Path | None,
    cluster: str | None,
    *,
    demo: bool,
    csv: bool,
    with_report: bool,
    screen: Screen,
) -> None:
    """Fit a table, write the outputs and print the clusters."""
    _reject_usage(table, method.n_clusters, selection, demo, cluster)
    if with_report:
        plugin.reject_missing_libraries("jinja2", "matplotlib")
    outputs = _outputs(table, out, csv, with_report)
    reject_unwritable(outputs.model.parent)
    _workflow.reject_overwriting(outputs.paths, table)
    if cluster is not None and table is not None:
        stream.reject_unstreamed(table, selection, cluster)
    with _workflow.progress_bar(screen.quiet) as bar, stream.use_cluster(cluster):
        bar.show_step("reading")
        source, rows = _read_input(table, selection, method.memory, cluster)
        model = method.make_model(rows)
        bar.show_step("initializing")
        title = "wine" if table is None else table.name
        with _workflow.explain_memory(title, rows):
            with bar.show_passes():
                model.fit(source)
            columns = rows
            if stream.is_streamed(table, method.memory, cluster):
                columns = _fitted_columns(model, rows)
                rows = stream.describe_by_sample(model, source, columns)
                model.labels_ = np.asarray(model.labels_)
            bar.show_step("summarizing")
            summary = _workflow.summarize(model, rows, title)
        bar.show_step("writing")
        outputs.write(model, columns, summary)
    result = _workflow.fit_result(model, rows, summary)
    if screen.as_json:
        plugin.print_json(
            {"command": "fit"} | result | {path.stem: str(path) for path in outputs.paths}
        )
    elif not screen.quiet:
        _results.print_clusters(model, rows, result)
        _results.print_notes(rows)
        others = name_list([path.name for path in outputs.paths if path != outputs.report])
        if with_report:
            plugin.print_lines(f"report: {outputs.report}", f"same folder: {others}")
        else:
            plugin.print_lines(f"wrote to {outputs.model.parent}: {others}")


def _read_input(
    table: Path | None, selection: ColumnSelection, memory: str | None, cluster: str | None
) -> tuple[Any, FileTable]:
    """Return the input of the fit and its table. With Dask, the table has no rows."""
    if table is None:
        wine = _workflow.load_wine_table()
        return wine, wine
    if cluster is not None:
        return stream.open_collection(table, selection), FileTable(None, [])
    rows = _workflow.read_table(table, selection, memory)
    return rows, rows


def _fitted_columns(model: Any, rows: FileTable) -> FileTable:
    """Return the table with the columns of the model. With Dask, the fit infers the columns."""
    schema = getattr(model, "schema_", None)
    if rows.names or schema is None:
        return rows
    return replace(rows, names=schema.feature_names, skipped=schema.skipped_columns, schema=schema)


def _reject_usage(
    table: Path | None,
    n_clusters: int | None,
    selection: ColumnSelection,
    demo: bool,
    cluster: str | None,
) -> None:
    if demo and (
        table is not None or selection.label or selection.drop or selection.keep or cluster
    ):
        raise ValueError(
            "--demo uses a built-in table. Remove TABLE, --label, --drop, --keep and --cluster."
        )
    if not demo and table is None:
        raise ValueError("no TABLE given. Pass a file, or try --demo.")
    if not demo and n_clusters is None:
        raise ValueError("the number of clusters is missing. Pass it with -k, for example -k 3.")


def _outputs(table: Path | None, out: Path | None, csv: bool, with_report: bool) -> Outputs:
    """Return the output paths of a fit, by default in NAME-rekmeans next to the table."""
    beside = Path("demo-rekmeans") if table is None else _workflow.place_beside(table, "-rekmeans")
    folder = out or beside
    return Outputs(
        folder / f"labels{_workflow.labels_ending(csv)}",
        folder / "model.safetensors",
        folder / "summary.json",
        folder / "report.html",
        with_report,
    )
