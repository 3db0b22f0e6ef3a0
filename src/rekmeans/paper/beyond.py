"""The study beyond: how far means deviate for each kernel, what rectification changes, and where methods break."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import __version__
from .._parameters import check_one_of
from . import datasets
from .beyond_tables import FULL, QUICK, TABLES, Found, Plan
from .cells import Watch
from .dirt import STARTS, WIDTH
from .reproduction import save
from .study import CELLS, COMPONENTS, made

__all__ = ["FULL", "QUICK", "Plan", "beyond"]


def beyond(
    folder: Path,
    plan: Plan = FULL,
    only: Sequence[str] = (),
    workers: int | None = None,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Make the tables of the study asked for, or all, and write them with their figures and a page.

    Parameters
    ----------
    folder : Path
        Gets index.html, results.json, a CSV for each table, an SVG and a PNG for each figure: all of them, or none.
    plan : Plan
        `FULL` or `QUICK`, or one of your own.
    only : names of tables
        All of `TABLES` by default.
    workers : int or None
        Processes; None for one a core. The answer is the same.
    watch : callable or None
        Called with the fits done, the fits in all, and the set at work.

    Returns
    -------
    dict
        What results.json holds: tables (name -> rows), files of figures, how it was run, why data sets are missing.
    """
    for name in only:
        check_one_of("only", name, TABLES)
    wanted, missing = only or tuple(TABLES), dict[str, str]()
    for name in dict.fromkeys(plan.sets + plan.dirty):
        try:
            datasets.load(name)
        except datasets.Missing as error:
            missing[name] = error.why
    sets, dirty = (tuple(name for name in names if name not in missing) for names in (plan.sets, plan.dirty))
    plan = replace(plan, sets=sets, dirty=dirty)
    fits = {fit for name in wanted for fit in TABLES[name].fits(plan)}
    found = Found(plan, made(fits, plan.rows, workers, watch))
    tables = {name: TABLES[name].rows(found) for name in wanted}
    from .beyond_figures import FIGURES
    from .page import page, pictures

    drawn = pictures(tables, FIGURES)
    shown = [picture for figure in drawn.values() for picture in figure]
    results = {
        "version": __version__,
        "protocols": protocols(plan),
        "missing": missing,
        "figures": [f"{picture.name}.{kind}" for picture in shown for kind in ("svg", "png")],
        "tables": tables,
    }
    titles = {name: TABLES[name].title for name in wanted}
    save(folder, results, page(results, drawn, titles, FIGURES, "beyond.html.j2"), shown)
    return results


def protocols(plan: Plan) -> dict[str, str]:
    """How the tables were run."""
    return {
        "rows": f"at most {plan.rows} rows of a set, drawn once, and at most {CELLS} cells",
        "clean": f"robust scale, values beyond it clipped; {plan.starts} starts for deviation, "
        f"{plan.tries} for rectification, each on its own; width: alpha, or a "
        'multiple of gamma="auto" for as many clusters as classes',
        "explicit maps": f"scikit-learn's, {COMPONENTS} components, the same gamma on the same scaled rows",
        "dirt": f"normal errors {WIDTH} standard deviations wide in a share of cells or rows; {plan.draws} draws, best "
        f'of {STARTS} starts, true number of clusters; ours at the defaults, and with beyond="wrap": the kernel alone',
    }
