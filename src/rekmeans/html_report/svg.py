"""Figures as inline SVG for a page, with colours as CSS variables, or as SVG and PNG files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from html import escape
from io import BytesIO
from typing import Any
from zlib import crc32

from matplotlib import rc_context
from matplotlib.figure import Figure

from ..displays._style import BACKGROUND, COLOURS, FAINT, ON_DARK, SOFT, TEXT

FIGURE_WIDTH = 4.9  # inches; at 72 points per inch this is the width of a phone
# CSS variables in colours.css.j2, which change in dark mode
CSS_NAMES = {TEXT: "ink", SOFT: "soft", FAINT: "faint", BACKGROUND: "paper", ON_DARK: "onto"}
CSS_NAMES |= {colour: f"c{at}" for at, colour in enumerate(COLOURS)}
METADATA: dict[str, Any] = {  # no date and no program name, so that files are reproducible
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
    "png": {"Software": None},
}
PNG_DPI = 150
RC_PARAMS: Any = {
    # keep text as text, for screen readers, search and the font of the page
    "svg.fonttype": "none",
    "svg.hashsalt": "rekmeans",
    "path.simplify": False,
    "text.parse_math": False,
    "font.size": 9.5,
    "axes.edgecolor": SOFT,
    "axes.facecolor": "none",
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), TEXT),
}


def render_svg(
    draw: Callable[[Any], Any], height: float, text: str, width: float = FIGURE_WIDTH
) -> str:
    """Return the drawing of `draw` on an Axes as an inline SVG, described by `text`."""
    source = render_image(draw, height, width).decode()
    # remove the fixed size, global styles and unused ids, shorten numbers, use the page's colours
    body = source[source.index(">", source.index("<svg")) + 1 :]
    body = re.sub(
        r"<style.*?</style>|<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL
    )
    used = set(re.findall(r"(?:url\(|href=\")#([\w.-]+)", body))
    key = f"f{crc32(body.encode()):08x}-"  # ids must be unique among the figures of a page
    # only tags change, not the text between them
    body = re.sub(r"<[^>]+>", lambda tag: _page_tag(tag[0], used, key), body)
    body = re.sub(r"\s*\n\s*", " ", body)
    body = re.sub(
        r'(?:<use [^>]* style="([^"]*)"/> )(?:<use [^>]* style="\1"/> )+', _group_marks, body
    )
    size = f'viewBox="0 0 {72 * width:g} {72 * height:g}" style="--w: {72 * width:g}"'
    return f'<svg role="img" aria-label="{escape(text)}" {size}>{body}'


def render_image(
    draw: Callable[[Any], Any], height: float, width: float = FIGURE_WIDTH, kind: str = "svg"
) -> bytes:
    """Return the drawing of `draw` on an Axes as the bytes of an SVG or PNG file.

    The file has no date. Only a PNG has a background.
    """
    out = BytesIO()
    with rc_context(RC_PARAMS), warnings.catch_warnings():
        # the fonts of the browser have glyphs that matplotlib's fonts lack
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(figsize=(width, height), layout="constrained", facecolor=BACKGROUND)
        figure.patch.set_visible(kind == "png")
        draw(figure.subplots())
        figure.savefig(out, format=kind, dpi=PNG_DPI, metadata=METADATA[kind])
    return out.getvalue()


def _group_marks(run: re.Match[str]) -> str:
    """Return a group of markers with their common style on the group.

    The opacity is that of each marker. An opacity of the group would merge overlapping markers.
    """
    style = re.sub(r"(?<!-)opacity: ([\d.]+)", r"fill-opacity: \1; stroke-opacity: \1", run[1])
    marks = run[0].replace(f' style="{run[1]}"', "").replace("/> ", "/>")
    return f'<g style="{style}">{marks}</g>'


def _page_tag(tag: str, used: set[str], key: str) -> str:
    """Return one tag of a figure, adapted to the page."""
    tag = re.sub(r' id="([^"]+)"', lambda m: f' id="{key}{m[1]}"' if m[1] in used else "", tag)
    tag = re.sub(r"(url\(|href=\")#", rf"\1#{key}", tag).replace("xlink:href", "href")
    tag = re.sub(r' transform="rotate\(-0 [^)]*\)"|font-family: [^;"]*;? ?', "", tag)
    tag = re.sub(r"font: (\w+ )?([\d.]+px)[^;\"]*", r"font-weight: \1; font-size: \2", tag)
    tag = re.sub(r"-?\d+\.\d{2,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), tag)
    for colour, name in CSS_NAMES.items():
        tag = tag.replace(colour, f"var(--{name}, {colour})")
    return tag
