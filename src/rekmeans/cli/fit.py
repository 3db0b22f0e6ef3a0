"""rekmeans fit: a table -> labels, model, summary and report in a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from .. import EulerKMeans, RectifiedEulerKMeans
from ..atomic import atomic_writes, refuse_unwritable, sha256_digest
from ..io.file_table import MOST_COLUMNS, ColumnSelection, FileTable, name_list
from ..io.labels import write_labels
from ..io.model_file import save
from ..io.read import read_table_file
from . import _console, _workflow, stream
from ._options import (
    FLAG,
    METHOD,
    RUN,
    Csv,
    Debug,
    Drop,
    Json,
    Keep,
    Label,
    MaxColumns,
    Memory,
    Quiet,
    Threads,
)

MethodName = Literal["rek", "eulerk"]
ScaleName = Literal["robust", "range", "global", "none"]
BeyondName = Literal["ignore", "clip", "wrap"]
METHODS = {"rek": RectifiedEulerKMeans, "eulerk": EulerKMeans}


@dataclass(frozen=True)
class Method:
    """What the model of a fit is made of."""

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
        """The clusterer; without a number of clusters it has as many as the table has classes."""
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

    @property
    def paths(self) -> list[Path]:
        # the summary last: it has digests of the others
        return [self.labels, self.model, self.report, self.summary]

    def write(self, model: Any, table: FileTable, summary: dict[str, Any]) -> None:
        """All files, the summary last, with SHA-256 digests of the others; a new folder appears
        with all of them.

        Labels of an earlier fit in the other format go, as they would be mistaken for these.
        """
        is_second = self.model.exists()
        with _workflow.note_earlier_outputs(self.model.parent), atomic_writes(self.paths) as parts:
            labels, model_file, report, summary_file = parts
            write_labels(labels, table.labels_of_file(model.labels_), table.ids)
            save(model, model_file)
            _workflow.write_report(report, summary)
            digests = {part.name: sha256_digest(part) for part in (labels, model_file, report)}
            summary_file.write_text(
                json.dumps(summary | {"sha256": digests}, indent=1), encoding="utf-8"
            )
        if is_second:
            self.labels.with_suffix(".parquet" if self.labels.suffix == ".csv" else ".csv").unlink(
                missing_ok=True
            )


def fit(
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="TABLE",
            help="csv, tsv, parquet, feather, npy, npz or libsvm file; parquet folder or pattern.",
        ),
    ] = None,
    clusters: Annotated[
        int | None, typer.Option("-k", "--clusters", help="Number of clusters.")
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(
            rich_help_panel=METHOD, help="Half-turns of the circle per unit of a scaled feature."
        ),
    ] = 0.9,
    method: Annotated[
        MethodName, typer.Option(rich_help_panel=METHOD, help="Rectified centroids, or means.")
    ] = "rek",
    scale: Annotated[
        ScaleName,
        typer.Option(rich_help_panel=METHOD, help="What a unit of a feature is."),
    ] = "robust",
    beyond: Annotated[
        BeyondName,
        typer.Option(
            rich_help_panel=METHOD, help="What a value far outside its column's range does."
        ),
    ] = "ignore",
    label: Label = None,
    drop: Drop = None,
    keep: Keep = None,
    max_columns: MaxColumns = MOST_COLUMNS,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=RUN,
            help="Folder for the outputs; NAME-rekmeans beside TABLE.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(rich_help_panel=METHOD, help="Seed of the starts.")] = 0,
    starts: Annotated[
        int | None, typer.Option(rich_help_panel=METHOD, help="Starts, of which the best is kept.")
    ] = None,
    threads: Threads = None,
    memory: Memory = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RUN,
            help="Where a fit that is killed goes on when called again.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=RUN,
            help="Dask scheduler to compute on, tcp://HOST:PORT.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", metavar=FLAG, help="Cluster 178 Italian wines; needs no table and no -k."
        ),
    ] = False,
    csv: Csv = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Cluster a table; write labels, model, summary and report.

    The folder gets labels.parquet, model.safetensors, report.html and
    summary.json: all of them, or none.
    """
    selection = ColumnSelection(label, tuple(drop or ()), None, max_columns, tuple(keep or ()))
    _refuse_usage(table, clusters, selection, demo, cluster)
    _workflow.refuse_missing_libraries("safetensors", "jinja2", "matplotlib")
    outputs = _outputs(table, out, csv)
    refuse_unwritable(outputs.model.parent)
    _workflow.refuse_overwriting(outputs.paths, table)
    choices = Method(
        clusters, alpha, method, scale, beyond, seed, starts, threads, memory, checkpoint
    )
    is_large = stream.is_streamed(table, memory, cluster)
    if table is not None and is_large:
        stream.refuse_unstreamed(table, selection, cluster)
    with _console.progress_bar(quiet) as bar, stream.use_cluster(cluster):
        bar.show_step("reading")
        if table is not None and is_large:
            source, rows = stream.open_stream(table, selection, cluster)
        else:
            rows = (
                _workflow.load_wine_table() if table is None else read_table_file(table, selection)
            )
            source = rows.X
        model = choices.make_model(rows)
        bar.show_step("choosing starts")
        title = "wine" if table is None else table.name
        with _workflow.explain_memory(title, rows):
            with bar.show_passes():
                model.fit(source)
            if is_large:
                rows = stream.describe_by_sample(model, source, rows)
                model.labels_ = np.asarray(model.labels_)
            bar.show_step("looking at the clusters")
            summary = _workflow.summarize(model, rows, title)
        _workflow.set_feature_names(model, rows)
        bar.show_step("writing")
        outputs.write(model, rows, summary)
    result = _workflow.fit_result(model, rows, summary)
    if as_json:
        _console.print_json(
            {"command": "fit"} | result | {path.stem: str(path) for path in outputs.paths}
        )
    elif not quiet:
        _console.print_clusters(model, rows, result)
        _console.print_notes(rows)
        beside = name_list([path.name for path in outputs.paths if path != outputs.report])
        _console.print_lines(f"report: {outputs.report}", f"beside it: {beside}")


def _refuse_usage(
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
            "--demo brings its own table: leave out TABLE, --label, --drop, --keep and --cluster."
        )
    if not demo and table is None:
        raise ValueError("name a TABLE to cluster, or try --demo.")
    if not demo and n_clusters is None:
        raise ValueError("give the number of clusters, for example -k 3.")


def _outputs(table: Path | None, out: Path | None, csv: bool) -> Outputs:
    """The files of a fit in the folder given, or in NAME-rekmeans beside the table."""
    beside = Path("demo-rekmeans") if table is None else _workflow.place_beside(table, "-rekmeans")
    names = (
        f"labels{_workflow.labels_ending(csv)}",
        "model.safetensors",
        "summary.json",
        "report.html",
    )
    return Outputs(*((out or beside) / name for name in names))
