"""npy, npz, libsvm (svmlight) files and other arrays without column names, as file tables."""

from __future__ import annotations

import math
import tokenize
import warnings
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from .._grid import Array
from ..machine_memory import size_text
from ..table import dense
from .file_table import (
    ColumnSelection,
    FileTable,
    NumberedNames,
    UnreadableFileError,
    name_list,
    refuse_oversize,
)

# the arrays of an npz file
TABLE = "X"
CLASSES = "y"
HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
BAD_HEADER = (
    ValueError,
    TypeError,
    SyntaxError,
    tokenize.TokenError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # that NumPy writes
MOST_PACKED = 1032  # bytes that deflate can put into one; a member that promises more is damaged


@dataclass(frozen=True)
class ArrayHeader:
    """What the header of an array says, and how many bytes follow it."""

    shape: tuple[int, ...]
    dtype: Any
    n_bytes: int


def read_npy(path: Path, selection: ColumnSelection) -> FileTable:
    _refuse_other_magic(path, b"\x93NUMPY")
    with path.open("rb") as file:
        array = _array_header(path, file, path.stat().st_size)
    _refuse_other_tables(path, array, selection)
    return table_of_array(path, np.load(path, mmap_mode="r", allow_pickle=False), None, selection)


def read_npz(path: Path, selection: ColumnSelection) -> FileTable:
    _refuse_other_magic(path, b"PK")
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        members = {name.removesuffix(".npy"): archive.getinfo(name) for name in names}
        name = TABLE if len(members) != 1 else next(iter(members))
        if name not in members:
            raise UnreadableFileError(
                f"{path.name} needs an array X: it holds {name_list(archive.namelist())}."
            )
        table = _member_header(path, archive, members[name])
        _refuse_other_tables(path, table, selection)
        classes = members.get(CLASSES)
        if classes is not None:
            _refuse_other_classes(path, table, _member_header(path, archive, classes))
        y = None if classes is None else _read_member(archive, classes)
        return table_of_array(path, _read_member(archive, members[name]), y, selection)


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _member_header(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> ArrayHeader:
    """What an array in an npz file is."""
    if member.compress_type not in PACKINGS or member.file_size > MOST_PACKED * (
        member.compress_size + 1
    ):
        raise UnreadableFileError(
            f"{path.name} is damaged, or not written by NumPy: save the arrays anew."
        )
    with archive.open(member) as file:
        return _array_header(path, file, member.file_size)


def _array_header(path: Path, file: IO[bytes], size: int) -> ArrayHeader:
    """What the array is that begins here and takes all `size` bytes."""
    try:
        read_header = HEADER_READERS[np.lib.format.read_magic(file)]
        shape, _, dtype = read_header(file)
    except KeyError:  # a later format is that of arrays with named fields
        raise UnreadableFileError(
            f"{path.name} must hold plain numbers, got a newer or damaged format."
        ) from None
    except BAD_HEADER:
        what = f"{path.name} is damaged: its header does not say what array it holds; save it anew."
        raise UnreadableFileError(what) from None
    if any(side < 0 for side in shape):
        raise UnreadableFileError(
            f"{path.name} is damaged: its header says shape {shape}; save it anew."
        )
    return ArrayHeader(shape, dtype, max(0, size - file.tell()))


def _refuse_other_tables(path: Path, array: ArrayHeader, selection: ColumnSelection) -> None:
    shape, dtype = array.shape, array.dtype
    if dtype.hasobject:
        raise UnreadableFileError(
            f"{path.name} holds Python objects, which are not read: save an array of numbers."
        )
    if len(shape) != 2 or dtype.kind not in "fiub":
        what = f"{shape} of {dtype}"
        raise UnreadableFileError(
            f"{path.name} must hold a 2-D array of numbers, got shape {what:.120}."
        )
    if not all(shape):
        what = "columns" if shape[0] else "rows"
        raise UnreadableFileError(f"{path.name} has no {what}: a table needs at least one.")
    selection.refuse_many_columns(path, shape[1])
    _refuse_cut(path, array)
    refuse_oversize(path, *shape, _float_type(dtype).itemsize)


def _refuse_other_classes(path: Path, table: ArrayHeader, y: ArrayHeader) -> None:
    if y.dtype.hasobject:
        raise UnreadableFileError(
            f"{path.name} holds Python objects in y, which are not read: save numbers or text."
        )
    if y.shape != table.shape[:1]:
        what = f"{table.shape} and {y.shape}"
        raise UnreadableFileError(
            f"{path.name} must hold one y for each row of X, got shapes {what:.120}."
        )
    _refuse_cut(path, y)


def _refuse_cut(path: Path, array: ArrayHeader) -> None:
    promised = math.prod(array.shape) * array.dtype.itemsize
    if promised > array.n_bytes:
        what = f"{size_text(promised)} of values, and {size_text(array.n_bytes)} are there"
        raise UnreadableFileError(
            f"{path.name} is cut short: its header promises {what}; save it anew."
        )


def _refuse_other_magic(path: Path, magic: bytes) -> None:
    with path.open("rb") as file:
        if file.read(len(magic)) != magic:
            raise UnreadableFileError(
                f"{path.name} is no {path.suffix[1:]} file of NumPy: was it renamed?"
            )


def table_of_array(path: Path, X: Any, y: Array | None, selection: ColumnSelection) -> FileTable:
    """The table of an array without column names; its classes, if any, are y."""
    selection.refuse_many_columns(path, X.shape[1])
    columns = NumberedNames(X.shape[1])
    selection = selection.by_position(columns)
    selection.refuse_missing_columns(path, columns, () if y is None else (CLASSES,))
    label = selection.label
    left_out = (*selection.drop, selection.label)
    is_whole = selection.only is None and not any(name in columns for name in left_out)
    names = (
        columns
        if is_whole
        else [name for name in (selection.only or columns) if name not in left_out]
    )
    rows = X if is_whole or names == columns else X[:, [columns.index(name) for name in names]]
    if not sparse.issparse(X):
        rows = rows.astype(_float_type(X.dtype), copy=False)
    table = FileTable(
        rows, names, has_names=False, skipped={} if y is None else {CLASSES: "the classes"}
    )
    if label is None:
        return table
    numbers, classes = _encode_classes(X[:, [columns.index(label)]] if label in columns else y)
    return replace(table, y=numbers, classes=classes)


def _float_type(dtype: Any) -> Any:
    """The floating type that holds values of `dtype`: float32 where that is exact."""
    return (
        dtype
        if dtype.kind == "f" and dtype.itemsize in (4, 8)
        else np.result_type(dtype, np.float32)
    )


def _encode_classes(values: Any) -> tuple[Array, list[str]]:
    """Number of each row's class, -1 where it is missing, and the names of the classes."""
    classes, numbers = np.unique(dense(values), return_inverse=True)
    known = classes[classes == classes]  # NaN, the last, is a missing class
    numbers = np.where(numbers == len(known), -1, numbers)
    return numbers.ravel(), [f"{value}" for value in known]


def read_libsvm(path: Path, selection: ColumnSelection) -> FileTable:
    try:
        X, y = load_svmlight_file(str(path), zero_based=True)
    except OverflowError:
        what = f"{path.name} has a column number that does not fit into 32 bits: is it damaged?"
        raise UnreadableFileError(what) from None
    if from_0 := 0 in X.indices:
        warnings.warn(
            f"{path.name} counts its columns from 0: a file without a column 0 is taken to count "
            f"from 1, "
            "and all its columns would be one too far left; write such files from 1",
            stacklevel=2,
        )
    d = X.shape[1] - (not from_0)
    selection.refuse_many_columns(path, d)
    X = sparse.csr_array((X.data, X.indices - (not from_0), X.indptr), shape=(X.shape[0], d))
    return table_of_array(path, X, y.astype(np.int64) if (y == np.rint(y)).all() else y, selection)
