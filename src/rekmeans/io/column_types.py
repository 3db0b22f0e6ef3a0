"""Map Arrow types to column storage types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnType(NamedTuple):
    """The storage type of a source column."""

    storage: Literal["integer", "number", "text", "other"]
    reason: str = ""  # why cells of this type are not numbers
    is_narrow: bool = False  # whether every value is exact in float32


def classify_type(kind: pa.DataType) -> ColumnType:
    """Return the storage type for an Arrow type."""
    from ._pyarrow import pa, types

    # exact in float32; if any column has another type, all columns become float64
    narrow = (pa.float32(), pa.float16(), pa.int16(), pa.int8(), pa.uint16(), pa.uint8())
    is_narrow = kind in (*narrow, pa.bool_())
    if types.is_integer(kind):
        return ColumnType("integer", is_narrow=is_narrow)
    if is_number_type(kind):
        return ColumnType("number", is_narrow=is_narrow)
    if is_text_type(kind):
        return ColumnType("text")
    if types.is_temporal(kind):
        return ColumnType("other", "dates or times")
    return ColumnType("other", f"{kind}" if types.is_nested(kind) else "text")


def is_number_type(kind: pa.DataType) -> bool:
    """Return whether a column of this type is numeric. The null type counts as numeric."""
    from ._pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def is_text_type(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds text."""
    from ._pyarrow import types

    return any(test(kind) for test in (types.is_string, types.is_large_string))
