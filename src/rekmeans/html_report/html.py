"""The page of the report: a single HTML file that loads nothing from the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._text import shorten_name
from ..displays._style import COLOURS, MAX_LANES, format_number, format_seconds
from ..displays.profile import band_width
from .figures import MAX_PROFILES, all_figures, largest_clusters

try:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
    from markupsafe import Markup
except ImportError:
    raise ImportError("the report needs Jinja2: pip install 'rekmeans[report]'.") from None

FOLDER = Path(__file__).parent
MAX_SKIPPED = 40  # skipped columns that are named; the others are counted


def render_page(summary: dict[str, Any]) -> str:
    """Return the HTML page of a summary, in which all text from the table is escaped.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.analysis.summary import summary
    >>> from rekmeans.html_report.html import render_page
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> render_page(summary(RectifiedEulerKMeans(2, random_state=0).fit(X), X,
    ...     title="Four numbers"))[:15]
    '<!doctype html>'
    """
    filters = (format_number, format_seconds, band_width, shorten_name)
    return load_template(
        FOLDER, {f.__name__: f for f in filters} | {"percent": "{:.1%}".format}
    ).render(
        summary=summary,
        figures={name: _as_markup(figure) for name, figure in all_figures(summary).items()},
        profiles=summary["features"][:MAX_PROFILES],
        largest_clusters=largest_clusters(summary),
        max_lanes=MAX_LANES,
        max_skipped=MAX_SKIPPED,
    )


def load_template(folder: Path, filters: dict[str, Any], name: str = "page.html.j2") -> Template:
    """Return a template from `folder`, or from this folder.

    Values are escaped, and undefined names raise an error.
    """
    environment = Environment(
        loader=FileSystemLoader([folder, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment.get_template(name, globals={"colours": COLOURS})


def _as_markup(figure: Any) -> Any:
    """Return figures as markup, because their text is already escaped."""
    if isinstance(figure, list):
        return [Markup(one) for one in figure]
    return None if figure is None else Markup(figure)
