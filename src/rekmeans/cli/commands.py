"""The commands: arguments -> read -> fit -> write; no maths."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from scipy import sparse

from .. import EulerKMeans, RectifiedEulerKMeans, __version__, _files, clustering_accuracy, normalized_mutual_info
from .._files import Sheet, Wish, listed
from .._grid import Array
from . import screen

METHODS = {"rek": RectifiedEulerKMeans, "eulerk": EulerKMeans}
NAMED = 2  # features that say what a cluster is, in the table on the screen

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

TablePath = Annotated[Path, typer.Argument(metavar="TABLE", help="csv, tsv, parquet, feather, npy, npz or libsvm file.")]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="model.safetensors, as written by fit.")]
Label = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Known classes to compare with: never a feature. In npz and libsvm: y.")
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may be given again.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads; all by default. The answer is the same.")]
Csv = Annotated[bool, typer.Option("--csv", help="Write labels as csv, not as parquet.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No bar, no table.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error came from.")]


def _version(asked: bool) -> None:
    if asked:
        screen.lines(f"rekmeans {__version__}")
        raise typer.Exit


@app.callback(epilog="Exit status: 0 done · 2 wrong usage or bad data, one sentence says what · 130 stopped by Ctrl-C.")
def rekmeans(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Rectified Euler k-means: robust clustering of tables, dirty ones too.

    [bold]rekmeans fit --demo[/]                          try it without a file
    [bold]rekmeans fit wine.csv -k 3[/]                   cluster a table; see wine-rekmeans/report.html
    [bold]rekmeans fit wine.csv -k 3 --label class[/]     and score the clusters against known classes
    [bold]rekmeans predict wine-rekmeans/model.safetensors new.csv[/]

    Numeric columns are used, others are named and skipped. Missing values and gross errors may stay in the table.
    """


@app.command()
def fit(
    table: Annotated[
        Path | None, typer.Argument(metavar="TABLE", help="csv, tsv, parquet, feather, npy, npz or libsvm file.")
    ] = None,
    clusters: Annotated[int | None, typer.Option("-k", "--clusters", min=1, help="Number of clusters.")] = None,
    alpha: Annotated[float, typer.Option(help="Half-turns of the circle per unit of a scaled feature.")] = 0.9,
    method: Annotated[Literal["rek", "eulerk"], typer.Option(help="Rectified centroids, or means.")] = "rek",
    scale: Annotated[
        Literal["robust", "range", "global", "none"], typer.Option(help="What a unit of a feature is.")
    ] = "robust",
    beyond: Annotated[
        Literal["ignore", "clip", "wrap"], typer.Option(help="What a value far outside its column's range does.")
    ] = "ignore",
    label: Label = None,
    drop: Drop = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the outputs; NAME-rekmeans beside TABLE.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the starts.")] = 0,
    starts: Annotated[int | None, typer.Option(min=1, help="Starts, of which the best is kept.")] = None,
    threads: Threads = None,
    demo: Annotated[bool, typer.Option("--demo", help="Cluster 178 Italian wines; needs no table and no -k.")] = False,
    csv: Csv = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Cluster a table; write labels, model, summary and report.

    Into --out go [bold]labels.parquet[/], [bold]model.safetensors[/], [bold]summary.json[/] and [bold]report.html[/]:
    all of them, or none.
    """
    from .. import export
    from ..report import html, summary

    _refuse_usage(table, clusters, label, drop, demo)
    folder = out or (Path("demo-rekmeans") if table is None else table.with_name(f"{_stem(table)}-rekmeans"))
    _files.refuse_unwritable(folder)
    with screen.bar(quiet) as bar:
        bar.says("reading")
        sheet = _wine() if table is None else _files.read(table, Wish(label, tuple(drop or ())))
        model = METHODS[method](
            clusters or len(sheet.classes),
            alpha=alpha,
            scale=None if scale == "none" else scale,
            beyond=beyond,
            n_init=starts or "auto",
            n_threads=threads,
            random_state=seed,
        )
        bar.says("choosing starts")
        model._fit(sheet.X, None, None, bar.watch(starts or 1, sheet.X.shape[0]))
        bar.says("looking at the clusters")
        told = _summary(model, sheet, "wine" if table is None else table.name)
        _name_columns(model, sheet)
        bar.says("writing")
        names = ["labels.csv" if csv or not _has_arrow() else "labels.parquet", "model.safetensors", "summary.json", "report.html"]
        paths = [folder / name for name in names]
        with _files.all_whole(paths) as (labels_at, model_at, summary_at, report_at):
            _files.save_labels(labels_at, model.labels_, sheet.ids)
            export.save(model, model_at)
            summary_at.write_text(json.dumps(told, indent=1), encoding="utf-8")
            report_at.write_text(html.page(told), encoding="utf-8")
    _say_fit(model, sheet, told, paths, as_json=as_json, quiet=quiet)
