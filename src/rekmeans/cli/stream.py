"""Tables that the command line reads in blocks or on a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from .._grid import Array
from .._parameters import check_bytes
from .._text import count_of
from ..engines import read_input
from ..io.file_names import is_several_files
from ..io.selection import ColumnSelection, UnreadableFileError
from ..table import MemoryTable
from ..table.empty_rows import NO_LABEL, empty_rows_message, find_empty_rows
from ..table.file_table import FileTable
from ..table.source_parts import prefetch
from ..table.stream import block_rows, report_reading
from ..table.stream_input import find_source
from ..table.validation import reject_bad_values, reject_few_rows

# sample size for the report of a large table
DESCRIBED_ROWS = 100_000
DESCRIBED_SEED = 0
ARRAYS = (".npy",)  # array formats that can be read in blocks
IN_MEMORY_ONLY = (".npz", ".libsvm", ".svmlight", ".svm")


def is_streamed(table: Path | None, memory: str | None, cluster: str | None) -> bool:
    """Return whether a table is read in blocks: on request, or if it consists of several files."""
    return table is not None and (
        memory is not None or cluster is not None or is_several_files(table)
    )


def reject_unstreamed(table: Path, selection: ColumnSelection, cluster: str | None = None) -> None:
    """Raise an error for a table that cannot be read in blocks or on a cluster."""
    if selection.label:
        raise ValueError(
            f"--label {selection.label} requires a table in memory. Remove --memory and --cluster, "
            f"and pass a single file."
        )
    if is_several_files(table):
        return
    if table.suffix in IN_MEMORY_ONLY:
        raise UnreadableFileError(
            f"{table.name} cannot be read in blocks. Convert it to parquet or npy, or remove "
            f"--memory."
        )
    if cluster is not None and table.suffix not in (".parquet", ".pq"):
        raise ValueError(
            f"--cluster requires parquet files, got {table.name}. Convert it to parquet, or remove "
            f"--cluster."
        )


def open_collection(table: Path, selection: ColumnSelection) -> Any:
    """Return a table as a Dask collection without the dropped columns."""
    reject_unstreamed(table, selection, "a cluster")
    from ..io.parquet import partitioned_frame, scan_parquet

    scan = scan_parquet(table, selection)
    selection.reject_many_columns(scan.name, len(scan.types))
    selection.reject_missing_columns(scan.name, list(scan.types))
    names = [name for name in scan.types if name not in (*selection.drop, *scan.index)]
    return partitioned_frame(scan.data, names, selection.keep)


def array_table(table: Path) -> FileTable:
    """Return the table of a .npy file that is read in blocks."""
    from ..io.selection import NumberedNames

    source = find_source(table, None)
    if source is None:
        raise UnreadableFileError(f"{table.name} cannot be read in blocks. Remove --memory.")
    return FileTable(source, NumberedNames(source.n_columns), has_names=False)


@contextmanager
def use_cluster(address: str | None) -> Iterator[None]:
    """Connect to the Dask scheduler at this address, if one is given."""
    if address is None:
        yield
        return
    if find_spec("distributed") is None:
        raise ImportError("--cluster requires Dask. Install it with: pip install 'rekmeans[dask]'.")
    from distributed import Client

    try:
        client = Client(address)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"cannot connect to a Dask scheduler at {address} ({reason}). Start one, or pass "
            f"another address."
        ) from error
    with client:
        yield


def predict_blocks(model: Any, source: Any, names: Sequence[Any], counts: Array) -> Iterator[Array]:
    """Yield the labels of the rows of a source, block by block. Each row is read once.

    `counts` (k + 1,) is increased by the number of rows with each label, from -1 on.
    """
    limit = check_bytes("memory_limit", model.memory_limit)
    n_done = 0
    for X, _ in prefetch(source.blocks(block_rows(source.n_columns, limit))):
        rows = np.asarray(X)
        reject_bad_values(rows, names, n_done)  # errors report row numbers of the whole table
        labels = np.full(len(rows), NO_LABEL, np.int32)
        has_value = np.ones(len(rows), bool)
        has_value[find_empty_rows(rows)] = False
        if has_value.any():
            labels[has_value] = model.predict(rows if has_value.all() else rows[has_value])
        n_done += len(labels)
        report_reading(n_done, source.n_rows)
        counts += np.bincount(labels - NO_LABEL, minlength=len(counts))
        yield labels
    if not n_done:
        raise ValueError("the table has no rows. A table needs at least one.")
    n_empty = int(counts[0])
    reject_few_rows(n_done, n_empty, 1, "")
    if n_empty:
        warnings.warn(empty_rows_message(n_empty, n_done), stacklevel=2)


def describe_by_sample(model: Any, source: Any, columns: FileTable) -> FileTable:
    """Return a random sample of a large table for the report, with a fixed seed."""
    table = read_input(model, source, fitting=False)
    if table.n_rows <= DESCRIBED_ROWS:
        return replace(columns, X=table.dense(slice(None)))
    sample = cast(MemoryTable, table.sample(DESCRIBED_ROWS, DESCRIBED_SEED))
    rows = sample.dense() if sample.weights is None else sample.repeat_rows().dense()
    notes = [f"the report shows a random sample of {len(rows):,} of {table.n_rows:,} rows."]
    if n_empty := len(table.empty_rows):
        are = "is" if n_empty == 1 else "are"
        notes.append(
            f"{count_of(n_empty, 'row')} without an observed value {are} not in the sample."
        )
    return replace(columns, X=rows, notes=[*columns.notes, *notes])
