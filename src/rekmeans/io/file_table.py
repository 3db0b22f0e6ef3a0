"""The table of a file: numeric columns, classes, row names; which columns are selected; why it cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from .._grid import Array

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # of csv and tsv files, by the last ending
MOST_NAMES = 8  # in a message; more are counted


class UnreadableFileError(ValueError):
    """A file that is not a table; the message is one sentence."""


@dataclass(frozen=True)
class FileTable:
    """The numeric columns of a file, X (n, d) of float32 where that is exact, else float64; NaN for missing; or CSR."""

    X: Any
    names: list[str]
    has_names: bool = True  # False: the file has none, and the columns are x0, x1, ...
    skipped: dict[str, str] = field(default_factory=dict)  # column: why
    y: Array | None = None  # (n,) number of each row's class, -1 where it is missing
    classes: list[str] = field(default_factory=list)
    ids: Array | None = None  # (n,) the file's own row names


@dataclass(frozen=True)
class ColumnSelection:
    """What is read of a file: its label column, columns to leave out, or the only columns to take, in order."""

    label: str | None = None
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    def refuse_missing_columns(self, path: Path, names: Sequence[str]) -> None:
        selected = (() if self.label is None else (self.label,)) + self.drop + (self.only or ())
        if missing := [name for name in selected if name not in names]:
            columns = name_list(names)
            raise UnreadableFileError(f"{path.name} has no column {name_list(missing)}: its columns are {columns}.")

    def by_position(self, names: Sequence[str]) -> Self:
        """The selection for a file without names: as many columns as are wanted are taken in their order."""
        return replace(self, only=tuple(names)) if self.only and len(self.only) == len(names) else self


def name_list(names: Sequence[Any]) -> str:
    """Names with commas, the first few of many."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(str(name) for name in names[:MOST_NAMES]) + more
