"""npy and npz files, and any other array without column names, as file tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._grid import Array
from ..table import dense
from .file_table import ColumnSelection, FileTable, UnreadableFileError, name_list

TABLE, CLASSES = "X", "y"  # the arrays of an npz file


def read_npy(path: Path, selection: ColumnSelection) -> FileTable:
    _refuse_other_magic(path, b"\x93NUMPY")
    return table_of_array(path, np.load(path, mmap_mode="r", allow_pickle=False), None, selection)


def read_npz(path: Path, selection: ColumnSelection) -> FileTable:
    _refuse_other_magic(path, b"PK")
    with np.load(path, allow_pickle=False) as arrays:
        name = TABLE if len(arrays.files) != 1 else arrays.files[0]
        if name not in arrays.files:
            raise UnreadableFileError(f"{path.name} needs an array X: it holds {name_list(arrays.files)}.")
        y = arrays[CLASSES] if CLASSES in arrays.files else None
        return table_of_array(path, arrays[name], y, selection)


def _refuse_other_magic(path: Path, magic: bytes) -> None:
    with path.open("rb") as file:
        if file.read(len(magic)) != magic:
            raise UnreadableFileError(f"{path.name} is no {path.suffix[1:]} file of NumPy: was it renamed?")


def table_of_array(path: Path, X: Any, y: Array | None, selection: ColumnSelection) -> FileTable:
    """The table of an array: its columns are x0, x1, ...; its classes, if any, are y."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise UnreadableFileError(f"{path.name} must hold a 2-D array of numbers, got shape {X.shape} of {X.dtype}.")
    if y is not None and y.shape != X.shape[:1]:
        raise UnreadableFileError(f"{path.name} must hold one y for each row of X, got shapes {X.shape} and {y.shape}.")
    columns = [f"x{j}" for j in range(X.shape[1])]
    selection = selection.by_position(columns)
    selection.refuse_missing_columns(path, [*columns, *([] if y is None else [CLASSES])])
    label = selection.label
    names = [name for name in (selection.only or columns) if name not in selection.drop and name != label]
    rows = X if names == columns else X[:, [columns.index(name) for name in names]]
    if not sparse.issparse(X):
        rows = rows.astype(_float_type(X.dtype), copy=False)
    table = FileTable(rows, names, has_names=False, skipped={} if y is None else {CLASSES: "the classes"})
    if label is None:
        return table
    numbers, classes = _encode_classes(X[:, [columns.index(label)]] if label in columns else y)
    return replace(table, y=numbers, classes=classes)


def _float_type(dtype: Any) -> Any:
    """The floating type that holds values of `dtype`: float32 where that is exact."""
    return dtype if dtype.kind == "f" and dtype.itemsize in (4, 8) else np.result_type(dtype, np.float32)


def _encode_classes(values: Any) -> tuple[Array, list[str]]:
    """Number of each row's class, -1 where it is missing, and the names of the classes."""
    classes, numbers = np.unique(dense(values), return_inverse=True)
    known = classes[classes == classes]  # NaN, the last, is a missing class
    numbers = np.where(numbers == len(known), -1, numbers)
    return numbers.ravel(), [f"{value}" for value in known]
