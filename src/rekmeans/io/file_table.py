"""The table of a file: numeric columns, classes, row names; which columns are selected; why it
cannot be read, such as for its size.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from .._grid import Array
from ..analysis.number_format import shorten_name
from ..machine_memory import machine_memory, size_text
from . import MOST_COLUMNS

# of csv and tsv files, by the last ending
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
MOST_NAMES = 8  # in a message; more are counted
LONGEST_NAME = 60  # letters of a name in a message


class UnreadableFileError(ValueError):
    """A file that is not a table; the message is one sentence."""


@dataclass(frozen=True)
class FileTable:
    """The numeric columns of a file, X (n, d) of float32 where that is exact, else float64;

    NaN for missing; or CSR.
    """

    X: Any
    names: Sequence[str]
    has_names: bool = True  # False: the file has none, and the columns are x0, x1, ...
    skipped: dict[str, str] = field(default_factory=dict)  # column: why
    y: Array | None = None  # (n,) number of each row's class, -1 where it is missing
    classes: list[str] = field(default_factory=list)
    ids: Array | None = None  # the file's own name of each of its rows
    notes: list[str] = field(default_factory=list)  # what was done to the file, a sentence each
    # of each row of the file, where some have no value and are not in X
    has_value: Array | None = None
    # where a row of the file begins, if it has lines
    line_of_row: Callable[[int], int] | None = None

    def row_place(self, row: int) -> str:
        """Where a row of the file is, for people: its line, the header being the first, or its
        number.
        """
        return (
            f"row {row} (counted from 0)"
            if self.line_of_row is None
            else f"line {self.line_of_row(row)}"
        )

    def labels_of_file(self, labels: Array) -> Array:
        """The labels of the rows of X as those of the rows of the file, masked where a row is not
        in X.
        """
        if self.has_value is None:
            return labels
        of_file = np.zeros(len(self.has_value), labels.dtype)
        of_file[self.has_value] = labels
        return np.ma.MaskedArray(of_file, mask=~self.has_value)


@dataclass(frozen=True)
class NumberedNames(Sequence[str]):
    """The names x0, x1, ... of the columns of a file without names, each made when it is asked
    for.
    """

    number: int  # of columns

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, at: Any) -> Any:
        numbers = range(self.number)[at]
        return [f"x{j}" for j in numbers] if isinstance(at, slice) else f"x{numbers}"

    def __contains__(self, name: object) -> bool:
        return self._position(name) is not None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(other) == self.number
            and all(map(str.__eq__, self, other))
        )

    def index(self, name: Any, start: int = 0, stop: int | None = None) -> int:
        """The number of the column of this name."""
        position = self._position(name)
        if position is None or position not in range(self.number)[start:stop]:
            raise ValueError(f"{name!r} is not a column")
        return position

    def _position(self, name: object) -> int | None:
        """The number in a name such as x12; None where no column has that name."""
        digits = name[1:] if isinstance(name, str) and name[:1] == "x" else ""
        is_canonical = (
            len(digits) <= len(str(self.number))
            and digits.isdecimal()
            and digits == str(int(digits))
        )
        return int(digits) if is_canonical and int(digits) < self.number else None


@dataclass(frozen=True)
class ColumnSelection:
    """What is read of a file: its label column, columns to leave out, or the only columns to take,
    in order.
    """

    label: str | None = None
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    max_columns: int = MOST_COLUMNS
    keep: tuple[str, ...] = ()  # features even if they look like ids
    is_of_model: bool = False  # a fitted model says what is a feature: ids too

    def refuse_many_columns(self, path: Path, count: int) -> None:
        """Refuse more columns than are expected, before anything is made for each of them."""
        if count > self.max_columns:
            raise UnreadableFileError(
                f"{path.name} has {count:,} columns, at most {self.max_columns:,} are taken: is "
                f"it damaged? "
                f"If not, say --max-columns {count}."
            )

    def refuse_missing_columns(
        self, path: Path, names: Sequence[str], others: Collection[str] = ()
    ) -> None:
        """Refuse names that are asked for and neither a column's nor among the others."""
        selected = (
            (() if self.label is None else (self.label,))
            + self.drop
            + self.keep
            + (self.only or ())
        )
        known: Collection[str] = names if isinstance(names, NumberedNames) else set(names)
        if missing := [name for name in selected if name not in known and name not in others]:
            columns = ", ".join([name_list(names), *others])
            raise UnreadableFileError(
                f"{path.name} has no column {name_list(missing)}: its columns are {columns}."
            )

    def by_position(self, names: Sequence[str]) -> Self:
        """The selection for a file without names: as many columns as are wanted are taken in their
        order.
        """
        return (
            replace(self, only=tuple(names)) if self.only and len(self.only) == len(names) else self
        )


def name_list(names: Sequence[Any], longest: int = LONGEST_NAME) -> str:
    """Names with commas, the first few of many."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(shorten_name(str(name), longest) for name in names[:MOST_NAMES]) + more


def refuse_oversize(path: Path, n: int, d: int, itemsize: int = 8) -> None:
    """Refuse a table of n rows and d columns that the memory of this machine cannot hold."""
    refuse_bytes(path, n * d * itemsize, f"{n:,} rows, {d:,} columns")


def refuse_bytes(path: Path, size: int, shape: str) -> None:
    """Refuse to read a file that takes more bytes of memory than there are."""
    if size > (most := machine_memory()):
        raise UnreadableFileError(
            f"{path.name} would take {size_text(size)} of memory ({shape}), this machine has "
            f"{size_text(most)}: "
            "use fewer rows or columns."
        )
