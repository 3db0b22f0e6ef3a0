"""Tables of the reproduction: the cells they need, and rows that compare ours with the paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import fmean, pstdev

import numpy as np

from . import datasets, published
from .fit_records import Record
from .methods import EULER
from .reproduction_cells import Cell, Records
from .reproduction_plans import Plan, Protocol
from .study import StudyRecords, StudyTable
from .values import Row, six_digits

LEVEL = 2.0  # points; smaller differences between means over random starts are not evidence
BASELINES = ("k-means", "k-means z")
PLAIN_START = "k-means++"  # of the baselines, the default of scikit-learn
PaperRecords = StudyRecords[Plan, Cell]


def all_sets(plan: Plan) -> tuple[str, ...]:
    """Return all datasets of the plan."""
    return plan.low_sets + plan.high_sets


def paper_settings(plan: Plan, names: dict[str, str]) -> Iterator[tuple[str, str, str, Protocol]]:
    """Yield (paper's name, our name, protocol key, protocol) for every available dataset."""
    for sets, protocols in ((plan.low_sets, plan.low), (plan.high_sets, plan.high)):
        for paper in (name for name in sets if name in names):
            for key, protocol in protocols.items():
                yield paper, names[paper], key, protocol


def protocol_cells(ours: str, protocol: Protocol, methods: Iterable[str]) -> Iterator[Cell]:
    """Yield the cells of every alpha and start of a protocol on one dataset."""
    for method in methods:
        for alpha in protocol.alphas:
            for start in range(protocol.starts):
                yield Cell(ours, protocol.scaling, protocol.init, method, alpha, 0, start)


def baseline_cells(ours: str, protocol: Protocol) -> Iterator[Cell]:
    """Yield the cells of k-means on the rows of a protocol; they have no alpha."""
    scaling = protocol.scaling if protocol.scaling.startswith("row") else "none"
    for method in BASELINES:
        for start in range(protocol.starts):
            yield Cell(ours, scaling, PLAIN_START, method, 0.0, 0, start)


def score_cells(plan: Plan, names: dict[str, str]) -> Iterator[Cell]:
    for _, ours, _, protocol in paper_settings(plan, names):
        yield from protocol_cells(ours, protocol, EULER)
        yield from baseline_cells(ours, protocol)


def records_by_alpha(records: Records, cells: Iterable[Cell]) -> dict[float, list[Record]]:
    """Group the records by alpha, with one record per start."""
    by_alpha: dict[float, list[Record]] = {}
    for cell in cells:
        by_alpha.setdefault(cell.alpha, []).append(records[cell])
    return by_alpha


def best_alpha(by_alpha: dict[float, list[Record]], measure: str) -> float:
    """Return the alpha with the highest mean, chosen with the true labels as in the paper."""
    return max(by_alpha, key=lambda alpha: fmean(record[measure] for record in by_alpha[alpha]))


def statistics_rows(study: PaperRecords) -> list[Row]:
    """Return rows, columns and classes of each dataset, next to the printed ones."""
    rows: list[Row] = []
    for paper in published.SETS:
        n, d, k = published.PRINTED_SIZES[paper]
        row: Row = {"set": paper, "ours": study.names.get(paper), "printed": f"{n} x {d}, {k}"}
        if paper in study.names:
            data = datasets.load(study.names[paper])
            size = (*data.X.shape, len(np.unique(data.y)))
            row |= dict(zip(("rows", "columns", "classes"), size, strict=True))
            row |= {
                "verdict": _size_verdict(paper, study.names[paper], size),
                "source": data.source,
                "note": data.note,
            }
        else:
            why = study.missing.get(paper)
            row |= {"verdict": "not in this plan" if why is None else "missing", "note": why}
        rows.append(row)
    return rows


def _size_verdict(paper: str, ours: str, size: tuple[int, ...]) -> str:
    words = ("rows", "columns", "classes")
    differences = [
        f"{ours_value} {word} instead of {printed_value}"
        for word, printed_value, ours_value in zip(
            words, published.PRINTED_SIZES[paper], size, strict=True
        )
        if ours_value != printed_value
    ]
    prefix = "" if ours == paper else "stand-in: "
    return prefix + (", ".join(differences) if differences else "as printed")


def deviation_rows(study: PaperRecords) -> list[Row]:
    """Return the mean and std of κ of EulerK over starts, at the alpha that the labels choose."""
    rows = []
    for paper, ours, key, protocol in paper_settings(study.plan, study.names):
        by_alpha = records_by_alpha(study.records, protocol_cells(ours, protocol, ["EulerK"]))
        alpha = best_alpha(by_alpha, "nmi")
        kappas = [record["kappa"] for record in by_alpha[alpha]]
        row: Row = {"set": paper, "ours": ours, "protocol": key, "alpha": alpha}
        row |= {
            "kappa": six_digits(fmean(kappas)),
            "std": six_digits(pstdev(kappas)),
            "printed": published.KAPPA[paper],
        }
        row["ratio"] = six_digits(row["kappa"] / row["printed"])
        is_near = 0.5 <= row["ratio"] <= 2
        row["verdict"] = "within a factor of 2" if is_near else "not within a factor of 2"
        rows.append(row)
    return rows


def score_rows(study: PaperRecords, measure: str) -> list[Row]:
    """Return a measure in percent for every dataset, protocol and method, with the printed cell."""
    rows = []
    for paper, ours, key, protocol in paper_settings(study.plan, study.names):
        runs = {method: list(protocol_cells(ours, protocol, [method])) for method in EULER}
        for cell in baseline_cells(ours, protocol):
            runs.setdefault(cell.method, []).append(cell)
        for method, cells in runs.items():
            by_alpha = records_by_alpha(study.records, cells)
            alpha = best_alpha(by_alpha, measure)
            values = [100 * record[measure] for record in by_alpha[alpha]]
            row: Row = {
                "set": paper,
                "ours": ours,
                "protocol": key,
                "method": method,
                "alpha": alpha or None,
            }
            row |= {
                "mean": round(fmean(values), 2),
                "std": round(pstdev(values), 2),
                "starts": len(values),
            }
            rows.append(row | comparison(row["mean"], measure.upper(), method, paper))
    return rows


def comparison(mean: float, measure: str, method: str, paper: str) -> Row:
    """Return the printed cell, the value we compare with, and the difference from ours.

    Baselines are compared with the cell of EulerK.
    """
    method_printed = (
        "REK2"
        if method == "REK2 printed"
        else method
        if method in published.PRINTED_METHODS
        else "EulerK"
    )
    as_printed, as_read = (
        value(measure, method_printed, paper)
        for value in (published.printed_value, published.reference_value)
    )
    if as_printed is None or as_read is None:
        return {"printed": None, "verdict": "not printed"}
    difference = round(mean - as_read.mean, 2)
    verdict = "level" if abs(difference) <= LEVEL else "above" if difference > 0 else "below"
    row: Row = {"printed": as_printed.mean, "printed_std": as_printed.std, "read": as_read.mean}
    return row | {"difference": difference, "verdict": verdict}


def sensitivity_rows(study: PaperRecords) -> list[Row]:
    """Return mean NMI and ACC in percent, and mean κ, for every alpha."""
    rows = []
    for paper, ours, key, protocol in paper_settings(study.plan, study.names):
        for method in EULER:
            for alpha, records in records_by_alpha(
                study.records, protocol_cells(ours, protocol, [method])
            ).items():
                row: Row = {
                    "set": paper,
                    "ours": ours,
                    "protocol": key,
                    "method": method,
                    "alpha": alpha,
                }
                row |= {
                    name: round(100 * fmean(r[name] for r in records), 2) for name in ("nmi", "acc")
                }
                rows.append(
                    row | {"kappa": six_digits(fmean(record["kappa"] for record in records))}
                )
    return rows


def course_rows(study: PaperRecords) -> list[Row]:
    """Return the objective after each pass of the first start, at the alpha chosen for REK1."""
    rows = []
    for paper, ours, key, protocol in paper_settings(study.plan, study.names):
        alpha = best_alpha(
            records_by_alpha(study.records, protocol_cells(ours, protocol, ["REK1"])), "nmi"
        )
        for method in EULER:
            cell = Cell(ours, protocol.scaling, protocol.init, method, alpha, 0, 0)
            head: Row = {
                "set": paper,
                "ours": ours,
                "protocol": key,
                "method": method,
                "alpha": alpha,
            }
            steps = enumerate(study.records[cell]["course"], 1)
            rows += [head | {"pass": t, "objective": objective} for t, objective in steps]
    return rows


def equality_rows(study: PaperRecords) -> list[Row]:
    """Count the fits in which REK1 and REK2 agree bit for bit from the same start.

    Labels, objective and number of passes must be equal.
    """
    rows = []
    for paper, ours, key, protocol in paper_settings(study.plan, study.names):
        same = [
            is_same_fit(study.records, cell) for cell in protocol_cells(ours, protocol, ["REK2"])
        ]
        row: Row = {
            "set": paper,
            "ours": ours,
            "protocol": key,
            "fits": len(same),
            "same": sum(same),
        }
        row["printed_rises"] = sum(
            study.records[cell]["rises"] > 0
            for cell in protocol_cells(ours, protocol, ["REK2 printed"])
        )
        rows.append(row | {"verdict": "the same" if all(same) else "not the same"})
    return rows


def is_same_fit(records: Records, cell: Cell) -> bool:
    """Return whether REK2 and REK1 gave the same result from the same start."""
    ours, theirs = (records[replace(cell, method=method)] for method in ("REK1", "REK2"))
    return all(
        ours[name] == theirs[name] for name in ("labels", "objective", "passes", "nmi", "acc")
    )


PAPER_TABLES: dict[str, StudyTable[Plan, Cell]] = {
    "datasets": StudyTable("Datasets and their printed statistics", statistics_rows, all_sets),
    "deviation": StudyTable("Deviation degree of EulerK", deviation_rows, all_sets, score_cells),
    "nmi": StudyTable(
        "NMI in percent", lambda study: score_rows(study, "nmi"), all_sets, score_cells
    ),
    "acc": StudyTable(
        "ACC in percent", lambda study: score_rows(study, "acc"), all_sets, score_cells
    ),
    "alphas": StudyTable(
        "NMI, ACC and deviation degree against alpha", sensitivity_rows, all_sets, score_cells
    ),
    "objective": StudyTable("Objective after each pass", course_rows, all_sets, score_cells),
    "equality": StudyTable(
        "REK1 and REK2 (with angles) from the same starts", equality_rows, all_sets, score_cells
    ),
}
