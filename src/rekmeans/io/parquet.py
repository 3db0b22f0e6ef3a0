"""Scan parquet files as one table: common schema, row groups, and partitions for Dask."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ._pyarrow import dataset, pa, parquet, types
from .arrow import pandas_index
from .file_names import check_regular_file, is_several_files, table_files
from .scan import ReadAs, Scan, ScanPart, is_number_type, reject_repeated_names
from .selection import ColumnSelection, UnreadableFileError

if TYPE_CHECKING:
    from dask.dataframe import DataFrame as DaskFrame
    from pandas import DataFrame

BATCHES_AHEAD = 2  # batches decoded in advance; more would only use memory
# merge row groups up to this many cells; reopening the file for each group is slower
MAX_CELLS_TOGETHER = 1 << 20
PAGE_BUFFER = 1 << 16  # bytes read at a time for each column
MESSAGE_LETTERS = 120  # maximum length of a quoted pyarrow error message
PARTITION_BYTES = 1 << 27  # total size of the row groups in a partition
DEFAULT_BATCH_ROWS = 1 << 16


def open_dataset(
    name: str, drop: Collection[str] = (), only: Collection[str] | None = None
) -> tuple[dataset.Dataset, tuple[str, ...]]:
    """Open a parquet file, the files of a folder, or the files that match a pattern.

    Also return the columns of the pandas index. The footer of each file is read once.
    Columns in `drop`, or not in `only`, are not compared. A column with several number types is
    read with the smallest type that can represent all of them.
    """
    files = table_files(name)
    if not files:
        raise FileNotFoundError(
            f"No files match {name}. Pass a parquet file, a folder of parquet files, or a glob "
            f"pattern that matches parquet files."
        )
    for file in files:
        check_regular_file(file)
    data = _open_files(name, files)
    schemas = {fragment.path: _read_schema(name, fragment) for fragment in data.get_fragments()}
    names = {name for schema in schemas.values() for name in schema.names}
    index = pandas_index(next(iter(schemas.values()))) if schemas else ()
    common = _common_schema(schemas, (names if only is None else set(only)) - set(drop))
    return data.replace_schema(common), index


def _open_files(name: str, files: list[str]) -> dataset.Dataset:
    """Open these files as one dataset; raise an error if the first is not parquet."""
    try:
        return dataset.dataset(files, format="parquet", schema=pa.schema([]))
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(name, name, error) from error


def _read_schema(name: str, fragment: dataset.ParquetFileFragment) -> pa.Schema:
    """Read the column types of one file from its footer."""
    try:
        schema = fragment.physical_schema
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(name, fragment.path, error) from error
    reject_repeated_names(fragment.path, schema.names)
    return schema


def _not_parquet(name: str, file: str, error: Exception) -> UnreadableFileError:
    reason = shorten(str(error), MESSAGE_LETTERS, placeholder="…").rstrip(".")
    has_parquet = any(other.endswith(".parquet") for other in table_files(name) if other != file)
    fix = (
        f" Use a pattern that excludes it: {name}/*.parquet."
        if has_parquet and Path(name).is_dir()
        else " Convert it to parquet."
    )
    which = f", got {file}" if is_several_files(name) else ""
    return UnreadableFileError(
        f"{name} must be a parquet file, a folder of parquet files, or a glob pattern that matches "
        f"parquet files{which} ({reason}).{fix}"
    )


def _common_schema(schemas: Mapping[str, pa.Schema], compared: Collection[str]) -> pa.Schema:
    """Return the columns of all files. Each file must contain all compared numeric columns."""
    kinds: dict[str, dict[str, pa.DataType]] = {}  # column name to {file name: type}
    for file, schema in schemas.items():
        for field in schema:
            kinds.setdefault(field.name, {})[file] = field.type
    common = []
    for name, of_files in kinds.items():
        if name not in compared:
            common.append((name, next(iter(of_files.values()))))
            continue
        common.append((name, _common_type(name, of_files)))
        if len(of_files) < len(schemas) and is_number_type(common[-1][1]):
            absent = next(file for file in schemas if file not in of_files)
            present = next(iter(of_files))
            raise UnreadableFileError(
                f"X must have the same columns in every file, but {name!r} is in {present} and "
                f"not in {absent}. Add it to every file, or drop it."
            )
    return pa.schema(common)


def _common_type(name: str, of_files: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return a type that can represent the values of a column in all files."""
    found: dict[pa.DataType, str] = {}  # type to the first file that uses it
    for file, kind in of_files.items():
        found.setdefault(kind, file)
    kinds = [kind for kind in found if not types.is_null(kind)]
    numbers = [kind for kind in kinds if is_number_type(kind)]
    others = [kind for kind in kinds if not is_number_type(kind)]
    if numbers and others:
        raise UnreadableFileError(
            f"X must have the same columns in every file, but {name!r} is {numbers[0]} in "
            f"{found[numbers[0]]} and {others[0]} in {found[others[0]]}. Convert it to numbers, or "
            f"drop it."
        )
    return others[0] if others else _common_number_type(numbers or [pa.null()])


def _common_number_type(kinds: list[pa.DataType]) -> pa.DataType:
    """Return the smallest numeric type that can represent all of these types, else float64."""
    if len(kinds) == 1:
        return kinds[0]
    if any(types.is_decimal(kind) for kind in kinds):
        return pa.float64()
    dtype = np.result_type(*(kind.to_pandas_dtype() for kind in kinds))
    # pyarrow does not cast integers to half floats
    return pa.float32() if dtype == np.float16 else pa.from_numpy_dtype(dtype)


@dataclass(frozen=True, eq=False)
class FileRowGroups:
    """Consecutive row groups of a parquet file."""

    fragment: dataset.ParquetFileFragment
    numbers: tuple[int, ...]
    n_rows: int


def find_row_groups(
    data: dataset.Dataset, columns: Collection[str], n_rows: int
) -> list[FileRowGroups] | None:
    """Return the row groups of a dataset, with small ones merged.

    Return None unless the dataset consists of whole parquet files.
    """
    found: list[FileRowGroups] = []
    try:
        fragments = list(data.get_fragments())
    except ValueError:  # the dataset has a filter
        return None
    kinds = {name: data.schema.field(name).type for name in columns}
    for fragment in fragments:
        if not isinstance(fragment, dataset.ParquetFileFragment):
            return None
        stored = {field.name: field.type for field in fragment.physical_schema}
        if not all(_can_cast(stored.get(name), kind) for name, kind in kinds.items()):
            return None
        numbers: list[int] = []
        m = 0
        for group in fragment.row_groups:
            if m and m + group.num_rows > MAX_CELLS_TOGETHER // max(1, len(columns)):
                found.append(FileRowGroups(fragment, tuple(numbers), m))
                numbers = []
                m = 0
            numbers.append(group.id)
            m += group.num_rows
        found += [FileRowGroups(fragment, tuple(numbers), m)] if m else []
    return found if sum(group.n_rows for group in found) == n_rows else None


def _can_cast(stored: pa.DataType | None, kind: pa.DataType) -> bool:
    """Return whether a file has the column and it can be cast to `kind` without the scanner."""
    return stored == kind or (
        stored is not None and is_number_type(stored) and is_number_type(kind)
    )


class DatasetScan(Scan):
    """The scan of a pyarrow dataset, either built from files or passed by the user."""

    def __init__(
        self, name: str, data: dataset.Dataset, *, has_own_schema: bool, index: tuple[str, ...] = ()
    ) -> None:
        reject_repeated_names(name, data.schema.names)
        kinds = {field.name: field.type for field in data.schema}
        super().__init__(name, kinds, int(data.count_rows()), index=index)
        self.data = data
        self.has_own_schema = has_own_schema
        self.groups: dict[tuple[str, ...], list[FileRowGroups] | None] = {}

    def batches(
        self, columns: Mapping[str, ReadAs], size: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches by row group, or from pyarrow's scanner."""
        names = list(columns)
        if (groups := self._row_groups(names)) is not None:
            yield from chain.from_iterable(
                self._decode_group(group, names, size, len(groups) == 1) for group in groups
            )
            return
        yield from self._scan(names, size)

    def parts(self, columns: Mapping[str, ReadAs], size: int | None = None) -> list[ScanPart]:
        names = list(columns)
        if (groups := self._row_groups(names)) is None:
            return super().parts(columns, size)
        ends = accumulate(group.n_rows for group in groups)
        return [
            ScanPart(
                end - group.n_rows,
                group.n_rows,
                partial(self._decode_group, group, names, size, len(groups) == 1),
            )
            for end, group in zip(ends, groups, strict=True)
        ]

    def _row_groups(self, names: Sequence[str]) -> list[FileRowGroups] | None:
        key = tuple(names)
        if key not in self.groups:
            self.groups[key] = find_row_groups(self.data, key, self.n_rows or 0)
        return self.groups[key]

    def _decode_group(
        self, group: FileRowGroups, names: list[str], size: int | None, use_threads: bool
    ) -> Iterator[pa.RecordBatch]:
        """Decode the batches of a row group one at a time to save memory.

        Each row group is decoded on one thread, because several threads read row groups at once.
        """
        with group.fragment.open() as file:
            reader = parquet.ParquetFile(
                file, metadata=group.fragment.metadata, buffer_size=PAGE_BUFFER, pre_buffer=False
            )
            for batch in reader.iter_batches(
                size or DEFAULT_BATCH_ROWS, list(group.numbers), names, use_threads=use_threads
            ):
                if batch.num_rows:
                    batch.validate(full=True)  # offsets in a corrupt file may be out of bounds
                    yield self._cast(batch, names)

    def _cast(self, batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
        """Cast a batch to the column types of the dataset schema.

        With a user schema, pyarrow raises if the cast would lose data. The common schema of
        several files rounds large integers.
        """
        columns = [
            batch.column(name).cast(self.types[name], safe=self.has_own_schema) for name in names
        ]
        return pa.record_batch(columns, names)

    def _scan(self, names: list[str], size: int | None) -> Iterator[pa.RecordBatch]:
        """Yield record batches in row order from pyarrow's scanner, with small ones merged.

        The scanner prefetches whole row groups.
        """
        size = size or DEFAULT_BATCH_ROWS
        waiting: list[pa.RecordBatch] = []
        m = 0
        for batch in self.data.to_batches(
            columns=names, batch_size=size, batch_readahead=BATCHES_AHEAD, fragment_readahead=1
        ):
            if m and m + batch.num_rows > size:
                yield pa.concat_batches(waiting)
                waiting = []
                m = 0
            waiting.append(batch)
            m += batch.num_rows
        if m:
            yield pa.concat_batches(waiting)


def scan_parquet(path: Path, selection: ColumnSelection) -> DatasetScan:
    """Scan a parquet file, the files of a folder, or the files that match a pattern."""
    name = str(path)
    only = None if selection.only is None else {*selection.only, *_optional(selection.weight)}
    data, index = open_dataset(name, selection.drop, only)
    shown = name if is_several_files(name) else path.name
    return DatasetScan(shown, data, has_own_schema=False, index=index)


def scan_dataset(data: dataset.Dataset) -> DatasetScan:
    """Scan a user-supplied dataset, with the column types of its schema."""
    if not isinstance(data, dataset.Dataset):
        kind = type(data).__name__
        raise TypeError(
            f"X must be a pyarrow dataset or its path, got a {kind}. Pass the dataset that it "
            f"was created from."
        )
    return DatasetScan("X", data, has_own_schema=True)


def _optional(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


class RowGroups(NamedTuple):
    """The row groups of a file that form one partition."""

    path: str
    numbers: list[int]


def partitioned_frame(
    data: dataset.Dataset, names: Sequence[str], keep: Collection[str] = ()
) -> DaskFrame:
    """Return these columns of a dataset as a Dask DataFrame.

    Integers in `keep` become floats, so that they are not treated as ids. Each partition contains
    row groups of one file. Rows keep the order of the dataset, which Dask's own parquet reader does
    not guarantee.
    """
    from dask import dataframe

    fields = {name: data.schema.field(name).type for name in names}
    schema = pa.schema(
        (name, pa.float64() if name in keep and types.is_integer(kind) else kind)
        for name, kind in fields.items()
    )
    pieces = [piece for fragment in data.get_fragments() for piece in _pieces_of_file(fragment)]
    if not pieces:
        raise ValueError(
            "X has 0 sample(s) while a minimum of 1 is required. Pass at least one row."
        )
    meta = schema.empty_table().to_pandas()
    return dataframe.from_map(  # type: ignore[no-untyped-call]
        _read_row_groups, pieces, schema=schema, meta=meta, enforce_metadata=False
    )


def _pieces_of_file(fragment: dataset.ParquetFileFragment) -> Iterator[RowGroups]:
    """Group consecutive row groups into partitions of about PARTITION_BYTES."""
    # workers may have a different working directory
    path = os.path.abspath(fragment.path)
    numbers = list[int]()
    size = 0
    for group in fragment.row_groups:
        if numbers and size + group.total_byte_size > PARTITION_BYTES:
            yield RowGroups(path, numbers)
            numbers = []
            size = 0
        numbers.append(group.id)
        size += group.total_byte_size
    if numbers:
        yield RowGroups(path, numbers)


def _read_row_groups(piece: RowGroups, schema: pa.Schema) -> DataFrame:
    """Read a partition with the column types of the whole table."""
    with parquet.ParquetFile(piece.path) as file:
        table = file.read_row_groups(piece.numbers, columns=schema.names)
    return table.select(schema.names).cast(schema).to_pandas(ignore_metadata=True)
