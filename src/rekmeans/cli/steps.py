"""Steps that the commands share: the table for a model, the summary of both, and what names are made of."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..io.file_table import ColumnSelection, FileTable, name_list
from ..io.model_file import load
from ..io.read import read_table_file


def refuse_absent(*libraries: str) -> None:
    """Say before a long fit, not after it, that its outputs cannot be made."""
    if absent := [name for name in libraries if find_spec(name) is None]:
        raise ImportError(f"this command needs {name_list(absent)}: pip install 'rekmeans[cli]'.")


def wine() -> FileTable:
    """Wine of three cultivars: 178 rows, 13 measurements."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    classes = [str(name) for name in wine.target_names]
    return FileTable(wine.data, list(wine.feature_names), y=wine.target, classes=classes)


def study(beyond: bool, quick: bool) -> tuple[Callable[..., dict[str, Any]], Any]:
    """What makes the reproduction, or the study beyond it, and the plan of it."""
    from ..paper import beyond as further
    from ..paper import protocol, reproduction

    make, plans = (further.beyond, further) if beyond else (reproduction.reproduce, protocol)
    return make, plans.QUICK if quick else plans.FULL


def clusterer(path: Path) -> Any:
    """The clusterer in a model file."""

    model = load(path)
    if not hasattr(model, "centroids_"):
        raise ValueError(f"{path} holds a {type(model).__name__}, which has no clusters: use a model that fit wrote.")
    return model


def sheet_for(model: Any, path: Path, wish: ColumnSelection) -> FileTable:
    """The model's columns of a table."""
    names = getattr(model, "feature_names_in_", None)
    only = None if names is None else tuple(name for name in names if name != wish.label)
    sheet = read_table_file(path, ColumnSelection(wish.label, wish.drop, only))
    if sparse.issparse(sheet.X) and sheet.X.shape[1] < model.n_features_in_:  # the file has no cell in the last columns
        sheet.X.resize((sheet.X.shape[0], model.n_features_in_))
    if sheet.X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{path.name} must have the {model.n_features_in_} columns of the model, got {sheet.X.shape[1]} "
            f"({name_list(sheet.names)}): leave others out with --drop."
        )
    return sheet


def summary(model: Any, sheet: FileTable, title: str) -> dict[str, Any]:
    """The report's summary, with what the file told."""
    from ..report import summary as report

    y = None
    if sheet.y is not None:
        y = np.ma.masked_array(np.array([*sheet.classes, ""])[sheet.y], sheet.y < 0)
    return report.summary(model, sheet.X, names=sheet.names, y=y, title=title) | {"skipped": sheet.skipped}


def name_columns(model: Any, sheet: FileTable) -> None:
    """The names of the file, which its bare rows did not tell the model."""
    if sheet.has_names:
        model.feature_names_in_ = np.array(sheet.names, dtype=object)


def found(model: Any, sheet: FileTable, told: dict[str, Any]) -> dict[str, Any]:
    """What a fit found, for machines."""
    return {
        "rows": sheet.X.shape[0],
        "columns": sheet.names,
        "skipped": sheet.skipped,
        "clusters": model.n_clusters,
        "sizes": np.bincount(model.labels_, minlength=model.n_clusters).tolist(),
        "objective": model.inertia_,
        "passes": model.n_iter_,
        **{name: told["classes"][name] for name in ("accuracy", "nmi") if told["classes"]},
    }


def stem(path: Path) -> str:
    """The name without its endings, .csv.gz too."""
    return path.stem.removesuffix(".csv").removesuffix(".tsv")


def ending(csv: bool) -> str:
    """How the name of a labels file ends: .csv where it is asked for or pyarrow is absent."""
    return ".csv" if csv or find_spec("pyarrow") is None else ".parquet"
