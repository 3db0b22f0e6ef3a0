"""The page: a summary and its figures as one self-contained HTML file that fetches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..displays.ink import COLOURS, LANES, NOTHING, amount, short, span
from .figures import PROFILED, figures, largest

try:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
    from markupsafe import Markup
except ImportError:
    raise ImportError("the report needs Jinja2: pip install 'rekmeans[report]'.") from None

HERE = Path(__file__).parent
NAMED = 40  # columns left out that are named; more are counted


def page(told: dict[str, Any]) -> str:
    """One HTML file from a summary; everything that comes from the table is escaped.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans
    >>> from rekmeans.report.html import page
    >>> from rekmeans.report.summary import summary
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> page(summary(RectifiedEulerKMeans(2, random_state=0).fit(X), X, title="Four numbers"))[:15]
    '<!doctype html>'
    """
    filters = {"amount": amount, "span": span, "short": short, "seconds": seconds, "percent": "{:.1%}".format}
    return template(HERE, filters).render(
        told=told,
        figures={name: _safe(figure) for name, figure in figures(told).items()},
        profiled=told["features"][:PROFILED],
        shown=largest(told),
        few=LANES,
        named=NAMED,
    )


def template(folder: Path, filters: dict[str, Any], name: str = "page.html.j2") -> Template:
    """The folder's page of that name in the colours of all; what it shows is escaped, what it names must be there."""
    house = Environment(
        loader=FileSystemLoader([folder, HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    house.filters |= filters
    return house.get_template(name, globals={"colours": COLOURS})


def seconds(time: float | None) -> str:
    """A time with the unit that suits it."""
    if time is None:
        return NOTHING
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if time < 1000 * size:
            return f"{time / size:.3g} {unit}"
    return f"{time:.3g} s"


def _safe(figure: Any) -> Any:
    """Figures are ours and escaped already."""
    if isinstance(figure, list):
        return [Markup(one) for one in figure]
    return None if figure is None else Markup(figure)
