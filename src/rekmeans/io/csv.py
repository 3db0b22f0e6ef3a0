"""csv and tsv files, packed or not: layout from the first lines, types from the first block, then
some columns.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from csv import reader as cells_of
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ._pyarrow import csv, pa, types
from .arrow import ColumnSource, LateTextError, distinct_types, integer_names, table_of_source
from .file_table import (
    COMPRESSIONS,
    ColumnSelection,
    FileTable,
    UnreadableFileError,
    name_list,
    refuse_bytes,
)
from .number_text import NULLS

PEEK = 1 << 16  # bytes read for separator and header, more where lines are long
BLOCK_BYTES = 1 << 20  # bytes read at a time
# that pyarrow may take for each column; it ends the process where it finds no memory
COLUMN_BYTES = 16_000
UNNAMED = ("", "Unnamed: 0")  # the second once pandas has read and written the first


@dataclass(frozen=True)
class CsvLayout:
    """How a csv or tsv file is written, as its first lines show."""

    separator: str
    decimal: str
    names: list[str] | None  # None: they are in the first line
    has_quotes: bool
    n_rows: int  # about how many there are
    n_blank_lines: int = 0  # before the first that has something


@dataclass(frozen=True)
class CsvFile:
    """A csv or tsv file of known layout."""

    path: Path
    layout: CsvLayout

    def schema(self) -> Any:
        """Column names and the types of the first block."""
        with self._open({}) as reader:
            return reader.schema

    def batches(self, raw_names: dict[str, str], columns: dict[str, Any]) -> Iterator[Any]:
        """Record batches of `columns`, {name: type}; `raw_names` are the names as the file has
        them.
        """
        try:
            with self._open({raw_names[name]: kind for name, kind in columns.items()}) as reader:
                yield from (batch.rename_columns(list(columns)) for batch in reader)
        except pa.ArrowInvalid as error:
            place = re.search(r"column #(\d+): (?:Row #\d+: )?CSV conversion error", str(error))
            if place is None:
                raise
            name = self.schema().names[int(place[1])].strip()
            if columns[name] == pa.string():
                what = f"{self.path.name} is not UTF-8 text (in column {name!r}): save it as UTF-8."
                raise UnreadableFileError(what) from None
            raise LateTextError(name) from None

    def line_of_row(self, row: int) -> int:
        """The line, counted from 1, in which a row begins: a cell in quotes may have several
        lines.
        """
        n_before = row + (self.layout.names is None) + self.layout.n_blank_lines
        if not self.layout.has_quotes:
            return n_before + 1
        n_quotes = n_begun = 0
        with io.BufferedReader(_open_bytes(self.path)) as lines:
            for number, line in enumerate(lines, start=1):
                n_begun += n_quotes % 2 == 0
                if n_begun > n_before:
                    return number
                n_quotes += line.count(b'"')
        raise IndexError(f"{self.path.name} has no row {row}.")

    def _open(self, columns: dict[str, Any]) -> Any:
        convert = csv.ConvertOptions(
            null_values=NULLS,
            strings_can_be_null=True,
            decimal_point=self.layout.decimal,
            include_columns=list(columns),
            column_types=columns,
        )
        read = csv.ReadOptions(
            # it parses one block after the other anyway, and then errors have line numbers
            use_threads=False,
            block_size=BLOCK_BYTES,
            column_names=self.layout.names,
            skip_rows=self.layout.n_blank_lines,
        )
        parse = csv.ParseOptions(
            delimiter=self.layout.separator,
            newlines_in_values=self.layout.has_quotes,
            ignore_empty_lines=False,  # each is a row without a value
        )
        return csv.open_csv(_open_bytes(self.path), read, parse, convert)


def read_delimited(path: Path, selection: ColumnSelection) -> FileTable:
    """csv and tsv.

    A first line of numbers is not a header; a first column without a name holds row names.
    """
    layout = read_layout(path, selection)
    file = CsvFile(path, layout)
    schema = file.schema()
    raw_names = _raw_names(path, schema)
    first = next(iter(raw_names))
    is_index = (
        layout.names is None
        and first in UNNAMED
        and first not in (selection.label, *(selection.only or ()))
    )
    index = [first] if is_index else []
    # of the first, where two are ""
    kind_of = dict(zip(reversed(schema.names), reversed(schema.types), strict=True))
    kinds = {name: kind_of[raw] for name, raw in raw_names.items()}
    exact = (*index, selection.label)
    types_of = {
        name: _exact_type(kind) if name in exact else _column_float_type(kind)
        for name, kind in kinds.items()
    }
    batches = partial(file.batches, raw_names)
    source = ColumnSource(
        types_of,
        batches,
        layout.n_rows,
        layout.names is None,
        index,
        integer_names(kinds),
        layout.decimal,
        line_of_row=file.line_of_row,
    )
    return table_of_source(path, source, selection)


def _raw_names(path: Path, schema: Any) -> dict[str, str]:
    """Column names without blanks round them: the name as the file has it; empty columns without
    one are left out.
    """
    names, kinds = schema.names, schema.types
    tidy = [name.strip() for name in names]
    nameless = [j for j, name in enumerate(tidy) if j and not name]
    if used := sum(not types.is_null(kinds[j]) for j in nameless):
        raise UnreadableFileError(
            f"{path.name} must name its columns: {used} with values have no name; name or empty "
            f"them."
        )
    kept = [j for j, name in enumerate(tidy) if name or not j]
    distinct_types(path, pa.schema([(tidy[j], kinds[j]) for j in kept]))
    return {tidy[j]: names[j] for j in kept}


def read_layout(
    path: Path,
    selection: ColumnSelection = ColumnSelection(),  # noqa: B008 - frozen
) -> CsvLayout:
    """The layout that the first bytes of a csv or tsv file show."""
    with _open_bytes(path) as stream:
        start = stream.read(PEEK)
        # lines may be long
        while start.count(b"\n") < 3 and len(start) < BLOCK_BYTES and (more := stream.read(PEEK)):
            start += more
        is_cut = bool(stream.read(1))
    lines = _decode_lines(path, start, is_cut)
    separator = (
        "\t" if ".tsv" in (ending.lower() for ending in path.suffixes[-2:]) else _separator(lines)
    )
    rows = [
        row
        for row in cells_of(lines[:-1] if is_cut and len(lines) > 1 else lines, delimiter=separator)
        if row
    ]
    selection.refuse_many_columns(path, len(rows[0]))
    refuse_bytes(path, len(rows[0]) * COLUMN_BYTES, f"{len(rows[0]):,} columns")
    has_header = _has_header(path, rows)
    if has_header and len(lines) == 1:
        raise UnreadableFileError(
            f"{path.name} has no rows: below its header a table needs at least one."
        )
    return CsvLayout(
        separator,
        decimal=_decimal_mark(rows, separator),
        names=None if has_header else [f"x{j}" for j in range(len(rows[0]))],
        has_quotes=b'"' in start,
        n_blank_lines=_n_blank_lines(start),
        n_rows=int(path.stat().st_size / len(start) * len(lines) * 1.05) if is_cut else len(lines),
    )


def _open_bytes(path: Path) -> Any:
    """The bytes of a file, unpacked if its ending says that it is packed."""
    return pa.input_stream(str(path), compression=COMPRESSIONS.get(path.suffix.lower()))


def _decode_lines(path: Path, start: bytes, is_cut: bool) -> list[str]:
    """The first lines of a text file."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UnreadableFileError(f"{path.name} is UTF-16 text: save it as UTF-8.")
    if b"\0" in start:
        raise UnreadableFileError(
            f"{path.name} is not text: a csv file is UTF-8 text; was it renamed?"
        )
    try:
        lines = (
            start.decode("utf-8-sig", errors="ignore" if is_cut else "strict")
            .strip("\r\n")
            .splitlines()
        )
    except UnicodeDecodeError as error:
        what = (
            f"{path.name} is not UTF-8 text ({error.reason} at byte {error.start}): save "
            f"it as UTF-8."
        )
        raise UnreadableFileError(what) from None
    if not lines:
        raise UnreadableFileError(f"{path.name} is empty: a table needs at least one row.")
    return lines


def _n_blank_lines(start: bytes) -> int:
    """How many lines without anything are before the first other one."""
    ends = re.match(rb"(?:\xef\xbb\xbf)?([\r\n]*)", start)
    return 0 if ends is None else len(ends[1].splitlines())


def _separator(lines: list[str]) -> str:
    """The mark that comes most often in the first line outside of quotes."""
    bare = re.sub(r'(?<![^,;\t|\n])"[^"]*("|$)', "", "\n".join(lines)).partition("\n")[0]
    decimals = re.sub(r"(?<=\d),(?=\d)", "", bare) if ";" in bare else bare  # 1,5;2,5
    return max(",;\t|", key=decimals.count)


def _decimal_mark(rows: list[list[str]], separator: str) -> str:
    """A comma where semicolons separate and more numbers have a comma than a point."""
    commas, points = (
        sum(bool(re.fullmatch(rf"\s*[+-]?\d*{mark}\d+\s*", cell)) for row in rows for cell in row)
        for mark in (",", r"\.")
    )
    return "," if separator == ";" and commas > points else "."


def _has_header(path: Path, rows: list[list[str]]) -> bool:
    """Whether the first line is a header: no number in it, or text above numbers, or names that
    count up.
    """
    first, *below = [[_cell_kind(cell) for cell in row] for row in rows]
    if "number" not in first or set(first) == {"number"}:
        return "number" not in first
    under = [
        next((row[j] for row in below if j < len(row) and row[j]), "") for j in range(len(first))
    ]
    counts_up = [
        _counts_up([cell for cell, kind in zip(row, first, strict=False) if kind == "number"])
        for row in rows[:2]
    ]
    names_count_up = counts_up[0] and (not first[0] or not counts_up[-1])
    has_header = ("text", "number") in zip(first, under, strict=True) or names_count_up
    what = "header" if has_header else "a row"
    warnings.warn(f"first line of {path.name} taken as {what}: {name_list(rows[0])}", stacklevel=2)
    return has_header


def _cell_kind(cell: str) -> str:
    """What a cell holds: number, text or, for a missing one, ''."""
    return "number" if _is_number(cell) else "" if cell.strip() in NULLS else "text"


def _counts_up(cells: list[str]) -> bool:
    """Whether cells are 0, 1, 2, ... or 2019, 2020, ...: names that pandas or a calendar gave, not
    values.
    """
    if not all(cell.strip().isdecimal() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == [0] or (
        len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _column_float_type(kind: Any) -> Any:
    """The type to read a csv column as, of which the first block has this type: every number is a
    float.
    """
    if types.is_binary(kind):  # text that is not UTF-8
        return pa.string()
    return pa.float64() if types.is_integer(kind) or types.is_null(kind) else kind


def _exact_type(kind: Any) -> Any:
    """The type to read a column of row names or classes as: integers stay so, all else stays as the
    file has it.
    """
    return kind if types.is_integer(kind) or types.is_boolean(kind) else pa.string()
