"""Claims that a reproduction checks.

They are: REK exceeds the printed cells, REK1 equals REK2, and Scene 13 is within 3 points.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from . import datasets, published
from .reproduction_cells import Cell
from .reproduction_plans import PLAIN, Plan
from .reproduction_tables import (
    PaperRecords,
    all_sets,
    is_same_fit,
    score_cells,
    score_rows,
    sensitivity_rows,
)
from .study import StudyTable
from .values import Row

# Allowed difference from the printed value of a dataset with other features than the paper's.
NEAR_POINTS = 3.0
SCORES = ("nmi", "acc")
PrintedFigure = Callable[[str, str], float]  # (measure, dataset) -> a printed value
N_CELLS = 12  # both measures on the six low-dimensional datasets


def paper_claim_rows(study: PaperRecords) -> list[Row]:
    """Return each claim, the result of the run, and whether the claim holds."""
    rows = [row | {"measure": measure} for measure in SCORES for row in score_rows(study, measure)]
    above = [
        _above_row(study, rows, *expected) for expected in EXPECTED if expected[0] in study.plan.low
    ]
    return [*above, _equality_row(study), *_nearness_rows(sensitivity_rows(study))]


def highest_printed(measure: str, paper: str) -> float:
    """Return the highest value printed for a dataset, with rotated columns corrected."""
    cells = [
        published.reference_value(measure.upper(), method, paper)
        for method in published.PRINTED_METHODS
    ]
    return max(cell.mean for cell in cells if cell is not None)


def printed_figure(method: str) -> PrintedFigure:
    """Return a function for the values printed for a method, with rotated columns corrected."""

    def figure(measure: str, paper: str) -> float:
        cell = published.reference_value(measure.upper(), method, paper)
        return math.nan if cell is None else cell.mean

    return figure


# (protocol, the printed values that REK must exceed, and in how many of the 12 cells)
EXPECTED: tuple[tuple[str, str, PrintedFigure, int], ...] = (
    ("range", "every printed value", highest_printed, 12),
    (PLAIN, "every printed value", highest_printed, 10),
    ("default", "the values printed for REK1", printed_figure("REK1"), 10),
    ("default", "the values printed for REK2", printed_figure("REK2"), 10),
)


def _above_row(
    study: PaperRecords,
    rows: list[Row],
    key: str,
    threshold_name: str,
    threshold: PrintedFigure,
    least: int,
) -> Row:
    """Count the low-dimensional cells in which REK1 exceeds the printed values."""
    cells = [
        row
        for row in rows
        if (row["protocol"], row["method"]) == (key, "REK1") and row["set"] in datasets.LOW
    ]
    below = [
        f"{row['set']} {row['measure'].upper()}"
        for row in cells
        if row["mean"] <= threshold(row["measure"], row["set"])
    ]
    above = len(cells) - len(below)
    note = f"{above} of {len(cells)} cells" + (f"; all but {', '.join(below)}" if below else "")
    verdict = "holds" if above >= least else "open" if len(cells) < N_CELLS else "does not hold"
    claim = (
        f"REK exceeds {threshold_name} in at least {least} of {N_CELLS} cells "
        f"({study.plan.low[key].title})"
    )
    return {"claim": claim, "found": note, "verdict": verdict}


def _equality_row(study: PaperRecords) -> Row:
    cells = {cell for cell in study.records if (cell.method, cell.half) == ("REK2", False)}
    same = sum(is_same_fit(study.records, cell) for cell in cells)
    note = f"{same} of {len(cells)} fits"
    verdict = "holds" if same == len(cells) else "does not hold"
    return {
        "claim": "REK2, computed with angles, equals REK1 to the last digit",
        "found": note,
        "verdict": verdict,
    }


def _nearness_rows(rows: list[Row]) -> list[Row]:
    """Compare Scene 13 with the printed values, at the alpha that minimizes the largest gap."""
    gaps: dict[float, list[tuple[float, str]]] = {}
    scene_rows = [row for row in rows if (row["set"], row["protocol"]) == ("Scene13", "paper")]
    for row in (row for row in scene_rows if row["method"] in ("EulerK", "REK1")):
        for measure in SCORES:
            printed = printed_figure(row["method"])(measure, "Scene13")
            line = f"{row['method']} {measure.upper()} {row[measure]} (printed {printed})"
            gaps.setdefault(row["alpha"], []).append((abs(row[measure] - printed), line))
    if not gaps:
        return []
    alpha = min(gaps, key=lambda alpha: max(gaps[alpha]))
    note = f"alpha {alpha:g}: " + ", ".join(line for _, line in gaps[alpha])
    claim = (
        f"Scene 13, rows normalized to sum 1: NMI and ACC of EulerK and REK1 are within "
        f"{NEAR_POINTS:g} points of the printed values"
    )
    return [
        {
            "claim": claim,
            "found": note,
            "verdict": "holds" if max(gaps[alpha])[0] <= NEAR_POINTS else "does not hold",
        }
    ]


CLAIMS_TABLE: StudyTable[Plan, Cell] = StudyTable(
    "Claims checked by this run", paper_claim_rows, all_sets, score_cells
)
