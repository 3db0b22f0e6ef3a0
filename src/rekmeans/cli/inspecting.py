"""Implementation of `rekmeans inspect`: print the schema of a table, column by column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..io.selection import ColumnSelection
from ..table.column_counts import ColumnCounts, NumberCounts
from ..table.file_table import inspect_table, schema_of_array
from ..table.schema import Column, Number, best_text_count
from . import plugin

HEADINGS = ["column", "kind", "read as", "reason", "missing", "examples"]


def inspect_columns(table: Path, selection: ColumnSelection, *, as_json: bool) -> None:
    """Print the schema of a table: every column, without truncation."""
    found, counts = inspect_table(table, selection)
    schema = found.schema or schema_of_array(found)
    columns = [_describe_column(column, counts.get(column.name)) for column in schema.columns]
    if as_json:
        plugin.print_json({"command": "inspect", "table": str(table), "columns": columns})
        return
    plugin.print_lines(f"{table.name}: {len(schema.features)} of {len(columns)} columns are used")
    rows = [[_cell_text(one[heading]) for heading in HEADINGS] for one in columns]
    for row in aligned_lines([HEADINGS, *rows]):
        plugin.print_lines(row)
    plugin.print_lines(*found.notes)


def aligned_lines(rows: list[list[str]]) -> list[str]:
    """Format rows of strings as lines with aligned columns, without a maximum width."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _describe_column(column: Column, counts: ColumnCounts | None) -> dict[str, Any]:
    """Return the description of a column as plain values."""
    return {
        "column": column.name,
        "kind": column.kind,
        "read as": column.describe(),
        "reason": column.reason,
        "missing": None if counts is None else counts.n_missing,
        "cells": None if counts is None else counts.n_cells,
        "examples": [] if counts is None else _examples(column, counts),
    }


def _examples(column: Column, counts: ColumnCounts) -> list[Any]:
    """Return the range of a numeric column, or examples of its text."""
    numbers = counts.by_kind.get(Number.kind)
    if not isinstance(numbers, NumberCounts):
        return []
    texts = list(best_text_count(numbers, getattr(column, "decimal", "."))[1].texts)
    if numbers.n_values and not texts:
        return [numbers.low, numbers.high]
    return texts


def _cell_text(value: Any) -> str:
    """Format a value as a table cell."""
    if value is None:
        return ""
    if isinstance(value, list):
        is_extent = len(value) == 2 and all(isinstance(one, float) for one in value)
        if is_extent:
            return f"{value[0]:.6g} to {value[1]:.6g}"
        return ", ".join(map(repr, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
