"""The page of a reproduction: its tables and figures as one self-contained HTML file that fetches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..displays.ink import COLOURS, NOTHING
from .figures import FIGURES
from .reproduction import ALL, columns

try:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup
except ImportError:
    raise ImportError("the page needs Jinja2: pip install 'rekmeans[paper]'.") from None

LONG = 240  # rows of a table beyond which the page points to its CSV
GOOD, BAD = ("above", "as printed", "the same", "shown", "holds"), ("below", "missing", "not the same", "does not hold")

Drawn = list[tuple[str, str, str]]  # key of the figure, name of the picture, SVG


def pictures(tables: dict[str, Any]) -> Drawn:
    """The pictures of every figure whose tables are there."""
    there = {key: figure for key, figure in FIGURES.items() if set(figure.tables) <= set(tables)}
    return [(key, name, picture) for key, figure in there.items() for name, picture in figure.drawn(tables)]


def page(results: dict[str, Any], drawn: Drawn) -> str:
    """One HTML file; everything in it is escaped but the pictures, which are ours."""
    house = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    house.filters |= {"cell": cell, "tone": tone}
    return house.get_template("page.html.j2").render(
        results=results,
        tables={name: (ALL[name].title, columns(rows), rows) for name, rows in results["tables"].items()},
        figures=_by_table(drawn),
        colours=COLOURS,
        long=LONG,
    )


def _by_table(drawn: Drawn) -> dict[str, list[tuple[str, list[Markup]]]]:
    """Title and pictures of each figure, by the table it stands with."""
    by_table: dict[str, list[tuple[str, list[Markup]]]] = {}
    for key in dict.fromkeys(key for key, _, _ in drawn):
        own = [Markup(picture) for other, _, picture in drawn if other == key]
        by_table.setdefault(FIGURES[key].tables[0], []).append((FIGURES[key].title, own))
    return by_table


def cell(value: Any) -> str:
    """A value as a person reads it."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def tone(value: Any) -> str:
    """The class of a verdict."""
    return "good" if value in GOOD else "bad" if value in BAD else ""
