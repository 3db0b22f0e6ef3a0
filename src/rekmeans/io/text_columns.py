"""Columns of text in which at least 80 % of the cells are numbers: found by one pass over the file,
then converted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..analysis.number_format import shorten_name
from ._pyarrow import compute, types
from .file_table import name_list
from .number_text import (
    NUMBER_FORMATS,
    PHONE,
    NumberFormat,
    are_plain_numbers,
    as_text,
    plain_numbers,
    tidy_cells,
)

NUMBER_SHARE = 0.8  # of the cells with a value; below it a column is text
N_EXAMPLES = 2  # texts that a note shows
LONGEST_EXAMPLE = 12  # letters of each
LONGEST_NOTE = 120  # letters on one column


@dataclass(frozen=True)
class TextCount:
    """What some cells of a column are under one decimal mark; the counts of two pieces of a column
    add up.
    """

    n_cells: int = 0  # with a value
    n_numbers: int = 0
    n_formatted: int = 0  # numbers of which something is to be removed
    n_phones: int = 0  # numbers that may be those of phones
    marks: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()  # the first that are not numbers

    def __add__(self, other: TextCount) -> TextCount:
        return TextCount(
            self.n_cells + other.n_cells,
            self.n_numbers + other.n_numbers,
            self.n_formatted + other.n_formatted,
            self.n_phones + other.n_phones,
            self.marks | other.marks,
            tuple(dict.fromkeys(self.texts + other.texts))[:N_EXAMPLES],
        )

    @property
    def is_numeric(self) -> bool:
        return (
            0 < self.n_numbers >= NUMBER_SHARE * self.n_cells
            and self.n_phones < NUMBER_SHARE * self.n_numbers
        )


@dataclass(frozen=True)
class NumberColumn:
    """A column of text that is read as numbers, and what is to be said of it."""

    format: NumberFormat
    count: TextCount

    def numbers(self, column: Any) -> Any:
        """The cells as numbers, null where they are missing or none; each different text is
        converted once.
        """
        coded = tidy_cells(column).dictionary_encode()
        return self.format.values(coded.dictionary).take(coded.indices)


def is_text(kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))


def find_number_columns(
    batches: Iterable[Any], names: Sequence[str], decimal: str
) -> dict[str, NumberColumn]:
    """The columns of text that are numbers; `decimal` is the mark of the file, taken where a column
    shows none.

    The mark of a column is that under which more of its cells are numbers: 1,5 and 1.234,5 are so
    with one mark only, 1,234 with both.
    """
    counts = {name: dict.fromkeys(NUMBER_FORMATS, TextCount()) for name in names}
    for batch in batches:
        for name in names:
            pieces = compute.value_counts(tidy_cells(batch.column(name)).drop_null())
            for mark, number_format in NUMBER_FORMATS.items():
                counts[name][mark] += _text_count(pieces, number_format, decimal)
    columns = {}
    for name, count_of in counts.items():
        mark = max(count_of, key=lambda mark: (count_of[mark].n_numbers, mark == decimal))
        columns[name] = NumberColumn(NUMBER_FORMATS[mark], count_of[mark])
    return {name: column for name, column in columns.items() if column.count.is_numeric}


def find_late_text(batches: Iterable[Any], names: Sequence[str], decimal: str) -> set[str]:
    """The columns, read as text, that the csv reader cannot take as numbers."""
    late: set[str] = set()
    for batch in batches:
        for name in names:
            texts = compute.utf8_trim_whitespace(as_text(batch.column(name)))
            if name not in late and not are_plain_numbers(texts, decimal):
                late.add(name)
    return late


def _text_count(pieces: Any, number_format: NumberFormat, decimal: str) -> TextCount:
    """The count of different texts, each with how often it comes."""
    texts, times = pieces.field("values"), pieces.field("counts")
    is_number = number_format.are_numbers(texts)
    is_formatted = compute.and_not(is_number, plain_numbers(texts, decimal))
    is_phone = compute.match_substring_regex(texts, PHONE)
    others = texts.filter(compute.invert(is_number))[:N_EXAMPLES].to_pylist()
    return TextCount(
        n_cells=_total(times),
        n_numbers=_total(times.filter(is_number)),
        n_formatted=_total(times.filter(is_formatted)),
        n_phones=_total(times.filter(is_phone)),
        marks=frozenset(number_format.marks(texts.filter(is_formatted), decimal)),
        texts=tuple(others),
    )


def _total(counts: Any) -> int:
    return compute.sum(counts).as_py() or 0


def number_notes(columns: dict[str, NumberColumn]) -> list[str]:
    """What was done to columns of text, in at most two sentences."""
    converted = [
        _format_note(name, column) for name, column in columns.items() if column.count.n_formatted
    ]
    lost = [
        _text_note(name, column.count) for name, column in columns.items() if column.count.texts
    ]
    return [
        *([f"text read as numbers: {name_list(converted, LONGEST_NOTE)}"] if converted else []),
        *([f"text taken as missing: {name_list(lost, LONGEST_NOTE)}"] if lost else []),
    ]


def _format_note(name: str, column: NumberColumn) -> str:
    n = column.count.n_formatted
    marks = " and ".join(sorted(column.count.marks))
    return f"{shorten_name(name)} ({marks} in {n:,} {'cells' if n > 1 else 'cell'})"


def _text_note(name: str, count: TextCount) -> str:
    n = count.n_cells - count.n_numbers
    examples = ", ".join(repr(shorten_name(text, LONGEST_EXAMPLE)) for text in count.texts)
    return f"{shorten_name(name)} ({n:,} {'cells' if n > 1 else 'cell'}: {examples})"
