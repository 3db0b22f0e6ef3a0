"""Convert in-memory data frames to numeric rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from .._grid import Array
from .._text import caller_stacklevel, name_list
from .base import ColumnName
from .column_counts import NumberCounts
from .empty_rows import array_rows_with_values
from .schema import (
    AN_ID,
    DROPPED,
    NO_VALUES,
    ROW_NAMES,
    WEIGHTS,
    Column,
    Id,
    Number,
    Skipped,
    TableSchema,
    could_be_id,
    is_id,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from narwhals import Series
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

    from ..io.arrow import TableScan

Frame = nw.DataFrame["IntoDataFrame"]

WHOLE_NUMBERS = {nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64}
# column types that NumPy converts in one call
PLAIN_TYPES = {nw.Float64, nw.Float32, nw.Boolean} | WHOLE_NUMBERS
REQUESTED = (DROPPED, ROW_NAMES, WEIGHTS)  # skipped on request, so no warning


class FrameRows(NamedTuple):
    """The features of a data frame as rows (n, d) and as a frame, and the schema."""

    X: Array
    named: object
    schema: TableSchema | None  # None: the columns have no names


def open_frame(X: object) -> Frame | None:
    """Return X as a narwhals frame, or None if it is not a data frame in memory."""
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError:
        # the `columns` attribute of an Arrow table contains the data, not the names
        names = list(getattr(X, "column_names", None) or cast("IntoDataFrame", X).columns)
        raise ValueError(
            f"X must have unique column names, got {names}. Rename the duplicates."
        ) from None
    return frame if isinstance(frame, nw.DataFrame) else None


def read_frame(X: object, frame: Frame, fitted: TableSchema | None, *, fitting: bool) -> FrameRows:
    """Return the features of a data frame, according to a new schema or the fitted one."""
    names = list(frame.columns)
    if not names or not len(frame) or not all(isinstance(name, str) for name in names):
        return FrameRows(frame_numbers(frame), X, None)
    is_plain = all(is_plain_type(dtype) for dtype in frame.schema.values())
    if not fitting:
        return _read_fitted(X, frame, fitted, is_plain)
    if is_plain:
        return _read_plain(X, frame)
    from .file_table import gather_frame

    cells, inference = gather_frame(scan_of_frame(frame))
    schema = inference.schema
    if not schema.features:
        raise ValueError(
            f"X must be numeric, but no column is: {_reasons(schema.skipped_columns)}. Encode at "
            f"least one column as numbers."
        )
    warn_of_skipped(schema)
    return FrameRows(cells, select_features(X, frame, schema), schema)


def _read_plain(X: object, frame: Frame) -> FrameRows:
    """Return the features of a numeric frame without ids and empty columns."""
    cells = frame_numbers(frame)
    skipped: dict[str, Column] = {
        frame.columns[j]: Skipped(frame.columns[j], NO_VALUES)
        for j in np.flatnonzero(np.isnan(cells[0])).tolist()
        if np.isnan(cells[:, j]).all()
    }
    if len(skipped) == cells.shape[1]:  # a later check raises an error that names the first row
        return FrameRows(cells, X, TableSchema.of_numbers(frame.columns))
    for j, (name, dtype) in enumerate(frame.schema.items()):
        if dtype.is_integer() and _is_id_column(name, cells, j):
            skipped[name] = Id(name, AN_ID)
    if not skipped:
        return FrameRows(cells, X, TableSchema.of_numbers(frame.columns))
    schema = TableSchema(tuple(skipped.get(name, Number(name)) for name in frame.columns))
    if not schema.features:
        raise ValueError(
            f"X has no column to cluster: {_reasons(schema.skipped_columns)}. Convert a column to "
            f"float to use it as a feature."
        )
    warn_of_skipped(schema)
    kept = [j for j, column in enumerate(schema.columns) if column.is_feature]
    rows = np.ascontiguousarray(cells[:, kept])
    return FrameRows(rows, select_features(X, frame, schema), schema)


def _is_id_column(name: str, cells: Array, j: int) -> bool:
    """Return whether an integer column in memory is an id."""
    values = cells[:, j]
    observed = values[~np.isnan(values)]
    if not len(observed) or not could_be_id(
        name, len(observed), float(observed.min()), float(observed.max())
    ):
        return False
    if not is_id(name, NumberCounts.of_values(observed)):
        return False
    n_missing = len(values) - len(observed)
    return not n_missing or n_missing <= int(np.count_nonzero(~array_rows_with_values(cells)))


def _read_fitted(X: object, frame: Frame, fitted: TableSchema | None, is_plain: bool) -> FrameRows:
    """Return the fitted features of a new data frame."""
    if fitted is None or not fitted.has_names or (fitted.is_plain and is_plain):
        return FrameRows(frame_numbers(frame), X, fitted)
    from .inference import missing_columns_message

    if missing := [name for name in fitted.feature_names if name not in frame.columns]:
        raise ValueError(missing_columns_message("X", missing))
    named = frame.select(fitted.feature_names)
    cells = (
        frame_numbers(named)
        if all(is_plain_type(dtype) for dtype in named.schema.values())
        else encode_frame(named, fitted)
    )
    return FrameRows(cells, named.to_native(), fitted)


def encode_frame(frame: Frame, schema: TableSchema, *, checks_text: bool = True) -> Array:
    """Return the features of a data frame with this schema, (n, d) float64."""
    from .inference import apply_schema, read_modes

    scan = scan_of_frame(frame.select(schema.feature_names))
    apply_schema(scan, schema, checks_text=checks_text)
    (batch,) = scan.batches(read_modes(scan, schema.feature_names))
    cells = [
        np.asarray(encoded, np.float64)
        for j, column in enumerate(schema.features)
        for encoded in column.encode(batch.column(j), np.float64)
    ]
    return np.stack(cells, axis=1)


def select_features(X: object, frame: Frame, schema: TableSchema) -> object:
    """Return the feature columns of a data frame, used for their names."""
    if len(schema.features) == len(schema.columns):
        return X
    return frame.select(schema.feature_names).head(1).to_native()


def scan_of_frame(frame: Frame) -> TableScan:
    """Scan a data frame as a single batch."""
    from ..io._pyarrow import pa
    from ..io.arrow import TableScan

    columns = [arrow_column(series) for series in frame.iter_columns()]
    return TableScan("X", pa.Table.from_arrays(columns, names=list(frame.columns)))


def arrow_column(series: Series[IntoSeries]) -> pa.Array:
    """Return a column of a data frame as one Arrow array; mixed types become text."""
    from ..io._pyarrow import pa

    try:
        column = series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        values = series.to_list()
        if any(isinstance(value, complex) for value in values):
            object_numbers(series.to_numpy(), series.name)
        if all(value is None or isinstance(value, int | float) for value in values):
            # integers that need more than 64 bits become floats, as in a csv file
            return pa.array([None if _is_missing(value) else _as_float(value) for value in values])
        return pa.array([None if _is_missing(value) else str(value) for value in values])
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        column = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    return column


def _as_float(value: float) -> float:
    """Convert a number to float, or to infinity on overflow."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_missing(value: object) -> bool:
    return value is None or value != value


def warn_of_skipped(schema: TableSchema, name: str = "X") -> None:
    """Warn about columns that are not features, except those that the user excluded."""
    skipped = {
        column: why for column, why in schema.skipped_columns.items() if why not in REQUESTED
    }
    if not skipped:
        return
    fix = "Drop them to silence this warning"
    if AN_ID in skipped.values():
        fix += ", or convert an id to float to use it as a feature"
    warnings.warn(
        f"Ignored columns of {name}: {_reasons(skipped)}. {fix}.",
        UserWarning,
        stacklevel=caller_stacklevel(),
    )


def _reasons(skipped: dict[str, str]) -> str:
    return name_list([f"{name} ({why})" for name, why in skipped.items()])


# columns as numbers


def is_plain_type(dtype: object) -> bool:
    """Return whether a column of this narwhals type is numeric."""
    return dtype in PLAIN_TYPES or getattr(dtype, "is_numeric", lambda: False)()


def frame_numbers(frame: Frame) -> Array:
    """Convert a data frame to float64 (n, d), with NaN for null. Raise an error for text columns.

    Plain numeric columns are converted together, others one by one.
    """
    if (
        frame.columns
        and set(frame.schema.values()) <= PLAIN_TYPES
        and (cells := frame.to_numpy()).dtype.kind in "fiub"
    ):
        return np.asarray(cells, np.float64, order="C")
    columns = [_column(series, series.name) for series in frame.iter_columns()]
    return np.stack(columns, axis=1) if columns else np.empty((len(frame), 0))


def _column(series: Series[IntoSeries], name: ColumnName) -> Array:
    """Convert a column of a data frame to float64, with NaN for null."""
    if series.dtype in PLAIN_TYPES and (cells := series.to_numpy()).dtype.kind in "fiub":
        return np.asarray(cells, np.float64)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return object_numbers(series.to_numpy(), name)


def object_numbers(values: Array, name: ColumnName) -> Array:
    """Convert numeric objects to float64. Raise an error for text, even if it contains digits."""
    kind = next((type(v).__name__ for v in values.ravel() if isinstance(v, str | bytes)), "")
    try:
        if kind or values.dtype.kind in "mMc":
            raise ValueError(f"found {kind or values.dtype}")
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"X must be numeric, but column {name!r} is not: {error}. Drop or encode it."
        ) from None


def require_features(schema: TableSchema, columns: Sequence[str]) -> None:
    """Raise an error if a feature of the fit is missing from the columns."""
    from .inference import missing_columns_message

    if missing := [name for name in schema.feature_names if name not in set(columns)]:
        raise ValueError(missing_columns_message("X", missing))
