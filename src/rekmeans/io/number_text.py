"""Numbers written as text: $1,234.50, 1 234,50 and (12 %) -> 1234.5, 1234.5 and -12; not dates or
phones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._pyarrow import compute, csv, pa

MISSING = ["?", "None", "none", "-", "NONE"]  # besides pyarrow's own: empty, NA, NaN, null, ...
NULLS = csv.ConvertOptions().null_values + MISSING
BLANK = "[ \u00a0\u2009\u202f]"  # ordinary, no-break, thin and narrow no-break
CURRENCY = r"\p{Sc}"
# also a number of nine digits: a column of only such ones is no quantity
PHONE = rf"^\d{{3}}(?:{BLANK}\d{{3}}){{2}}$"
SIGNS = {"\u2212": "-", "\u2019": "'"}  # typeset minus and apostrophe, as they are typed
MARK_PATTERNS = {".": r"\.", ",": ","}
MARK_NAMES = {".": "points", ",": "commas"}
# beside currencies and the two marks: what is removed from a number, and where it is seen
MARKS = {
    "brackets for minus": r"\(",
    "%": "%",
    "thousands blanks": rf"\d{BLANK}\d",
    "thousands apostrophes": "'",
}


@dataclass(frozen=True)
class NumberFormat:
    """The numbers that have this decimal mark; their digits may be grouped in threes by another."""

    decimal: str

    @property
    def group(self) -> str:
        """The mark that may group digits."""
        return "," if self.decimal == "." else "."

    def are_numbers(self, texts: Any) -> Any:
        """Which texts, without blanks round them, are numbers."""
        return compute.match_substring_regex(texts, self._pattern)

    def values(self, texts: Any) -> Any:
        """The numbers, null where a text is none; percent signs, currencies and grouping marks are
        left out.
        """
        texts = compute.if_else(self.are_numbers(texts), texts, None)
        bare = compute.replace_substring_regex(texts, rf"{CURRENCY}|[%()']|{BLANK}", "")
        bare = compute.replace_substring(bare, self.group, "")
        bare = compute.replace_substring(bare, self.decimal, ".").cast(pa.float64())
        is_bracketed = compute.match_substring(texts, "(")
        return compute.if_else(is_bracketed, compute.negate(bare), bare)

    def marks(self, texts: Any, file_decimal: str) -> set[str]:
        """What stands in these numbers beside digits, signs and the decimal mark of the file, in
        words.
        """
        patterns = MARKS | {f"thousands {MARK_NAMES[self.group]}": MARK_PATTERNS[self.group]}
        if self.decimal != file_decimal:
            patterns |= {f"decimal {MARK_NAMES[self.decimal]}": MARK_PATTERNS[self.decimal]}
        found = {name for name, mark in patterns.items() if _has_match(texts, mark)}
        symbols = compute.extract_regex(texts, rf"(?P<symbol>{CURRENCY})").field("symbol")
        return found | {symbol for symbol in symbols.unique().to_pylist() if symbol}

    @property
    def _pattern(self) -> str:
        """A sign, digits and a unit, the sign also behind the currency; or brackets round digits
        and a unit.
        """
        mark, group = MARK_PATTERNS[self.decimal], MARK_PATTERNS[self.group]
        fraction = rf"(?:{mark}\d*)?"
        grouped = "|".join(rf"[1-9]\d{{0,2}}(?:{one}\d{{3}})+{fraction}" for one in (group, "'"))
        plain = rf"(?:\d+{fraction}|{mark}\d+)(?:[eE][-+]?\d+)?|(?i:nan|inf|infinity)|{grouped}"
        blanks = rf"[1-9]\d{{0,2}}(?:{BLANK}\d{{3}})+{fraction}"  # with a plus it is a phone number
        digits = rf"(?:{plain}|{blanks})"
        tail = rf"(?:{BLANK}?(?:{CURRENCY}|%))?"
        head = rf"{CURRENCY}{BLANK}?"
        signed = rf"(?:\+(?:{plain})|-?{digits}){tail}|[-+]?{head}{digits}|{head}[-+]{digits}"
        return rf"^(?:{signed}|\({digits}{tail}\)|\({head}{digits}\)|{head}\({digits}\))$"


NUMBER_FORMATS = {mark: NumberFormat(mark) for mark in MARK_PATTERNS}


def tidy_cells(column: Any) -> Any:
    """Cells as text without blanks round them, signs as they are typed, and null where the text
    means missing.
    """
    texts = compute.utf8_trim_whitespace(as_text(column))
    for typeset, typed in SIGNS.items():
        texts = compute.replace_substring(texts, typeset, typed)
    is_missing = compute.is_in(texts, value_set=pa.array(NULLS, texts.type))
    return compute.if_else(is_missing, None, texts)


def are_plain_numbers(texts: Any, decimal: str) -> bool:
    """Whether every cell is a number that a csv reader with this decimal mark takes as it is."""
    return bool(compute.all(plain_numbers(texts, decimal)).as_py())


def plain_numbers(texts: Any, decimal: str) -> Any:
    """Which texts need nothing removed to be numbers of this decimal mark."""
    mark = MARK_PATTERNS[decimal]
    digits = rf"(?:\d+{mark}?\d*|{mark}\d+)(?:[eE][-+]?\d+)?"
    return compute.match_substring_regex(texts, rf"^[-+]?(?:{digits}|(?i:nan|inf|infinity))$")


def as_text(column: Any) -> Any:
    """Cells of bytes or text as text; bytes that are not UTF-8 become marks, as they are no number
    anyway.
    """
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(
            [None if cell is None else cell.decode(errors="replace") for cell in column.to_pylist()]
        )


def _has_match(texts: Any, pattern: str) -> bool:
    return bool(compute.any(compute.match_substring_regex(texts, pattern)).as_py())
