"""What a reproduction shows, a line each: REK against every printed cell, REK1 = REK2, Scene 13 within 3 points."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import datasets, published
from .protocol import PLAIN
from .tables import Found, Row, Table, alike, all_sets, score_cells, scores, sensitivity

NEAR = 3.0  # points from the printed figure of a set whose features are not the paper's own
MEASURES = ("nmi", "acc")
Bar = Callable[[str, str], float]  # (measure, set) -> a printed figure
CELLS = 12  # both measures of the six low-dimensional sets


def claims(found: Found) -> list[Row]:
    """Each claim, what the run gave, and whether it holds."""
    rows = [row | {"measure": measure} for measure in MEASURES for row in scores(found, measure)]
    told = [_above(found, rows, *wanted) for wanted in WANTED if wanted[0] in found.plan.low]
    return [*told, _equal(found), *_near(sensitivity(found))]


def highest(measure: str, paper: str) -> float:
    """The highest figure printed for a set, its column read turned back."""
    cells = [published.read(measure.upper(), method, paper) for method in published.METHODS]
    return max(cell.mean for cell in cells if cell is not None)


def of(method: str) -> Bar:
    """The figure printed for a method, its column read turned back."""

    def figure(measure: str, paper: str) -> float:
        cell = published.read(measure.upper(), method, paper)
        return math.nan if cell is None else cell.mean

    return figure


WANTED: tuple[tuple[str, str, Bar, int], ...] = (  # protocol, what REK is to be above, in how many of 12 cells
    ("range", "every printed figure", highest, 12),
    (PLAIN, "every printed figure", highest, 10),
    ("default", "the figures printed for REK1", of("REK1"), 10),
    ("default", "the figures printed for REK2", of("REK2"), 10),
)


def _above(found: Found, rows: list[Row], key: str, what: str, bar: Bar, least: int) -> Row:
    """In how many low-dimensional cells REK1 is above what is printed."""
    cells = [row for row in rows if (row["protocol"], row["method"]) == (key, "REK1") and row["set"] in datasets.LOW]
    below = [
        f"{row['set']} {row['measure'].upper()}" for row in cells if row["mean"] <= bar(row["measure"], row["set"])
    ]
    above = len(cells) - len(below)
    note = f"{above} of {len(cells)} cells" + (f"; not {', '.join(below)}" if below else "")
    verdict = "holds" if above >= least else "open" if len(cells) < CELLS else "does not hold"
    claim = f"REK is above {what} in at least {least} of {CELLS} cells: {found.plan.low[key].title}"
    return {"claim": claim, "found": note, "verdict": verdict}


def _equal(found: Found) -> Row:
    cells = {cell for cell in found.records if (cell.method, cell.half) == ("REK2", False)}
    same = sum(alike(found.records, cell) for cell in cells)
    note, verdict = f"{same} of {len(cells)} fits", "holds" if same == len(cells) else "does not hold"
    return {"claim": "REK2, run in angles, is REK1 to the last digit", "found": note, "verdict": verdict}


def _near(rows: list[Row]) -> list[Row]:
    """Scene 13 at the alpha where NMI and ACC of EulerK and REK1 all come nearest to the printed ones."""
    gaps: dict[float, list[tuple[float, str]]] = {}
    own = [row for row in rows if (row["set"], row["protocol"]) == ("Scene13", "paper")]
    for row in (row for row in own if row["method"] in ("EulerK", "REK1")):
        for measure in MEASURES:
            printed = of(row["method"])(measure, "Scene13")
            told = f"{row['method']} {measure.upper()} {row[measure]} (printed {printed})"
            gaps.setdefault(row["alpha"], []).append((abs(row[measure] - printed), told))
    if not gaps:
        return []
    alpha = min(gaps, key=lambda alpha: max(gaps[alpha]))
    note = f"alpha {alpha:g}: " + ", ".join(told for _, told in gaps[alpha])
    claim = f"Scene 13, rows of sum 1: NMI and ACC of EulerK and REK1 within {NEAR:g} points of the printed ones"
    return [{"claim": claim, "found": note, "verdict": "holds" if max(gaps[alpha])[0] <= NEAR else "does not hold"}]


TABLE = Table("What this run shows", claims, all_sets, score_cells)
