"""The figures of the kernel study, drawn from the rows of its tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from .drawing import COLOURS, TEXT, Figure, LinePanels, Pictures
from .values import Row, Tables

MARKS = "osD^vPX"
TINTS = (*COLOURS, TEXT)
LINE = 56  # letters of a legend that fit in a line
KERNEL_TITLES = {"euler": "Euler", "rbf": "RBF", "laplace": "Laplace"}


def _kernel_panels(
    axes: tuple[str, str], line_column: str, adjust: Callable[[Axes, list[Row]], None]
) -> LinePanels:
    return LinePanels(
        axes=axes,
        line_column=line_column,
        line_style=lambda value, number: {
            "marker": MARKS[number % 7],
            "ms": 3.5,
            "color": TINTS[number % 7],
        },
        across=lambda n_panels: 2 if n_panels == 4 else min(4, n_panels),
        legend_height=1.0,
        legend_columns=lambda names: len(names) if len("".join(names)) < LINE else 4,
        adjust=adjust,
    )


def rows_by_kernel(rows: list[Row]) -> dict[str, list[Row]]:
    return {
        title: [row for row in rows if row["kernel"] == kernel]
        for kernel, title in KERNEL_TITLES.items()
    }


def _set_log_axis(ax: Axes) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(0, None)


def _set_count_axis(ax: Axes, rows: list[Row]) -> None:
    _set_log_axis(ax)
    ticks = [
        int(k)
        for k in np.unique(np.concatenate([np.asarray(line.get_xdata()) for line in ax.lines]))
    ]
    # nearer, and labels touch
    apart = [k for i, k in enumerate(ticks) if not i or k >= 1.4 * ticks[i - 1]]
    ax.set_xticks(apart, labels=[str(k) for k in apart])
    ax.minorticks_off()


def _set_width_axis(ax: Axes, rows: list[Row]) -> None:
    _set_log_axis(ax)
    ax.set_xlabel("alpha" if ax.get_title() == KERNEL_TITLES["euler"] else "gamma / auto")


def draw_widths(tables: Tables) -> Pictures:
    """κ and the score against the width."""
    parts = rows_by_kernel(tables["widths"])
    text = "Deviation degree κ of means against alpha, or gamma in multiples of auto"
    yield _kernel_panels(("width", "kappa"), "set", _set_width_axis).picture(
        "deviation_widths", parts, text
    )
    text = "Representation score against alpha, or gamma in multiples of auto"
    yield _kernel_panels(("width", "score"), "set", _set_width_axis).picture(
        "score_widths", parts, text
    )


def draw_cluster_deviations(tables: Tables) -> Pictures:
    """κ against K."""
    text = "Deviation degree κ of means against the number of clusters"
    panels = _kernel_panels(("k", "kappa"), "set", _set_count_axis)
    yield panels.picture("deviation_clusters", rows_by_kernel(tables["clusters"]), text)


def draw_representation(tables: Tables) -> Pictures:
    """The score against κ, a point for each fit."""

    def show_points(ax: Axes, rows: list[Row]) -> None:
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        for line in ax.lines:
            line.set_linestyle("")

    every = rows_by_kernel(tables["widths"] + tables["clusters"])
    text = "Representation score against κ: every width and number of clusters"
    yield _kernel_panels(("kappa", "score"), "set", show_points).picture("score_kappa", every, text)


def draw_robustness(tables: Tables) -> Pictures:
    """NMI against the share of gross errors: the mean over the sets, and each set."""
    rows = [row | {"dirty": row["share"]} for row in tables["robustness"]]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    others = ("k-means z", "k-means clipped")

    def select_rows(dirt: str, beyond: str) -> list[Row]:
        return [
            row
            for row in rows
            if row["dirt"] == dirt and (row["beyond"] == beyond or row["method"] in others)
        ]

    def over_sets(group: list[Row]) -> list[Row]:
        same: dict[tuple[str, float], list[float]] = {}
        for row in group:
            same.setdefault((row["method"], row["share"]), []).append(row["nmi"])
        return [{"method": m, "dirty": s, "nmi": sum(v) / len(v)} for (m, s), v in same.items()]

    def set_axes(ax: Axes, rows: list[Row]) -> None:
        ax.set(
            ylim=(0, 1),
            xticks=(0, 0.1, 0.2, 0.3, 0.4),
            xlabel="share of gross errors",
            ylabel="NMI",
        )

    means = {
        f"{what}, {how}": over_sets(select_rows(what, beyond))
        for beyond, how in (("ignore", "defaults"), ("wrap", "kernel alone"))
        for what in ("cells", "rows")
    }
    panels = _kernel_panels(("dirty", "nmi"), "method", set_axes)
    yield panels.picture("robustness", means, "NMI over clean rows, mean over the sets")
    for what in ("cells", "rows"):
        parts = {
            name: [row for row in select_rows(what, "ignore") if row["set"] == name]
            for name in sets
        }
        yield panels.picture(f"robustness_{what}", parts, f"NMI against dirty {what}, defaults")


KERNEL_FIGURES: dict[str, Figure] = {
    "widths": Figure(
        "Deviation degree and representation score against the width", ("widths",), draw_widths
    ),
    "clusters": Figure(
        "Deviation degree against the number of clusters", ("clusters",), draw_cluster_deviations
    ),
    "representation": Figure(
        "Representation score against deviation degree",
        ("representation", "widths", "clusters"),
        draw_representation,
    ),
    "robustness": Figure(
        "NMI under gross errors", ("robustness_means", "robustness"), draw_robustness
    ),
}
