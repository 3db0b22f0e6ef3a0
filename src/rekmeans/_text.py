"""The text of messages and figures, and the line of code that a warning points at."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

SKIPPED_PACKAGES = {"rekmeans", "sklearn"}  # packages between a user's line and a warning
MAX_NAMES = 8  # names listed in a message; the others are counted
MAX_NAME_LETTERS = 60  # characters of a name in a message


def printable_text(text: str) -> str:
    """Return text without control characters, because names in files may contain escape codes."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )


def shorten_name(name: str, most: int = 26) -> str:
    """Shorten a name for a figure; keep its end, which is often a number."""
    end = most // 3
    return name if len(name) <= most else f"{name[: most - end - 1]}…{name[-end:]}"


def name_list(names: Sequence[Any], longest: int = MAX_NAME_LETTERS) -> str:
    """Return the first few names, separated by commas."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(shorten_name(str(name), longest) for name in names[:MAX_NAMES]) + more


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun: 1 cell, 2 cells."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def quoted_list(names: Iterable[object]) -> str:
    """Return the first few names, in quotes."""
    return name_list([repr(name) for name in names])


def caller_stacklevel() -> int:
    """Return the `stacklevel` at which `warnings.warn` points at the user's line.

    This is the first frame outside the skipped packages, counted from the calling function.
    """
    frame = sys._getframe(1)
    level = 1
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").split(".")[0] in SKIPPED_PACKAGES
    ):
        frame = frame.f_back
        level += 1
    return level
