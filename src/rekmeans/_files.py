"""Files: a table on disk becomes a Sheet of numeric columns; outputs appear whole, all of them, or not at all."""

from __future__ import annotations

import csv
import os
import secrets
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ._grid import Array

ARRAYS = ("X", "y")  # what an npz file holds
LISTED = 8  # names in a message; more are counted


class Unreadable(ValueError):  # noqa: N818 - it says what the file is
    """A file that is no table; the message is the whole sentence."""


@dataclass(frozen=True)
class Sheet:
    """The numeric columns of a file, X (n, d) of float32 where that is exact, else float64; NaN for missing; or CSR."""

    X: Any
    names: list[str]
    named: bool = True  # False: the file has no names, and the columns are x0, x1, ...
    skipped: dict[str, str] = field(default_factory=dict)  # column: why
    y: Array | None = None  # (n,) number of each row's class, -1 where it is missing
    classes: list[str] = field(default_factory=list)
    ids: Array | None = None  # (n,) the file's own row names


@dataclass(frozen=True)
class Wish:
    """What is asked of a file: its label column, columns to leave out, or the only columns to take, in order."""

    label: str | None = None
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    def refuse_absent(self, path: Path, names: Sequence[str]) -> None:
        asked = (() if self.label is None else (self.label,)) + self.drop + (self.only or ())
        if absent := [name for name in asked if name not in names]:
            raise Unreadable(f"{path.name} has no column {listed(absent)}: its columns are {listed(names)}.")


def read(path: Path, wish: Wish = Wish()) -> Sheet:  # noqa: B008 - a frozen record
    """The table in a file, by the ending of its name."""
    if path.is_dir() or not path.exists():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise Unreadable(f"{path} {what}: name a file that ends in {ENDINGS}.")
    packed = path.suffix.lower() in PACKED
    kind = (path.with_suffix("") if packed else path).suffix.lower()
    if kind not in READERS or (packed and READERS[kind] is not _delimited):
        raise Unreadable(f"{path.name} ends in no known way: a table's name ends in {ENDINGS}.")
    if path.stat().st_size == 0:
        raise Unreadable(f"{path.name} is empty: a table needs at least one row.")
    try:
        sheet = READERS[kind](path, wish)
    except (Unreadable, ImportError):
        raise
    except PermissionError:
        raise Unreadable(f"{path} may not be read: ask its owner for the right to.") from None
    except (ValueError, OSError, EOFError, KeyError, TypeError, csv.Error, zipfile.BadZipFile) as error:
        raise Unreadable(f"{path.name} cannot be read as {kind[1:]}: {' '.join(str(error).split())[:200]}") from error
    return _checked(path, sheet, wish)


def _checked(path: Path, sheet: Sheet, wish: Wish) -> Sheet:
    """The sheet without columns that hold nothing, if it has rows, columns and only finite numbers."""
    if not sheet.names:
        why = "; skipped " + listed([f"{name} ({why})" for name, why in sheet.skipped.items()]) if sheet.skipped else ""
        raise Unreadable(f"{path.name} has no numeric column to cluster{why}.")
    if not sheet.X.shape[0]:
        raise Unreadable(f"{path.name} has no rows: a table needs at least one.")
    if sparse.issparse(sheet.X):
        return sheet
    ends = np.stack([end.reduce(sheet.X, axis=0) for end in (np.fmin, np.fmax)])
    if len(bad := np.flatnonzero(np.isinf(ends).any(axis=0))):
        row = np.flatnonzero(np.isinf(sheet.X[:, bad[0]]))[0]
        raise Unreadable(
            f"{path.name} must be finite: infinity in row {row} (counted from 0), column {sheet.names[bad[0]]!r}; "
            "leave a missing value empty."
        )
    gone = [j for j in np.flatnonzero(np.isnan(sheet.X[0])) if np.isnan(sheet.X[:, j]).all()]
    if not gone or wish.only:
        return sheet
    names = [name for j, name in enumerate(sheet.names) if j not in gone]
    skipped = sheet.skipped | {sheet.names[j]: "every value is missing" for j in gone}
    return _checked(path, replace(sheet, X=np.delete(sheet.X, gone, axis=1), names=names, skipped=skipped), wish)


def by_place(wish: Wish, names: list[str]) -> Wish:
    """The wish for a file without names: as many columns as are wanted are taken in their order."""
    return replace(wish, only=tuple(names)) if wish.only and len(wish.only) == len(names) else wish


def listed(names: Sequence[Any]) -> str:
    """Names with commas, the first few of many."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(str(name) for name in names[:LISTED]) + more


def _delimited(path: Path, wish: Wish) -> Sheet:
    from . import _arrow

    return _arrow.delimited(path, wish)


def _parquet(path: Path, wish: Wish) -> Sheet:
    from . import _arrow

    return _arrow.parquet(path, wish)


def _feather(path: Path, wish: Wish) -> Sheet:
    from . import _arrow

    return _arrow.feather(path, wish)


def _npy(path: Path, wish: Wish) -> Sheet:
    _refuse_foreign(path, b"\x93NUMPY")
    return _nameless(path, np.load(path, mmap_mode="r", allow_pickle=False), None, wish)


def _npz(path: Path, wish: Wish) -> Sheet:
    _refuse_foreign(path, b"PK")
    with np.load(path, allow_pickle=False) as arrays:
        name = ARRAYS[0] if len(arrays.files) != 1 else arrays.files[0]
        if name not in arrays.files:
            raise Unreadable(f"{path.name} needs an array X: it holds {listed(arrays.files)}.")
        y = arrays[ARRAYS[1]] if ARRAYS[1] in arrays.files else None
        return _nameless(path, arrays[name], y, wish)


def _refuse_foreign(path: Path, mark: bytes) -> None:
    with path.open("rb") as file:
        if file.read(len(mark)) != mark:
            raise Unreadable(f"{path.name} is no {path.suffix[1:]} file of NumPy: was it renamed?")


def _svmlight(path: Path, wish: Wish) -> Sheet:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), zero_based=True)
    if from_0 := 0 in X.indices:
        warnings.warn(
            f"{path.name} counts its columns from 0: a file without a column 0 is taken to count from 1, "
            "and all its columns would be one too far left; write such files from 1",
            stacklevel=2,
        )
    d = X.shape[1] - (not from_0)
    X = sparse.csr_array((X.data, X.indices - (not from_0), X.indptr), shape=(X.shape[0], d))
    return _nameless(path, X, y.astype(np.int64) if (y == np.rint(y)).all() else y, wish)


def _nameless(path: Path, X: Any, y: Array | None, wish: Wish) -> Sheet:
    """The sheet of an array: its columns are x0, x1, ...; its classes, if any, are y."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise Unreadable(f"{path.name} must hold a 2-D array of numbers, got shape {X.shape} of {X.dtype}.")
    if y is not None and y.shape != X.shape[:1]:
        raise Unreadable(f"{path.name} must hold one y for each row of X, got shapes {X.shape} and {y.shape}.")
    every = [f"x{j}" for j in range(X.shape[1])]
    wish = by_place(wish, every)
    wish.refuse_absent(path, [*every, *(ARRAYS[1:] if y is not None else ())])
    own = wish.label if wish.label in every else None
    names = [name for name in (wish.only or every) if name not in wish.drop and name != own]
    narrow = X.dtype if X.dtype.kind == "f" and X.dtype.itemsize in (4, 8) else np.result_type(X.dtype, np.float32)
    columns = slice(None) if names == every else [every.index(name) for name in names]
    rows = X if sparse.issparse(X) else X[:, columns].astype(narrow, copy=False)
    if sparse.issparse(X) and names != every:
        rows = X[:, columns]
    sheet = Sheet(rows, names, named=False, skipped={} if y is None else {"y": "the classes"})
    if wish.label is None:
        return sheet
    values: Any = X[:, [every.index(own)]] if own else y
    classes, numbers = np.unique(values.toarray() if sparse.issparse(values) else values, return_inverse=True)
    known = classes[classes == classes]  # NaN, the last, is a missing class
    numbers = np.where(numbers == len(known), -1, numbers)
    return replace(sheet, y=numbers.ravel(), classes=[f"{value}" for value in known])


PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
READERS: dict[str, Callable[[Path, Wish], Sheet]] = {
    ".csv": _delimited,
    ".tsv": _delimited,
    ".parquet": _parquet,
    ".feather": _feather,
    ".npy": _npy,
    ".npz": _npz,
    ".libsvm": _svmlight,
    ".svmlight": _svmlight,
    ".svm": _svmlight,
}
ENDINGS = f"{', '.join(READERS)}, or a packed .csv or .tsv in {', '.join(PACKED)}"


def save_labels(path: Path, labels: Array, ids: Array | None) -> None:
    """Row and cluster of each row, as csv or parquet by the ending of the name."""
    rows = np.arange(len(labels)) if ids is None else ids
    if path.suffix.lower() == ".parquet":
        from . import _arrow

        _arrow.save(path, {"row": rows, "cluster": labels})
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("row", "cluster"))
        lines.writerows(zip(rows.tolist(), labels.tolist(), strict=True))


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; what was written takes the place of `path` if the block ends well, and vanishes if not."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written, there is no folder {path.parent}: make it first.")
    with all_whole([path]) as parts:
        yield parts[0]


@contextmanager
def all_whole(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """A path to write to for each of `paths`; they are replaced together, after the last was written and synced.

    Their folders are made, and go again if nothing came of it.
    """
    made = [folder for folder in dict.fromkeys(path.parent for path in paths) if not folder.exists()]
    parts = [path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}") for path in paths]
    for path in paths:
        if path.is_dir():
            raise IsADirectoryError(f"a file is to be written, but {path} is a directory: name a file in it.")
    try:
        for folder in made:
            folder.mkdir(parents=True)
        yield parts
        for part in parts:
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.chmod(0o666 & ~_umask())  # some writers keep theirs to themselves
        for part, path in zip(parts, paths, strict=True):
            os.replace(part, path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
        for folder in made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _umask() -> int:
    """The rights that new files are not to give; reading it means setting it."""
    os.umask(mask := os.umask(0o077))
    return mask


def refuse_unwritable(folder: Path) -> None:
    """Say before a long fit, not after it, that nothing can be written to `folder`."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise NotADirectoryError(f"{folder} cannot be a folder: {nearest} is a file; name another with --out.")
    if not os.access(nearest, os.W_OK):
        raise PermissionError(f"{nearest} may not be written to: name another folder with --out.")
