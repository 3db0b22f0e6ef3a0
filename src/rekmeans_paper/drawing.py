"""Shared drawing code of the studies: SVG and PNG figures, panels, a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from rekmeans.displays._style import (
    COLOURS,
    FAINT,
    NO_VALUE,
    SOFT,
    TEXT,
    cluster_colour,
    draw_numbered_mark,
)
from rekmeans.html_report.html import load_template
from rekmeans.html_report.svg import FIGURE_WIDTH, render_image, render_svg

from .values import Row, Tables, row_columns

# Shared with the displays.
__all__ = ["COLOURS", "FAINT", "SOFT", "TEXT", "cluster_colour", "draw_numbered_mark"]

PANELS_WIDTH = 8.6  # of a figure with several panels, in inches
PANEL_HEIGHT = 2.4  # inches
MAX_ROWS_ON_PAGE = 240  # the page shows this many rows of a table; the CSV has all of them
GOOD = ("above", "as printed", "the same", "shown", "holds")
BAD = ("below", "missing", "not the same", "does not hold")


class Picture(NamedTuple):
    """A picture as inline SVG and as PNG."""

    name: str
    svg: str
    png: bytes


Pictures = Iterator[Picture]


@dataclass(frozen=True)
class Figure:
    """A figure: its title, the tables it needs, and the function that draws it."""

    title: str
    tables: tuple[str, ...]
    draw: Callable[[Tables], Pictures]


@dataclass(frozen=True)
class Drawing:
    """A drawn figure: its title, the table shown below it, and its pictures."""

    title: str
    table: str
    pictures: list[Picture]


def render_picture(
    name: str, draw: Callable[[Axes], None], height: float, text: str, width: float = FIGURE_WIDTH
) -> Picture:
    """Render the output of `draw`, with `text` as its description; sizes are in inches."""
    return Picture(
        name, render_svg(draw, height, text, width), render_image(draw, height, width, "png")
    )


def split_panels(first: Axes, down: int, across: int) -> list[list[Axes]]:
    """Replace an axes by a grid of axes and return the grid by rows."""
    figure: Any = first.figure
    first.remove()
    return figure.subplots(down, across, squeeze=False).tolist()


def remove_frame(ax: Axes) -> None:
    """Hide the top and right spines."""
    ax.spines[["top", "right"]].set_visible(False)


@dataclass(frozen=True)
class LinePanels:
    """One panel for each part of the rows and one line for each value of a column.

    A value has the same line style in all panels.
    """

    axes: tuple[str, str]
    line_column: str
    line_style: Callable[[str, int], dict[str, Any]]  # (value, number of the line) -> style
    across: Callable[[int], int]  # number of panels -> panels per row
    legend_height: float  # inches
    legend_columns: Callable[[list[str]], int]
    adjust: Callable[[Axes, list[Row]], None]

    def picture(self, name: str, parts: dict[str, list[Row]], text: str) -> Picture:
        """Draw the panels of the parts (title -> rows), with `text` as the description."""
        across = self.across(len(parts))
        down = -(-len(parts) // across)

        def draw(first: Axes) -> None:
            panels = [ax for line in split_panels(first, down, across) for ax in line]
            for ax in panels[len(parts) :]:
                ax.remove()
            for ax, (title, rows) in zip(panels, parts.items(), strict=False):
                self._draw_lines(ax, rows, self._line_values(parts))
                ax.set(title=title, xlabel=self.axes[0], ylabel=self.axes[1])
                self.adjust(ax, rows)
                remove_frame(ax)
            self._draw_legend(panels[0], text)

        height = PANEL_HEIGHT * down + self.legend_height
        return render_picture(
            name, draw, height, text, PANELS_WIDTH if across > 1 else PANELS_WIDTH / 2
        )

    def _line_values(self, parts: dict[str, list[Row]]) -> list[str]:
        return list(dict.fromkeys(row[self.line_column] for rows in parts.values() for row in rows))

    def _draw_lines(self, ax: Axes, rows: list[Row], values: list[str]) -> None:
        x, y = self.axes
        for number, value in enumerate(values):
            points = sorted((row[x], row[y]) for row in rows if row[self.line_column] == value)
            if points:
                ax.plot(
                    *zip(*points, strict=True),
                    label=value,
                    lw=1.1,
                    **self.line_style(value, number),
                )

    def _draw_legend(self, ax: Axes, text: str) -> None:
        handles, names = ax.get_legend_handles_labels()
        style: Any = {
            "loc": "outside upper left",
            "ncols": self.legend_columns(names),
            "frameon": False,
        }
        figure: Any = ax.figure
        figure.legend(handles, names, title=text, **style)


def draw_figures(figures: dict[str, Figure], tables: Tables) -> list[Drawing]:
    """Draw the figures."""
    return [
        Drawing(figure.title, figure.tables[0], list(figure.draw(tables)))
        for figure in figures.values()
    ]


def render_study_page(
    template: str, results: dict[str, Any], titles: dict[str, str], drawings: list[Drawing]
) -> str:
    """Render a study as one HTML file; everything but our own pictures is escaped."""
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
        max_rows=MAX_ROWS_ON_PAGE,
    )


def cell_text(value: Any) -> str:
    """Format a value for the page."""
    if value is None or value == "":
        return NO_VALUE
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def verdict_class(value: Any) -> str:
    """Return the CSS class of a verdict."""
    return "good" if value in GOOD else "bad" if value in BAD else ""
