"""Read csv and tsv files. The first lines determine the layout, and the first block the types."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping
from csv import reader as cells_of
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._text import count_of, name_list
from ._pyarrow import csv, pa, types
from .number_text import NULLS, find_late_text
from .scan import LateTextError, ReadAs, Scan, reject_repeated_names
from .selection import COMPRESSIONS, ColumnSelection, UnreadableFileError, reject_bytes

PEEK = 1 << 16  # bytes read to detect the separator and header; more if lines are long
BLOCK_BYTES = 1 << 20  # bytes read at a time
# largest measured memory of a column of text, with its counts; pyarrow aborts the process if an
# allocation fails
COLUMN_BYTES = 26_000
# pyarrow reserves the bytes of a whole block for each text column, but not for a dictionary
MAX_PLAIN_COLUMNS = 100  # with more columns, text is read as dictionary-encoded columns
UNNAMED = ("", "Unnamed: 0")  # pandas renames "" to "Unnamed: 0"


@dataclass(frozen=True)
class CsvLayout:
    """The layout of a csv or tsv file, inferred from its first lines."""

    separator: str
    decimal: str
    names: list[str] | None  # None if the first line is the header
    has_quotes: bool
    n_rows: int  # estimated
    n_blank_lines: int = 0  # before the first non-blank line


class CsvScan(Scan):
    """The scan of a csv or tsv file, given its layout and the column types of its first block."""

    is_typed = False
    is_slow = True

    def __init__(
        self,
        path: Path,
        layout: CsvLayout,
        raw_names: dict[str, str],
        kinds: dict[str, Any],
        index: tuple[str, ...],
    ) -> None:
        super().__init__(
            path.name,
            kinds,
            has_names=layout.names is None,
            index=index,
            decimal=layout.decimal,
        )
        self.path = path
        self.layout = layout
        self.raw_names = raw_names  # stripped column names to names in the file

    @property
    def expected_rows(self) -> int:
        return self.layout.n_rows

    def batches(
        self, columns: Mapping[str, ReadAs], size: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        kinds = {name: self._read_type(name, how) for name, how in columns.items()}
        if not kinds:  # pyarrow reads all columns if none are requested
            return
        is_wide = len(kinds) > MAX_PLAIN_COLUMNS
        raw = {
            self.raw_names[name]: _dictionary_type(kind) if is_wide else kind
            for name, kind in kinds.items()
        }
        schema = pa.schema(kinds)
        try:
            with _open_csv(self.path, self.layout, raw) as reader:
                for batch in reader:
                    named = batch.rename_columns(list(columns))
                    yield named.cast(schema) if is_wide else named
        except pa.ArrowInvalid as error:
            place = re.search(r"column #(\d+): (?:Row #\d+: )?CSV conversion error", str(error))
            if place is None:
                raise
            name = self._raw_column(int(place[1]))
            if kinds[name] == pa.string():
                raise UnreadableFileError(
                    f"{self.path.name} is not valid UTF-8 (in column {name!r}). Save it as UTF-8."
                ) from None
            raise LateTextError(name) from None

    def with_late_text(self, late: str, names: list[str]) -> CsvScan:
        numbers = [name for name in names if self.column_types[name].storage != "text"]
        found = find_late_text(
            self.batches(dict.fromkeys(numbers, "text")), numbers, self.layout.decimal
        )
        kinds = self.types | dict.fromkeys({late, *found}, pa.string())
        return CsvScan(self.path, self.layout, self.raw_names, kinds, self.index)

    def row_place(self, row: int) -> str:
        return f"line {self.line_of_row(row)}"

    def line_of_row(self, row: int) -> int:
        """Return the line number (from 1) at which a row starts.

        A quoted cell may span several lines.
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
        raise IndexError(f"row {row} is out of range for {self.path.name}")

    def _read_type(self, name: str, how: ReadAs) -> pa.DataType:
        """Return the Arrow type that a column is converted to."""
        kind = self.types[name]
        if how == "number":
            return kind if types.is_boolean(kind) else pa.float64()
        if how == "text":
            return pa.binary()
        return kind if types.is_integer(kind) or types.is_boolean(kind) else pa.string()

    def _raw_column(self, number: int) -> str:
        """Return the name of the column at this position in the file."""
        with _open_csv(self.path, self.layout, {}) as reader:
            name: str = reader.schema.names[number].strip()
        return name


def scan_delimited(path: Path, selection: ColumnSelection) -> CsvScan:
    """Scan a csv or tsv file.

    A first line of numbers is data, not a header. An unnamed first column holds row names.
    """
    layout = read_layout(path, selection)
    with _open_csv(path, layout, {}) as reader:
        schema = reader.schema
    raw_names = _raw_names(path, schema)
    # reversed, so that the first of two columns named "" wins
    kind_of = dict(zip(reversed(schema.names), reversed(schema.types), strict=True))
    kinds = {name: _column_type(kind_of[raw]) for name, raw in raw_names.items()}
    first = next(iter(raw_names))
    is_index = (
        layout.names is None
        and first in UNNAMED
        and first not in (selection.label, *(selection.only or ()))
    )
    return CsvScan(path, layout, raw_names, kinds, (first,) if is_index else ())


def _open_csv(path: Path, layout: CsvLayout, columns: dict[str, Any]) -> csv.CSVStreamingReader:
    """Open a streaming reader for `columns`, {raw name: type}.

    An empty dict selects all columns, with inferred types; text columns are dictionaries then.
    """
    convert = csv.ConvertOptions(
        null_values=NULLS,
        strings_can_be_null=True,
        decimal_point=layout.decimal,
        include_columns=list(columns),
        column_types=columns,
        auto_dict_encode=True,
        auto_dict_max_cardinality=BLOCK_BYTES,
    )
    read = csv.ReadOptions(
        # blocks are parsed sequentially anyway, and errors then include row numbers
        use_threads=False,
        block_size=BLOCK_BYTES,
        column_names=layout.names,
        skip_rows=layout.n_blank_lines,
    )
    parse = csv.ParseOptions(
        delimiter=layout.separator,
        newlines_in_values=layout.has_quotes,
        ignore_empty_lines=False,  # an empty line is a row of missing values
    )
    return csv.open_csv(_open_bytes(path), read, parse, convert)


def _raw_names(path: Path, schema: Any) -> dict[str, str]:
    """Return a dict that maps stripped column names to the names in the file.

    Unnamed columns without values are dropped.
    """
    names, kinds = schema.names, schema.types
    tidy = [name.strip() for name in names]
    nameless = [j for j, name in enumerate(tidy) if j and not name]
    if used := sum(not types.is_null(kinds[j]) for j in nameless):
        raise UnreadableFileError(
            f"{path.name} has {count_of(used, 'unnamed column')} with values. "
            f"Name or delete {'it' if used == 1 else 'them'}."
        )
    kept = [j for j, name in enumerate(tidy) if name or not j]
    reject_repeated_names(path.name, [tidy[j] for j in kept])
    return {tidy[j]: names[j] for j in kept}


def read_layout(
    path: Path,
    selection: ColumnSelection = ColumnSelection(),  # noqa: B008 - frozen
) -> CsvLayout:
    """Infer the layout of a csv or tsv file from its first bytes."""
    with _open_bytes(path) as stream:
        start = stream.read(PEEK)
        # PEEK bytes may not contain three lines
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
    selection.reject_many_columns(path.name, len(rows[0]))
    reject_bytes(
        path.name, len(rows[0]) * COLUMN_BYTES, f"{len(rows[0]):,} columns", "Use fewer columns."
    )
    has_header = _has_header(path, rows)
    if has_header and len(lines) == 1:
        raise UnreadableFileError(
            f"{path.name} has a header but no rows. A table needs at least one row."
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
    """Open a file for binary reading, decompressing it according to its extension."""
    return pa.input_stream(str(path), compression=COMPRESSIONS.get(path.suffix.lower()))


def _decode_lines(path: Path, start: bytes, is_cut: bool) -> list[str]:
    """Return the first lines of a text file."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UnreadableFileError(f"{path.name} is encoded as UTF-16. Save it as UTF-8.")
    if b"\0" in start:
        raise UnreadableFileError(
            f"{path.name} is a binary file, not a text file. Check the file extension."
        )
    try:
        lines = (
            start.decode("utf-8-sig", errors="ignore" if is_cut else "strict")
            .strip("\r\n")
            .splitlines()
        )
    except UnicodeDecodeError as error:
        what = (
            f"{path.name} is not valid UTF-8 ({error.reason} at byte {error.start}). "
            f"Save it as UTF-8."
        )
        raise UnreadableFileError(what) from None
    if not lines:
        raise UnreadableFileError(f"{path.name} is empty. A table needs at least one row.")
    return lines


def _n_blank_lines(start: bytes) -> int:
    """Return the number of empty lines before the first non-empty line."""
    ends = re.match(rb"(?:\xef\xbb\xbf)?([\r\n]*)", start)
    return 0 if ends is None else len(ends[1].splitlines())


def _separator(lines: list[str]) -> str:
    """Return the most frequent separator outside quotes in the first line."""
    bare = re.sub(r'(?<![^,;\t|\n])"[^"]*("|$)', "", "\n".join(lines)).partition("\n")[0]
    decimals = re.sub(r"(?<=\d),(?=\d)", "", bare) if ";" in bare else bare  # 1,5;2,5
    return max(",;\t|", key=decimals.count)


def _decimal_mark(rows: list[list[str]], separator: str) -> str:
    """Return "," if the separator is a semicolon and most decimals are written with a comma."""
    commas, points = (
        sum(bool(re.fullmatch(rf"\s*[+-]?\d*{mark}\d+\s*", cell)) for row in rows for cell in row)
        for mark in (",", r"\.")
    )
    return "," if separator == ";" and commas > points else "."


def _has_header(path: Path, rows: list[list[str]]) -> bool:
    """Return whether the first line is a header.

    A line is a header if it contains no numbers, if it has text above a numeric column, or if its
    numbers are consecutive integers.
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
    what = "the header" if has_header else "data"
    warnings.warn(
        f"read the first line of {path.name} as {what}: {name_list(rows[0])}", stacklevel=2
    )
    return has_header


def _cell_kind(cell: str) -> str:
    """Classify a cell as "number", "text" or "" (missing)."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return "" if cell.strip() in NULLS else "text"
    return "number"


def _counts_up(cells: list[str]) -> bool:
    """Return whether cells are consecutive integers, such as the years 2019, 2020."""
    if not all(cell.strip().isdecimal() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == [0] or (
        len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )


def _column_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column, given the type inferred from its first block.

    A column without values in the first block may contain numbers later.
    """
    if types.is_dictionary(kind):  # text
        return pa.string()
    return pa.float64() if types.is_null(kind) else kind


def _dictionary_type(kind: pa.DataType) -> pa.DataType:
    """Return the dictionary type of a text type, and other types unchanged."""
    is_text = types.is_string(kind) or types.is_binary(kind)
    return pa.dictionary(pa.int32(), kind) if is_text else kind
