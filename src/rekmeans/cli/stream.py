"""Tables larger than memory, or on a cluster, on the command line: read block by block, described
by a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from .._grid import Array
from .._parameters import check_bytes
from ..engines import read_input
from ..io.file_table import ColumnSelection, FileTable, NumberedNames, UnreadableFileError
from ..table import MemoryTable
from ..table.file_names import is_several_files
from ..table.reading import report_reading
from ..table.refusals import refuse_bad_rows
from ..table.source_parts import prefetch
from ..table.stream import block_rows
from ..table.stream_input import find_source

# of the sample that the report of a large table is made of
DESCRIBED_ROWS = 100_000
DESCRIBED_SEED = 0
BLOCK_ENDINGS = (".parquet", ".pq", ".npy")


def is_streamed(table: Path | None, memory: str | None, cluster: str | None) -> bool:
    """Whether the rows of a table are read block by block: it is asked for, or there are several
    files.
    """
    return table is not None and (
        memory is not None or cluster is not None or is_several_files(table)
    )


def refuse_unstreamed(table: Path, selection: ColumnSelection, cluster: str | None = None) -> None:
    """Refuse a table that is not read in blocks, or not on a cluster, before any work."""
    if selection.label:
        raise ValueError(
            "--label needs the table in memory: leave out --memory and --cluster, and name one "
            "file."
        )
    if is_several_files(table):
        return
    if table.suffix not in BLOCK_ENDINGS:
        raise UnreadableFileError(
            f"{table.name} must be parquet or npy to be read in blocks: convert it."
        )
    if table.suffix == ".npy" and cluster is not None:
        raise ValueError(
            f"--cluster needs parquet, {table.name} is npy: convert it, or leave out --cluster."
        )


def open_stream(
    table: Path, selection: ColumnSelection, cluster: str | None = None
) -> tuple[Any, FileTable]:
    """The rows of a table as an estimator takes them, and its columns without any row."""
    refuse_unstreamed(table, selection, cluster)
    if table.suffix == ".npy" and not is_several_files(table):
        source: Any = find_source(table, None)
        return source, FileTable(
            np.empty((0, source.n_columns)), NumberedNames(source.n_columns), has_names=False
        )
    from ..table.parquet import DatasetBlocks, open_dataset, partitioned_frame, split_columns

    data = open_dataset(str(table), selection.drop, selection.only)
    kept, skipped = split_columns(data, selection.drop)
    selection.refuse_missing_columns(table, [*kept, *skipped])
    names = [name for name in selection.only or kept if name in kept]
    if not names:
        raise UnreadableFileError(f"{table.name} has no numeric column to cluster.")
    columns = FileTable(np.empty((0, len(names))), names, skipped=skipped)
    if cluster is None:
        return DatasetBlocks(data, only=names, has_own_schema=False), columns
    return partitioned_frame(data, names), columns


def open_stream_of_model(
    model: Any, table: Path, selection: ColumnSelection
) -> tuple[Any, FileTable]:
    """The model's columns of a table, as `open_stream` gives them."""
    names = getattr(model, "feature_names_in_", None)
    return open_stream(table, replace(selection, only=None if names is None else tuple(names)))


@contextmanager
def use_cluster(address: str | None) -> Iterator[None]:
    """The cluster of this scheduler, if one is named."""
    if address is None:
        yield
        return
    if find_spec("distributed") is None:
        raise ImportError("--cluster needs Dask: pip install 'rekmeans[dask]'.")
    from distributed import Client

    try:
        client = Client(address)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"no Dask scheduler answers at {address} ({reason}): start one, or name another."
        ) from error
    with client:
        yield


def predict_blocks(model: Any, source: Any, names: Sequence[Any], sizes: Array) -> Iterator[Array]:
    """The labels of a stream's rows, a block at a time, each read once; they are counted in sizes
    (k,).
    """
    limit = check_bytes("memory_limit", model.memory_limit)
    n_done = 0
    for X, _ in prefetch(source.blocks(block_rows(source.n_columns, limit))):
        rows = np.asarray(X)
        refuse_bad_rows(rows, names, n_done)  # by the numbers of the rows in the table
        labels = model.predict(rows)
        n_done += len(labels)
        report_reading(n_done, source.n_rows)
        sizes += np.bincount(labels, minlength=len(sizes))
        yield labels
    if not n_done:
        raise ValueError("the table has no rows: name one that has.")


def describe_by_sample(model: Any, source: Any, columns: FileTable) -> FileTable:
    """The table that the report is made of: rows drawn from a large one, by the one rule of
    draws.
    """
    table = read_input(model, source, fitting=False)
    sample = cast(MemoryTable, table.sample(DESCRIBED_ROWS, DESCRIBED_SEED))
    rows = sample.dense() if sample.weights is None else sample.repeat_rows().dense()
    note = f"the report shows {len(rows):,} of {table.n_rows:,} rows, drawn at random."
    return replace(columns, X=rows, notes=[note] if len(rows) < table.n_rows else [])
