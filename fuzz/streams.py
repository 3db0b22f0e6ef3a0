"""Attacks with tables read in blocks and with streams of blocks: fits must equal those in memory,
bit for bit.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import zarr
from pyarrow import dataset

from rekmeans.io import csv

from .attack import Attack, register
from .table_cases import EXACT, Array, FitCase, Generator, draw_numbers, draw_options, draw_weights
from .tables import RefusedError, assert_same_fit, fit_or_refuse, skip_refused

WEIGHT = "the weights"
TABLE_IN_MEMORY = "array"
# bytes of a csv file that are read at a time, so that small files have several blocks; twice the
# longest line
CSV_BLOCK_BYTES = 1 << 14


@dataclass(frozen=True)
class StreamCase:
    """A fit of a table in memory, and how its rows are read in blocks."""

    fit: FitCase
    form: str
    cuts: tuple[int, ...]  # where blocks, files or row groups begin
    options: dict[str, Any]  # options of the fit of the stream
    cells: Array = field(repr=False)  # values of the cells as stored


# forms: a folder, the case -> X and sample_weight


def _function_of_arrays(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    return lambda: (case.cells[a:b] for a, b in pairwise(case.cuts)), case.fit.weights


def _function_that_refills(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    """Return a function that reuses one array for all blocks and overwrites it at the end."""
    buffer = np.empty_like(case.cells)

    def blocks() -> Iterator[Array]:
        for a, b in pairwise(case.cuts):
            buffer[: b - a] = case.cells[a:b]
            yield buffer[: b - a]
        buffer[:] = 0

    return blocks, case.fit.weights


def _frame(case: StreamCase) -> Any:
    columns = {f"c{j}": column for j, column in enumerate(case.cells.T)}
    return pd.DataFrame(
        columns if case.fit.weights is None else columns | {WEIGHT: case.fit.weights}
    )


def _weight_name(case: StreamCase) -> str | None:
    return None if case.fit.weights is None else WEIGHT


def _function_of_frames(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    frame = _frame(case)
    return lambda: (frame[a:b] for a, b in pairwise(case.cuts)), _weight_name(case)


def _npy(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    np.save(folder / "X.npy", case.cells)
    return folder / "X.npy", case.fit.weights


def _memmap(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    np.save(folder / "X.npy", np.asfortranarray(case.cells) if len(case.cuts) % 2 else case.cells)
    return np.load(folder / "X.npy", mmap_mode="r"), case.fit.weights


def _zarr(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    n, d = case.cells.shape
    array = zarr.create_array(
        folder / "X", shape=(n, d), chunks=(max(1, n // 3), max(1, d // 2)), dtype="f8"
    )
    array[:] = case.cells
    return array, case.fit.weights


def _parquet_file(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    size = max(1, int(np.diff(case.cuts).max()))
    _frame(case).to_parquet(folder / "X.parquet", index=False, row_group_size=size)
    return str(folder / "X.parquet"), _weight_name(case)


def _parquet_folder(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    frame = _frame(case)
    files = folder / "files"
    files.mkdir()
    for number, (a, b) in enumerate(pairwise(case.cuts)):
        frame[a:b].to_parquet(files / f"{number:04}.parquet", index=False)
    return files, _weight_name(case)


def _dataset_with_a_schema(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    """Return a dataset with a float64 schema in which one file has float32 columns."""
    name, weight = _parquet_folder(folder, case)
    first = sorted(name.iterdir())[0]
    table = pyarrow.parquet.read_table(first)
    narrow = [column.cast(pa.float32(), safe=False) for column in table.columns]
    if all(
        one.cast(pa.float64()).equals(two) for one, two in zip(narrow, table.columns, strict=True)
    ):
        pyarrow.parquet.write_table(pa.table(narrow, names=table.column_names), first)
    schema = pa.schema([(field.name, pa.float64()) for field in table.schema])
    return dataset.dataset(name, schema=schema, format="parquet"), weight


def _csv_file(folder: Path, case: StreamCase) -> tuple[Any, Any]:
    _frame(case).to_csv(folder / "X.csv", index=False)
    return str(folder / "X.csv"), _weight_name(case)


Form = Callable[[Path, StreamCase], tuple[Any, Any]]
ARRAY_FORMS: dict[str, Form] = {
    "function of arrays": _function_of_arrays,
    "function that refills": _function_that_refills,
    "function of frames": _function_of_frames,
    "npy": _npy,
    "memmap": _memmap,
    "zarr": _zarr,
}
SCHEMA_FORMS: dict[str, Form] = {  # they skip columns without any value; arrays keep them
    "parquet file": _parquet_file,
    "parquet folder": _parquet_folder,
    "dataset with a schema": _dataset_with_a_schema,
    "csv file": _csv_file,
}
FORMS = ARRAY_FORMS | SCHEMA_FORMS


def _draw(rng: Generator) -> StreamCase:
    X, recipe = draw_numbers(rng, is_hostile=False)
    X = X.astype(np.float64)
    n = len(X)
    if rng.random() < 0.3 and np.abs(np.nan_to_num(X)).max() < 1e30:
        X = X.astype(np.float32).astype(np.float64)
        recipe = f"{recipe}, of float32"
    name = str(rng.choice(list(EXACT)))
    fit = FitCase(
        form=name,
        k=min(int(rng.integers(1, 9)), n),
        options=draw_options(rng, name)
        | {"init": str(rng.choice(["k-means++", "k-means||", "random", "circle"]))},
        recipe=recipe,
        make=TABLE_IN_MEMORY,
        X=X,
        weights=draw_weights(rng, n, is_hostile=False),
    )
    inner = rng.integers(0, n + 1, int(rng.integers(0, 12)))
    cuts = (0, *sorted(inner.tolist()), n)
    options = {
        "n_threads": int(rng.integers(1, 5)),
        "memory_limit": int(rng.choice([1, 10_000, 10**6])),
        "engine": str(rng.choice(["auto", "native", "reference"])),
    }
    return StreamCase(fit, str(rng.choice(list(FORMS))), cuts, options, X)


def _check(case: StreamCase) -> None:
    in_memory, refused = None, ""
    expected = case.fit.without_empty_columns() if case.form in SCHEMA_FORMS else case.fit
    try:
        in_memory = fit_or_refuse(expected)
    except RefusedError as error:
        refused = str(error)
    with tempfile.TemporaryDirectory() as folder:
        X, weights = FORMS[case.form](Path(folder), case)
        with (
            warnings.catch_warnings(action="ignore"),
            patch.object(csv, "BLOCK_BYTES", CSV_BLOCK_BYTES),
        ):
            warnings.simplefilter("error", RuntimeWarning)
            try:
                found = case.fit.model(**case.options).fit(X, sample_weight=weights)
            except ValueError as error:
                if in_memory is None:
                    return
                raise AssertionError(f"only the stream raises: {error}") from None
    assert in_memory is not None, f"only the table in memory raises: {refused}"
    assert_same_fit(in_memory, found, f"memory and {case.form}")
    assert np.array_equal(in_memory.cluster_centers_, found.cluster_centers_), "centres differ"


# partial_fit


@skip_refused
def _check_partial_fit(case: StreamCase) -> None:
    """Check that engines and threads give the same bits, and centroids inside their circles."""
    options = {"half_life": float(1 + len(case.cuts)) if len(case.cuts) % 3 else None}
    models = [
        case.fit.model(engine=engine, n_threads=n, **options)
        for engine, n in (("reference", 1), ("native", 1), ("native", 3))
    ]
    for a, b in pairwise(case.cuts):
        if a == b:
            continue
        w = None if case.fit.weights is None else case.fit.weights[a:b]
        for model in models:
            with warnings.catch_warnings(action="ignore"):
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    model.partial_fit(case.cells[a:b], sample_weight=w)
                except ValueError as error:
                    raise RefusedError(str(error)) from None
        for model in models[1:]:
            assert_same_fit(models[0], model, f"rows {a} to {b} of a stream")
        assert (np.abs(models[0].centroids_) < 1 + 1e-6).all(), "a centroid left its circle"


register(Attack("streams.fit", _draw, _check, n_cases=600))
register(Attack("streams.partial_fit", _draw, _check_partial_fit, n_cases=400))
