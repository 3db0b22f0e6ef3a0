"""Which files the name of a table stands for: one file, those in a folder, or those that a pattern
matches.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path

GLOB = "*?["  # a name with one of these stands for several files, unless it is that of a file
OUTPUT = "-rekmeans"  # how folders end that the command line writes
# how names begin that a folder of data has for other things, as pyarrow, Spark and Dask know them
HIDDEN = (".", "_")


def is_pattern(name: str | os.PathLike[str]) -> bool:
    """Whether a name stands for the files that it matches."""
    return bool(set(GLOB) & set(str(name))) and not Path(name).exists()


def is_several_files(name: str | os.PathLike[str]) -> bool:
    """Whether a name stands for a folder or a pattern."""
    return is_pattern(name) or Path(name).is_dir()


def table_files(name: str | os.PathLike[str]) -> list[str]:
    """The files of a table in the order of their names, each once; a folder stands for those in it
    and below.
    """
    places = glob(str(name), recursive=True) if is_pattern(name) else [str(name)]
    return sorted({file for place in places for file in _files_at(Path(place))})


def _files_at(place: Path) -> list[str]:
    if not place.is_dir():
        return [str(place)]
    return [
        str(path)
        for path in place.rglob("*")
        if path.is_file() and not _is_hidden(path.relative_to(place))
    ]


def _is_hidden(path: Path) -> bool:
    is_output = any(part.endswith(OUTPUT) for part in path.parts[:-1])
    return is_output or any(part.startswith(HIDDEN) for part in path.parts)


def would_read(name: str | os.PathLike[str], path: Path) -> bool:
    """Whether a file at this path, there or not, belongs to a folder or a pattern."""
    if not is_pattern(name):
        file, place = (Path(os.path.realpath(one)) for one in (path, name))
        return (
            place.is_dir()
            and file.is_relative_to(place)
            and not _is_hidden(file.relative_to(place))
        )
    file, pattern = (Path(os.path.abspath(one)) for one in (path, name))
    folders = [folder for folder in file.parents if not _is_hidden(file.relative_to(folder))]
    # a folder stands for its files
    return any(_matches(place.parts, pattern.parts) for place in (file, *folders))


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern, where ** stands for any number of
    them.
    """
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or (
            not parts[0].startswith(".") and _matches(parts[1:], pattern)
        )
    is_shown = not parts[0].startswith(".") or pattern[0].startswith(".")
    return is_shown and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
