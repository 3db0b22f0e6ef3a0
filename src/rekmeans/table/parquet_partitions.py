"""A dask.dataframe of parquet files whose rows are in the order of the dataset, as Dask's own
reader has them not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow.parquet
from dask import dataframe

PARTITION_BYTES = 1 << 27  # of the cells of row groups that are read by one task


class RowGroups(NamedTuple):
    """Some row groups of a file, one after the other."""

    path: str
    numbers: list[int]


def partitioned_frame(data: Any, names: Sequence[str]) -> Any:
    """These columns of a dataset as a dask.dataframe; each partition has row groups of one file."""
    schema = pyarrow.schema([data.schema.field(name) for name in names])
    pieces = [piece for fragment in data.get_fragments() for piece in _pieces_of_file(fragment)]
    if not pieces:
        raise ValueError("X has 0 sample(s) while a minimum of 1 is required: pass a row.")
    meta = schema.empty_table().to_pandas()
    return dataframe.from_map(  # type: ignore[no-untyped-call]
        _read_row_groups, pieces, schema=schema, meta=meta, enforce_metadata=False
    )


def _pieces_of_file(fragment: Any) -> Iterator[RowGroups]:
    """Row groups of about so many bytes together; a file without any has none."""
    # workers are in other folders
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


def _read_row_groups(piece: RowGroups, schema: Any) -> Any:
    """A partition: the rows of these groups, by the types of the whole table."""
    with pyarrow.parquet.ParquetFile(piece.path) as file:
        table = file.read_row_groups(piece.numbers, columns=schema.names)
    return table.select(schema.names).cast(schema).to_pandas(ignore_metadata=True)
