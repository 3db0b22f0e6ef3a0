"""The commands: arguments -> read -> fit -> write; no maths."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from .. import EulerKMeans, RectifiedEulerKMeans, __version__
from ..io.atomic import atomic_write, atomic_writes, refuse_unwritable
from ..io.file_table import ColumnSelection, name_list
from ..io.labels import write_labels
from ..io.model_file import load, save
from ..io.onnx import to_onnx
from ..io.read import read_table_file
from . import screen, steps

FLAG = " "  # stands where an option without a value would show its type
METHOD, RUN = "Method", "Output and run"  # panels of the help
METHODS = {"rek": RectifiedEulerKMeans, "eulerk": EulerKMeans}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

TablePath = Annotated[
    Path, typer.Argument(metavar="TABLE", help="csv, tsv, parquet, feather, npy, npz or libsvm file.")
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="model.safetensors, as written by fit.")]
Label = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Known classes to compare with: never a feature. In npz and libsvm: y."),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may be given again.")]
Threads = Annotated[
    int | None, typer.Option(min=1, rich_help_panel=RUN, help="Threads; all by default. The answer is the same.")
]
Csv = Annotated[
    bool, typer.Option("--csv", metavar=FLAG, rich_help_panel=RUN, help="Write labels as csv, not as parquet.")
]
Json = Annotated[
    bool, typer.Option("--json", metavar=FLAG, rich_help_panel=RUN, help="Print one JSON object and nothing else.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar=FLAG, rich_help_panel=RUN, help="No bar, no table.")]
Debug = Annotated[
    bool, typer.Option("--debug", metavar=FLAG, rich_help_panel=RUN, help="Show where an error came from.")
]


def _version(asked: bool) -> None:
    if asked:
        screen.lines(f"rekmeans {__version__}")
        raise typer.Exit


@app.callback(epilog="Exit status: 0 done · 2 wrong usage or bad data, one sentence says what · 130 stopped by Ctrl-C.")
def rekmeans(
    version: Annotated[
        bool, typer.Option("--version", metavar=FLAG, callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Rectified Euler k-means: robust clustering of tables, dirty ones too.

    [bold]rekmeans fit --demo[/]                       try it without a file
    [bold]rekmeans fit wine.csv -k 3[/]                cluster a table into three
    [bold]rekmeans fit wine.csv -k 3 --label class[/]  score it by known classes
    [bold]rekmeans predict wine-rekmeans/model.safetensors new.csv[/]

    A fit writes a folder beside the table, NAME-rekmeans: open its report.html.
    Numeric columns are used, others are named and skipped. Missing values and
    gross errors may stay in the table.
    """


@app.command()
def fit(
    table: Annotated[
        Path | None, typer.Argument(metavar="TABLE", help="csv, tsv, parquet, feather, npy, npz or libsvm file.")
    ] = None,
    clusters: Annotated[int | None, typer.Option("-k", "--clusters", help="Number of clusters.")] = None,
    alpha: Annotated[
        float, typer.Option(rich_help_panel=METHOD, help="Half-turns of the circle per unit of a scaled feature.")
    ] = 0.9,
    method: Annotated[
        Literal["rek", "eulerk"], typer.Option(rich_help_panel=METHOD, help="Rectified centroids, or means.")
    ] = "rek",
    scale: Annotated[
        Literal["robust", "range", "global", "none"],
        typer.Option(rich_help_panel=METHOD, help="What a unit of a feature is."),
    ] = "robust",
    beyond: Annotated[
        Literal["ignore", "clip", "wrap"],
        typer.Option(rich_help_panel=METHOD, help="What a value far outside its column's range does."),
    ] = "ignore",
    label: Label = None,
    drop: Drop = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", rich_help_panel=RUN, help="Folder for the outputs; NAME-rekmeans beside TABLE."),
    ] = None,
    seed: Annotated[int, typer.Option(rich_help_panel=METHOD, help="Seed of the starts.")] = 0,
    starts: Annotated[
        int | None, typer.Option(rich_help_panel=METHOD, help="Starts, of which the best is kept.")
    ] = None,
    threads: Threads = None,
    demo: Annotated[
        bool, typer.Option("--demo", metavar=FLAG, help="Cluster 178 Italian wines; needs no table and no -k.")
    ] = False,
    csv: Csv = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Cluster a table; write labels, model, summary and report.

    The folder gets labels.parquet, model.safetensors, summary.json and
    report.html: all of them, or none.
    """
    _refuse_usage(table, clusters, label, drop, demo)
    steps.refuse_absent("safetensors", "jinja2", "matplotlib")
    folder = out or (Path("demo-rekmeans") if table is None else table.parent / f"{steps.stem(table)}-rekmeans")
    refuse_unwritable(folder)
    names = [f"labels{steps.ending(csv)}", "model.safetensors", "summary.json", "report.html"]
    paths = [folder / name for name in names]
    _refuse_input(paths, table)
    with screen.bar(quiet) as bar:
        bar.says("reading")
        sheet = steps.wine() if table is None else read_table_file(table, ColumnSelection(label, tuple(drop or ())))
        model = METHODS[method](
            len(sheet.classes) if clusters is None else clusters,
            alpha=alpha,
            scale=None if scale == "none" else scale,
            beyond=beyond,
            n_init="auto" if starts is None else starts,
            n_threads=threads,
            random_state=seed,
        )
        bar.says("choosing starts")
        with bar.watching():
            model.fit(sheet.X)
        bar.says("looking at the clusters")
        from ..report import html

        told = steps.summary(model, sheet, "wine" if table is None else table.name)
        steps.name_columns(model, sheet)
        bar.says("writing")
        again = paths[1].exists()
        with _untouched(), atomic_writes(paths) as (labels_at, model_at, summary_at, report_at):
            write_labels(labels_at, model.labels_, sheet.ids)
            save(model, model_at)
            summary_at.write_text(json.dumps(told, indent=1), encoding="utf-8")
            report_at.write_text(html.page(told), encoding="utf-8")
        if again:  # labels of an earlier fit in the other format would be mistaken for these
            paths[0].with_suffix(".parquet" if paths[0].suffix == ".csv" else ".csv").unlink(missing_ok=True)
    found = steps.found(model, sheet, told)
    if as_json:
        _print_json({"command": "fit"} | found | {path.stem: str(path) for path in paths})
    elif not quiet:
        screen.clusters(model, sheet, found)
        screen.lines(f"report: {paths[-1]}", f"beside it: {name_list(names[:-1])}")


@app.command()
def predict(
    model: ModelPath,
    table: TablePath,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=RUN, help="The labels; NAME-labels.parquet beside TABLE."),
    ] = None,
    drop: Drop = None,
    threads: Threads = None,
    csv: Csv = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Label the rows of another table by a fitted model.

    The model's columns are taken by name, in any order; others are ignored.
    The columns of a table without names are taken in their order.
    """
    path = out or table.parent / f"{steps.stem(table)}-labels{steps.ending(csv)}"
    _refuse_ending(path, ".csv", ".parquet")
    refuse_unwritable(path.parent)
    _refuse_input([path], table, model)
    fitted = steps.clusterer(model)
    fitted.n_threads = threads
    sheet = steps.sheet_for(fitted, table, ColumnSelection(drop=tuple(drop or ())))
    labels = fitted.predict(sheet.X)
    with _untouched(), atomic_write(path) as labels_at:
        write_labels(labels_at, labels, sheet.ids)
    sizes = np.bincount(labels, minlength=len(fitted.centroids_))
    if as_json:
        _print_json({"command": "predict", "rows": len(labels), "sizes": sizes.tolist(), "labels": str(path)})
    elif not quiet:
        screen.table(
            f"{len(labels):,} rows",
            ["cluster", "rows", "share"],
            screen.shares(sizes.tolist()),
            ["cluster", "rows", "share"],
        )
        screen.lines(f"labels: {path}")


@app.command()
def report(
    model: ModelPath,
    table: TablePath,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=RUN, help="The page; NAME-report.html beside TABLE.")
    ] = None,
    label: Label = None,
    drop: Drop = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the report of a fitted model on any table with its columns."""
    from ..report import html

    path = out or table.parent / f"{steps.stem(table)}-report.html"
    _refuse_ending(path, ".html")
    refuse_unwritable(path.parent)
    _refuse_input([path], table, model)
    fitted = steps.clusterer(model)
    sheet = steps.sheet_for(fitted, table, ColumnSelection(label, tuple(drop or ())))
    told = steps.summary(fitted, sheet, table.name)
    with _untouched(), atomic_write(path) as page:
        page.write_text(html.page(told), encoding="utf-8")
    if as_json:
        _print_json({"command": "report", "report": str(path), "summary": told})
    elif not quiet:
        screen.lines(f"report: {path}")


@app.command()
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
    _refuse_input([path], model)
    fitted = load(model)
    with _untouched(), atomic_write(path) as graph:
        to_onnx(fitted, graph)
    if as_json:
        _print_json({"command": "export", "onnx": str(path)})
    elif not quiet:
        screen.lines(f"onnx: {path}")


@app.command()
def engines(as_json: Json = False, debug: Debug = False) -> None:
    """Say where a fit can run here, and if not, why."""
    from ..engines import ENGINES, compiled

    threads = os.cpu_count() or 1
    found = dict.fromkeys(ENGINES, "available")
    if compiled():
        from ..engines._native import _core  # type: ignore[attr-defined]

        found["native"] = f"available: {_core.isa(os.environ.get('REKMEANS_ISA', ''))} instructions, {threads} threads"
    else:
        found["native"] = "not available: the compiled core is absent; pip install rekmeans with a C++ compiler at hand"
    found["reference"] = "available: NumPy, slow; it defines the answer"
    if as_json:
        _print_json({"command": "engines", "engines": found})
    else:
        screen.table("engines", ["engine", "here"], found.items())


@app.command()
def bench(as_json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Measure rekmeans against scikit-learn here, in two minutes.

    Both cluster the same mapped rows from the same start. Mapping counts for
    rekmeans and is free for scikit-learn.
    """
    from . import bench

    with screen.bar(quiet) as bar:
        races = list(bench.races(bar.says))
    if as_json:
        _print_json({"command": "bench", "machine": bench.machine(), "races": [race._asdict() for race in races]})
        return
    columns = ["rows", "columns", "k", "passes", "sklearn", "rekmeans", "ratio", "same labels"]
    rows = [
        (
            *(f"{count:,}" for count in (race.rows, race.columns, race.clusters, race.passes)),
            *(f"{seconds:.3f}" for seconds in (race.sklearn, race.rekmeans)),
            f"{race.sklearn / race.rekmeans:.1f}",
            f"{race.same:.2%}",
        )
        for race in races
    ]
    screen.table("Euler k-means: median seconds of a fit, scikit-learn's KMeans and rekmeans", columns, rows, columns)
    screen.lines(bench.machine())


@app.command()
def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", metavar=FLAG, help="Minutes instead of hours: fewer alphas, starts and sets.")
    ] = False,
    beyond: Annotated[
        bool, typer.Option("--beyond", metavar=FLAG, help="The study of other kernels and of gross errors instead.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="TABLE", help="A table to make instead of all; may be given again.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", rich_help_panel=RUN, help="Folder for the outputs; reproduction, or beyond."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=RUN, help="Processes; one a core by default. The answer is the same."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Make the paper's tables and figures anew, beside the printed values.

    The folder gets index.html, results.json, a csv for each table, an svg and a
    png for each figure. Stopped half way, the same command continues; the study
    --beyond, of a quarter of an hour, begins anew.
    Data sets are looked for in the folder that REKMEANS_DATA names first.
    """
    steps.refuse_absent("jinja2", "matplotlib")
    out = out or Path("beyond" if beyond else "reproduction")
    refuse_unwritable(out)
    make, plan = steps.study(beyond, quick)
    with screen.countdown(quiet) as watch:
        results = make(out, plan, tuple(only or ()), workers, watch)
    page = out / "index.html"
    if as_json:
        _print_json({"command": "reproduce", "page": str(page)} | results)
    elif not quiet:
        screen.verdicts(results, "the study beyond" if beyond else "beside the printed values")
        screen.lines(f"page: {page}")


def _refuse_usage(table: Path | None, k: int | None, label: str | None, drop: list[str] | None, demo: bool) -> None:
    if demo and (table is not None or label or drop):
        raise ValueError("--demo brings its own table: leave out TABLE, --label and --drop.")
    if not demo and table is None:
        raise ValueError("name a TABLE to cluster, or try --demo.")
    if not demo and k is None:
        raise ValueError("say how many clusters to look for, for example -k 3.")


def _refuse_ending(path: Path, *endings: str) -> None:
    if path.suffix not in endings:
        raise ValueError(f"--out must end in {' or '.join(endings)}; got {path.name}.")


def _refuse_input(paths: Iterable[Path], *given: Path | None) -> None:
    for path in paths:
        if any(source is not None and source.exists() and path.exists() and path.samefile(source) for source in given):
            raise ValueError(f"{path} is both read and written: name another --out, or rename the file.")


@contextmanager
def _untouched() -> Iterator[None]:
    """An error while outputs are written says that the earlier ones stand."""
    try:
        yield
    except OSError as error:
        error.add_note("earlier outputs are as they were")
        raise


def _print_json(found: dict[str, Any]) -> None:
    typer.echo(json.dumps(found))
