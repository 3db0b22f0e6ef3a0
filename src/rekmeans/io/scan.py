"""Scans: tables that can be read repeatedly as Arrow record batches of selected columns.

To add a file format, write a function that returns the scan of a path and a selection, and add it
to READERS.
"""

from __future__ import annotations

import csv
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from .._grid import Array
from .._text import quoted_list
from ..machine_memory import machine_memory, size_text
from .file_names import is_several_files
from .selection import COMPRESSIONS, ColumnSelection, UnreadableFileError

if TYPE_CHECKING:
    import pyarrow as pa

# "text": cells as written (binary or string); "exact": the same, but integers stay integers
ReadAs: TypeAlias = Literal["number", "text", "exact"]

DELIMITED = ("csv", "scan_delimited")
LIBSVM = ("numpy", "scan_libsvm")
PARQUET = ("parquet", "scan_parquet")
# file extension: module and function, imported when such a file is read
READERS = {
    ".csv": DELIMITED,
    ".tsv": DELIMITED,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".feather": ("arrow", "scan_feather"),
    ".npy": ("numpy", "scan_npy"),
    ".npz": ("numpy", "scan_npz"),
    ".libsvm": LIBSVM,
    ".svmlight": LIBSVM,
    ".svm": LIBSVM,
}
UNREADABLE = (  # errors that libraries raise for damaged files
    *(ValueError, TypeError, OSError, EOFError, LookupError, ArithmeticError, RuntimeError),
    *(csv.Error, zipfile.BadZipFile, zlib.error, struct.error),
)
MAX_REASON_LETTERS = 200  # maximum length of a quoted library error message


class ColumnType(NamedTuple):
    """The storage type of a source column."""

    storage: Literal["integer", "number", "text", "other"]
    reason: str = ""  # why cells of this type are not numbers
    is_narrow: bool = False  # whether every value is exact in float32


class LateTextError(ValueError):
    """Raised if a column starts with numbers but contains text further down."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"column {name!r} starts with numbers but contains text further down. Convert the text "
            f"to numbers, or drop the column."
        )
        self.name = name


class ScanPart(NamedTuple):
    """The rows of a scan starting at `start`, read batch by batch."""

    start: int
    n_rows: int | None
    read: Callable[[], Iterator[pa.RecordBatch]]


class Scan:
    """A table of named or numbered columns that can be read any number of times.

    `types` maps the source columns, in order, to their types. A subclass implements `batches`.
    """

    is_typed: ClassVar[bool] = True  # False: types are inferred from the first rows
    is_slow: ClassVar[bool] = False  # whether decoding is much slower than reading a copy

    def __init__(
        self,
        name: str,
        types: Mapping[str, pa.DataType],
        n_rows: int | None = None,
        *,
        has_names: bool = True,
        index: tuple[str, ...] = (),
        decimal: str = ".",
    ) -> None:
        self.name = name  # used in messages
        self.types = dict(types)
        self.n_rows = n_rows  # None if unknown until the table is read
        self.has_names = has_names
        self.index = index  # columns that contain row names
        self.decimal = decimal  # for columns without a decimal mark

    @property
    def expected_rows(self) -> int:
        """The exact or estimated number of rows."""
        return self.n_rows or 0

    @cached_property
    def column_types(self) -> dict[str, ColumnType]:
        """The storage type of each column."""
        return {name: classify_type(kind) for name, kind in self.types.items()}

    def batches(
        self, columns: Mapping[str, ReadAs], size: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows of these columns in order, about `size` rows at a time."""
        raise NotImplementedError

    def parts(self, columns: Mapping[str, ReadAs], size: int | None = None) -> list[ScanPart]:
        """Return parts to read in parallel, or one part if rows must be read in order."""
        return [ScanPart(0, self.n_rows, partial(self.batches, columns, size))]

    def with_late_text(self, late: str, names: list[str]) -> Scan:
        """Return a scan that reads `late`, and any other text column in `names`, as text."""
        raise LateTextError(late)

    def row_place(self, row: int) -> str:
        """Return the line number or the row number for an error message."""
        return f"row {row} (counting from 0)"


@dataclass(frozen=True)
class ArrayScan:
    """A numeric array without column names, with optional class labels."""

    name: str
    X: Any  # (n, d), dense or CSR
    y: Array | None = None


def known_endings() -> str:
    """Return the supported file extensions for an error message."""
    return f"{', '.join(READERS)} (.csv and .tsv also with {', '.join(COMPRESSIONS)})"


def open_scan(
    place: str | os.PathLike[str],
    selection: ColumnSelection = ColumnSelection(),  # noqa: B008 - frozen
) -> Scan | ArrayScan:
    """Open a single file, whose extension determines the format, or several parquet files."""
    path = Path(place)
    if is_several_files(place):
        return _reader(PARQUET)(path, selection)
    ending = _known_ending(path)
    if path.stat().st_size == 0:
        raise UnreadableFileError(f"{path.name} is empty. A table needs at least one row.")
    with explain_damage(path, ending):
        return _reader(READERS[ending])(path, selection)


def _reader(place: tuple[str, str]) -> Callable[[Path, ColumnSelection], Scan | ArrayScan]:
    """Import a function from a module of this package."""
    module, function = place
    read: Callable[[Path, ColumnSelection], Scan | ArrayScan]
    read = getattr(import_module(f".{module}", __package__), function)
    return read


@contextmanager
def explain_damage(path: Path, ending: str) -> Iterator[None]:
    """Replace a library error with an error that names the file."""
    try:
        yield
    except (UnreadableFileError, LateTextError, FileNotFoundError, ImportError):
        raise
    except PermissionError:
        raise UnreadableFileError(
            f"No permission to read {path}. Check the file permissions."
        ) from None
    except MemoryError as error:
        raise UnreadableFileError(_memory_message(path, error)) from error
    except UNREADABLE as error:
        reason = _reason(error) or type(error).__name__
        raise UnreadableFileError(
            f"{path.name} cannot be read as {ending[1:]}: {reason}"
        ) from error


def file_ending(path: Path) -> str:
    """Return the file extension without a compression suffix such as .gz."""
    is_compressed = path.suffix.lower() in COMPRESSIONS
    return (path.with_suffix("") if is_compressed else path).suffix.lower()


def reject_repeated_names(name: str, names: list[str]) -> None:
    """Raise an error for duplicate column names."""
    if twice := sorted(column for column, count in Counter(names).items() if count > 1):
        raise UnreadableFileError(
            f"{name} must have unique column names. Rename the duplicates of {quoted_list(twice)}."
        )


def _known_ending(path: Path) -> str:
    """Return the file extension; raise an error if the file is missing or the format is unknown."""
    if not path.is_file():
        what = (
            "is a folder"
            if path.is_dir()
            else "is not a regular file"
            if path.exists()
            else "does not exist"
        )
        raise UnreadableFileError(
            f"{path} {what}. Pass a file with one of these extensions: {known_endings()}."
        )
    ending = file_ending(path)
    is_compressed = path.suffix.lower() in COMPRESSIONS
    if ending not in READERS or (is_compressed and READERS[ending] != DELIMITED):
        raise UnreadableFileError(
            f"{path.name} has an unsupported file extension. Supported extensions: "
            f"{known_endings()}."
        )
    return ending


def _memory_message(path: Path, error: MemoryError) -> str:
    """Return the error message for a file that does not fit into memory."""
    reason = _reason(error).rstrip(".") or "out of memory"
    sizes = f"file size {size_text(path.stat().st_size)}, memory {size_text(machine_memory())}"
    return (
        f"{path.name} does not fit into memory ({reason}; {sizes}). Use fewer rows or columns, or "
        f"pass a memory limit (--memory 2GB)."
    )


def _reason(error: BaseException) -> str:
    """Return a library's error message on one line."""
    return " ".join(str(error).split())[:MAX_REASON_LETTERS]


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
