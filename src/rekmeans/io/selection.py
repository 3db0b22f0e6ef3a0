"""Column selection, and errors for tables that cannot be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from .._text import name_list
from ..machine_memory import machine_memory, size_text
from . import MAX_COLUMNS

# compression of csv and tsv files by suffix
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
READ_IN_BLOCKS = (
    "Use fewer rows or columns, or pass a memory limit (--memory 2GB) to read the table in blocks."
)


class UnreadableFileError(ValueError):
    """Raised if a file cannot be read as a table."""


@dataclass(frozen=True)
class NumberedNames(Sequence[str]):
    """The generated names x0, x1, ... of unnamed columns, as a lazy sequence."""

    number: int  # number of columns

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
        """Return the index of the column with this name."""
        position = self._position(name)
        if position is None or position not in range(self.number)[start:stop]:
            raise ValueError(f"{name!r} is not a column name")
        return position

    def _position(self, name: object) -> int | None:
        """Return the column index in a name such as x12, or None if there is no such column."""
        digits = name[1:] if isinstance(name, str) and name[:1] == "x" else ""
        is_canonical = (
            len(digits) <= len(str(self.number))
            and digits.isdecimal()
            and digits == str(int(digits))
        )
        return int(digits) if is_canonical and int(digits) < self.number else None


@dataclass(frozen=True)
class ColumnSelection:
    """The columns to read: a label column, columns to drop, or the columns of a model."""

    label: str | None = None
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None  # the columns of a model, in its order
    max_columns: int = MAX_COLUMNS
    keep: tuple[str, ...] = ()  # columns that are features even if they look like ids
    is_of_model: bool = False  # whether a fitted model determines the features, even ids
    weight: str | None = None  # the weight column

    def reject_many_columns(self, name: str, count: int) -> None:
        """Raise an error for too many columns before allocating anything per column."""
        if count > self.max_columns:
            raise UnreadableFileError(
                f"{name} has {count:,} columns, but at most {self.max_columns:,} are allowed. "
                f"Check the file and its separator. If the file is correct, pass --max-columns "
                f"{count}."
            )

    def reject_missing_columns(
        self, name: str, names: Sequence[str], others: Collection[str] = ()
    ) -> None:
        """Raise an error if a requested column is neither in the table nor in `others`."""
        selected = (
            *(() if self.label is None else (self.label,)),
            *self.drop,
            *self.keep,
            *(self.only or ()),
        )
        known: Collection[str] = names if isinstance(names, NumberedNames) else set(names)
        if missing := [name for name in selected if name not in known and name not in others]:
            columns = ", ".join([name_list(names), *others])
            raise UnreadableFileError(
                f"{name} has no column {name_list(missing)}. Available columns: {columns}."
            )

    def by_position(self, names: Sequence[str]) -> Self:
        """Return a selection that matches columns by position, for a table without column names."""
        return (
            replace(self, only=tuple(names)) if self.only and len(self.only) == len(names) else self
        )


def reject_oversize(name: str, n: int, d: int, itemsize: int = 8) -> None:
    """Raise an error if n rows and d columns do not fit into the memory of this machine."""
    reject_bytes(name, n * d * itemsize, f"{n:,} rows, {d:,} columns")


def reject_bytes(name: str, size: int, shape: str, fix: str = READ_IN_BLOCKS) -> None:
    """Raise an error if a table needs more memory than the machine has."""
    if size > (most := machine_memory()):
        raise UnreadableFileError(
            f"{name} would need {size_text(size)} of memory ({shape}), but this machine has "
            f"{size_text(most)}. {fix}"
        )
