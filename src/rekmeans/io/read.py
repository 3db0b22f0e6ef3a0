"""Any table file, read by the ending of its name into a FileTable with rows, columns and finite
numbers.
"""

from __future__ import annotations

import csv
import struct
import zipfile
import zlib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy import sparse

from .._grid import Array
from ..machine_memory import machine_memory, size_text
from .file_table import (
    COMPRESSIONS,
    ColumnSelection,
    FileTable,
    UnreadableFileError,
    name_list,
)
from .tidy_table import ID, constant_notes, without_empty_columns, without_empty_rows

DELIMITED = ("csv", "read_delimited")
LIBSVM = ("numpy", "read_libsvm")
# ending: the module of this package and its function, imported when such a file is read
READERS = {
    ".csv": DELIMITED,
    ".tsv": DELIMITED,
    ".parquet": ("arrow", "read_parquet"),
    ".feather": ("arrow", "read_feather"),
    ".npy": ("numpy", "read_npy"),
    ".npz": ("numpy", "read_npz"),
    ".libsvm": LIBSVM,
    ".svmlight": LIBSVM,
    ".svm": LIBSVM,
}
ENDINGS = f"{', '.join(READERS)}, or a packed .csv or .tsv in {', '.join(COMPRESSIONS)}"
UNREADABLE = (  # what libraries raise for damaged files
    *(ValueError, TypeError, OSError, EOFError, LookupError, ArithmeticError, RuntimeError),
    *(csv.Error, zipfile.BadZipFile, zlib.error, struct.error),
)
LONGEST_REASON = 200  # letters of a library's own words


def read_table_file(
    path: Path,
    selection: ColumnSelection = ColumnSelection(),  # noqa: B008 - frozen
) -> FileTable:
    """The table in a file, by the ending of its name."""
    ending = _known_ending(path)
    if path.stat().st_size == 0:
        raise UnreadableFileError(f"{path.name} is empty: a table needs at least one row.")
    module, function = READERS[ending]
    read = getattr(import_module(f".{module}", __package__), function)
    try:
        table = read(path, selection)
    except UnreadableFileError:
        raise
    except PermissionError:
        raise UnreadableFileError(
            f"{path} may not be read: ask its owner for permission."
        ) from None
    except MemoryError as error:
        raise UnreadableFileError(_memory_sentence(path, error)) from error
    except UNREADABLE as error:
        reason = " ".join(str(error).split())[:LONGEST_REASON] or type(error).__name__
        raise UnreadableFileError(
            f"{path.name} cannot be read as {ending[1:]}: {reason}"
        ) from error
    _refuse_empty(path, table)
    if sparse.issparse(table.X):
        return table
    ends = np.stack([end.reduce(table.X, axis=0) for end in (np.fmin, np.fmax)])  # (2, d)
    _refuse_infinity(path, table, ends)
    return _tidy_table(path, table, ends, selection)


def _known_ending(path: Path) -> str:
    """The ending that says what the file is, without that of a compression."""
    if not path.is_file():
        what = (
            "is a folder"
            if path.is_dir()
            else "is no regular file"
            if path.exists()
            else "does not exist"
        )
        raise UnreadableFileError(f"{path} {what}: name a file that ends in {ENDINGS}.")
    is_compressed = path.suffix.lower() in COMPRESSIONS
    ending = (path.with_suffix("") if is_compressed else path).suffix.lower()
    if ending not in READERS or (is_compressed and READERS[ending] != DELIMITED):
        raise UnreadableFileError(
            f"{path.name} ends in no known way: a table's name ends in {ENDINGS}."
        )
    return ending


def _memory_sentence(path: Path, error: MemoryError) -> str:
    """That a file does not fit, with what was asked for where NumPy or Arrow says it."""
    reason = " ".join(str(error).split())[:LONGEST_REASON].rstrip(".") or "no more memory is given"
    sizes = (
        f"the file has {size_text(path.stat().st_size)}, this machine {size_text(machine_memory())}"
    )
    return f"{path.name} does not fit into memory ({reason}; {sizes}): use fewer rows or columns."


def _refuse_empty(path: Path, table: FileTable) -> None:
    if not table.names:
        reasons = name_list([f"{name} ({why})" for name, why in table.skipped.items()])
        way_out = "; take one with --keep NAME" if ID in table.skipped.values() else ""
        raise UnreadableFileError(
            f"{path.name} has no numeric column to "
            f"cluster{'; skipped ' if reasons else ''}{reasons}{way_out}."
        )
    if not table.X.shape[0]:
        raise UnreadableFileError(f"{path.name} has no rows: a table needs at least one.")


def _refuse_infinity(path: Path, table: FileTable, ends: Array) -> None:
    if len(bad := np.flatnonzero(np.isinf(ends).any(axis=0))):
        row = int(np.flatnonzero(np.isinf(table.X[:, bad[0]]))[0])
        where = f"{table.row_place(row)}, column {name_list([table.names[bad[0]]])!r}"
        raise UnreadableFileError(
            f"{path.name} must be finite: infinity in {where}; leave a missing value empty."
        )


def _tidy_table(path: Path, table: FileTable, ends: Array, selection: ColumnSelection) -> FileTable:
    """The table without columns and rows that have no value, and with what is to be said of the
    others.
    """
    if not selection.only and not selection.is_of_model:
        table = replace(table, notes=[*table.notes, *constant_notes(table, *ends)])
    if not selection.only:
        table = without_empty_columns(table)
        _refuse_empty(path, table)
    table = without_empty_rows(table)
    if not len(table.X):
        raise UnreadableFileError(
            f"{path.name} has no row with a value in {name_list(table.names)}."
        )
    return table
