"""A table read from a file: its scan, its schema, and its rows in memory or in blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from scipy import sparse

from .._grid import Array
from .._text import name_list, shorten_name
from ..io.file_names import is_several_files
from ..io.numpy import float_type
from ..io.scan import (
    ArrayScan,
    LateTextError,
    Scan,
    explain_damage,
    file_ending,
    open_scan,
)
from ..io.selection import (
    ColumnSelection,
    NumberedNames,
    UnreadableFileError,
    reject_oversize,
)
from .base import Cells, dense
from .column_counts import ColumnCounts, NumberCounts
from .empty_rows import array_rows_with_values
from .inference import (
    CountsByColumn,
    Inference,
    apply_schema,
    check_text,
    check_types,
    count_cells,
    count_columns,
    find_candidates,
    infer_schema,
    merge_counts,
    number_counts,
    provisional_features,
    read_modes,
    settle_schema,
)
from .schema import AN_ID, NO_VALUES, Column, Label, Number, Skipped, TableSchema
from .schema_blocks import SchemaBlocks

if TYPE_CHECKING:
    import pyarrow as pa

    from .block_source import BlockSource

CLASSES = "y"  # name of the labels in npz and libsvm files
THE_CLASSES = "the classes"
DEFAULT_SELECTION = ColumnSelection()


@dataclass(frozen=True)
class FileTable:
    """A table read from a file: numeric features, column names, known classes and the schema.

    It can be passed to `fit` and `predict` instead of the path.

    Attributes
    ----------
    X : array of shape (n_samples, n_features), CSR array or block source
        The features, float32 if that is exact, else float64, with NaN for missing cells. With a
        memory limit, or for several files, a source that `fit` reads in blocks.
    names : sequence of str
        The names of the features.
    has_names : bool
        False if the file has no column names and they are generated as x0, x1, ...
    skipped : dict
        The columns that are not features, with the reason for each.
    y : array of shape (n_samples,) or None
        The class code of each row, -1 if missing.
    classes : list of str
        The names of the classes.
    ids : array or None
        The row names in the file.
    notes : list of str
        Notes on how cells were read.
    schema : TableSchema or None
        The kind of every source column, how it is read, and why; None for a table that was
        not read from a file.
    """

    X: Cells | BlockSource | None
    names: Sequence[str]
    has_names: bool = True
    skipped: dict[str, str] = field(default_factory=dict)
    y: Array | None = None
    classes: list[str] = field(default_factory=list)
    ids: Array | None = None
    notes: list[str] = field(default_factory=list)
    schema: TableSchema | None = None
    # returns the location of a row in the file, for error messages
    place_of_row: Callable[[int], str] | None = None

    @property
    def is_in_blocks(self) -> bool:
        """Whether the rows are read in blocks."""
        return hasattr(self.X, "parts")

    @property
    def cells(self) -> Array:
        """The features in memory. Not available for tables read in blocks."""
        return cast("Array", self.X)

    def row_place(self, row: int) -> str:
        """Return the location of a row in the file: its line number or row number.

        Parameters
        ----------
        row : int
            The row number in the file, counting from 0.

        Returns
        -------
        str
            The line number, where the header is line 1, or the row number.
        """
        if self.place_of_row is None:
            return f"row {row} (counting from 0)"
        return self.place_of_row(row)


class MemoryRead(NamedTuple):
    """The features of a scan in memory, and the schema inferred while reading them."""

    X: Array  # (n, d), of all features in order
    inference: Inference
    others: dict[str, pa.ChunkedArray]  # row names and the label column


def read_table_file(
    path: str | os.PathLike[str],
    selection: ColumnSelection = DEFAULT_SELECTION,
    schema: TableSchema | None = None,
    *,
    in_blocks: bool = False,
    n_threads: int | None = None,
    checks_text: bool = True,
) -> FileTable:
    """Read a table from one or more files. `schema` is the fitted schema."""
    place = Path(path)
    found = open_scan(path, selection)
    is_file = not is_several_files(path)
    with explain_damage(place, file_ending(place) if is_file else ".parquet"):
        if isinstance(found, ArrayScan):
            return _read_array(found, selection)
        selection = _selection_of(found, selection, schema)
        if in_blocks or not is_file:
            return _open_blocks(found, selection, schema, n_threads, checks_text)
        return _read_memory(found, selection, schema, n_threads)


def read_table(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    max_columns: int = DEFAULT_SELECTION.max_columns,
    memory_limit: int | str | None = None,
) -> FileTable:
    """Read a table from a file, with the rules of the command line.

    Parameters
    ----------
    path : str or path
        A csv, tsv, parquet, feather, npy, npz or libsvm file, a folder of parquet files, or a glob
        pattern that matches parquet files.
    label : str or None, default=None
        The column of known classes, which is not a feature. In npz and libsvm files: "y".
    drop : sequence of str, default=()
        Columns to drop.
    keep : sequence of str, default=()
        Columns that are features even if they look like ids.
    max_columns : int, default=100000
        The maximum number of columns. A file with more columns raises an error.
    memory_limit : int, str or None, default=None
        The maximum memory in bytes, or as a string such as "2GB". The table is then read in blocks.
        None reads a single file into memory and several files in blocks.

    Returns
    -------
    FileTable
        The features `X`, their `names`, the classes `y`, the row names `ids`, the `notes` and
        the `schema`. The table can be passed to `fit` and `predict`.

    Examples
    --------
    >>> import pathlib, tempfile, rekmeans
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sales.csv"
    >>> _ = path.write_text("town,price\\nUlm,$1.50\\nBari,$2.25\\n")
    >>> table = rekmeans.read_table(path)
    >>> table.X
    array([[1.5 ],
           [2.25]])
    >>> [(column.name, column.kind, column.reason) for column in table.schema.columns]
    [('town', 'skipped', 'text'), ('price', 'number', 'text read as numbers: $ in 2 cells')]
    """
    selection = ColumnSelection(label, tuple(drop), None, max_columns, tuple(keep))
    return read_table_file(path, selection, in_blocks=memory_limit is not None)


def inspect_table(
    path: str | os.PathLike[str], selection: ColumnSelection = DEFAULT_SELECTION
) -> tuple[FileTable, CountsByColumn]:
    """Return a table with an inferred schema but no rows, and the counts of all columns."""
    place = Path(path)
    found = open_scan(path, selection)
    is_file = not is_several_files(path)
    with explain_damage(place, file_ending(place) if is_file else ".parquet"):
        if isinstance(found, ArrayScan):
            table = _read_array(found, selection)
            return table, {}
        selection = _selection_of(found, selection, None)
        inference = infer_schema(found, selection, is_full=True)
        others = [
            column.name
            for column in inference.schema.columns
            if column.name not in inference.counts
        ]
        counts = {**inference.counts, **count_columns(inference.scan, others)}
        counts |= _count_decoded_texts(inference)
    return _table_of(inference, np.empty((0, len(inference.schema.features)))), counts


def _count_decoded_texts(inference: Inference) -> dict[str, ColumnCounts]:
    """Return the counts of text features, with the range of all their numbers.

    Schema inference counts only plain numbers, without thousands separators or currencies.
    """
    scan = inference.scan
    columns = [
        column
        for column in inference.schema.features
        if scan.column_types[column.name].storage == "text"
    ]
    decoded = dict.fromkeys((column.name for column in columns), NumberCounts())
    if columns:
        for batch in scan.batches(read_modes(scan, list(decoded))):
            for j, column in enumerate(columns):
                (cells,) = column.encode(batch.column(j), np.float64)
                decoded[column.name] += NumberCounts.of_values(
                    cells[~np.isnan(cells)], is_id_candidate=False
                )
    counts = {}
    for name, numbers in decoded.items():
        before = number_counts(inference.counts, name)
        texts = {} if before is None else before.texts
        by_kind = {**inference.counts[name].by_kind, Number.kind: replace(numbers, texts=texts)}
        counts[name] = replace(inference.counts[name], by_kind=by_kind)
    return counts


def _selection_of(
    scan: Scan, selection: ColumnSelection, schema: TableSchema | None
) -> ColumnSelection:
    """Check the column names of a scan and return the selection for it."""
    names = list(scan.types)
    if not scan.has_names:
        selection = selection.by_position(names)
    selection.reject_many_columns(scan.name, len(names))
    if schema is None:
        selection.reject_missing_columns(scan.name, names)
    return selection


def _fitted_schema(scan: Scan, schema: TableSchema | None) -> TableSchema | None:
    """Return the fitted schema, with the column names of this scan if either has no names."""
    if schema is None or (scan.has_names and schema.has_names):
        return schema
    names = [name for name in scan.types if name not in scan.index]
    if len(names) != len(schema.features):
        return schema
    columns = tuple(
        replace(column, name=name) for name, column in zip(names, schema.features, strict=True)
    )
    return TableSchema(columns, schema.has_names)


def _open_blocks(
    scan: Scan,
    selection: ColumnSelection,
    schema: TableSchema | None,
    n_threads: int | None,
    checks_text: bool,
) -> FileTable:
    """Create a table that reads a scan in blocks."""
    schema = _fitted_schema(scan, schema)
    if schema is None:
        inference = infer_schema(scan, selection, n_threads)
    else:
        inference = apply_schema(scan, schema, n_threads, checks_text=checks_text)
    _reject_no_columns(inference)
    return _table_of(inference, SchemaBlocks(inference, selection.weight))


def _read_memory(
    scan: Scan, selection: ColumnSelection, schema: TableSchema | None, n_threads: int | None
) -> FileTable:
    """Read a scan into memory and return the table."""
    from ..io.arrow import encode_classes, row_names

    schema = _fitted_schema(scan, schema)
    while True:
        try:
            if schema is None:
                read = _infer_and_gather(scan, selection, n_threads)
            else:
                read = _apply_and_gather(scan, selection, schema, n_threads)
            break
        except LateTextError as late:
            scan = scan.with_late_text(late.name, list(scan.types))
    table = _table_of(read.inference, read.X)
    _reject_no_columns(read.inference)
    if not len(read.X):
        raise UnreadableFileError(f"{scan.name} has no rows. A table needs at least one.")
    if index := [name for name in read.inference.scan.index if name in read.others]:
        table = replace(table, ids=row_names(read.others[index[0]]))
    if selection.label is not None and selection.label in read.others:
        y, classes = encode_classes(read.others[selection.label])
        table = replace(table, y=y, classes=classes)
    low, high = column_ends(table.cells)
    _reject_no_value(scan.name, table, low)
    _reject_infinity(scan.name, table, low, high)
    if selection.only is None and not selection.is_of_model and schema is None:
        table = replace(table, notes=[*table.notes, *constant_notes(table, low, high)])
    return table


def _infer_and_gather(scan: Scan, selection: ColumnSelection, n_threads: int | None) -> MemoryRead:
    """Read a scan into memory, and infer its schema."""
    candidates = find_candidates(scan, selection)
    texts = [name for name in candidates.names if scan.column_types[name].storage == "text"]
    counts = count_columns(scan, texts, n_threads)
    columns = provisional_features(scan, selection, candidates, counts)
    if not columns:
        return MemoryRead(
            np.empty((0, 0)),
            Inference(scan, settle_schema(scan, selection, candidates, counts, lambda: 0), counts),
            {},
        )
    X, others, counted = _gather(scan, columns, _other_names(scan, selection), counts_cells=True)
    counts |= {name: one for name, one in counted.items() if name not in counts}
    schema = settle_schema(
        scan,
        selection,
        candidates,
        counts,
        lambda: int(np.count_nonzero(~array_rows_with_values(X))),
    )
    wanted = set(schema.feature_names)
    is_used = np.repeat(
        [column.name in wanted for column in columns], [column.n_encoded for column in columns]
    )
    X = X if is_used.all() else X[:, is_used]
    return MemoryRead(X, Inference(scan, schema, counts), others)


def gather_frame(scan: Scan) -> tuple[Array, Inference]:
    """Return the features of a data frame as float64 and their schema."""
    read = _infer_and_gather(scan, DEFAULT_SELECTION, None)
    return np.asarray(read.X, np.float64), read.inference


def _apply_and_gather(
    scan: Scan, selection: ColumnSelection, schema: TableSchema, n_threads: int | None
) -> MemoryRead:
    """Read the features of a fitted schema into memory."""
    check_types(scan, schema)
    texts = [name for name in schema.feature_names if scan.column_types[name].storage == "text"]
    counts = count_columns(scan, texts, n_threads)
    check_text(scan, schema, counts)
    X, others, _ = _gather(scan, schema.features, _other_names(scan, selection), counts_cells=False)
    return MemoryRead(X, Inference(scan, schema, counts), others)


def _other_names(scan: Scan, selection: ColumnSelection) -> list[str]:
    """Return the row-name and class columns."""
    label = [] if selection.label is None else [selection.label]
    return [*(name for name in scan.index if name not in label), *label]


def _gather(
    scan: Scan, columns: Sequence[Column], others: Sequence[str], *, counts_cells: bool
) -> tuple[Array, dict[str, pa.ChunkedArray], dict[str, ColumnCounts]]:
    """Convert columns to rows (n, d) batch by batch, so that only one copy is in memory.

    The other columns are returned unchanged, with the counts of the columns if requested.
    """
    from ..io._pyarrow import pa

    names = [column.name for column in columns]
    kinds = [scan.column_types[name] for name in names]
    dtype = np.dtype(np.float32 if all(kind.is_narrow for kind in kinds) else np.float64)
    reject_oversize(scan.name, scan.expected_rows, len(names), dtype.itemsize)
    counted_names = [
        name
        for name, kind in zip(names, kinds, strict=True)
        if counts_cells and kind.storage != "text"
    ]
    n = 0
    width = sum(column.n_encoded for column in columns)
    X = np.empty((scan.expected_rows, width), dtype)
    chunks: dict[str, list[pa.Array]] = {name: [] for name in others}
    counted: list[dict[str, ColumnCounts]] = []
    modes = read_modes(scan, names) | dict.fromkeys(others, "exact")
    for batch in scan.batches(modes):
        m = batch.num_rows
        if n + m > len(X):
            reject_oversize(scan.name, n + m, len(names), X.itemsize)
            X.resize((max(n + m, len(X) * 5 // 4), width), refcheck=False)
        at = 0
        for j, column in enumerate(columns):
            for cells in column.encode(batch.column(j), dtype):
                X[n : n + m, at] = cells
                at += 1
        counted.append(
            {name: count_cells(scan, name, batch.column(name)) for name in counted_names}
        )
        for name, parts in chunks.items():
            parts.append(batch.column(name))
        n += m
    X.resize((n, width), refcheck=False)
    pa.default_memory_pool().release_unused()
    gathered = {name: pa.chunked_array(parts) for name, parts in chunks.items() if parts}
    return X, gathered, merge_counts(iter(counted)) if counts_cells else {}


def _table_of(inference: Inference, X: Array | SchemaBlocks) -> FileTable:
    """Create a table from these rows, without classes and row names."""
    schema = inference.schema
    return FileTable(
        X,
        schema.feature_names,
        schema.has_names,
        schema.skipped_columns,
        notes=inference.notes(),
        schema=schema,
        place_of_row=inference.scan.row_place,
    )


def _reject_no_columns(inference: Inference) -> None:
    if inference.schema.features:
        return
    skipped = inference.schema.skipped_columns
    reasons = name_list([f"{name} ({why})" for name, why in skipped.items()])
    fix = (
        " Pass --keep NAME to use an id as a feature."
        if AN_ID in skipped.values()
        else " Convert at least one column to numbers."
    )
    raise UnreadableFileError(
        f"{inference.scan.name} has no numeric column to cluster"
        f"{'; skipped ' if reasons else ''}{reasons}.{fix}"
    )


def column_ends(X: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest value of each column, NaN if there is none."""
    low, high = (end.reduce(X, axis=0) for end in (np.fmin, np.fmax))
    return low, high


def _reject_infinity(name: str, table: FileTable, low: Array, high: Array) -> None:
    if len(bad := np.flatnonzero(np.isinf(low) | np.isinf(high))):
        row = int(np.flatnonzero(np.isinf(table.cells[:, bad[0]]))[0])
        where = f"{table.row_place(row)}, column {name_list([table.names[bad[0]]])!r}"
        raise UnreadableFileError(
            f"{name} must be finite, but contains infinity in {where}. Leave missing values empty."
        )


def _reject_no_value(name: str, table: FileTable, low: Array) -> None:
    """Raise UnreadableFileError if no row has a value."""
    if np.isnan(low).all():
        raise UnreadableFileError(
            f"{name} has no values in {name_list(table.names)}. A table needs at least one row "
            f"with a value."
        )


def constant_notes(table: FileTable, low: Array, high: Array) -> list[str]:
    """Return a note on constant columns."""
    if len(table.cells) < 2 or not len(constant := np.flatnonzero(low == high)):
        return []
    items = [
        f"{shorten_name(table.names[j])} ({low[j]:.6g} in {_n_values(table, j):,} rows)"
        for j in constant.tolist()
    ]
    return [f"constant: {name_list(items)}"]


def _n_values(table: FileTable, j: int) -> int:
    return int(np.count_nonzero(~np.isnan(table.cells[:, j])))


# arrays without column names


def _read_array(scan: ArrayScan, selection: ColumnSelection) -> FileTable:
    """Create a table from an array without column names and its labels y, if any."""
    X, y = scan.X, scan.y
    selection.reject_many_columns(scan.name, X.shape[1])
    columns = NumberedNames(X.shape[1])
    selection = selection.by_position(columns)
    selection.reject_missing_columns(scan.name, columns, () if y is None else (CLASSES,))
    label = selection.label
    dropped = (*selection.drop, label)
    is_whole = selection.only is None and not any(name in columns for name in dropped)
    names = (
        columns
        if is_whole
        else [name for name in (selection.only or columns) if name not in dropped]
    )
    if not names:
        raise UnreadableFileError(
            f"{scan.name} has no columns left to cluster. Drop fewer columns."
        )
    rows = X if is_whole or names == columns else X[:, [columns.index(name) for name in names]]
    if not sparse.issparse(X):
        rows = rows.astype(float_type(X.dtype), copy=False)
    skipped = {} if y is None else {CLASSES: THE_CLASSES}
    table = FileTable(rows, names, has_names=False, skipped=skipped)
    if label is not None:
        classes_of = X[:, [columns.index(label)]] if label in columns else y
        numbers, classes = _encode_array_classes(classes_of)
        table = replace(table, y=numbers, classes=classes)
    if not X.shape[0]:
        raise UnreadableFileError(f"{scan.name} has no rows. A table needs at least one.")
    if sparse.issparse(rows):
        return table
    low, high = column_ends(rows)
    _reject_infinity(scan.name, table, low, high)
    if selection.only is None and not selection.is_of_model:
        table = _without_empty_columns(
            scan.name, replace(table, notes=constant_notes(table, low, high)), low
        )
    elif selection.only is None:
        table = _without_empty_columns(scan.name, table, low)
    else:
        _reject_no_value(scan.name, table, low)
    return table


def _without_empty_columns(name: str, table: FileTable, low: Array) -> FileTable:
    """Drop the columns without any value from the table of an array."""
    empty = np.flatnonzero(np.isnan(low)).tolist()
    if not empty:
        return table
    names = np.delete(np.array(list(table.names), dtype=object), empty).tolist()
    skipped = table.skipped | {table.names[j]: NO_VALUES for j in empty}
    if not names:
        raise UnreadableFileError(
            f"{name} has no numeric column to cluster: {NO_VALUES}. Check how the file was written."
        )
    return replace(table, X=np.delete(table.cells, empty, axis=1), names=names, skipped=skipped)


def schema_of_array(table: FileTable) -> TableSchema:
    """Create the schema of an array without column names."""
    columns: list[Column] = [Number(name) for name in table.names]
    columns += [Skipped(name, why) for name, why in table.skipped.items()]
    if table.y is not None and CLASSES not in table.skipped:
        columns.append(Label(CLASSES))
    return TableSchema(tuple(columns), has_names=False)


def _encode_array_classes(values: Cells) -> tuple[Array, list[str]]:
    """Return the class code of each row (-1 if missing) and the class names."""
    classes, numbers = np.unique(dense(values), return_inverse=True)
    known = classes[classes == classes]  # NaN, which sorts last, is a missing label
    numbers = np.where(numbers == len(known), -1, numbers)
    return numbers.ravel(), [f"{value}" for value in known]
