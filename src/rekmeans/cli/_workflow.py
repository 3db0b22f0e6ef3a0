"""What the commands share: the table for a model, the summary of both, names of outputs, refusals
before any work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..export.model_file import load
from ..io.file_table import ColumnSelection, FileTable, name_list
from ..io.read import read_table_file
from ..machine_memory import machine_memory, size_text
from ..table.file_names import is_pattern, is_several_files, table_files, would_read


def load_wine_table() -> FileTable:
    """Wine of three cultivars: 178 rows, 13 measurements."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    classes = [str(name) for name in wine.target_names]
    return FileTable(wine.data, list(wine.feature_names), y=wine.target, classes=classes)


def load_clusterer(path: Path) -> Any:
    """The clusterer in a model file."""
    model = load(path)
    if not hasattr(model, "centroids_"):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which has no clusters: use a model that fit "
            f"wrote."
        )
    return model


def read_table_of_model(model: Any, path: Path, selection: ColumnSelection) -> FileTable:
    """The model's columns of a table."""
    names = getattr(model, "feature_names_in_", None)
    only = None if names is None else tuple(name for name in names if name != selection.label)
    table = read_table_file(path, replace(selection, only=only, is_of_model=True))
    # the file has no cell in the last columns
    if sparse.issparse(table.X) and table.X.shape[1] < model.n_features_in_:
        table.X.resize((table.X.shape[0], model.n_features_in_))
    if table.X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{path.name} must have the {model.n_features_in_} columns of the model, got "
            f"{table.X.shape[1]} "
            f"({name_list(table.names)}): leave others out with --drop."
        )
    return table


def summarize(model: Any, table: FileTable, title: str) -> dict[str, Any]:
    """The summary of the report, with the columns that the file skipped and what was done to it."""
    from ..analysis.summary import summary  # after the fit, which needs the memory more

    y = None
    if table.y is not None:
        y = np.ma.masked_array(np.array([*table.classes, ""])[table.y], table.y < 0)
    reading = {"skipped": table.skipped, "reading": table.notes}
    return summary(model, table.X, names=list(table.names), y=y, title=title) | reading


def write_report(path: Path, summary: dict[str, Any]) -> None:
    """Write the page of a summary."""
    from ..html_report.html import render_page

    path.write_text(render_page(summary), encoding="utf-8")


def set_feature_names(model: Any, table: FileTable) -> None:
    """Give the model the names of the file, which the rows alone do not have."""
    if table.has_names:
        model.feature_names_in_ = np.array(table.names, dtype=object)


def fit_result(model: Any, table: FileTable, summary: dict[str, Any]) -> dict[str, Any]:
    """What a fit gave, for machines."""
    return {
        "rows": len(model.labels_),
        "columns": list(table.names),
        "skipped": table.skipped,
        "reading": table.notes,
        "clusters": model.n_clusters,
        "sizes": np.bincount(model.labels_, minlength=model.n_clusters).tolist(),
        "objective": model.inertia_,
        "passes": model.n_iter_,
        "left_out": {
            name: summary["left_out"][name] for name in ("beyond", "missing", "cells", "notes")
        },
        **{name: summary["classes"][name] for name in ("accuracy", "nmi") if summary["classes"]},
    }


def table_stem(path: Path) -> str:
    """The name without its endings, .csv.gz too."""
    return path.stem.removesuffix(".csv").removesuffix(".tsv")


def place_beside(table: Path, ending: str) -> Path:
    """The name of an output beside a table; beside the folder where the table is a folder or a
    pattern of files.
    """
    whole = table
    while is_pattern(whole):
        whole = whole.parent
    if whole.name in ("", ".."):  # the folder that we are in, or one above it
        here = whole / f"{whole.absolute().resolve().name}{ending}"
        is_input = any(would_read(table, path) for path in (here, here / "labels.parquet"))
        return whole / ".." / here.name if is_input else here
    return whole.parent / f"{table_stem(whole)}{ending}"


def labels_ending(csv: bool) -> str:
    """How the name of a labels file ends: .csv where --csv is given or pyarrow is missing."""
    return ".csv" if csv or find_spec("pyarrow") is None else ".parquet"


def refuse_other_endings(path: Path, *endings: str) -> None:
    if path.suffix not in endings:
        raise ValueError(f"--out must end in {' or '.join(endings)}; got {path.name}.")


def refuse_overwriting(paths: Iterable[Path], *sources: Path | None) -> None:
    """Refuse to write over a file that the command reads, or where a folder or a pattern would read
    it next time.
    """
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
                f"{path} is both read and written: name another --out, or rename the file."
            )
        for source in given:
            if is_several_files(source) and would_read(source, path):
                raise ValueError(
                    f"{path} would belong to the table {source} next time: name an --out elsewhere."
                )


def _file_number(path: Path) -> tuple[int, int]:
    """What is the same for all names of a file."""
    state = path.stat()
    return state.st_dev, state.st_ino


@contextmanager
def explain_memory(name: str, table: FileTable) -> Iterator[None]:
    """A table that fits into memory, but not with what is made of it, is named with its size."""
    try:
        yield
    except MemoryError as error:
        n, d = table.X.shape
        reason = str(error).rstrip(".") or "no more memory is given"
        raise MemoryError(
            f"{name} ({n:,} rows, {d:,} columns) takes more memory than this machine gives, at "
            f"most "
            f"{size_text(machine_memory())} ({reason}): use fewer rows or columns (--drop)."
        ) from error


@contextmanager
def note_earlier_outputs(place: Path) -> Iterator[None]:
    """An error while outputs are written says where, and that the earlier ones are unchanged."""
    try:
        yield
    except OSError as error:
        if error.strerror and error.filename is None:
            error.filename = str(place)
        error.add_note("earlier outputs are as they were")
        raise
