"""The schema of a table: the kind of each source column, how it is read as numbers, and why.

To add a kind of column, write a class like those below and add it to KINDS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike

from .._grid import Array
from .._text import count_of, quoted_list
from ..io.scan import ColumnType
from .column_counts import CellBlock, ColumnCounts, Counts, NumberCounts, TextCount

if TYPE_CHECKING:
    import pyarrow as pa

DROPPED = "dropped"  # reasons for skipping a column
ROW_NAMES = "row names"
WEIGHTS = "the weights"
NO_VALUES = "every value is missing"
AN_ID = "an id"

# lowercase words in the names of id columns
ID_WORDS = {"id", "ids", "uuid", "guid", "key", "rowid", "index", "idx"}
NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # customer_id, customerID and Customer Id
MIN_IDS = 10  # fewer consecutive integers may be a coincidence
ID_GAPS = 1.05  # largest ratio of range to count; deleted rows leave gaps
# larger integers are not exact in float64, so they are treated as identifiers
LARGEST_INTEGER = 2**53

Value = str | float | int | bool | None


@dataclass(frozen=True)
class ColumnFacts:
    """The properties of a source column that determine its kind."""

    name: str
    type: ColumnType
    counts: ColumnCounts | None  # None if the column has values and its type determines its kind
    decimal: str  # of the file, for columns without a decimal mark
    may_be_id: bool
    may_be_empty: bool  # whether a column without any value is a feature
    count_empty_rows: Callable[[], int]  # rows without a value in any numeric column

    def counts_of(self, kind: str) -> Counts | None:
        """Return the counts for one kind of column."""
        return None if self.counts is None else self.counts.by_kind.get(kind)


@dataclass(frozen=True)
class Column:
    """A source column. Each subclass is a kind of column."""

    name: str
    reason: str = ""

    kind: ClassVar[str] = ""
    is_feature: ClassVar[bool] = False

    @property
    def n_encoded(self) -> int:
        """The number of numeric columns that the column is converted to."""
        return 1

    @classmethod
    def count(cls, block: CellBlock) -> Counts | None:
        """Count the cells of a block for `recognize`; None if the kind needs no counts."""
        return None

    @classmethod
    def recognize(cls, facts: ColumnFacts) -> Column | None:
        """Return the column if it is of this kind, else None."""
        return None

    def encode(self, column: pa.Array, dtype: DTypeLike) -> list[Array]:
        """Convert the cells to numeric columns, with NaN for missing cells."""
        raise NotImplementedError

    def describe(self) -> str:
        """Describe how cells are converted to numbers."""
        return ""

    def to_record(self) -> dict[str, Value]:
        """Return the column as plain JSON values."""
        return {"kind": self.kind} | {
            field.name: getattr(self, field.name) for field in fields(self)
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Value]) -> Self:
        """Return the column of a record; raise ValueError for anything else."""
        given = {name: value for name, value in record.items() if name != "kind"}
        names = {field.name for field in fields(cls)}
        if set(given) != names or not all(isinstance(value, str) for value in given.values()):
            raise ValueError(
                f"A column of kind {cls.kind!r} requires strings for {quoted_list(sorted(names))}, "
                f"got {record!r:.100}. Save the model again."
            )
        return cls(**given)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Number(Column):
    """A numeric column, stored as numbers or as text."""

    decimal: str = "."  # the decimal mark of cells that are text

    kind: ClassVar[str] = "number"
    is_feature: ClassVar[bool] = True

    @classmethod
    def count(cls, block: CellBlock) -> NumberCounts | None:
        if block.type.storage == "text":
            return _count_texts(block)
        if block.type.storage == "other":
            return None
        is_candidate = block.type.storage == "integer"
        return NumberCounts.of_values(block.observed_values, is_id_candidate=is_candidate)

    @classmethod
    def recognize(cls, facts: ColumnFacts) -> Column | None:
        counts = facts.counts_of(cls.kind)
        if facts.type.storage == "other":
            return None
        if facts.type.storage == "text":
            found = _text_numbers(facts)
            if found is None:
                return None
            decimal, count = found
            return cls(facts.name, _text_reason(count), decimal)
        if isinstance(counts, NumberCounts) and not counts.n_values and not facts.may_be_empty:
            return Skipped(facts.name, NO_VALUES)
        return cls(facts.name, "", facts.decimal)

    def encode(self, column: pa.Array, dtype: DTypeLike) -> list[Array]:
        from ..io._pyarrow import types
        from ..io.arrow import column_numbers
        from ..io.number_text import NUMBER_FORMATS, tidy_cells
        from ..io.scan import is_text_type

        if is_text_type(column.type) or types.is_binary(column.type):
            coded = tidy_cells(column).dictionary_encode()
            values = NUMBER_FORMATS[self.decimal].values(coded.dictionary).take(coded.indices)
            return [np.asarray(column_numbers(values, np.float64))]
        return [column_numbers(column, dtype)]

    def describe(self) -> str:
        if not self.reason:
            return "numbers"
        return f"text with decimal {'commas' if self.decimal == ',' else 'points'}"

    @classmethod
    def from_record(cls, record: Mapping[str, Value]) -> Self:
        column = super().from_record(record)
        if column.decimal not in (".", ","):
            raise ValueError(
                f"The decimal mark of column {column.name!r} must be '.' or ',', got "
                f"{column.decimal!r:.20}. Save the model again."
            )
        return column


@dataclass(frozen=True)
class Id(Column):
    """An integer column that identifies rows."""

    kind: ClassVar[str] = "id"

    @classmethod
    def recognize(cls, facts: ColumnFacts) -> Column | None:
        counts = facts.counts_of(Number.kind)
        if not facts.may_be_id or not isinstance(counts, NumberCounts) or facts.counts is None:
            return None
        if facts.type.storage == "text":
            found = _text_numbers(facts)
            if found is None or found[1].n_formatted:
                return None
        elif facts.type.storage != "integer":
            return None
        if not is_id(facts.name, counts):
            return None
        has_gaps = facts.counts.n_missing > 0 and facts.counts.n_missing > facts.count_empty_rows()
        return None if has_gaps else cls(facts.name, AN_ID)


@dataclass(frozen=True)
class Label(Column):
    """A column of known classes, used to evaluate the clusters."""

    kind: ClassVar[str] = "label"


@dataclass(frozen=True)
class Skipped(Column):
    """A column that is not a feature."""

    kind: ClassVar[str] = "skipped"

    @classmethod
    def recognize(cls, facts: ColumnFacts) -> Column | None:
        return cls(facts.name, facts.type.reason or "text")


# the first kind that recognizes a column is used
KINDS: dict[str, type[Column]] = {
    Id.kind: Id,
    Number.kind: Number,
    Label.kind: Label,
    Skipped.kind: Skipped,
}


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table in order, with their kinds and how they are read.

    Attributes
    ----------
    columns : tuple of Column
        One record for each source column, with `name`, `kind` and `reason`.
    has_names : bool
        Whether the table has column names; otherwise they are x0, x1, ...
    """

    columns: tuple[Column, ...]
    has_names: bool = True

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns that are features."""
        return tuple(column for column in self.columns if column.is_feature)

    @property
    def feature_names(self) -> list[str]:
        """The names of the features."""
        return [column.name for column in self.features]

    @property
    def skipped_columns(self) -> dict[str, str]:
        """The columns that are not features, except the label, with the reason for each."""
        return {
            column.name: column.reason
            for column in self.columns
            if not column.is_feature and not isinstance(column, Label)
        }

    @property
    def is_plain(self) -> bool:
        """Whether every column is a feature that is stored as numbers."""
        return all(isinstance(column, Number) and not column.reason for column in self.columns)

    def to_record(self) -> dict[str, object]:
        """Return the schema as plain JSON values, which `from_record` can read."""
        return {
            "has_names": self.has_names,
            "columns": [column.to_record() for column in self.columns],
        }

    @classmethod
    def from_record(cls, record: object) -> Self:
        """Create a schema from a record.

        Parameters
        ----------
        record : object
            The result of `to_record`, for example from a JSON file.

        Returns
        -------
        TableSchema
            The schema.

        Raises
        ------
        ValueError
            If the record does not describe a schema.
        """
        if (
            not isinstance(record, Mapping)
            or set(record) != {"has_names", "columns"}
            or not isinstance(record["has_names"], bool)
            or not isinstance(record["columns"], Sequence)
            or isinstance(record["columns"], str | bytes)
        ):
            raise ValueError(
                f"A schema must have 'has_names' and a list of 'columns', got {record!r:.100}. "
                f"Save the model again."
            )
        columns = tuple(_column_of_record(column) for column in record["columns"])
        names = [column.name for column in columns]
        if len(set(names)) < len(names):
            raise ValueError("A schema must have unique column names. Save the model again.")
        return cls(columns, record["has_names"])

    @classmethod
    def of_numbers(cls, names: Iterable[str], has_names: bool = True) -> Self:
        """Create the schema of columns that are stored as numbers."""
        return cls(tuple(Number(name) for name in names), has_names)


def _column_of_record(record: object) -> Column:
    """Return the column of a record; raise ValueError for anything else."""
    kind = record.get("kind") if isinstance(record, Mapping) else None
    if not isinstance(record, Mapping) or not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(
            f"A column of a schema must have one of the kinds {quoted_list(KINDS)}, got "
            f"{record!r:.100}. Save the model again, or read it with a newer version."
        )
    return KINDS[kind].from_record(record)


def is_id(name: str, counts: NumberCounts) -> bool:
    """Return whether a column of integers identifies rows.

    This is the case for integers above 2^53, and for distinct integers that are consecutive or
    whose column has a name such as "id".
    """
    if not counts.n_values or not np.isfinite((counts.low, counts.high)).all():
        return False
    if max(-counts.low, counts.high) > LARGEST_INTEGER:
        return True
    if not could_be_id(name, counts.n_values, counts.low, counts.high) or not counts.are_integers:
        return False
    return counts.distinct is not None and counts.distinct.are_different


def could_be_id(name: str, n_values: int, low: float, high: float) -> bool:
    """Return whether a column with these integers is an id, provided they are all distinct."""
    if max(-low, high) > LARGEST_INTEGER:
        return True
    is_consecutive = n_values >= MIN_IDS and high - low < ID_GAPS * n_values
    return is_consecutive or has_id_name(name)


def has_id_name(name: str) -> bool:
    """Return whether the name contains a word such as id."""
    return any(word.lower() in ID_WORDS for word in NAME_WORDS.findall(name))


def count_block(block: CellBlock) -> ColumnCounts:
    """Count the cells of a block for every kind of column."""
    counted = {kind: counts for kind, one in KINDS.items() if (counts := one.count(block))}
    return ColumnCounts(len(block.column), block.n_missing, counted)


def recognize_column(facts: ColumnFacts) -> Column:
    """Return the column with the first kind that recognizes it."""
    found = (kind.recognize(facts) for kind in KINDS.values())
    return next(column for column in found if column is not None)


def recognize_feature(facts: ColumnFacts) -> Column | None:
    """Return the column with the first feature kind that recognizes it, else None."""
    found = (kind.recognize(facts) for kind in KINDS.values() if kind.is_feature)
    return next((column for column in found if column is not None and column.is_feature), None)


def best_text_count(counts: NumberCounts, decimal: str) -> tuple[str, TextCount]:
    """Return the decimal mark with which most texts are numbers, and their count.

    Ties are broken by the mark of the file, `decimal`: 1,234 is a number with both marks, 1,5 with
    only one.
    """
    mark = max(
        counts.texts or {decimal: TextCount()},
        key=lambda mark: (counts.texts[mark].n_numbers, mark == decimal) if counts.texts else 0,
    )
    return mark, counts.texts.get(mark, TextCount())


def _text_numbers(facts: ColumnFacts) -> tuple[str, TextCount] | None:
    """Return the decimal mark and the counts of a text column that is read as numbers."""
    counts = facts.counts_of(Number.kind)
    if not isinstance(counts, NumberCounts):
        return None
    mark, count = best_text_count(counts, facts.decimal)
    return (mark, count) if count.is_numeric else None


def _count_texts(block: CellBlock) -> NumberCounts:
    """Count the numbers of a text column, plain and in each number format."""
    from ..io._pyarrow import pa
    from ..io.arrow import column_numbers
    from ..io.number_text import NUMBER_FORMATS, may_have_numbers, plain_numbers

    texts, times = block.texts
    if not may_have_numbers(texts):
        words = TextCount.of_words(texts, times)
        return NumberCounts.without_values(dict.fromkeys(NUMBER_FORMATS, words))
    is_plain = plain_numbers(texts, block.decimal)
    counts = {
        mark: TextCount.of_texts(texts, times, is_plain, number_format, block.decimal)
        for mark, number_format in NUMBER_FORMATS.items()
    }
    plain = texts.filter(is_plain)
    values = column_numbers(NUMBER_FORMATS[block.decimal].values(plain).cast(pa.float64()), float)
    repeats = np.asarray(times.filter(is_plain).to_numpy(zero_copy_only=False), np.int64)
    known = ~np.isnan(values)
    distinct, places = np.unique(values[known], return_inverse=True)
    total = np.bincount(places, repeats[known], len(distinct)).astype(np.int64)
    return NumberCounts.of_values(distinct, total, counts)


def _text_reason(count: TextCount) -> str:
    """Describe how a text column is read."""
    marks = " and ".join(sorted(count.marks))
    how = f": {marks} in {count_of(count.n_formatted, 'cell')}" if count.n_formatted else ""
    return f"text read as numbers{how}"
