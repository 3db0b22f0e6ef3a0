"""The figures of the reproduction as SVG and PNG, drawn from the tables and half-moon fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from rekmeans import EulerKMeans, RectifiedEulerKMeans
from rekmeans.displays import SurfaceDisplay
from rekmeans.surfaces import Surface, mean_surface, rectified_surface

from . import angles, datasets
from .drawing import (
    COLOURS,
    FAINT,
    PANELS_WIDTH,
    SOFT,
    TEXT,
    Figure,
    LinePanels,
    Pictures,
    cluster_colour,
    draw_numbered_mark,
    remove_frame,
    render_picture,
    split_panels,
)
from .methods import EULER, make_estimator, mapped_rows, starting_state
from .published import KAPPA
from .reproduction_evidence import ON_CIRCLE, moon_alpha, moon_case
from .values import Array, Row, Tables

MAX_TICKS = 5  # up to this many values of alpha get a tick each
LINES = (("o", "-"), ("s", "-"), ("x", "--"), ("^", ":"))  # marker and line style of each method
STYLES = {
    method: {"marker": marker, "ls": dashes}
    for method, (marker, dashes) in zip(EULER, LINES, strict=True)
}
COLOUR_OF = dict(zip(EULER, (COLOURS[0], COLOURS[1], TEXT, COLOURS[3]), strict=True))


def draw_half_moons(tables: Tables) -> Pictures:
    """Draw the half-moons and their mapped points in each dimension."""
    data = datasets.half_moons(0)
    m = mapped_rows(moon_case(moon_alpha()))

    def draw(first: Axes) -> None:
        left, *circles = split_panels(first, 1, 3)[0]
        for c in (0, 1):
            left.plot(
                *data.X[data.y == c].T, "o", ms=3, color=cluster_colour(c), alpha=0.7, mec="none"
            )
        left.set(xlabel="first", ylabel="second", aspect="equal", title="data")
        for j, ax in enumerate(circles):
            _draw_circle(ax, m[:, j], data.y)
            ax.set_title(f"dimension {j + 1}, mapped")

    yield render_picture(
        "half_moons",
        draw,
        3.0,
        "Half-moons and their mapped points in each dimension",
        PANELS_WIDTH,
    )


def draw_surfaces(tables: Tables) -> Pictures:
    """Draw centroids and the surfaces of Lemmas 1 and 2, in each dimension and in the plane."""
    case = moon_case(moon_alpha())
    models = {
        "EulerK": make_estimator(EulerKMeans, case),
        "REK1": make_estimator(RectifiedEulerKMeans, case),
    }
    angle_fit = angles.fit_angles(*starting_state(case))
    fits = {name: (model.fit(case.X).centroids_, model.labels_) for name, model in models.items()}
    fits["REK2"] = (angle_fit.complex_centroids, angle_fit.labels)

    def draw(first: Axes) -> None:
        axes = split_panels(first, 2, 3)
        for column, (name, (centroids, labels)) in enumerate(fits.items()):
            rule = mean_surface if name == "EulerK" else rectified_surface
            for j in (0, 1):
                ax = axes[j][column]
                _draw_circle(ax, mapped_rows(case)[:, j], labels)
                _draw_border(ax, rule(centroids[0, [j]], centroids[1, [j]]))
                for c in (0, 1):
                    draw_numbered_mark(ax, c, centroids[c, j].real, centroids[c, j].imag)
                ax.set_title(f"{name}, dimension {j + 1}")

    yield render_picture(
        "surfaces",
        draw,
        5.8,
        "Centroids and surfaces of EulerK, REK1 and REK2 in each dimension",
        PANELS_WIDTH,
    )

    def plane(first: Axes) -> None:
        for ax, (name, model) in zip(split_panels(first, 1, 2)[0], models.items(), strict=True):
            SurfaceDisplay.from_estimator(model, case.X, names=["first", "second"], ax=ax)
            ax.set_title(name)

    yield render_picture(
        "surfaces_plane",
        plane,
        3.6,
        "The clusters of EulerK and REK1 in the plane of the data",
        PANELS_WIDTH,
    )


def draw_starts(tables: Tables) -> Pictures:
    """Draw the final centroids of EulerK after starts on the circle."""
    rows = tables["starts"]
    m = mapped_rows(moon_case(moon_alpha()))

    def draw(init: str) -> Callable[[Axes], None]:
        def panels(first: Axes) -> None:
            for j, line in enumerate(split_panels(first, 2, 3)):
                for number, ax in enumerate(line):
                    _draw_circle(ax, m[:, j], np.zeros(len(m), int), SOFT)
                    for row in rows:
                        if (row["start"], row["draw"], row["column"]) == (init, number, j):
                            draw_numbered_mark(ax, row["cluster"], row["re"], row["im"])
                    ax.set_title(f"draw {number + 1}, dimension {j + 1}")

        return panels

    for key, init in ON_CIRCLE.items():
        yield render_picture(
            f"starts_{key}",
            draw(init),
            5.8,
            f"Centroids of EulerK from {init}, three draws",
            PANELS_WIDTH,
        )


def draw_clusters(tables: Tables) -> Pictures:
    """Draw κ of EulerK on half-moons against K."""
    rows = tables["clusters"]

    def draw(ax: Axes) -> None:
        ax.plot(
            [row["k"] for row in rows],
            [row["kappa"] for row in rows],
            "o-",
            color=COLOURS[0],
            ms=4.5,
        )
        ax.axhline(KAPPA[datasets.MOONS], color=SOFT, lw=1, ls="--")
        ax.set(xlabel="clusters K", ylabel="deviation degree κ", ylim=(0, None))
        remove_frame(ax)

    yield render_picture(
        "clusters",
        draw,
        2.8,
        "Deviation degree of EulerK on half-moons against the number of clusters",
    )


def draw_sensitivity(tables: Tables) -> Pictures:
    """Draw NMI against alpha: a panel per dataset, a figure per protocol with several alphas."""

    def set_log_axis(ax: Axes, rows: list[Row]) -> None:
        ax.set_xscale("log")
        alphas = sorted({row["alpha"] for row in rows})
        if len(alphas) <= MAX_TICKS:
            ax.set_xticks(alphas)
        ax.minorticks_off()
        ax.xaxis.set_major_formatter("{x:g}")

    for key, rows in _by_protocol(tables["alphas"]):
        if len({row["alpha"] for row in rows}) > 1:
            name = _file_name(f"alphas_{key}")
            text = f"NMI against alpha: {key}"
            yield _method_panels(("alpha", "nmi"), set_log_axis).picture(name, _by_set(rows), text)


def draw_course(tables: Tables) -> Pictures:
    """Draw the objective against the pass, with a panel for each dataset.

    The limits of the axes are those of REK1, so the printed update may leave the panel.
    """

    def frame_by_rek1(ax: Axes, rows: list[Row]) -> None:
        falls = [row["objective"] for row in rows if row["method"] == "REK1"]
        least, most = min(falls), max(falls)
        if most > least:
            ax.set_ylim(least - 0.1 * (most - least), most + 0.6 * (most - least))

    for key, rows in _by_protocol(tables["objective"]):
        # EulerK has another objective.
        others = [row for row in rows if row["method"] != "EulerK"]
        name = _file_name(f"objective_{key}")
        text = f"Objective against pass: {key}"
        yield _method_panels(("pass", "objective"), frame_by_rek1).picture(
            name, _by_set(others), text
        )


def _by_protocol(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    for key in dict.fromkeys(row["protocol"] for row in rows):
        yield key, [row for row in rows if row["protocol"] == key]


def _method_panels(axes: tuple[str, str], adjust: Callable[[Axes, list[Row]], None]) -> LinePanels:
    """Return panels with one line for each method."""
    return LinePanels(
        axes=axes,
        line_column="method",
        line_style=lambda method, number: {"ms": 3, "color": COLOUR_OF[method], **STYLES[method]},
        across=lambda n_panels: min(3, n_panels),
        legend_height=0.7,
        legend_columns=len,
        adjust=adjust,
    )


def _by_set(rows: list[Row]) -> dict[str, list[Row]]:
    return {
        name: [row for row in rows if row["set"] == name]
        for name in dict.fromkeys(row["set"] for row in rows)
    }


def _draw_circle(ax: Axes, m: Array, labels: Array, tint: str | None = None) -> None:
    """Draw the mapped points of one dimension on their circle."""
    ax.add_patch(Circle((0, 0), 1, fill=False, color=FAINT, lw=1))
    for c in np.unique(labels):
        points = m[labels == c]
        ax.plot(
            points.real,
            points.imag,
            "o",
            ms=3,
            color=tint or cluster_colour(int(c)),
            alpha=0.5,
            mec="none",
        )
    ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), xticks=(-1, 0, 1), yticks=(-1, 0, 1), aspect="equal")
    remove_frame(ax)


def _draw_border(ax: Axes, surface: Surface) -> None:
    """Draw the line normal . (cos, sin) = offset in one dimension."""
    normal = surface.normal
    foot = normal * surface.offset / (normal @ normal)
    along = np.array([-normal[1], normal[0]]) / np.sqrt(normal @ normal)
    ends = foot + np.outer((-2.0, 2.0), along)
    ax.plot(ends[:, 0], ends[:, 1], color=TEXT, lw=1, ls="--")


def _file_name(text: str) -> str:
    """Convert a title to a file name."""
    return text.replace(" ", "_").lower()


PAPER_FIGURES: dict[str, Figure] = {
    "half_moons": Figure("Half-moons and their mapped points", ("moons",), draw_half_moons),
    "surfaces": Figure("Centroids and surfaces on half-moons", ("moons",), draw_surfaces),
    "starts": Figure("EulerK from starts on the circle", ("starts",), draw_starts),
    "clusters": Figure(
        "Deviation degree against the number of clusters", ("clusters",), draw_clusters
    ),
    "alphas": Figure("NMI against alpha", ("alphas",), draw_sensitivity),
    "objective": Figure("Objective against pass", ("objective",), draw_course),
}
