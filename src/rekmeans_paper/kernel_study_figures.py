"""The figures of the kernel study, drawn from the rows of its tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from .drawing import COLOURS, TEXT, Figure, LinePanels, Pictures
from .values import Row, Tables

MARKS = "osD^vPX"
TINTS = (*COLOURS, TEXT)
LEGEND_WIDTH = 56  # characters of a legend that fit in a line
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
        legend_columns=lambda names: len(names) if len("".join(names)) < LEGEND_WIDTH else 4,
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
    # The labels of closer ticks would touch.
    apart = [k for i, k in enumerate(ticks) if not i or k >= 1.4 * ticks[i - 1]]
    ax.set_xticks(apart, labels=[str(k) for k in apart])
    ax.minorticks_off()


def _set_width_axis(ax: Axes, rows: list[Row]) -> None:
    _set_log_axis(ax)
    ax.set_xlabel("alpha" if ax.get_title() == KERNEL_TITLES["euler"] else "gamma / auto")


def draw_widths(tables: Tables) -> Pictures:
    """Draw κ and the score against the width."""
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
    """Draw κ against K."""
    text = "Deviation degree κ of means against the number of clusters"
    panels = _kernel_panels(("k", "kappa"), "set", _set_count_axis)
    yield panels.picture("deviation_clusters", rows_by_kernel(tables["clusters"]), text)


def draw_representation(tables: Tables) -> Pictures:
    """Draw the score against κ, with a point for each fit."""

    def show_points(ax: Axes, rows: list[Row]) -> None:
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        for line in ax.lines:
            line.set_linestyle("")

    every = rows_by_kernel(tables["widths"] + tables["clusters"])
    text = "Representation score against κ for all widths and numbers of clusters"
    yield _kernel_panels(("kappa", "score"), "set", show_points).picture("score_kappa", every, text)


def draw_robustness(tables: Tables) -> Pictures:
    """Draw NMI against the share of gross errors: the mean over the datasets, and each dataset."""
    rows = tables["robustness"]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    baselines = ("k-means z", "k-means clipped")

    def select_rows(errors_in: str, beyond: str) -> list[Row]:
        return [
            row
            for row in rows
            if row["errors_in"] == errors_in
            and (row["beyond"] == beyond or row["method"] in baselines)
        ]

    def mean_over_sets(group: list[Row]) -> list[Row]:
        values: dict[tuple[str, float], list[float]] = {}
        for row in group:
            values.setdefault((row["method"], row["share"]), []).append(row["nmi"])
        return [{"method": m, "share": s, "nmi": sum(v) / len(v)} for (m, s), v in values.items()]

    def set_axes(ax: Axes, rows: list[Row]) -> None:
        ax.set(
            ylim=(0, 1),
            xticks=(0, 0.1, 0.2, 0.3, 0.4),
            xlabel="share of gross errors",
            ylabel="NMI",
        )

    means = {
        f"errors in {errors_in}, {how}": mean_over_sets(select_rows(errors_in, beyond))
        for beyond, how in (("ignore", "defaults"), ("wrap", "kernel alone"))
        for errors_in in ("cells", "rows")
    }
    panels = _kernel_panels(("share", "nmi"), "method", set_axes)
    yield panels.picture(
        "robustness", means, "Mean NMI over the datasets, without rows of errors only"
    )
    for errors_in in ("cells", "rows"):
        parts = {
            name: [row for row in select_rows(errors_in, "ignore") if row["set"] == name]
            for name in sets
        }
        text = f"NMI against the share of {errors_in} with gross errors, defaults"
        yield panels.picture(f"robustness_{errors_in}", parts, text)


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
