"""The whole reproduction: cells -> tables -> figures -> one page, CSVs, SVGs, PNGs and results.json in a folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..io.atomic import atomic_writes
from . import cells, datasets, published
from .all_tables import ALL
from .protocol import FULL, Plan
from .tables import Found, Row, columns

if TYPE_CHECKING:
    from .figures import Picture

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
        Gets index.html, results.json, a CSV for each table, an SVG and a PNG for each figure, and cells.jsonl.
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
        What results.json holds: tables (name -> rows), files of figures, protocols, and why data sets are missing.

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
    from .page import page, pictures

    drawn = pictures(tables)
    shown = [picture for figure in drawn.values() for picture in figure]
    results = {
        "version": __version__,
        "paper": published.SOURCE,
        "protocols": {key: protocol.title for key, protocol in (plan.low | plan.high).items()},
        "missing": found.missing,
        "figures": [f"{picture.name}.{kind}" for picture in shown for kind in ("svg", "png")],
        "tables": tables,
    }
    save(folder, results, page(results, drawn), shown)
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


def save(folder: Path, results: dict[str, Any], page: str, shown: Sequence[Picture]) -> None:
    """The page, results.json, a CSV for each table, an SVG and a PNG for each picture: all of them, or none."""
    texts = {"index.html": page, "results.json": json.dumps(results, indent=1) + "\n"}
    texts |= {f"{table}.csv": csv_text(rows) for table, rows in results["tables"].items()}
    texts |= {f"{picture.name}.svg": picture.svg.replace("<svg ", f"<svg {XMLNS}", 1) for picture in shown}
    files = {name: text.encode() for name, text in texts.items()} | {f"{p.name}.png": p.png for p in shown}
    with atomic_writes([folder / name for name in files]) as parts:
        for part, content in zip(parts, files.values(), strict=True):
            part.write_bytes(content)


def csv_text(rows: list[Row]) -> str:
    """A table as CSV; a cell that a row has not is empty."""
    out = StringIO(newline="")
    lines = csv.DictWriter(out, columns(rows), lineterminator="\n")
    lines.writeheader()
    lines.writerows(rows)
    return out.getvalue()
