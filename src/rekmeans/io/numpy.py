"""Read npy, npz and libsvm (svmlight) files: arrays without column names, and their labels."""

from __future__ import annotations

import math
import tokenize
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from .._grid import Array
from .._text import name_list
from ..machine_memory import size_text
from .scan import ArrayScan
from .selection import ColumnSelection, UnreadableFileError, reject_oversize

# names of the arrays in an npz file
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
COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the methods that NumPy writes
MAX_COMPRESSION = 1032  # limit of deflate; a higher ratio means a corrupt file


@dataclass(frozen=True)
class ArrayHeader:
    """The header of an array and the size of its data in bytes."""

    shape: tuple[int, ...]
    dtype: Any
    n_bytes: int


def scan_npy(path: Path, selection: ColumnSelection) -> ArrayScan:
    """Scan a memory-mapped .npy file."""
    _reject_other_magic(path, b"\x93NUMPY")
    with path.open("rb") as file:
        array = _array_header(path, file, path.stat().st_size)
    _reject_other_tables(path, array, selection)
    return ArrayScan(path.name, np.load(path, mmap_mode="r", allow_pickle=False))


def scan_npz(path: Path, selection: ColumnSelection) -> ArrayScan:
    """Scan a .npz file: the array X (or the only array) and the labels y, if any."""
    _reject_other_magic(path, b"PK")
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        members = {name.removesuffix(".npy"): archive.getinfo(name) for name in names}
        name = TABLE if len(members) != 1 else next(iter(members))
        if name not in members:
            raise UnreadableFileError(
                f"{path.name} must contain an array named X, got {name_list(archive.namelist())}. "
                f"Save it with np.savez(path, X=X)."
            )
        table = _member_header(path, archive, members[name])
        _reject_other_tables(path, table, selection)
        classes = members.get(CLASSES)
        if classes is not None:
            _reject_other_classes(path, table, _member_header(path, archive, classes))
        y = None if classes is None else _read_member(archive, classes)
        return ArrayScan(path.name, _read_member(archive, members[name]), y)


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _member_header(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> ArrayHeader:
    """Return the header of an array in an npz file."""
    if member.compress_type not in COMPRESSION_METHODS or member.file_size > MAX_COMPRESSION * (
        member.compress_size + 1
    ):
        raise UnreadableFileError(
            f"{path.name} is damaged or was not written by NumPy. Save it again with np.savez."
        )
    with archive.open(member) as file:
        return _array_header(path, file, member.file_size)


def _array_header(path: Path, file: IO[bytes], size: int) -> ArrayHeader:
    """Read the header of an array file of `size` bytes."""
    try:
        read_header = HEADER_READERS[np.lib.format.read_magic(file)]
        shape, _, dtype = read_header(file)
    except KeyError:  # newer format versions are for structured arrays
        raise UnreadableFileError(
            f"{path.name} is damaged or has an unsupported version of the npy format. "
            f"Save an array of numbers with np.save."
        ) from None
    except BAD_HEADER:
        what = f"{path.name} is damaged: its header cannot be parsed. Save it again."
        raise UnreadableFileError(what) from None
    if any(side < 0 for side in shape):
        raise UnreadableFileError(
            f"{path.name} is damaged: its header contains the shape {shape}. Save it again."
        )
    return ArrayHeader(shape, dtype, max(0, size - file.tell()))


def _reject_other_tables(path: Path, array: ArrayHeader, selection: ColumnSelection) -> None:
    shape, dtype = array.shape, array.dtype
    if dtype.hasobject:
        raise UnreadableFileError(
            f"{path.name} contains Python objects, which are not supported. "
            f"Save an array of numbers."
        )
    if len(shape) != 2 or dtype.kind not in "fiub":
        what = f"shape {shape} and dtype {dtype}"
        raise UnreadableFileError(
            f"{path.name} must contain a 2-D array of numbers, got {what:.120}."
        )
    if not all(shape):
        what = "columns" if shape[0] else "rows"
        raise UnreadableFileError(f"{path.name} has no {what}. A table needs at least one.")
    selection.reject_many_columns(path.name, shape[1])
    _reject_cut(path, array)
    reject_oversize(path.name, *shape, float_type(dtype).itemsize)


def _reject_other_classes(path: Path, table: ArrayHeader, y: ArrayHeader) -> None:
    if y.dtype.hasobject:
        raise UnreadableFileError(
            f"{path.name} contains Python objects in y, which are not supported. Save numbers or "
            f"strings."
        )
    if y.shape != table.shape[:1]:
        what = f"{table.shape} and {y.shape}"
        raise UnreadableFileError(
            f"{path.name} must have one label in y for each row of X, got shapes {what:.120}."
        )
    _reject_cut(path, y)


def _reject_cut(path: Path, array: ArrayHeader) -> None:
    needed = math.prod(array.shape) * array.dtype.itemsize
    if needed > array.n_bytes:
        what = f"{size_text(needed)} of data, but the file has {size_text(array.n_bytes)}"
        raise UnreadableFileError(
            f"{path.name} is truncated: its header requires {what}. Save it again."
        )


def _reject_other_magic(path: Path, magic: bytes) -> None:
    with path.open("rb") as file:
        if file.read(len(magic)) != magic:
            raise UnreadableFileError(
                f"{path.name} is not a NumPy {path.suffix[1:]} file. Check the file extension."
            )


def float_type(dtype: Any) -> Any:
    """Return float32 if it represents all values of `dtype` exactly, else float64."""
    return (
        dtype
        if dtype.kind == "f" and dtype.itemsize in (4, 8)
        else np.result_type(dtype, np.float32)
    )


def scan_libsvm(path: Path, selection: ColumnSelection) -> ArrayScan:
    """Scan a libsvm file, with its labels as the known classes."""
    try:
        X, y = load_svmlight_file(str(path), zero_based=True)
    except OverflowError:
        what = f"{path.name} has a column index above the 32-bit limit. The file may be damaged."
        raise UnreadableFileError(what) from None
    if from_0 := 0 in X.indices:
        warnings.warn(
            f"{path.name} has zero-based column indices. A similar file without column 0 would "
            f"be read as one-based, which would shift its columns by one. Use one-based indices.",
            stacklevel=2,
        )
    d = X.shape[1] - (not from_0)
    selection.reject_many_columns(path.name, d)
    X = sparse.csr_array((X.data, X.indices - (not from_0), X.indptr), shape=(X.shape[0], d))
    return ArrayScan(path.name, X, y.astype(np.int64) if (y == np.rint(y)).all() else y)
