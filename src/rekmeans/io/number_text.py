"""Parse numbers written as text: $1,234.50, 1 234,50 and (12 %) are 1234.5, 1234.5 and -12.

Dates and phone numbers are not parsed as numbers.

"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ._pyarrow import compute, csv, pa

MISSING = ["?", "None", "none", "-", "NONE"]  # in addition to pyarrow's: empty, NA, NaN, null, ...
NULLS = csv.ConvertOptions().null_values + MISSING
IS_MISSING = compute.SetLookupOptions(pa.array(NULLS))
BLANK = "[ \u00a0\u2009\u202f]"  # regular, no-break, thin and narrow no-break space
CURRENCY = r"\p{Sc}"
# a single such cell may be a nine-digit number, but a column of them contains phone numbers
PHONE = rf"^\d{{3}}(?:{BLANK}\d{{3}}){{2}}$"
SIGNS = {"\u2212": "-", "\u2019": "'"}  # typographic minus and apostrophe to ASCII
MARK_PATTERNS = {".": r"\.", ",": ","}
MARK_NAMES = {".": "points", ",": "commas"}
# other characters that are removed from numbers, with their patterns
MARKS = {
    "parentheses for minus": r"\(",
    "%": "%",
    "thousands spaces": rf"\d{BLANK}\d",
    "thousands apostrophes": "'",
}
# matches part of every number, in every format
NUMBER_HINT = r"[0-9]|(?i:nan|inf)"


@dataclass(frozen=True)
class NumberFormat:
    """A number format: the decimal mark and the matching thousands separator."""

    decimal: str

    @property
    def group(self) -> str:
        """The thousands separator."""
        return "," if self.decimal == "." else "."

    def are_numbers(self, texts: Any) -> Any:
        """Return a mask of the strings that are numbers. Surrounding spaces must be stripped."""
        return compute.match_substring_regex(texts, self._pattern)

    def values(self, texts: Any) -> Any:
        """Parse strings as numbers, with null for all others.

        Percent signs, currency symbols and thousands separators are ignored.
        """
        texts = compute.if_else(self.are_numbers(texts), texts, None)
        bare = compute.replace_substring_regex(texts, rf"{CURRENCY}|[%()']|{BLANK}", "")
        bare = compute.replace_substring(bare, self.group, "")
        bare = compute.replace_substring(bare, self.decimal, ".").cast(pa.float64())
        is_bracketed = compute.match_substring(texts, "(")
        return compute.if_else(is_bracketed, compute.negate(bare), bare)

    def marks(self, texts: Any, file_decimal: str) -> set[str]:
        """Return the names of the symbols used in these numbers.

        Signs and the decimal mark of the file are not included.
        """
        patterns = MARKS | {f"thousands {MARK_NAMES[self.group]}": MARK_PATTERNS[self.group]}
        if self.decimal != file_decimal:
            patterns |= {f"decimal {MARK_NAMES[self.decimal]}": MARK_PATTERNS[self.decimal]}
        found = {name for name, mark in patterns.items() if _has_match(texts, mark)}
        symbols = compute.extract_regex(texts, rf"(?P<symbol>{CURRENCY})").field("symbol")
        return found | {symbol for symbol in symbols.unique().to_pylist() if symbol}

    @property
    def _pattern(self) -> str:
        """The regular expression for a sign, digits and a unit.

        The sign may follow the currency. Parentheses around digits and a unit mean minus.
        """
        mark, group = MARK_PATTERNS[self.decimal], MARK_PATTERNS[self.group]
        fraction = rf"(?:{mark}\d*)?"
        grouped = "|".join(rf"[1-9]\d{{0,2}}(?:{one}\d{{3}})+{fraction}" for one in (group, "'"))
        plain = rf"(?:\d+{fraction}|{mark}\d+)(?:[eE][-+]?\d+)?|(?i:nan|inf|infinity)|{grouped}"
        # with a leading plus, this is a phone number
        blanks = rf"[1-9]\d{{0,2}}(?:{BLANK}\d{{3}})+{fraction}"
        digits = rf"(?:{plain}|{blanks})"
        tail = rf"(?:{BLANK}?(?:{CURRENCY}|%))?"
        head = rf"{CURRENCY}{BLANK}?"
        signed = rf"(?:\+(?:{plain})|-?{digits}){tail}|[-+]?{head}{digits}|{head}[-+]{digits}"
        return rf"^(?:{signed}|\({digits}{tail}\)|\({head}{digits}\)|{head}\({digits}\))$"


NUMBER_FORMATS = {mark: NumberFormat(mark) for mark in MARK_PATTERNS}


def tidy_cells(column: Any) -> Any:
    """Strip surrounding spaces and replace missing-value strings such as "?" with null.

    Typographic signs are replaced by their ASCII equivalents.
    """
    texts = compute.utf8_trim_whitespace(as_text(column))
    for typeset, typed in SIGNS.items():
        texts = compute.replace_substring(texts, typeset, typed)
    is_missing = compute.is_in(texts, options=IS_MISSING)
    return compute.if_else(is_missing, None, texts)


def may_have_numbers(texts: Any) -> bool:
    """Return False if none of the strings is a number in any format; a quick test."""
    return _has_match(texts, NUMBER_HINT)


def are_plain_numbers(texts: Any, decimal: str) -> bool:
    """Return whether a csv reader with this decimal mark parses every cell as a number."""
    return bool(compute.all(plain_numbers(texts, decimal)).as_py())


def plain_numbers(texts: Any, decimal: str) -> Any:
    """Return a mask of the strings that are numbers with this decimal mark and no other symbols."""
    mark = MARK_PATTERNS[decimal]
    digits = rf"(?:\d+{mark}?\d*|{mark}\d+)(?:[eE][-+]?\d+)?"
    return compute.match_substring_regex(texts, rf"^[-+]?(?:{digits}|(?i:nan|inf|infinity))$")


def as_text(column: Any) -> Any:
    """Convert binary or string cells to strings. Replace invalid UTF-8 with U+FFFD."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(
            [None if cell is None else cell.decode(errors="replace") for cell in column.to_pylist()]
        )


def find_late_text(batches: Iterable[Any], names: Sequence[str], decimal: str) -> set[str]:
    """Return the columns of these text batches that the csv reader cannot parse as numbers."""
    late: set[str] = set()
    for batch in batches:
        for name in names:
            texts = compute.utf8_trim_whitespace(as_text(batch.column(name)))
            if name not in late and not are_plain_numbers(texts, decimal):
                late.add(name)
    return late


def _has_match(texts: Any, pattern: str) -> bool:
    return bool(compute.any(compute.match_substring_regex(texts, pattern)).as_py())
