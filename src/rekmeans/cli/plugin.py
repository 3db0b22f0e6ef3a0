"""Helpers for all commands, including those of other packages: output, options, dependencies.

Other packages add commands with entry points in the group `rekmeans.commands`. This module does
not import NumPy, to keep --help fast.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .._text import printable_text
from ._options import FLAG, RUN, Debug, Json, Quiet

__all__ = [
    "FLAG",
    "RUN",
    "Debug",
    "Json",
    "Quiet",
    "is_watched",
    "print_json",
    "print_lines",
    "print_table",
    "reject_missing_libraries",
]


class PipeConsole(Console):
    """A console that tolerates a closed pipe, as in `| head`; rich would exit with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def is_watched(quiet: bool) -> bool:
    """Return whether progress is shown: stderr is a terminal, and --quiet is not set."""
    return not quiet and sys.stderr.isatty()


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """Print a table; the columns named in `right` are right-aligned."""
    table = Table(title=escape(printable_text(title)), title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(escape(printable_text(cell)) for cell in row))
    PipeConsole().print(table)


def print_lines(*texts: str) -> None:
    """Print lines without markup."""
    for text in texts:
        PipeConsole().print(printable_text(text), markup=False, highlight=False, soft_wrap=True)


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object on one line."""
    typer.echo(json.dumps(result))


def reject_missing_libraries(*libraries: str) -> None:
    """Raise an error before a long fit if a library that its outputs require is missing."""
    if missing := [name for name in libraries if find_spec(name) is None]:
        raise ImportError(
            f"this command requires {', '.join(missing)}. "
            f"Install with: pip install 'rekmeans[cli]'."
        )
