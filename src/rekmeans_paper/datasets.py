"""The paper's data sets: name -> X (n, d), y (n,), from a folder of the user's, the cache, or their
public sources.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from rekmeans.io.selection import ColumnSelection
from rekmeans.table.file_table import read_table_file

from ._formats import unpack_lzw
from ._origins import FETCHABLE, STAND_INS, WITHOUT_FEATURES, Origin
from .values import Array, require_choice

# names a folder of NAME.npz files with arrays X and y, read first
FOLDER_VARIABLE = "REKMEANS_DATA"
MOONS = "halfmoon"
LOW = tuple(FETCHABLE)
HIGH = {  # sets that are available: the set of the paper each stands for
    "sports8_spm": "Event",
    "scene13_spm": "Scene13",
    "caltech101_spm": "Caltech101",
    "tinyimagenet12_spm": "SImagenet",
}
NAMES = (MOONS, *LOW, *WITHOUT_FEATURES)  # as the paper has them
ORIGINS = FETCHABLE | WITHOUT_FEATURES | STAND_INS


@dataclass(frozen=True)
class Dataset:
    """A table with its classes and where it comes from.

    X (n, d) is float32, unscaled, rows in the order of the source; y (n,) is int32, 0 to K - 1.
    """

    name: str
    X: Array
    y: Array
    source: str
    licence: str
    note: str


class MissingDatasetError(LookupError):
    """A data set that is not available; `why` says what to do."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        return f"{self.name} is missing: {self.why}"


def load(name: str, *, cache: str | os.PathLike[str] | None = None) -> Dataset:
    """A data set of the paper, or one that stands in for it.

    Read from the folder that REKMEANS_DATA names (`NAME.npz` with arrays X and y), then in the
    cache, then at its public source, and stored in the cache once its checksum is right. From each
    of these it has the same bits.

    Parameters
    ----------
    name : str
        One of `NAMES` or of the keys of `HIGH`.
    cache : path, default=None
        The folder to keep downloads in; None is the user's cache folder.

    Returns
    -------
    Dataset
        With name, X, y, source, licence, and in `note` how it differs from the paper's table.

    Raises
    ------
    MissingDatasetError
        A LookupError, if it is in none of these places.

    Examples
    --------
    >>> from rekmeans_paper import datasets
    >>> datasets.load("halfmoon").X.shape
    (300, 2)
    """
    require_choice("name", name, (*NAMES, *HIGH))
    if name == MOONS:
        return half_moons()
    origin = ORIGINS[name]
    path = _user_file(name)
    X, y = _read_user_file(path, origin) if path else _fetch_dataset(name, origin, cache)
    return Dataset(name, X, y, origin.page, origin.licence, origin.note)


def half_moons(random_state: Any = 0, n_samples: int = 300, noise: float = 0.08) -> Dataset:
    """Two half-moons in the plane, drawn anew: the paper states neither their number of rows nor
    their noise.

    Examples
    --------
    >>> from rekmeans_paper.datasets import half_moons
    >>> half_moons(random_state=1).y.sum()
    np.int64(150)
    """
    X, y = make_moons(n_samples, noise=noise, random_state=random_state)
    note = f"Drawn here, {n_samples} rows with noise {noise:g}: the paper states neither."
    return Dataset(
        MOONS,
        X.astype(np.float32),
        y.astype(np.int32),
        "sklearn.datasets.make_moons",
        "none needed",
        note,
    )


def available(*, cache: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Where each set is, or why it is not: name -> a few words; nothing is fetched.

    Examples
    --------
    >>> from rekmeans_paper import datasets
    >>> datasets.available()["halfmoon"]
    'drawn by half_moons'
    """
    return {name: _location(name, cache) for name in (*NAMES, *HIGH)}


def _location(name: str, cache: str | os.PathLike[str] | None) -> str:
    if name == MOONS:
        return "drawn by half_moons"
    if path := _user_file(name):
        return f"in {path}"
    files = ORIGINS[name].files
    if not files:
        return f"missing: {_how_to_compute(name)}"
    try:
        folder = _cache_path(cache)
    except ImportError as error:
        return f"missing: {error}"
    if all((folder / file.name).is_file() for file in files):
        return f"in the cache {folder}"
    return f"not here yet, load fetches it from {files[0].url}"


def _user_file(name: str) -> Path | None:
    """The file of a set in the folder that REKMEANS_DATA names, if there is one."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and not Path(folder).is_dir():
        raise NotADirectoryError(
            f"{FOLDER_VARIABLE} must name a folder, got {folder!r}: make it or unset the variable."
        )
    path = Path(folder or "") / f"{name}.npz"
    return path if folder and path.is_file() else None


def _read_user_file(path: Path, origin: Origin) -> tuple[Array, Array]:
    """X and y of a file of the user's, which must be the set its name says."""
    table = read_table_file(path, ColumnSelection(label="y"))
    y = np.asarray(table.y, np.int32)
    if what := origin.mismatch(table.cells, y):
        raise ValueError(
            f"{path} is not the set its name says, it has {what}: rename it or take it away."
        )
    return table.cells.astype(np.float32, copy=False), y


def _fetch_dataset(
    name: str, origin: Origin, cache: str | os.PathLike[str] | None
) -> tuple[Array, Array]:
    """X and y of a set's own files, from the cache or their source; a file that is not that set is
    not kept.
    """
    if not origin.files:
        raise MissingDatasetError(name, _how_to_compute(name))
    folder = _cache_path(cache)
    from ._download import DownloadError, download_file

    way_out = f"try later, or name in {FOLDER_VARIABLE} a folder that has {name}.npz."
    try:
        paths = [download_file(file, folder) for file in origin.files]
    except DownloadError as error:
        raise MissingDatasetError(name, f"{error}; {way_out}") from error
    try:
        X, y = origin.layout.table("\n".join(_file_text(path) for path in paths))
        what = origin.mismatch(X, y)
    except ValueError as error:
        what = str(error)
    if what:
        for path in paths:
            path.unlink()
        raise MissingDatasetError(
            name, f"{origin.files[0].url} sent another table ({what}); {way_out}"
        )
    return X, y


def _file_text(path: Path) -> str:
    data = path.read_bytes()
    return (unpack_lzw(data) if path.suffix == ".Z" else data).decode("ascii")


def _cache_path(cache: str | os.PathLike[str] | None) -> Path:
    from ._download import cache_folder

    return cache_folder() if cache is None else Path(cache)


def _how_to_compute(name: str) -> str:
    """Why a set of pictures cannot be fetched, and how to get it."""
    how = f"compute them with SpatialPyramid from the photos at {ORIGINS[name].page}"
    where = f"save them as {name}.npz (arrays X, y) in the folder that {FOLDER_VARIABLE} names"
    instead = next((f", or take {ours}" for ours, theirs in HIGH.items() if theirs == name), "")
    return f"its features are published nowhere; {how} and {where}{instead}."


def _print_table() -> None:
    for name, where in available().items():
        n, d, k = (300, 2, 2) if name == MOONS else (*ORIGINS[name].shape, ORIGINS[name].k)
        print(f"{name:20}{n:>6} x {d:<6}{k:>4} classes  {where}")


if __name__ == "__main__":
    _print_table()
