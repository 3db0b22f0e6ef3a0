"""What a reproduction shows, a line each: REK against every printed cell, REK1 = REK2, Scene 13 within 3 points."""

from __future__ import annotations

from collections.abc import Callable

from . import datasets, published
from .tables import Found, Row, Table, all_sets, equality, score_cells, scores

NEAR = 3.0  # points from the printed figure of a set whose features are not the paper's own
MEASURES = ("nmi", "acc")
CELLS = 12  # both measures of the six low-dimensional sets


def claims(found: Found) -> list[Row]:
    """Each claim, what the run gave, and whether it holds."""
    rows = [row | {"measure": measure} for measure in MEASURES for row in scores(found, measure)]
    told = [_above(found, rows, key) for key in WANTED if key in found.plan.low]
    return [*told, _equal(found), *_near(rows)]


def highest(measure: str, paper: str) -> float:
    """The highest figure printed for a set, its column read turned back."""
    cells = [published.read(measure.upper(), method, paper) for method in published.METHODS]
    return max(cell.mean for cell in cells if cell is not None)


def own(measure: str, paper: str) -> float:
    """The figure printed for REK1, its column read turned back."""
    cell = published.read(measure.upper(), "REK1", paper)
    return highest(measure, paper) if cell is None else cell.mean


WANTED: dict[
    str, tuple[str, Callable[[str, str], float], int]
] = {  # of a protocol: what to be above, in how many of 12
    "range": ("every printed figure", highest, 12),
    "default": ("the figures printed for REK1", own, 10),
}


def _above(found: Found, rows: list[Row], key: str) -> Row:
    """In how many low-dimensional cells REK1 is above what is printed."""
    what, bar, least = WANTED[key]
    cells = [row for row in rows if (row["protocol"], row["method"]) == (key, "REK1") and row["set"] in datasets.LOW]
    below = [
        f"{row['set']} {row['measure'].upper()}" for row in cells if row["mean"] <= bar(row["measure"], row["set"])
    ]
    above = len(cells) - len(below)
    note = f"{above} of {len(cells)} cells" + (f"; not {', '.join(below)}" if below else "")
    verdict = "holds" if above >= least else "open" if len(cells) < CELLS else "does not hold"
    return {"claim": f"REK is above {what}: {found.plan.low[key].title}", "found": note, "verdict": verdict}


def _equal(found: Found) -> Row:
    rows = equality(found)
    fits, same = (sum(row[name] for row in rows) for name in ("fits", "same"))
    claim = "REK2, run in angles, is REK1 to the last digit"
    return {"claim": claim, "found": f"{same} of {fits} fits", "verdict": "holds" if same == fits else "does not hold"}


def _near(rows: list[Row]) -> list[Row]:
    """Scene 13 beside the printed figures."""
    own = [row for row in rows if row["set"] == "Scene13" and row["method"] in ("EulerK", "REK1")]
    return [
        {
            "claim": f"Scene 13, {row['method']}: {row['measure'].upper()} within {NEAR:g} points of the printed one",
            "found": f"{row['mean']} at alpha {row['alpha']:g}, printed {row['read']}",
            "verdict": "holds" if abs(row["difference"]) <= NEAR else "does not hold",
        }
        for row in own
    ]


TABLE = Table("What this run shows", claims, all_sets, score_cells)
