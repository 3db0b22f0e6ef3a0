"""Run a study: fits, records, tables and figures, written to a folder with an HTML page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rekmeans import __version__
from rekmeans.atomic import atomic_writes

from . import datasets, published
from .fit_records import FitKind, FitT, Progress, Record, fingerprint_datasets, run_fits
from .values import Row, csv_text

if TYPE_CHECKING:
    from .drawing import Figure, Picture

XMLNS = 'xmlns="http://www.w3.org/2000/svg" '
PlanT = TypeVar("PlanT")


@dataclass(frozen=True)
class StudyRecords(Generic[PlanT, FitT]):
    """The input of the tables.

    `names` maps the paper's name of each available dataset to ours, and `missing` maps the others
    to the reason why they are missing.
    """

    plan: PlanT
    records: dict[FitT, Record]
    names: dict[str, str]
    missing: dict[str, str]


@dataclass(frozen=True)
class StudyTable(Generic[PlanT, FitT]):
    """A table: its title, a function that computes its rows, and the datasets and fits it needs."""

    title: str
    rows: Callable[[StudyRecords[PlanT, FitT]], list[Row]]
    sets: Callable[[PlanT], tuple[str, ...]] = lambda plan: ()
    fits: Callable[[PlanT, dict[str, str]], Iterable[FitT]] = lambda plan, names: ()


@dataclass(frozen=True)
class Study(Generic[PlanT, FitT]):
    """The definition of a study.

    `load_figures` imports matplotlib, so it is called only when figures are drawn.
    """

    title: str
    folder: str  # the default output folder
    full: PlanT
    quick: PlanT
    tables: dict[str, StudyTable[PlanT, FitT]]
    load_figures: Callable[[], dict[str, Figure]]
    template: str
    fit_kind: Callable[[PlanT], FitKind[FitT]]
    protocols: Callable[[PlanT], dict[str, str]]
    records_file: str | None = None  # one line per finished fit, for resuming an interrupted run
    source: dict[str, str] = field(default_factory=dict)


def make_study(
    study: Study[PlanT, FitT],
    folder: Path,
    plan: PlanT,
    only: Sequence[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute the tables in `only`, or all, and write them with their figures and a page.

    Returns the contents of results.json.
    """
    wanted = only or tuple(study.tables)
    if unknown := [name for name in wanted if name not in study.tables]:
        raise ValueError(f"unknown table {unknown[0]!r}. Choose from {', '.join(study.tables)}.")
    records = find_records(study, folder, plan, wanted, workers, progress)
    tables = {name: study.tables[name].rows(records) for name in wanted}
    from .drawing import draw_figures, render_study_page

    figures = {
        key: figure
        for key, figure in study.load_figures().items()
        if set(figure.tables) <= set(tables)
    }
    drawings = draw_figures(figures, tables)
    pictures = [picture for drawing in drawings for picture in drawing.pictures]
    results = {
        "version": __version__,
        **study.source,
        "protocols": study.protocols(plan),
        "missing": records.missing,
        "figures": [f"{picture.name}.{kind}" for picture in pictures for kind in ("svg", "png")],
        "tables": tables,
    }
    titles = {name: study.tables[name].title for name in wanted}
    save_study(
        folder, results, render_study_page(study.template, results, titles, drawings), pictures
    )
    return results


def find_records(
    study: Study[PlanT, FitT],
    folder: Path,
    plan: PlanT,
    wanted: Sequence[str],
    workers: int | None,
    progress: Progress | None,
) -> StudyRecords[PlanT, FitT]:
    """Return the records of every fit the tables need, from the study's file or by running them."""
    tables = [study.tables[name] for name in wanted]
    needed = {name for table in tables for name in table.sets(plan)}
    papers = [name for name in published.KAPPA if name in needed]  # in the paper's order
    papers += sorted(needed.difference(papers))
    stand_ins = {paper: ours for ours, paper in datasets.HIGH.items()}
    present, absent = fingerprint_datasets(
        (*papers, *(stand_ins[name] for name in papers if name in stand_ins))
    )
    names = {name: name if name in present else stand_ins.get(name, name) for name in papers}
    names = {paper: ours for paper, ours in names.items() if ours in present}
    missing = {name: why for name, why in absent.items() if name in papers and name not in names}
    fits = {fit for table in tables for fit in table.fits(plan, names)}
    path = folder / study.records_file if study.records_file else None
    records = run_fits(fits, study.fit_kind(plan), present, path, workers, progress)
    return StudyRecords(plan, records, names, missing)


def save_study(
    folder: Path, results: dict[str, Any], page: str, pictures: Sequence[Picture]
) -> None:
    """Write the page, results.json, one CSV per table, and one SVG and PNG per picture.

    If one of the files cannot be written, none of them is.
    """
    texts = {"index.html": page, "results.json": json.dumps(results, indent=1) + "\n"}
    texts |= {f"{table}.csv": csv_text(rows) for table, rows in results["tables"].items()}
    texts |= {
        f"{picture.name}.svg": picture.svg.replace("<svg ", f"<svg {XMLNS}", 1)
        for picture in pictures
    }
    files = {name: text.encode() for name, text in texts.items()} | {
        f"{p.name}.png": p.png for p in pictures
    }
    with atomic_writes([folder / name for name in files]) as parts:
        for part, content in zip(parts, files.values(), strict=True):
            part.write_bytes(content)
