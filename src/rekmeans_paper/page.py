"""The page of a study: its tables and figures as one self-contained HTML file that fetches
nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rekmeans.analysis.number_format import NO_VALUE
from rekmeans.html_report.html import load_template

from .drawing import Drawing, Figure
from .rows import Tables, row_columns

LONG = 240  # rows of a table above which the page points to its CSV
GOOD = ("above", "as printed", "the same", "shown", "holds")
BAD = ("below", "missing", "not the same", "does not hold")


def draw_figures(figures: dict[str, Figure], tables: Tables) -> list[Drawing]:
    """The pictures of each figure, with its title and the table it stands with."""
    return [
        Drawing(figure.title, figure.tables[0], list(figure.draw(tables)))
        for figure in figures.values()
    ]


def render_study_page(
    template: str, results: dict[str, Any], titles: dict[str, str], drawings: list[Drawing]
) -> str:
    """One HTML file; everything in it is escaped but the pictures, which are ours."""
    by_table: dict[str, list[Drawing]] = {}
    for drawing in drawings:
        by_table.setdefault(drawing.table, []).append(drawing)
    return load_template(
        Path(__file__).parent, {"cell": cell_text, "tone": verdict_class}, template
    ).render(
        results=results,
        tables={
            table: (titles[table], row_columns(rows), rows)
            for table, rows in results["tables"].items()
        },
        figures=by_table,
        long=LONG,
    )


def cell_text(value: Any) -> str:
    """A value as a person reads it."""
    if value is None or value == "":
        return NO_VALUE
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def verdict_class(value: Any) -> str:
    """The CSS class of a verdict."""
    return "good" if value in GOOD else "bad" if value in BAD else ""
