"""The figures, drawn from the rows of the tables, each as SVG and PNG; the half-moons from fits of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from .. import EulerKMeans, RectifiedEulerKMeans
from .._grid import Array, complex_centroids
from ..displays import SurfaceDisplay
from ..displays._style import COLOURS, FAINT, SOFT, TEXT, cluster_colour, draw_numbered_mark
from ..html_report.svg import FIGURE_WIDTH, render_image, render_svg
from ..surfaces import Surface, mean_surface, rectified_surface
from . import angles, datasets
from .evidence import ON_CIRCLE, moon_alpha, moons
from .methods import EULER, estimator, mapped, start
from .published import KAPPA

WIDE = 8.6  # inches of a figure with several panels
FEW = 5  # alphas that each have a tick
STYLES = dict(zip(EULER, ("o-", "s-", "x--", "^:"), strict=True))
TINTS = dict(zip(EULER, (COLOURS[0], COLOURS[1], TEXT, COLOURS[3]), strict=True))
Row = dict[str, Any]
Tables = dict[str, list[Row]]


class Picture(NamedTuple):
    """A picture by its name: inline SVG, and PNG."""

    name: str
    svg: str
    png: bytes


Drawn = Iterator[Picture]


@dataclass(frozen=True)
class Figure:
    """A figure: its title, the tables it is drawn from, and how."""

    title: str
    tables: tuple[str, ...]
    drawn: Callable[[Tables], Drawn]


def picture(name: str, draw: Callable[[Axes], None], height: float, text: str, width: float = FIGURE_WIDTH) -> Picture:
    """What `draw` draws, described by `text`; sizes in inches."""
    return Picture(name, render_svg(draw, height, text, width), render_image(draw, height, width, "png"))


def half_moons(tables: Tables) -> Drawn:
    """The data, and its mapped points in each dimension."""
    data, m = datasets.half_moons(0), mapped(moons(moon_alpha()))

    def draw(first: Axes) -> None:
        left, *circles = _panels(first, 1, 3)[0]
        for c in (0, 1):
            left.plot(*data.X[data.y == c].T, "o", ms=3, color=cluster_colour(c), alpha=0.7, mec="none")
        left.set(xlabel="first", ylabel="second", aspect="equal", title="data")
        for j, ax in enumerate(circles):
            _circle(ax, m[:, j], data.y)
            ax.set_title(f"dimension {j + 1}, mapped")

    yield picture("half_moons", draw, 3.0, "Half-moons, and their mapped points in each dimension", WIDE)


def surfaces(tables: Tables) -> Drawn:
    """Centroids of the three methods and the surfaces of Lemma 1 and 2, dimension by dimension and in the plane."""
    case = moons(moon_alpha())
    models = {"EulerK": estimator(EulerKMeans, case), "REK1": estimator(RectifiedEulerKMeans, case)}
    course = angles.rek2(*start(case))
    found = {name: (model.fit(case.X).centroids_, model.labels_) for name, model in models.items()}
    found["REK2"] = (complex_centroids(course.centroids), course.labels)

    def draw(first: Axes) -> None:
        axes = _panels(first, 2, 3)
        for column, (name, (centroids, labels)) in enumerate(found.items()):
            rule = mean_surface if name == "EulerK" else rectified_surface
            for j in (0, 1):
                ax = axes[j][column]
                _circle(ax, mapped(case)[:, j], labels)
                _border(ax, rule(centroids[0, [j]], centroids[1, [j]]))
                for c in (0, 1):
                    draw_numbered_mark(ax, c, centroids[c, j].real, centroids[c, j].imag)
                ax.set_title(f"{name}, dimension {j + 1}")

    yield picture("surfaces", draw, 5.8, "Centroids and surfaces of EulerK, REK1 and REK2 in each dimension", WIDE)

    def plane(first: Axes) -> None:
        for ax, (name, model) in zip(_panels(first, 1, 2)[0], models.items(), strict=True):
            SurfaceDisplay.from_estimator(model, case.X, names=["first", "second"], ax=ax)
            ax.set_title(name)

    yield picture("surfaces_plane", plane, 3.6, "The clusters of EulerK and REK1 in the plane of the data", WIDE)


def starts(tables: Tables) -> Drawn:
    """Where EulerK's centroids end that began on the circle."""
    rows, m = tables["starts"], mapped(moons(moon_alpha()))

    def draw(init: str) -> Callable[[Axes], None]:
        def panels(first: Axes) -> None:
            for j, line in enumerate(_panels(first, 2, 3)):
                for drawn, ax in enumerate(line):
                    _circle(ax, m[:, j], np.zeros(len(m), int), SOFT)
                    for row in rows:
                        if (row["start"], row["draw"], row["column"]) == (init, drawn, j):
                            draw_numbered_mark(ax, row["cluster"], row["re"], row["im"])
                    ax.set_title(f"draw {drawn + 1}, dimension {j + 1}")

        return panels

    for key, init in ON_CIRCLE.items():
        yield picture(f"starts_{key}", draw(init), 5.8, f"Centroids of EulerK from {init}, three draws", WIDE)


def clusters(tables: Tables) -> Drawn:
    """κ of EulerK on half-moons against K."""
    rows = tables["clusters"]

    def draw(ax: Axes) -> None:
        ax.plot([row["k"] for row in rows], [row["kappa"] for row in rows], "o-", color=COLOURS[0], ms=4.5)
        ax.axhline(KAPPA[datasets.MOONS], color=SOFT, lw=1, ls="--")
        ax.set(xlabel="clusters K", ylabel="deviation degree κ", ylim=(0, None))
        _bare(ax)

    yield picture("clusters", draw, 2.8, "Deviation degree of EulerK on half-moons against the number of clusters")


def sensitivity(tables: Tables) -> Drawn:
    """NMI against alpha, a panel for each set, a figure for each protocol that tries several."""

    def logarithmic(ax: Axes, own: list[Row]) -> None:
        ax.set_xscale("log")
        alphas = sorted({row["alpha"] for row in own})
        if len(alphas) <= FEW:
            ax.set_xticks(alphas)
        ax.minorticks_off()
        ax.xaxis.set_major_formatter("{x:g}")

    for key, rows in _by_protocol(tables["alphas"]):
        if len({row["alpha"] for row in rows}) > 1:
            yield _lines(f"alphas_{key}", rows, ("alpha", "nmi"), f"NMI against alpha: {key}", logarithmic)


def course(tables: Tables) -> Drawn:
    """The objective against the pass, a panel for each set, framed by REK1; the printed update may leave the frame."""

    def framed(ax: Axes, own: list[Row]) -> None:
        falls = [row["objective"] for row in own if row["method"] == "REK1"]
        least, most = min(falls), max(falls)
        if most > least:
            ax.set_ylim(least - 0.1 * (most - least), most + 0.6 * (most - least))

    for key, rows in _by_protocol(tables["objective"]):
        own = [row for row in rows if row["method"] != "EulerK"]  # its objective is another
        yield _lines(f"objective_{key}", own, ("pass", "objective"), f"Objective against pass: {key}", framed)


def _by_protocol(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    for key in dict.fromkeys(row["protocol"] for row in rows):
        yield key, [row for row in rows if row["protocol"] == key]


def _lines(
    name: str, rows: list[Row], axes: tuple[str, str], text: str, dress: Callable[[Axes, list[Row]], None]
) -> Picture:
    """A panel for each set, a line for each method."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    across = min(3, len(sets))
    down = -(-len(sets) // across)

    def draw(first: Axes) -> None:
        panels = [ax for line in _panels(first, down, across) for ax in line]
        for ax in panels[len(sets) :]:
            ax.remove()
        for ax, title in zip(panels, sets, strict=False):
            own = [row for row in rows if row["set"] == title]
            for method in dict.fromkeys(row["method"] for row in own):
                x, y = ([row[axis] for row in own if row["method"] == method] for axis in axes)
                ax.plot(x, y, STYLES[method], ms=3, lw=1.1, color=TINTS[method], label=method)
            ax.set(title=title, xlabel=axes[0], ylabel=axes[1])
            dress(ax, own)
            _bare(ax)
        figure: Any = panels[0].figure
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=len(names), frameon=False, title=text)

    return picture(_slug(name), draw, 2.4 * down + 0.7, text, WIDE if across > 1 else WIDE / 2)


def _panels(first: Axes, down: int, across: int) -> list[list[Axes]]:
    """Axes in rows, in the figure of the first, which goes."""
    figure: Any = first.figure
    first.remove()
    return figure.subplots(down, across, squeeze=False).tolist()


def _circle(ax: Axes, m: Array, labels: Array, tint: str | None = None) -> None:
    """Mapped points of one dimension on their circle."""
    ax.add_patch(Circle((0, 0), 1, fill=False, color=FAINT, lw=1))
    for c in np.unique(labels):
        own = m[labels == c]
        ax.plot(own.real, own.imag, "o", ms=3, color=tint or cluster_colour(int(c)), alpha=0.5, mec="none")
    ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), xticks=(-1, 0, 1), yticks=(-1, 0, 1), aspect="equal")
    _bare(ax)


def _border(ax: Axes, surface: Surface) -> None:
    """The line normal . (cos, sin) = offset in one dimension."""
    normal = surface.normal
    foot = normal * surface.offset / (normal @ normal)
    along = np.array([-normal[1], normal[0]]) / np.sqrt(normal @ normal)
    ends = foot + np.outer((-2.0, 2.0), along)
    ax.plot(ends[:, 0], ends[:, 1], color=TEXT, lw=1, ls="--")


def _bare(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def _slug(text: str) -> str:
    """A name for a file."""
    return text.replace(" ", "_").lower()


FIGURES: dict[str, Figure] = {
    "half_moons": Figure("Half-moons and their mapped points", ("moons",), half_moons),
    "surfaces": Figure("Centroids and surfaces on half-moons", ("moons",), surfaces),
    "starts": Figure("EulerK from starts on the circle", ("starts",), starts),
    "clusters": Figure("Deviation degree against the number of clusters", ("clusters",), clusters),
    "alphas": Figure("NMI against alpha", ("alphas",), sensitivity),
    "objective": Figure("Objective against pass", ("objective",), course),
}
