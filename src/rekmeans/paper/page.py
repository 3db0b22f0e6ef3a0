"""The page of a study: its tables and figures as one self-contained HTML file that fetches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..analysis.number_format import NO_VALUE
from ..html_report.html import load_template
from .all_tables import ALL
from .figures import FIGURES, Figure, Picture
from .tables import columns

LONG = 240  # rows of a table beyond which the page points to its CSV
GOOD, BAD = ("above", "as printed", "the same", "shown", "holds"), ("below", "missing", "not the same", "does not hold")

Drawn = dict[str, list[Picture]]  # by the key of their figure


def pictures(tables: dict[str, Any], figures: dict[str, Figure] = FIGURES) -> Drawn:
    """The pictures of every figure whose tables are there."""
    there = {key: figure for key, figure in figures.items() if set(figure.tables) <= set(tables)}
    return {key: list(figure.drawn(tables)) for key, figure in there.items()}


def page(
    results: dict[str, Any],
    drawn: Drawn,
    titles: dict[str, str] | None = None,
    figures: dict[str, Figure] = FIGURES,
    name: str = "page.html.j2",
) -> str:
    """One HTML file; everything in it is escaped but the pictures, which are ours."""
    titles = titles or {table: ALL[table].title for table in results["tables"]}
    return load_template(Path(__file__).parent, {"cell": cell, "tone": tone}, name).render(
        results=results,
        tables={table: (titles[table], columns(rows), rows) for table, rows in results["tables"].items()},
        figures=_by_table(drawn, figures),
        long=LONG,
    )


def _by_table(drawn: Drawn, figures: dict[str, Figure]) -> dict[str, list[tuple[str, list[Picture]]]]:
    """Title and pictures of each figure, by the table it stands with."""
    by_table: dict[str, list[tuple[str, list[Picture]]]] = {}
    for key, pictures in drawn.items():
        by_table.setdefault(figures[key].tables[0], []).append((figures[key].title, pictures))
    return by_table


def cell(value: Any) -> str:
    """A value as a person reads it."""
    if value is None or value == "":
        return NO_VALUE
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def tone(value: Any) -> str:
    """The class of a verdict."""
    return "good" if value in GOOD else "bad" if value in BAD else ""
