"""Create a table from any input on the host: a table in memory or a StreamTable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, cast

import numpy as np

from .._text import name_list
from ..io.file_names import check_regular_file, is_pattern, is_several_files
from ..io.scan import READERS, ArrayScan, Scan, file_ending, open_scan
from ..io.selection import ColumnSelection
from ..machine_memory import machine_memory
from ..threads import count_threads
from . import validation
from .array_blocks import PLAIN_KINDS, ArrayBlocks, DiskArray, NpyBlocks
from .base import ColumnName
from .block_source import BlockSource, CalledBlocks, WeightedBlocks
from .file_table import FileTable
from .frames import warn_of_skipped
from .inference import apply_schema, infer_schema, missing_columns_message, with_only
from .memory import MemoryTable
from .schema import WEIGHTS, TableSchema
from .schema_blocks import SchemaBlocks
from .source_parts import RawBlock, map_parts
from .stream import StreamTable, block_rows, explain_reading, report_reading
from .survey import Survey, reject_bad_survey, survey_raw_block
from .validation import read_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

# by default, cached blocks may use 1/DECODED_SHARE of the machine's memory
DECODED_SHARE = 4
LABEL_BYTES = 12  # memory per row for its label and bounds
WORKING_BYTES = 1 << 26  # memory for the blocks that are being read


class BadRows(NamedTuple):
    """The error for a block with invalid rows, and the first row of the block."""

    start: int
    error: ValueError


def read_host_table(
    estimator: BaseEstimator,
    X: object,
    sample_weight: object = None,
    memory_limit: int | None = None,
    *,
    fitting: bool,
    k: int = 1,
    k_parameter: str = "",
) -> MemoryTable | StreamTable:
    """Create a table from rows in host memory, or from a source that is read in blocks.

    For the parameters, see `read_table`.
    """
    weight = sample_weight if isinstance(sample_weight, str) else None
    fitted = None if fitting else FittedColumns.of(estimator)
    if isinstance(X, FileTable) and not X.is_in_blocks:
        return _file_rows(
            estimator, X, sample_weight, fitting=fitting, k=k, k_parameter=k_parameter
        )
    # the protocol check of a source takes longer than reading a small array
    is_array = type(X) is np.ndarray
    source = None if is_array else find_source(X, weight, memory_limit, fitted)
    if source is None:
        return read_table(
            estimator, X, sample_weight, fitting=fitting, k=k, k_parameter=k_parameter
        )
    schema = getattr(source, "schema", None)
    if sample_weight is not None and not isinstance(sample_weight, str):
        given = cast("ArrayLike", sample_weight)
        if source.n_rows is None and np.ndim(given) == 0:
            raise ValueError(
                f"sample_weight must be an array with one weight per row, got "
                f"{sample_weight!r:.40}."
            )
        n = np.size(given) if source.n_rows is None else source.n_rows
        source = WeightedBlocks(source, validation.read_weights(sample_weight, n))
    columns = validation.read_columns(estimator, source.first_row(), fitting, schema)
    if fitting:
        source.keep_blocks(room_for_blocks(source.n_rows or 0, memory_limit))
    threads = getattr(estimator, "n_threads", None)
    has_digest = fitting and getattr(estimator, "checkpoint", None) is not None
    names = list(columns.get("feature_names_in_", range(source.n_columns)))
    survey = survey_rows(source, names, memory_limit, threads, has_digest)
    validation.reject_few_rows(survey.n_rows, len(survey.empty_rows), k, k_parameter)
    return StreamTable(source, survey, columns, memory_limit, threads)


class FittedColumns(NamedTuple):
    """The columns of a fit: a schema, or only names."""

    schema: TableSchema | None
    names: list[str] | None  # they select the columns of other tables

    @classmethod
    def of(cls, estimator: BaseEstimator) -> Self:
        """Return the columns of a fitted estimator."""
        names = getattr(estimator, "feature_names_in_", None)
        return cls(getattr(estimator, "schema_", None), None if names is None else list(names))


def find_source(
    X: object,
    weight: str | None,
    memory_limit: int | None = None,
    fitted: FittedColumns | None = None,
) -> BlockSource | None:
    """Return X, or the file at path X, as a block source. Return None for a table in memory.

    `weight` is the name of the weight column, `fitted` are the columns of the fit.
    """
    if isinstance(X, FileTable):
        X = X.X
    if isinstance(X, BlockSource):
        return X
    if isinstance(X, str | os.PathLike):
        return _named_source(os.fspath(X), weight, fitted)
    if type(X).__module__.startswith("pyarrow._dataset"):
        from ..io.parquet import scan_dataset

        return _scan_source(scan_dataset(X), weight, fitted)
    if callable(X):
        return CalledBlocks(X, weight, None if fitted is None else fitted.names)
    if _is_large_memmap(X, memory_limit) or type(X).__module__.split(".")[0] == "zarr":
        return _array_source(cast("DiskArray", X), weight)
    return None


def _scan_source(scan: Scan, weight: str | None, fitted: FittedColumns | None) -> SchemaBlocks:
    """Return the blocks of a scan, with a new schema or the schema of a fit."""
    selection = ColumnSelection(weight=weight)
    names = list(scan.types)
    if weight is not None and weight not in scan.types:
        raise ValueError(
            f"sample_weight={weight!r} must be a column of X. Columns: {', '.join(names):.80}."
        )
    if weight is not None and scan.column_types[weight].storage not in ("integer", "number"):
        raise ValueError(
            f"sample_weight={weight!r} must be a numeric column, got type {scan.types[weight]}."
        )
    with explain_reading():
        if fitted is None:
            inference = infer_schema(scan, selection)
            _reject_no_feature(inference.schema)
            warn_of_skipped(inference.schema, scan.name)
        elif fitted.schema is not None and fitted.schema.has_names:
            inference = apply_schema(scan, fitted.schema)
        else:
            is_named = fitted.names is not None and set(fitted.names) <= set(scan.types)
            inference = infer_schema(scan, with_only(selection, fitted.names if is_named else None))
    return SchemaBlocks(inference, weight)


def _reject_no_feature(schema: TableSchema) -> None:
    """Raise ValueError for a schema without features."""
    if schema.features:
        return
    if not schema.columns or all(why == WEIGHTS for why in schema.skipped_columns.values()):
        raise ValueError(
            "X has 0 feature(s) while a minimum of 1 is required. Pass at least one column."
        )
    reasons = name_list([f"{name} ({why})" for name, why in schema.skipped_columns.items()])
    raise ValueError(f"X has no numeric column: {reasons}. Encode at least one.")


def _file_rows(
    estimator: BaseEstimator,
    table: FileTable,
    sample_weight: object,
    *,
    fitting: bool,
    k: int,
    k_parameter: str,
) -> MemoryTable:
    """Read a file into memory and return its table, column names and schema."""
    rows = validation.as_rows(table.cells)
    names = list(table.names) if table.has_names else []
    fitted = None if fitting else FittedColumns.of(estimator)
    wanted = None if fitted is None else fitted.names
    if wanted is not None and names and names != wanted:
        if missing := [name for name in wanted if name not in names]:
            raise ValueError(missing_columns_message("X", missing))
        rows = rows[:, [names.index(name) for name in wanted]]
        names = wanted
    named: object = rows
    if names:
        from ..io._pyarrow import pa

        named = pa.table({name: [0.0] for name in names})
    columns = validation.read_columns(estimator, named, fitting, table.schema)
    return validation.input_table(rows, sample_weight, columns, k, k_parameter)


def _is_large_memmap(X: object, memory_limit: int | None) -> bool:
    """Return whether X is a memory-mapped file that is larger than the limit.

    A copy of a memmap has the same type, but is in memory.
    """
    if not isinstance(X, np.memmap) or memory_limit is None:
        return False
    return getattr(X, "_mmap", None) is not None and X.nbytes > memory_limit


def room_for_blocks(n_rows: int, memory_limit: int | None) -> int:
    """Return the bytes left for cached blocks after labels, bounds and the blocks being read."""
    if memory_limit is None:
        return machine_memory() // DECODED_SHARE
    return max(0, memory_limit * 3 // 4 - LABEL_BYTES * n_rows - WORKING_BYTES)


def survey_rows(
    source: BlockSource,
    names: Sequence[ColumnName],
    memory_limit: int | None = None,
    n_threads: int | None = None,
    has_digest: bool = False,
) -> Survey:
    """Read all rows once and return their survey. Raise an error for the first invalid row."""

    def survey_raw(start: int, raw: RawBlock) -> Survey | BadRows:
        w = None if raw.weights is None else np.asarray(raw.weights, np.float64)
        try:
            return survey_raw_block(raw.X, w, names, start, has_digest)
        except ValueError as error:
            return BadRows(start, error)

    threads = count_threads(n_threads)
    found = None
    bad = []
    done = 0
    parts = source.parts(block_rows(source.n_columns, memory_limit, threads))
    with explain_reading():
        for n, item in map_parts(parts, survey_raw, threads):
            done += n
            report_reading(done, source.n_rows)
            if isinstance(item, BadRows):
                bad.append(item)
            else:
                found = item if found is None else found + item
    if bad:
        raise min(bad).error
    return reject_bad_survey(found)


def _named_source(name: str, weight: str | None, fitted: FittedColumns | None) -> BlockSource:
    """Return the block source for a path: the array of a .npy file, or a scan."""
    path = Path(name)
    if not is_pattern(name) and not path.exists():
        raise FileNotFoundError(
            f"{name} does not exist. Pass the path of a file, a folder of parquet files, or a glob "
            f"pattern that matches parquet files."
        )
    if path.suffix == ".npy" and not is_several_files(name):
        check_regular_file(path)
        return _array_source(NpyBlocks.of_path(path), weight)
    if not is_several_files(name):
        check_regular_file(path)
    only = None if fitted is None or fitted.names is None else tuple(fitted.names)
    scan = _open_named(name, ColumnSelection(only=only, weight=weight))
    if isinstance(scan, ArrayScan):
        raise TypeError(
            f"{name} cannot be read in blocks. Pass rekmeans.read_table({path.name!r}) instead."
        )
    return _scan_source(scan, weight, fitted)


def _open_named(name: str, selection: ColumnSelection) -> Scan | ArrayScan:
    """Open a file by its extension. Files without a known extension are read as Parquet."""
    if is_several_files(name) or file_ending(Path(name)) not in READERS:
        from ..io.parquet import scan_parquet

        return scan_parquet(Path(name), selection)
    return open_scan(name, selection)


def _array_source(
    array: DiskArray | ArrayBlocks | NpyBlocks, weight: str | None
) -> ArrayBlocks | NpyBlocks:
    """Return the source of an array, which has no column names."""
    if weight is not None:
        raise ValueError(
            f"sample_weight={weight!r} is a column name, but X has no column names. Pass an array "
            f"of weights."
        )
    source = array if isinstance(array, ArrayBlocks | NpyBlocks) else ArrayBlocks(array)
    cells = source.array.array if isinstance(source, NpyBlocks) else source.array
    if not hasattr(cells, "dtype"):
        raise TypeError(
            f"X must be a zarr array, got a {type(cells).__name__}. Pass one of its arrays."
        )
    if cells.ndim != 2 or np.dtype(cells.dtype).kind not in PLAIN_KINDS:
        raise ValueError(
            f"X must be a 2-D array of numbers, got shape {cells.shape} and dtype {cells.dtype}."
        )
    if not all(cells.shape):
        validation.reject_empty(cells)
    return source
