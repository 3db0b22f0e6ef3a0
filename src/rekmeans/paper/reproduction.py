"""The whole reproduction: cells -> tables -> figures -> one page, CSVs, SVGs and results.json in a folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from .._files import all_whole
from . import cells, datasets, published
from .claims import TABLE as CLAIMS
from .errata import TABLE as ERRATA
from .evidence import EVIDENCE
from .protocol import FULL, Plan
from .tables import TABLES, Found, Row, Table

ALL: dict[str, Table] = {"claims": CLAIMS} | TABLES | EVIDENCE | {"errata": ERRATA}
RECORDS = "cells.jsonl"  # every fit made, a line each; what a run continues from
XMLNS = 'xmlns="http://www.w3.org/2000/svg" '


def reproduce(
    folder: Path,
    plan: Plan = FULL,
    only: Sequence[str] = (),
    workers: int | None = None,
    watch: cells.Watch | None = None,
) -> dict[str, Any]:
    """Make the tables asked for, or all, and write them with their figures and a page.

    A run that was killed continues: fits already made are read from `folder`/cells.jsonl.

    Parameters
    ----------
    folder : Path
        Gets index.html, results.json, a CSV for each table, an SVG for each figure, and cells.jsonl.
    plan : Plan
        `FULL` or `QUICK` of `rekmeans.paper.protocol`, or one of your own.
    only : names of tables
        All of `ALL` by default.
    workers : int or None
        Processes; None for one a core. The answer is the same.
    watch : callable or None
        Called with the fits done, the fits in all, and the set at work.

    Returns
    -------
    dict
        What results.json holds: tables (name -> rows), protocols, and why data sets are missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rekmeans.paper.protocol import QUICK
    >>> from rekmeans.paper.reproduction import reproduce
    >>> with TemporaryDirectory() as folder:
    ...     rows = reproduce(Path(folder), QUICK, ["clusters"])["tables"]["clusters"]
    >>> rows[0]["k"], rows[0]["kappa"] > rows[-1]["kappa"]
    (2, True)
    """
    wanted = only or tuple(ALL)
    if unknown := [name for name in wanted if name not in ALL]:
        raise ValueError(f"there is no table {unknown[0]!r}: choose from {', '.join(ALL)}.")
    found = gathered(folder / RECORDS, plan, wanted, workers, watch)
    tables = {name: ALL[name].rows(found) for name in wanted}
    results = {
        "version": __version__,
        "paper": published.SOURCE,
        "protocols": {key: protocol.title for key, protocol in (plan.low | plan.high).items()},
        "missing": found.missing,
        "tables": tables,
    }
    save(folder, results)
    return results


def gathered(path: Path, plan: Plan, wanted: Sequence[str], workers: int | None, watch: cells.Watch | None) -> Found:
    """The records of every cell that the tables want, from the file and from fits made now."""
    stand_ins = {paper: ours for ours, paper in datasets.HIGH.items()}
    needed = {name for table in wanted for name in ALL[table].sets(plan)}
    own = [name for name in published.KAPPA if name in needed]  # in the paper's order
    marks, absent = cells.marks((*own, *(stand_ins[name] for name in own if name in stand_ins)))
    names = {name: name if name in marks else stand_ins.get(name, name) for name in own}
    names = {paper: ours for paper, ours in names.items() if ours in marks}
    missing = {name: why for name, why in absent.items() if name in own and name not in names}
    todo = {cell for name in wanted for cell in ALL[name].cells(plan, names)}
    return Found(plan, cells.run(todo, path, marks, workers, watch), names, missing)


def save(folder: Path, results: dict[str, Any]) -> None:
    """The page, results.json, a CSV for each table and an SVG for each figure: all of them, or none."""
    from .page import page, pictures

    drawn = pictures(results["tables"])
    texts = {"index.html": page(results, drawn), "results.json": json.dumps(results, indent=1) + "\n"}
    texts |= {f"{name}.svg": picture.replace("<svg ", f"<svg {XMLNS}", 1) for _, name, picture in drawn}
    paths = [folder / name for name in (*texts, *(f"{table}.csv" for table in results["tables"]))]
    with all_whole(paths) as parts:
        for part, text in zip(parts, texts.values(), strict=False):
            part.write_text(text, encoding="utf-8")
        for part, rows in zip(parts[len(texts) :], results["tables"].values(), strict=True):
            save_rows(part, rows)


def save_rows(path: Path, rows: list[Row]) -> None:
    """A table as CSV; a cell that a row has not is empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, columns(rows), lineterminator="\n")
        lines.writeheader()
        lines.writerows(rows)


def columns(rows: list[Row]) -> list[str]:
    """The names of all columns, in the order they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row))
