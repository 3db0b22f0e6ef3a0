"""Counts of the cells of a column. Counts of blocks or partitions can be added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from .._grid import Array
from ..io.scan import ColumnType
from .distinct import SmallestHashes

if TYPE_CHECKING:
    import pyarrow as pa

    from ..io.number_text import NumberFormat

NUMBER_SHARE = 0.8  # minimum share of numbers among the non-missing cells of a numeric column
N_EXAMPLES = 2  # example texts shown in a message


class Counts(Protocol):
    """Counts for one kind of column. Counts of different parts of a column can be added."""

    def __add__(self, other: Self) -> Self: ...


@dataclass(frozen=True)
class CellBlock:
    """A block of cells of a source column, as read by the scan."""

    column: pa.Array
    type: ColumnType
    decimal: str  # decimal mark of the file

    @cached_property
    def observed_values(self) -> Array:
        """The non-missing cells of a numeric column, (m,) float64."""
        from ..io.arrow import column_numbers

        values = np.asarray(column_numbers(self.column, np.float64), np.float64)
        return values[~np.isnan(values)]

    @cached_property
    def texts(self) -> tuple[pa.Array, pa.Array]:
        """The distinct non-missing values of a text column and their counts."""
        from ..io._pyarrow import compute
        from ..io.number_text import tidy_cells

        pieces = compute.value_counts(tidy_cells(self.column).drop_null())
        return pieces.field("values"), pieces.field("counts")

    @property
    def n_missing(self) -> int:
        if self.type.storage == "text":
            return len(self.column) - int(_total(self.texts[1]))
        if self.type.storage == "other":
            return int(self.column.null_count)
        return len(self.column) - len(self.observed_values)


@dataclass(frozen=True)
class TextCount:
    """Counts of the cells of a text column for one number format."""

    n_cells: int = 0  # non-missing cells
    n_numbers: int = 0
    n_formatted: int = 0  # numbers with symbols to remove, such as a currency
    n_phones: int = 0  # numbers that may be phone numbers
    marks: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()  # the first few strings that are not numbers

    @classmethod
    def of_texts(
        cls,
        texts: pa.Array,
        times: pa.Array,
        is_plain: pa.Array,
        number_format: NumberFormat,
        decimal: str,
    ) -> Self:
        """Count distinct texts, given their frequencies and which are plain numbers."""
        from ..io._pyarrow import compute
        from ..io.number_text import PHONE

        is_number = number_format.are_numbers(texts)
        is_formatted = compute.and_not(is_number, is_plain)
        is_phone = compute.match_substring_regex(texts, PHONE)
        others = texts.filter(compute.invert(is_number))[:N_EXAMPLES].to_pylist()
        formatted = texts.filter(is_formatted)
        return cls(
            n_cells=_total(times),
            n_numbers=_total(times.filter(is_number)),
            n_formatted=_total(times.filter(is_formatted)),
            n_phones=_total(times.filter(is_phone)),
            marks=frozenset(number_format.marks(formatted, decimal) if len(formatted) else ()),
            texts=tuple(others),
        )

    @classmethod
    def of_words(cls, texts: pa.Array, times: pa.Array) -> Self:
        """Count distinct texts that are not numbers, given their frequencies."""
        return cls(n_cells=_total(times), texts=tuple(texts[:N_EXAMPLES].to_pylist()))

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
        """Whether the column is read as numbers."""
        return (
            0 < self.n_numbers >= NUMBER_SHARE * self.n_cells
            and self.n_phones < NUMBER_SHARE * self.n_numbers
        )


@dataclass(frozen=True)
class NumberCounts:
    """Counts for a numeric column: range, integers, distinct values, numbers stored as text."""

    n_values: int = 0  # cells that are plain numbers
    low: float = np.inf
    high: float = -np.inf
    are_integers: bool = True
    distinct: SmallestHashes | None = None  # None if not counted
    texts: Mapping[str, TextCount] = field(default_factory=dict)  # by decimal mark

    @classmethod
    def of_values(
        cls,
        values: Array,
        times: Array | None = None,
        texts: Mapping[str, TextCount] | None = None,
        is_id_candidate: bool = True,
    ) -> Self:
        """Count non-missing values (m,), given their frequencies `times`."""
        are_integers = is_id_candidate and bool((values == np.rint(values)).all())
        return cls(
            int(len(values) if times is None else times.sum()),
            float(values.min(initial=np.inf)),
            float(values.max(initial=-np.inf)),
            are_integers,
            SmallestHashes.of_values(values, times) if are_integers else None,
            texts or {},
        )

    @classmethod
    def without_values(cls, texts: Mapping[str, TextCount]) -> Self:
        """Return the counts of texts without any number."""
        return cls(distinct=SmallestHashes(), texts=texts)

    def __add__(self, other: NumberCounts) -> NumberCounts:
        records = self.distinct, other.distinct
        marks = {*self.texts, *other.texts}
        return NumberCounts(
            self.n_values + other.n_values,
            min(self.low, other.low),
            max(self.high, other.high),
            self.are_integers and other.are_integers,
            None if records[0] is None or records[1] is None else records[0] + records[1],
            {
                mark: self.texts.get(mark, TextCount()) + other.texts.get(mark, TextCount())
                for mark in sorted(marks)
            },
        )


@dataclass(frozen=True)
class ColumnCounts:
    """The counts of one column for every kind of column."""

    n_cells: int = 0
    n_missing: int = 0
    by_kind: Mapping[str, Counts] = field(default_factory=dict)

    def __add__(self, other: ColumnCounts) -> ColumnCounts:
        shared = self.by_kind.keys() & other.by_kind.keys()
        return ColumnCounts(
            self.n_cells + other.n_cells,
            self.n_missing + other.n_missing,
            {**self.by_kind, **other.by_kind}
            | {kind: self.by_kind[kind] + other.by_kind[kind] for kind in shared},
        )


def _total(counts: pa.Array) -> int:
    """Return the sum of an Arrow array of counts."""
    from ..io._pyarrow import compute

    return compute.sum(counts).as_py() or 0
