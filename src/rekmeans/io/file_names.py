"""Resolve a table name to files: a single file, a folder or a glob pattern."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path

GLOB = "*?["  # a name with one of these is a pattern, unless the file exists
OUTPUT = "-rekmeans"  # suffix of the output folders of the command line
# files with these prefixes are ignored, as in pyarrow, Spark and Dask
HIDDEN = (".", "_")


def is_pattern(name: str | os.PathLike[str]) -> bool:
    """Return whether a name is a glob pattern."""
    return bool(set(GLOB) & set(str(name))) and not Path(name).exists()


def is_several_files(name: str | os.PathLike[str]) -> bool:
    """Return whether a name is a folder or a glob pattern."""
    return is_pattern(name) or Path(name).is_dir()


def table_files(name: str | os.PathLike[str]) -> list[str]:
    """Return the files of a table, sorted by name and without duplicates.

    Folders are searched recursively.
    """
    places = glob(str(name), recursive=True) if is_pattern(name) else [str(name)]
    files = set()
    for place in map(Path, places):
        if not place.is_dir():
            files.add(str(place))
            continue
        found = (path for path in place.rglob("*") if path.is_file())
        files |= {str(path) for path in found if not _is_hidden(path.relative_to(place))}
    return sorted(files)


def _is_hidden(path: Path) -> bool:
    is_output = any(part.endswith(OUTPUT) for part in path.parts[:-1])
    return is_output or any(part.startswith(HIDDEN) for part in path.parts)


def would_read(name: str | os.PathLike[str], path: Path) -> bool:
    """Return whether a folder or glob pattern `name` would include a file at this path."""
    if not is_pattern(name):
        file = Path(os.path.realpath(path))
        place = Path(os.path.realpath(name))
        return (
            place.is_dir()
            and file.is_relative_to(place)
            and not _is_hidden(file.relative_to(place))
        )
    file = Path(os.path.abspath(path))
    pattern = Path(os.path.abspath(name))
    folders = [folder for folder in file.parents if not _is_hidden(file.relative_to(folder))]
    # a pattern that matches a folder includes its files
    return any(_matches(place.parts, pattern.parts) for place in (file, *folders))


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the parts of a path match a pattern, where ** matches any number of parts."""
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or (
            not parts[0].startswith(".") and _matches(parts[1:], pattern)
        )
    is_shown = not parts[0].startswith(".") or pattern[0].startswith(".")
    return is_shown and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_regular_file(path: str | os.PathLike[str]) -> None:
    """Raise an error unless the path is a regular file. Opening a named pipe would block."""
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:
        raise ValueError(
            f"{os.fspath(path)!r} is not a valid path ({error}). Pass the path of a file."
        ) from None
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist. Pass the path of a file.") from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ValueError(f"{path} is a circular symbolic link. Pass the path of a file.") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder. Pass the path of a file in it.")
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "not a regular file")
        raise ValueError(f"{path} is {kind}. Pass the path of a file.")
