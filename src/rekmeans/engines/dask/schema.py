"""The schema of a dask.dataframe: tasks count the cells of partitions, and the counts add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import narwhals.stable.v2 as nw
import numpy as np
from dask.delayed import delayed

from ..._grid import Array
from ...table.column_counts import ColumnCounts
from ...table.frames import encode_frame, is_plain_type, scan_of_frame, warn_of_skipped
from ...table.inference import (
    count_cells,
    find_candidates,
    merge_counts,
    provisional_features,
    settle_schema,
)
from ...table.inference import rows_with_values as columns_with_values
from ...table.schema import Column, TableSchema
from .compute import compute

if TYPE_CHECKING:
    import pyarrow as pa
    from dask.dataframe import DataFrame as DaskFrame
    from pandas import DataFrame

    from ...io.scan import Scan


def infer_collection(X: DaskFrame, names: Sequence[str]) -> TableSchema | None:
    """Return the schema of these columns of a collection; None if columns have no names.

    All partitions are read if a column has text or integers, otherwise none.
    """
    if not names or not all(isinstance(name, str) for name in names):
        return None
    meta = nw.from_native(X._meta[list(names)])
    types = meta.schema.values()
    if all(is_plain_type(dtype) and not dtype.is_integer() for dtype in types):
        return TableSchema.of_numbers(names)
    from ...io.selection import ColumnSelection

    scan = _scan_of_meta(X._meta, names)
    selection = ColumnSelection()
    candidates = find_candidates(scan, selection)
    partitions = X[list(names)].to_delayed()
    counts = merge_counts(
        iter(compute([delayed(_count_partition)(raw, scan.types) for raw in partitions]))
    )

    def count_empty_rows() -> int:
        columns = provisional_features(scan, selection, candidates, counts)
        found: list[int] = compute([delayed(_count_empty_rows)(raw, columns) for raw in partitions])
        return sum(found)

    schema = settle_schema(scan, selection, candidates, counts, count_empty_rows)
    if not schema.features:
        reasons = ", ".join(f"{name} ({why})" for name, why in schema.skipped_columns.items())
        raise ValueError(
            f"X must be numeric, but no column is: {reasons:.200}. Encode at least one."
        )
    warn_of_skipped(schema)
    return schema


def has_plain_columns(meta: DataFrame, names: Sequence[str]) -> bool:
    """Return whether these columns of a collection are stored as numbers."""
    frame = nw.from_native(meta)
    return all(is_plain_type(frame.schema[name]) for name in names)


def encode_partition(raw: object, schema: TableSchema) -> Array:
    """Return the features of a partition, (n, d) float64."""
    frame = nw.from_native(cast("DataFrame", raw))
    if not len(frame):
        return np.empty((0, len(schema.features)))
    return encode_frame(frame, schema, checks_text=False)


def _scan_of_meta(meta: DataFrame, names: Sequence[str]) -> Scan:
    """Return a scan with the column types of a collection; objects are text."""
    from ...io._pyarrow import pa
    from ...io.scan import Scan

    scan = scan_of_frame(nw.from_native(meta[list(names)]))
    kinds = {
        name: pa.string() if pa.types.is_null(kind) else kind for name, kind in scan.types.items()
    }
    return Scan("X", kinds)


def _count_partition(raw: DataFrame, kinds: dict[str, pa.DataType]) -> dict[str, ColumnCounts]:
    """Count the cells of a partition."""
    from ...io.scan import Scan

    if not len(raw):
        return {}
    scan = Scan("X", kinds)
    table = scan_of_frame(nw.from_native(raw)).table
    return {
        name: count_cells(scan, name, _as_type(table[name].combine_chunks(), kind))
        for name, kind in kinds.items()
    }


def _as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert a column to the type of the collection, which a partition without text lacks."""
    from ...io.scan import is_text_type

    if column.type == kind or (is_text_type(column.type) and is_text_type(kind)):
        return column
    return column.cast(kind)


def _count_empty_rows(raw: DataFrame, columns: Sequence[Column]) -> int:
    """Return the number of rows of a partition without a value in these columns."""
    if not len(raw):
        return 0
    (batch,) = scan_of_frame(nw.from_native(raw)).batches(
        {column.name: "number" for column in columns}
    )
    cells = (
        one
        for j, column in enumerate(columns)
        for one in column.encode(batch.column(j), np.float64)
    )
    return int(np.count_nonzero(~columns_with_values(cells, batch.num_rows)))
