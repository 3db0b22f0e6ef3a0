"""Names and other text for people: printable, short, a few of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MAX_NAMES = 8  # in a message; the others are counted
MAX_NAME_LETTERS = 60  # of a name in a message


def printable_text(text: str) -> str:
    """Return text without control codes: a name in a file may contain escape codes."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )


def shorten_name(name: str, most: int = 26) -> str:
    """Return a name that fits a figure: its beginning and its end, which often has the number."""
    end = most // 3
    return name if len(name) <= most else f"{name[: most - end - 1]}…{name[-end:]}"


def name_list(names: Sequence[Any], longest: int = MAX_NAME_LETTERS) -> str:
    """Return names separated by commas, the first few of many."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(shorten_name(str(name), longest) for name in names[:MAX_NAMES]) + more


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun: 1 cell, 2 cells."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def quoted_list(names: Iterable[object]) -> str:
    """Return names in quotes, the first few of many."""
    return name_list([repr(name) for name in names])
