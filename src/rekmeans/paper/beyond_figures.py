"""The figures of the study beyond, drawn from the rows of its tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..displays._style import COLOURS, TEXT
from .figures import WIDE, Drawn, Figure, Picture, Row, Tables, _bare, _panels, picture

MARKS = "osD^vPX"
TINTS = (*COLOURS, TEXT)
LINE = 56  # letters of a legend that fit in a line
KERNELS = {"euler": "Euler", "rbf": "RBF", "laplace": "Laplace"}


def lines(
    name: str, cut: dict[str, list[Row]], axes: tuple[str, str], by: str, text: str, dress: Callable[[Axes], Any]
) -> Picture:
    """A panel for each part, a line for each value of `by`; colours and marks are the same in all."""
    kinds = list(dict.fromkeys(row[by] for own in cut.values() for row in own))
    across = min(4, len(cut)) if len(cut) != 4 else 2
    down = -(-len(cut) // across)

    def draw(first: Axes) -> None:
        every = [ax for line in _panels(first, down, across) for ax in line]
        for ax in every[len(cut) :]:
            ax.remove()
        for ax, (title, own) in zip(every, cut.items(), strict=False):
            for at, kind in enumerate(kinds):
                points = sorted((row[axes[0]], row[axes[1]]) for row in own if row[by] == kind)
                if points:
                    style: Any = {"marker": MARKS[at % 7], "ms": 3.5, "lw": 1.1, "color": TINTS[at % 7]}
                    ax.plot(*zip(*points, strict=True), label=kind, **style)
            ax.set(title=title, xlabel=axes[0], ylabel=axes[1])
            dress(ax)
            _bare(ax)
        figure: Any = every[0].figure
        handles, names = every[0].get_legend_handles_labels()
        figure.legend(
            handles,
            names,
            loc="outside upper left",
            ncols=len(names) if len("".join(names)) < LINE else 4,
            frameon=False,
            title=text,
        )

    return picture(name, draw, 2.4 * down + 1.0, text, WIDE if across > 1 else WIDE / 2)


def by_kernel(rows: list[Row]) -> dict[str, list[Row]]:
    return {title: [row for row in rows if row["kernel"] == kernel] for kernel, title in KERNELS.items()}


def _logarithmic(ax: Axes) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(0, None)


def _counted(ax: Axes) -> None:
    _logarithmic(ax)
    ticks = [int(k) for k in np.unique(np.concatenate([np.asarray(line.get_xdata()) for line in ax.lines]))]
    apart = [k for i, k in enumerate(ticks) if not i or k >= 1.4 * ticks[i - 1]]  # nearer, and labels touch
    ax.set_xticks(apart, labels=[str(k) for k in apart])
    ax.minorticks_off()


def _wide(ax: Axes) -> None:
    _logarithmic(ax)
    ax.set_xlabel("alpha" if ax.get_title() == KERNELS["euler"] else "gamma / auto")


def widths(tables: Tables) -> Drawn:
    """κ and the score against the width."""
    parts = by_kernel(tables["widths"])
    text = "Deviation degree κ of means against alpha, or gamma in multiples of auto"
    yield lines("deviation_widths", parts, ("width", "kappa"), "set", text, _wide)
    text = "Representation score against alpha, or gamma in multiples of auto"
    yield lines("score_widths", parts, ("width", "score"), "set", text, _wide)


def clusters(tables: Tables) -> Drawn:
    """κ against K."""
    text = "Deviation degree κ of means against the number of clusters"
    yield lines("deviation_clusters", by_kernel(tables["clusters"]), ("k", "kappa"), "set", text, _counted)


def representation(tables: Tables) -> Drawn:
    """The score against κ, a point for each fit."""

    def dress(ax: Axes) -> None:
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        for line in ax.lines:
            line.set_linestyle("")

    every = by_kernel(tables["widths"] + tables["clusters"])
    text = "Representation score against κ: every width and number of clusters"
    yield lines("score_kappa", every, ("kappa", "score"), "set", text, dress)


def robustness(tables: Tables) -> Drawn:
    """NMI against the share of gross errors: the mean over the sets, and each set."""
    rows = [row | {"dirty": row["share"]} for row in tables["robustness"]]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    others = ("k-means z", "k-means clipped")

    def cut(dirt: str, beyond: str) -> list[Row]:
        return [row for row in rows if row["dirt"] == dirt and (row["beyond"] == beyond or row["method"] in others)]

    def over_sets(own: list[Row]) -> list[Row]:
        same: dict[tuple[str, float], list[float]] = {}
        for row in own:
            same.setdefault((row["method"], row["share"]), []).append(row["nmi"])
        return [{"method": m, "dirty": s, "nmi": sum(v) / len(v)} for (m, s), v in same.items()]

    def dress(ax: Axes) -> None:
        ax.set(ylim=(0, 1), xticks=(0, 0.1, 0.2, 0.3, 0.4), xlabel="share of gross errors", ylabel="NMI")

    means = {
        f"{what}, {how}": over_sets(cut(what, beyond))
        for beyond, how in (("ignore", "defaults"), ("wrap", "kernel alone"))
        for what in ("cells", "rows")
    }
    axes, text = ("dirty", "nmi"), "NMI over clean rows, mean over the sets"
    yield lines("robustness", means, axes, "method", text, dress)
    for what in ("cells", "rows"):
        parts = {name: [row for row in cut(what, "ignore") if row["set"] == name] for name in sets}
        yield lines(f"robustness_{what}", parts, axes, "method", f"NMI against dirty {what}, defaults", dress)


FIGURES: dict[str, Figure] = {
    "widths": Figure("Deviation degree and representation score against the width", ("widths",), widths),
    "clusters": Figure("Deviation degree against the number of clusters", ("clusters",), clusters),
    "representation": Figure(
        "Representation score against deviation degree", ("representation", "widths", "clusters"), representation
    ),
    "robustness": Figure("NMI under gross errors", ("robustness_means", "robustness"), robustness),
}
