"""Tables in parquet files: their common schema, blocks of rows, and partitions for Dask.

Blocks are read with pyarrow's datasets, a row group at a time.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from textwrap import shorten
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from .._grid import Array
from .block_source import columns_by_name
from .file_names import is_several_files, table_files
from .reading import check_regular_file
from .source_parts import ColumnCells, RawBlock, SourcePart

try:
    import pyarrow as pa
    from pyarrow import dataset, types
    from pyarrow.parquet import ParquetFile
except ImportError:
    raise ImportError("parquet files need pyarrow: pip install 'rekmeans[stream]'.") from None

if TYPE_CHECKING:
    from dask.dataframe import DataFrame as DaskFrame
    from pandas import DataFrame

BATCHES_AHEAD = 2  # decoded before they are needed; more only take memory
# of the row groups that are read together: opening the file once for each group would take longer
MAX_CELLS_TOGETHER = 1 << 20
PAGE_BUFFER = 1 << 16  # bytes of a column that are read from a file at a time
# exact in float32; with a column of any other type, all columns become float64
NARROW_TYPES = (
    pa.float32(),
    pa.float16(),
    pa.int16(),
    pa.int8(),
    pa.uint16(),
    pa.uint8(),
    pa.bool_(),
)
MESSAGE_LETTERS = 120  # that are shown of an error message of pyarrow
PARTITION_BYTES = 1 << 27  # of the row groups that one task reads


def open_dataset(
    name: str, drop: Collection[str] = (), only: Collection[str] | None = None
) -> dataset.Dataset:
    """Open a parquet file, the files of a folder, or the files that match a pattern.

    The footer of each file is read once. Columns in `drop`, or not in `only`, are not compared. A
    column with several number types is read as the smallest type that holds them all.
    """
    files = table_files(name)
    if not files:
        raise FileNotFoundError(
            f"{name} names no file: name a parquet file, a folder of them, or a pattern."
        )
    for file in files:
        check_regular_file(file)
    data = _open_files(name, files)
    schemas = {fragment.path: _read_schema(name, fragment) for fragment in data.get_fragments()}
    names = {name for schema in schemas.values() for name in schema.names}
    return data.replace_schema(
        _common_schema(schemas, (names if only is None else set(only)) - set(drop))
    )


def _open_files(name: str, files: list[str]) -> dataset.Dataset:
    """Open these files as one dataset; raise an error if the first is not parquet."""
    try:
        return dataset.dataset(files, format="parquet", schema=pa.schema([]))
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(name, name, error) from error


def _read_schema(name: str, fragment: dataset.ParquetFileFragment) -> pa.Schema:
    """Read the columns of one file from its footer."""
    try:
        schema = fragment.physical_schema
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(name, fragment.path, error) from error
    if twice := [column for column in schema.names if schema.names.count(column) > 1]:
        raise ValueError(
            f"{fragment.path} must have different column names, got {twice[0]!r} twice: rename one."
        )
    return schema


def _not_parquet(name: str, file: str, error: Exception) -> ValueError:
    reason = shorten(str(error), MESSAGE_LETTERS, placeholder="…").rstrip(".")
    way_out = f"; a pattern leaves it out: {name}/*.parquet" if Path(name).is_dir() else ""
    which = f": {file}" if is_several_files(name) else ""
    return ValueError(
        f"{name} must be a parquet file, a folder of them or a pattern{which} ({reason}){way_out}."
    )


def _common_schema(schemas: Mapping[str, pa.Schema], compared: Collection[str]) -> pa.Schema:
    """Return the columns of all files; every compared column of numbers must be in each file."""
    kinds: dict[str, dict[str, pa.DataType]] = {}  # of each column by file
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
            raise ValueError(
                f"X must have the same columns in every file, {name!r} is in {present} and not in "
                f"{absent}: "
                f"write it there too, or drop it from all."
            )
    return pa.schema(common)


def _common_type(name: str, of_files: Mapping[str, pa.DataType]) -> pa.DataType:
    """Return the type that holds the values of a column in all files."""
    found: dict[pa.DataType, str] = {}  # and the first file that has it
    for file, kind in of_files.items():
        found.setdefault(kind, file)
    kinds = [kind for kind in found if not types.is_null(kind)]
    numbers = [kind for kind in kinds if is_number_type(kind)]
    others = [kind for kind in kinds if not is_number_type(kind)]
    if numbers and others:
        raise ValueError(
            f"X must have the same columns in every file, {name!r} is {numbers[0]} in "
            f"{found[numbers[0]]} and "
            f"{others[0]} in {found[others[0]]}: write it as numbers, or drop it."
        )
    return others[0] if others else _common_number_type(numbers or [pa.null()])


def _common_number_type(kinds: list[pa.DataType]) -> pa.DataType:
    """Return the smallest number type that holds these types; float64 if there is none."""
    if len(kinds) == 1:
        return kinds[0]
    if any(types.is_decimal(kind) for kind in kinds):
        return pa.float64()
    dtype = np.result_type(*(kind.to_pandas_dtype() for kind in kinds))
    # pyarrow does not cast integers to half floats
    return pa.float32() if dtype == np.float16 else pa.from_numpy_dtype(dtype)


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds numbers; a column without any value does."""
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


@dataclass(frozen=True, eq=False)
class FileRowGroups:
    """Row groups of a parquet file that are read one after the other."""

    fragment: dataset.ParquetFileFragment
    numbers: tuple[int, ...]
    n_rows: int


def find_row_groups(
    data: dataset.Dataset, columns: list[str], n_rows: int
) -> list[FileRowGroups] | None:
    """Return the row groups of a dataset, small ones together.

    None if its rows are not simply the rows of parquet files.
    """
    found: list[FileRowGroups] = []
    try:
        fragments = list(data.get_fragments())
    except ValueError:  # the dataset has a filter
        return None
    for fragment in fragments:
        if not isinstance(fragment, dataset.ParquetFileFragment):
            return None
        kinds = {field.name: field.type for field in fragment.physical_schema}
        if not all(name in kinds and is_number_type(kinds[name]) for name in columns):
            return None
        numbers: list[int] = []
        m = 0
        for group in fragment.row_groups:
            if m and m + group.num_rows > MAX_CELLS_TOGETHER // len(columns):
                found.append(FileRowGroups(fragment, tuple(numbers), m))
                numbers = []
                m = 0
            numbers.append(group.id)
            m += group.num_rows
        found += [FileRowGroups(fragment, tuple(numbers), m)] if m else []
    return found if sum(group.n_rows for group in found) == n_rows else None


class DatasetBlocks:
    """Blocks of the rows of a pyarrow dataset.

    `weight` is the name of the column of weights, `only` are the names of the feature columns.
    """

    def __init__(
        self,
        data: dataset.Dataset,
        weight: str | None = None,
        only: Sequence[str] | None = None,
        has_own_schema: bool = True,
    ) -> None:
        if not isinstance(data, dataset.Dataset):
            kind = type(data).__name__
            raise TypeError(
                f"X must be a pyarrow dataset, or the path of one; got a {kind}: pass what it was "
                f"made of."
            )
        self.data = data
        self.weight = weight
        self.has_own_schema = has_own_schema
        names = data.schema.names
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(
                f"X must have different column names, got {twice[0]!r} twice: rename one."
            )
        kinds = {field.name: field.type for field in data.schema}
        if weight is not None and weight not in kinds:
            raise ValueError(
                f"sample_weight={weight!r} must name a column of X; it has {', '.join(kinds):.80}."
            )
        self.names = [name for name in columns_by_name(names, only) if name != weight]
        if not self.names:
            raise ValueError("X has 0 feature(s) while a minimum of 1 is required: pass a column.")
        for name in [*self.names, *([] if weight is None else [weight])]:
            if not is_number_type(kinds[name]):
                raise ValueError(
                    f"X must be numeric, column {name!r} is not: found {kinds[name]}; drop or "
                    f"encode it."
                )
        self.types = {name: kinds[name] for name in self._columns}
        is_narrow = all(kinds[name] in NARROW_TYPES for name in self.names)
        self.dtype = np.dtype(np.float32 if is_narrow else np.float64)
        self.n_columns = len(self.names)
        self.n_rows = int(data.count_rows())
        self.row_groups = find_row_groups(data, self._columns, self.n_rows)
        self.kept: dict[FileRowGroups, list[RawBlock]] = {}
        self.room = 0  # bytes that further kept blocks may take
        self.lock = Lock()

    def first_row(self) -> pa.Table:
        return pa.table({name: [0.0] for name in self.names})

    def blocks(self, size: int) -> Iterator[RawBlock]:
        """Yield blocks of at most `size` rows, small batches put together."""
        if self.row_groups is not None:
            yield from chain.from_iterable(
                self._read_group(group, size) for group in self.row_groups
            )
            return
        waiting: list[pa.RecordBatch] = []
        m = 0
        for batch in self._scan(size):
            if m and m + batch.num_rows > size:
                yield self._block(waiting)
                waiting = []
                m = 0
            waiting.append(batch)
            m += batch.num_rows
        if m:
            yield self._block(waiting)

    def parts(self, size: int) -> list[SourcePart]:
        if self.row_groups is None:
            return [SourcePart(0, partial(self.blocks, size))]
        ends = accumulate(group.n_rows for group in self.row_groups)
        pairs = zip(ends, self.row_groups, strict=True)
        return [
            SourcePart(end - group.n_rows, partial(self._read_group, group, size))
            for end, group in pairs
        ]

    def keep_blocks(self, room: int) -> None:
        """Keep decoded blocks for later reads, up to `room` bytes."""
        self.room = room

    def _read_group(self, group: FileRowGroups, size: int) -> Iterator[RawBlock]:
        """Yield the blocks of a row group; decode them unless they are kept."""
        if (kept := self.kept.get(group)) is not None:
            yield from kept
            return
        needed = group.n_rows * len(self._columns) * 8
        with self.lock:
            is_room = needed <= self.room
            self.room -= needed if is_room else 0
        blocks = []
        try:
            for block in self._decode_group(group, size):
                yield block
                if is_room:
                    blocks.append(block)
            if is_room:
                self.kept[group] = blocks
        finally:
            if is_room and group not in self.kept:  # the reader stopped early
                with self.lock:
                    self.room += needed

    def _decode_group(self, group: FileRowGroups, size: int) -> Iterator[RawBlock]:
        """Yield decoded blocks of a row group, one at a time to save memory.

        Each row group is decoded on one thread, because several threads read row groups at once.
        """
        with group.fragment.open() as file:
            reader = ParquetFile(
                file, metadata=group.fragment.metadata, buffer_size=PAGE_BUFFER, pre_buffer=False
            )
            for batch in reader.iter_batches(
                size, list(group.numbers), self._columns, use_threads=False
            ):
                if batch.num_rows:
                    yield self._block([self._cast(batch)])

    def _cast(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch of a file with the column types of the dataset's schema.

        A schema of the user is cast to without loss, or pyarrow raises. The common schema of
        several files rounds large integers.
        """
        columns = [
            batch.column(name).cast(self.types[name], safe=self.has_own_schema)
            for name in self._columns
        ]
        return pa.record_batch(columns, self._columns)

    def _block(self, batches: list[pa.RecordBatch]) -> RawBlock:
        batch = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        columns = [column_numbers(batch.column(name), self.dtype) for name in self.names]
        weights = (
            None if self.weight is None else column_numbers(batch.column(self.weight), np.float64)
        )
        return RawBlock(ColumnCells.of_columns(columns, self.dtype), weights)

    @property
    def _columns(self) -> list[str]:
        return [*self.names, *([] if self.weight is None else [self.weight])]

    def _scan(self, size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches in row order from pyarrow's scanner, which decodes whole row groups
        ahead.
        """
        yield from self.data.to_batches(
            columns=self._columns,
            batch_size=size,
            batch_readahead=BATCHES_AHEAD,
            fragment_readahead=1,
        )

    def take(self, rows: Array) -> Array | None:
        return None


def open_parquet(
    name: str, weight: str | None = None, only: Sequence[str] | None = None
) -> DatasetBlocks:
    """Open a parquet file, the files of a folder, or the files that match a pattern, sorted by
    name.
    """
    compared = None if only is None else [*only, *([] if weight is None else [weight])]
    return DatasetBlocks(open_dataset(name, only=compared), weight, only, has_own_schema=False)


def split_columns(
    data: dataset.Dataset, drop: Sequence[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Return the names of the numeric columns, and why each other column is skipped."""
    kinds = {field.name: field.type for field in data.schema}
    skipped = {name: "dropped" if name in drop else str(kind) for name, kind in kinds.items()}
    kept = [name for name, kind in kinds.items() if name not in drop and is_number_type(kind)]
    return kept, {name: why for name, why in skipped.items() if name not in kept}


def column_numbers(column: pa.Array, dtype: DTypeLike) -> Array:
    """Return the cells of a column as numbers, NaN where they are missing.

    A column of integers or floats without missing cells is not copied.
    """
    if not column.null_count and (types.is_integer(column.type) or types.is_floating(column.type)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    plain = column.cast(pa.uint8()) if types.is_boolean(column.type) else column
    cells: Array = plain.cast(pa.from_numpy_dtype(dtype), safe=False).to_numpy(zero_copy_only=False)
    return cells


class RowGroups(NamedTuple):
    """Row groups of a file that are read as one partition."""

    path: str
    numbers: list[int]


def partitioned_frame(data: dataset.Dataset, names: Sequence[str]) -> DaskFrame:
    """Return these columns of a dataset as a dask.dataframe.

    Each partition has row groups of one file. Rows keep the order of the dataset, which Dask's own
    parquet reader does not guarantee.
    """
    from dask import dataframe

    schema = pa.schema([data.schema.field(name) for name in names])
    pieces = [piece for fragment in data.get_fragments() for piece in _pieces_of_file(fragment)]
    if not pieces:
        raise ValueError("X has 0 sample(s) while a minimum of 1 is required: pass a row.")
    meta = schema.empty_table().to_pandas()
    return dataframe.from_map(  # type: ignore[no-untyped-call]
        _read_row_groups, pieces, schema=schema, meta=meta, enforce_metadata=False
    )


def _pieces_of_file(fragment: dataset.ParquetFileFragment) -> Iterator[RowGroups]:
    """Yield row groups of about PARTITION_BYTES together; nothing for a file without row groups."""
    # workers run in other folders
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
    with ParquetFile(piece.path) as file:
        table = file.read_row_groups(piece.numbers, columns=schema.names)
    return table.select(schema.names).cast(schema).to_pandas(ignore_metadata=True)
