"""Figures of a summary: each a small SVG, text as text, colours of the page (var(--ink)) and of the clusters."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from html import escape
from io import BytesIO
from typing import Any
from zlib import crc32

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from ..displays import CircleDisplay, HistoryDisplay, ProfileDisplay
from ..displays.ink import COLOURS, FAINT, INK, LANES, ONTO, PAPER, SOFT, amount, colour, marker, numbered, rgb, short

WIDE = 4.9  # inches; at 72 points each the width of a phone
TALLEST = 9.0  # inches; a taller figure is cut in two, so that each fits a printed page
SHOWN = 40  # clusters that have a line in a figure, the largest
BARS = 12  # columns in the figure of separation
PROFILED = 24  # columns in the profile
PAGE = {INK: "ink", SOFT: "soft", FAINT: "faint", PAPER: "paper", ONTO: "onto"}
VARIABLES = PAGE | {tint: f"c{at}" for at, tint in enumerate(COLOURS)}  # the page lightens them in the dark
NAMELESS: dict[str, Any] = {  # the same bytes whoever draws, whenever
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
    "png": {"Software": None},
}
DOTS = 150  # an inch of a PNG
STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and set in the page's font
    "svg.hashsalt": "rekmeans",
    "path.simplify": False,
    "text.parse_math": False,
    "font.size": 9.5,
    "axes.edgecolor": SOFT,
    "axes.facecolor": "none",
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}


def figures(told: dict[str, Any]) -> dict[str, Any]:
    """Every figure of a summary by its name: an SVG, or a list of them; None where the summary has nothing to draw."""
    return {
        "sizes": sizes(told),
        "classes": classes(told),
        "profile": profile(told),
        "separation": separation(told),
        "circles": circles(told),
        "map": plane(told),
        "history": history(told),
        "kappa": kappa(told),
    }


def sizes(told: dict[str, Any]) -> str:
    """A bar for each cluster, the 40 largest at most."""
    counts, shown = np.array(told["sizes"]), largest(told)
    share = counts / max(counts.sum(), 1)

    def draw(ax: Any) -> None:
        ax.barh(range(len(shown)), counts[shown], height=0.72, color=[colour(c) for c in shown])
        for at, c in enumerate(shown):
            _beside(ax, counts[c], at, f"{counts[c]:,} · {share[c]:.1%}")
        _lines(ax, [str(c) for c in shown], counts[shown].max() * 1.36)
        ax.set(ylabel="cluster", xticks=[])
        ax.spines["bottom"].set_visible(False)

    return svg(
        draw, 0.25 * len(shown) + 0.3, f"Rows in each cluster: {', '.join(f'{c}: {counts[c]:,}' for c in shown)}"
    )


def classes(told: dict[str, Any]) -> str | None:
    """Known classes by clusters, matched clusters along the diagonal, where there are too many for a table."""
    if not told["classes"] or not told["classes"]["counts"] or len(told["sizes"]) <= LANES:
        return None
    counts = np.array(told["classes"]["counts"])  # (classes, k)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    matched = linear_sum_assignment(counts, maximize=True)[1]
    order = [*matched, *np.setdiff1d(np.arange(counts.shape[1]), matched)]

    def draw(ax: Any) -> None:
        shades = np.empty((*shares.shape, 4))
        shades[..., :3], shades[..., 3] = rgb(colour(0)), shares[:, order] / shares.max()
        ax.imshow(shades, aspect="auto", interpolation="none")
        ax.set_xticks(range(len(order)), [str(c) for c in order], size=7 if len(order) <= 30 else 4)
        ax.set_yticks(range(len(counts)), [short(name, 12) for name in told["classes"]["names"]], size=7.5)
        ax.set(xlabel="cluster, the best match of each class first", ylabel="class")
        ax.tick_params(length=0)
        ax.spines[:].set_color(FAINT)

    return svg(draw, min(0.16 * len(counts) + 0.6, TALLEST), "Share of each class in each cluster")


def profile(told: dict[str, Any]) -> list[str]:
    """Centres against the spread of each column, cut into figures that fit a page."""
    features = told["features"][:PROFILED]
    cuts = np.array_split(np.arange(len(features)), math.ceil(ProfileDisplay(features).height / TALLEST))
    parts = [ProfileDisplay([features[j] for j in cut]) for cut in cuts]
    return [
        svg(part.plot, part.height, f"Cluster centres for {', '.join(f['name'] for f in part.features)}")
        for part in parts
    ]


def separation(told: dict[str, Any]) -> str:
    """How well the most separating columns separate."""
    first = told["features"][:BARS]

    def draw(ax: Any) -> None:
        shares = [f["separation"] for f in first]
        ax.barh(range(len(first)), shares, height=0.66, color=colour(0))
        for at, share in enumerate(shares):
            _beside(ax, share, at, f"{share:.0%}")
        _lines(ax, [short(f["name"], 20) for f in first], 1.12)
        ax.set_xticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
        ax.set_xlabel("share of the column's spread that lies between clusters")

    text = ", ".join(f"{f['name']} {f['separation']:.0%}" for f in first)
    return svg(draw, 0.25 * len(first) + 0.65, f"Share of spread between clusters: {text}")


def circles(told: dict[str, Any]) -> list[str]:
    """A circle for each of the most separating columns."""
    labels = told["circles"]["labels"]
    return [
        svg(
            CircleDisplay({"labels": labels, "features": [one]}).plot,
            3.6,
            f"Rows and centroids on the circle of {one['name']}",
            width=3.4,
        )
        for one in told["circles"]["features"]
    ]


def plane(told: dict[str, Any]) -> str:
    """Mapped rows in two dimensions, coloured by cluster."""
    points, labels = np.array(told["map"]["points"]), np.array(told["map"]["labels"])
    centroids = np.array(told["map"]["centroids"])

    def draw(ax: Any) -> None:
        for c in np.unique(labels):
            x, y = points[labels == c].T
            ax.plot(x, y, marker(c), ms=3.6, color=colour(c), alpha=0.65, mec="none", ls="none")
        for c in largest(told):
            numbered(ax, c, *centroids[c])
        first, second = told["map"]["share"]
        ax.set(xlabel=f"first direction ({first:.0%} of the variation)", ylabel=f"second ({second:.0%})")
        ax.set(xticks=[], yticks=[])
        ax.spines[["top", "right"]].set_visible(False)

    return svg(draw, 4.6, f"{len(points)} mapped rows in two dimensions, coloured by cluster")


def history(told: dict[str, Any]) -> str | None:
    """The objective after each pass."""
    passes = told["history"].get("objective")
    if not passes:
        return None
    text = f"The objective falls from {amount(passes[0])} to {amount(passes[-1])} in {len(passes)} passes"
    return svg(HistoryDisplay(told["history"]).plot, 2.6, text)


def kappa(told: dict[str, Any]) -> str:
    """Deviation degree of plain averages beside the rectified centroids' 0, for each cluster."""
    shown = largest(told)
    means = np.array([told["kappa"]["mean"][c] for c in shown])

    def draw(ax: Any) -> None:
        at = np.arange(len(shown))
        ax.hlines(at, 0, means, color=FAINT, lw=2)
        ax.plot(means, at, "o", ms=7, mfc="none", mec=colour(1), mew=1.8, label="averages (Euler k-means)")
        ax.plot(0 * means, at, "o", ms=7, color=colour(0), mec=PAPER, mew=0.6, label="rectified", clip_on=False)
        _lines(ax, [str(c) for c in shown], max(float(means.max()) * 1.12, 1e-3))
        ax.set(xlabel="deviation degree κ", ylabel="cluster", xlim=(-0.03 * ax.get_xlim()[1], ax.get_xlim()[1]))
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, borderaxespad=0.2, handletextpad=0.2)

    text = (
        f"Deviation degree of plain averages: {', '.join(f'{c}: {m:.3f}' for c, m in zip(shown, means, strict=True))}"
    )
    return svg(draw, 0.2 * len(shown) + 1.0, f"{text}; of rectified centroids 0")


def largest(told: dict[str, Any]) -> list[int]:
    """The clusters with a line of their own: the 40 largest, by number."""
    order = np.argsort(-np.array(told["sizes"]), kind="stable")
    return sorted(order[:SHOWN].tolist())


def _lines(ax: Any, names: list[str], most: float) -> None:
    """Axes of horizontal bars: the first on top, named at the left."""
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set(xlim=(0, most), ylim=(len(names) - 0.4, -0.6))
    ax.tick_params(length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _beside(ax: Any, x: float, y: float, text: str) -> None:
    """Text just right of the end of a bar."""
    ax.annotate(text, (x, y), (5, 0), textcoords="offset points", va="center_baseline", size=8.5)


def svg(draw: Callable[[Any], Any], height: float, text: str, width: float = WIDE) -> str:
    """What `draw` draws on an Axes as an inline SVG image described by `text`."""
    return _inline(picture(draw, height, width).decode(), text, 72 * width, 72 * height)


def picture(draw: Callable[[Any], Any], height: float, width: float = WIDE, kind: str = "svg") -> bytes:
    """What `draw` draws on an Axes as a file of this kind, without date or maker; a PNG brings its own paper."""
    out = BytesIO()
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the browser's fonts have more letters than ours
        figure = Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)
        figure.patch.set_visible(kind == "png")
        draw(figure.subplots())
        figure.savefig(out, format=kind, dpi=DOTS, metadata=NAMELESS[kind])
    return out.getvalue()


def _inline(drawn: str, text: str, width: float, height: float) -> str:
    """matplotlib's SVG for a page: no fixed size, no page-wide style, no unused names, short numbers, page colours."""
    body = drawn[drawn.index(">", drawn.index("<svg")) + 1 :]
    body = re.sub(r"<style.*?</style>|<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL)
    used = set(re.findall(r"(?:url\(|href=\")#([\w.-]+)", body))
    key = f"f{crc32(body.encode()):08x}-"  # names must differ between the figures of a page
    body = re.sub(r"<[^>]+>", lambda tag: _tag(tag[0], used, key), body)  # never the text between tags
    body = re.sub(r"\s*\n\s*", " ", body)
    body = re.sub(r'(?:<use [^>]* style="([^"]*)"/> )(?:<use [^>]* style="\1"/> )+', _group, body)
    size = f'viewBox="0 0 {width:g} {height:g}" style="--w: {width:g}"'
    return f'<svg role="img" aria-label="{escape(text)}" {size}>{body}'


def _group(run: re.Match[str]) -> str:
    """Markers of one style with that style said once; a group's own opacity would melt them into one."""
    style = re.sub(r"(?<!-)opacity: ([\d.]+)", r"fill-opacity: \1; stroke-opacity: \1", run[1])
    plain = run[0].replace(f' style="{run[1]}"', "").replace("/> ", "/>")
    return f'<g style="{style}">{plain}</g>'


def _tag(tag: str, used: set[str], key: str) -> str:
    """One tag of a figure, made for the page."""
    tag = re.sub(r' id="([^"]+)"', lambda m: f' id="{key}{m[1]}"' if m[1] in used else "", tag)
    tag = re.sub(r"(url\(|href=\")#", rf"\1#{key}", tag).replace("xlink:href", "href")
    tag = re.sub(r' transform="rotate\(-0 [^)]*\)"|font-family: [^;"]*;? ?', "", tag)
    tag = re.sub(r"font: (\w+ )?([\d.]+px)[^;\"]*", r"font-weight: \1; font-size: \2", tag)
    tag = re.sub(r"-?\d+\.\d{2,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), tag)
    for tint, name in VARIABLES.items():
        tag = tag.replace(tint, f"var(--{name}, {tint})")
    return tag
