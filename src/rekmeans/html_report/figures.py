"""The figures of a summary, as SVG."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._text import shorten_name
from ..displays import CircleDisplay, HistoryDisplay, KeptValuesDisplay, ProfileDisplay
from ..displays._style import (
    BACKGROUND,
    FAINT,
    MAX_LANES,
    cluster_colour,
    cluster_marker,
    draw_numbered_mark,
    format_number,
    rgb,
)
from .svg import render_svg

MAX_HEIGHT = 9.0  # inches: taller figures are split, so that each part fits on a printed page
MAX_CLUSTERS_SHOWN = 40  # number of clusters (the largest ones) shown in figures
MAX_BARS = 12  # columns in the figure of separations
MAX_PROFILES = 24  # columns in the profile


def all_figures(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a summary by name: an SVG, a list of SVGs, or None without data."""
    return {
        "sizes": sizes_figure(summary),
        "classes": classes_figure(summary),
        "profile": profile_figures(summary),
        "separation": separation_figure(summary),
        "circles": circle_figures(summary),
        "map": projection_figure(summary),
        "history": history_figure(summary),
        "kappa": kappa_figure(summary),
        "kept": kept_figures(summary),
    }


def sizes_figure(summary: dict[str, Any]) -> str:
    """Return a bar chart of the sizes of the (at most 40) largest clusters."""
    counts = np.array(summary["sizes"])
    clusters = largest_clusters(summary)
    share = counts / max(counts.sum(), 1)

    def draw(ax: Any) -> None:
        ax.barh(
            range(len(clusters)),
            counts[clusters],
            height=0.72,
            color=[cluster_colour(c) for c in clusters],
        )
        for at, c in enumerate(clusters):
            _write_beside(ax, counts[c], at, f"{counts[c]:,} · {share[c]:.1%}")
        _label_bars(ax, [str(c) for c in clusters], counts[clusters].max() * 1.36)
        ax.set(ylabel="cluster", xticks=[])
        ax.spines["bottom"].set_visible(False)

    text = ", ".join(f"{c}: {counts[c]:,}" for c in clusters)
    return render_svg(draw, 0.25 * len(clusters) + 0.3, f"Rows in each cluster: {text}")


def classes_figure(summary: dict[str, Any]) -> str | None:
    """Return an image of classes by clusters, if there are too many clusters for a table.

    Matched clusters lie on the diagonal.
    """
    if (
        not summary["classes"]
        or not summary["classes"]["counts"]
        or len(summary["sizes"]) <= MAX_LANES
    ):
        return None
    counts = np.array(summary["classes"]["counts"])  # (classes, k)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    matched = linear_sum_assignment(counts, maximize=True)[1]
    order = [*matched, *np.setdiff1d(np.arange(counts.shape[1]), matched)]

    def draw(ax: Any) -> None:
        shades = np.empty((*shares.shape, 4))
        shades[..., :3] = rgb(cluster_colour(0))
        shades[..., 3] = shares[:, order] / shares.max()
        ax.imshow(shades, aspect="auto", interpolation="none")
        ax.set_xticks(range(len(order)), [str(c) for c in order], size=7 if len(order) <= 30 else 4)
        ax.set_yticks(
            range(len(counts)),
            [shorten_name(name, 12) for name in summary["classes"]["names"]],
            size=7.5,
        )
        ax.set(xlabel="cluster (best match of each class first)", ylabel="class")
        ax.tick_params(length=0)
        ax.spines[:].set_color(FAINT)

    return render_svg(
        draw, min(0.16 * len(counts) + 0.6, MAX_HEIGHT), "Share of each class in each cluster"
    )


def profile_figures(summary: dict[str, Any]) -> list[str]:
    """Return profiles of the clusters, split into figures that fit on a page."""
    features = summary["features"][:MAX_PROFILES]
    cuts = np.array_split(
        np.arange(len(features)), math.ceil(ProfileDisplay(features).height / MAX_HEIGHT)
    )
    parts = [ProfileDisplay([features[j] for j in cut]) for cut in cuts]
    return [
        render_svg(
            part.plot,
            part.height,
            f"Cluster centres for {', '.join(f['name'] for f in part.features)}",
        )
        for part in parts
    ]


def separation_figure(summary: dict[str, Any]) -> str:
    """Return a bar chart of the columns with the largest separation."""
    first = summary["features"][:MAX_BARS]

    def draw(ax: Any) -> None:
        shares = [f["separation"] for f in first]
        ax.barh(range(len(first)), shares, height=0.66, color=cluster_colour(0))
        for at, share in enumerate(shares):
            _write_beside(ax, share, at, f"{share:.0%}")
        _label_bars(ax, [shorten_name(f["name"], 20) for f in first], 1.12)
        ax.set_xticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
        ax.set_xlabel("share of the column's variation explained by the clusters")

    text = ", ".join(f"{f['name']} {f['separation']:.0%}" for f in first)
    return render_svg(
        draw, 0.25 * len(first) + 0.65, f"Share of variation explained by the clusters: {text}"
    )


def circle_figures(summary: dict[str, Any]) -> list[str]:
    """Return a circle for each of the columns with the largest separation."""
    labels = summary["circles"]["labels"]
    return [
        render_svg(
            CircleDisplay({"labels": labels, "features": [one]}).plot,
            3.6,
            f"Rows and centroids on the circle of {one['name']}",
            width=3.4,
        )
        for one in summary["circles"]["features"]
    ]


def kept_figures(summary: dict[str, Any]) -> list[str]:
    """Return histograms of columns with ignored values or several kept intervals."""
    histograms = [one for one in summary["left_out"]["histograms"] if one["intervals"]]
    return [
        render_svg(KeptValuesDisplay(one).plot, 2.0, _kept_text(one), width=3.4)
        for one in histograms
    ]


def _kept_text(histogram: dict[str, Any]) -> str:
    """Return the description of a histogram of kept values."""
    n_ignored = sum(histogram["left_out"])
    kept = " and ".join(
        f"{format_number(interval['low'])} to {format_number(interval['high'])}"
        for interval in histogram["intervals"]
    )
    values = "value" if n_ignored == 1 else "values"
    return f"{histogram['name']}: {n_ignored:,} {values} ignored, kept {kept}"


def projection_figure(summary: dict[str, Any]) -> str:
    """Return a scatter plot of the mapped rows in two dimensions, coloured by cluster."""
    points = np.array(summary["map"]["points"])
    labels = np.array(summary["map"]["labels"])
    centroids = np.array(summary["map"]["centroids"])

    def draw(ax: Any) -> None:
        for c in np.unique(labels):
            x, y = points[labels == c].T
            ax.plot(
                x,
                y,
                cluster_marker(c),
                ms=3.6,
                color=cluster_colour(c),
                alpha=0.65,
                mec="none",
                ls="none",
            )
        for c in largest_clusters(summary):
            draw_numbered_mark(ax, c, *centroids[c])
        first, second = summary["map"]["share"]
        ax.set(
            xlabel=f"first component ({first:.0%} of the variance)",
            ylabel=f"second component ({second:.0%})",
        )
        ax.set(xticks=[], yticks=[])
        ax.spines[["top", "right"]].set_visible(False)

    rows = "row" if len(points) == 1 else "rows"
    text = f"{len(points):,} mapped {rows} in two dimensions, coloured by cluster"
    return render_svg(draw, 4.6, text)


def history_figure(summary: dict[str, Any]) -> str | None:
    """Return a line chart of the objective after each iteration, or None without a history."""
    passes = summary["history"].get("inertia")
    if not passes:
        return None
    if len(passes) == 1:
        text = f"The objective is {format_number(passes[0])} after 1 iteration"
    else:
        text = (
            f"The objective decreases from {format_number(passes[0])} to "
            f"{format_number(passes[-1])} in {len(passes)} iterations"
        )
    return render_svg(HistoryDisplay(summary["history"]).plot, 2.6, text)


def kappa_figure(summary: dict[str, Any]) -> str:
    """Return a chart of the deviation κ of plain means, which is 0 after rectification."""
    clusters = largest_clusters(summary)
    means = np.array([summary["kappa"]["mean"][c] for c in clusters])

    def draw(ax: Any) -> None:
        at = np.arange(len(clusters))
        ax.hlines(at, 0, means, color=FAINT, lw=2)
        outline: Any = {"mfc": "none", "mec": cluster_colour(1), "mew": 1.8}
        filled: Any = {"color": cluster_colour(0), "mec": BACKGROUND, "mew": 0.6, "clip_on": False}
        ax.plot(means, at, "o", ms=7, label="averages (Euler k-means)", **outline)
        ax.plot(0 * means, at, "o", ms=7, label="rectified", **filled)
        _label_bars(ax, [str(c) for c in clusters], max(float(means.max()) * 1.12, 1e-3))
        ax.set(
            xlabel="deviation κ",
            ylabel="cluster",
            xlim=(-0.03 * ax.get_xlim()[1], ax.get_xlim()[1]),
        )
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=2,
            frameon=False,
            borderaxespad=0.2,
            handletextpad=0.2,
        )

    text = ", ".join(f"{c}: {mean:.3f}" for c, mean in zip(clusters, means, strict=True))
    description = f"Deviation κ of plain means: {text}. It is 0 for rectified centroids."
    return render_svg(draw, 0.2 * len(clusters) + 1.0, description)


def largest_clusters(summary: dict[str, Any]) -> list[int]:
    """Return the numbers of the 40 largest clusters in ascending order."""
    order = np.argsort(-np.array(summary["sizes"]), kind="stable")
    return sorted(order[:MAX_CLUSTERS_SHOWN].tolist())


def _label_bars(ax: Any, names: list[str], most: float) -> None:
    """Set the axes of a horizontal bar chart, with the first bar on top and names on the left."""
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set(xlim=(0, most), ylim=(len(names) - 0.4, -0.6))
    ax.tick_params(length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _write_beside(ax: Any, x: float, y: float, text: str) -> None:
    """Write text to the right of the end of a bar."""
    ax.annotate(text, (x, y), (5, 0), textcoords="offset points", va="center_baseline", size=8.5)
