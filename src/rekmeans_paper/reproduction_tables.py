"""One function per table: the cells it needs, and tidy rows (dicts) with ours, printed, difference
and verdict.
"""

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

LEVEL = 2.0  # points; a smaller difference between two tables of random starts is not evidence
BASELINES = ("k-means", "k-means z")
PLAIN_START = "k-means++"  # of the baselines: scikit-learn's own default
PaperRecords = StudyRecords[Plan, Cell]


def all_sets(plan: Plan) -> tuple[str, ...]:
    """Every set of the plan."""
    return plan.low_sets + plan.high_sets


def paper_settings(plan: Plan, names: dict[str, str]) -> Iterator[tuple[str, str, str, Protocol]]:
    """(paper's name, our name, key of the protocol, protocol) of every available set."""
    for sets, protocols in ((plan.low_sets, plan.low), (plan.high_sets, plan.high)):
        for paper in (name for name in sets if name in names):
            for key, protocol in protocols.items():
                yield paper, names[paper], key, protocol


def protocol_cells(ours: str, protocol: Protocol, methods: Iterable[str]) -> Iterator[Cell]:
    """Every alpha and start of a protocol on one set."""
    for method in methods:
        for alpha in protocol.alphas:
            for start in range(protocol.starts):
                yield Cell(ours, protocol.scaling, protocol.init, method, alpha, 0, start)


def baseline_cells(ours: str, protocol: Protocol) -> Iterator[Cell]:
    """k-means on the rows of a protocol, which has no alpha."""
    scaling = protocol.scaling if protocol.scaling.startswith("row") else "none"
    for method in BASELINES:
        for start in range(protocol.starts):
            yield Cell(ours, scaling, PLAIN_START, method, 0.0, 0, start)


def score_cells(plan: Plan, names: dict[str, str]) -> Iterator[Cell]:
    for _, ours, _, protocol in paper_settings(plan, names):
        yield from protocol_cells(ours, protocol, EULER)
        yield from baseline_cells(ours, protocol)


def records_by_alpha(records: Records, cells: Iterable[Cell]) -> dict[float, list[Record]]:
    """Records by alpha, one entry a start."""
    by_alpha: dict[float, list[Record]] = {}
    for cell in cells:
        by_alpha.setdefault(cell.alpha, []).append(records[cell])
    return by_alpha


def best_alpha(by_alpha: dict[float, list[Record]], measure: str) -> float:
    """The alpha of the highest mean: chosen with the true labels, as the paper does."""
    return max(by_alpha, key=lambda alpha: fmean(record[measure] for record in by_alpha[alpha]))


def statistics_rows(study: PaperRecords) -> list[Row]:
    """Rows, columns and classes of each set, ours beside the printed."""
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
        f"{w} {b} not {a}"
        for w, a, b in zip(words, published.PRINTED_SIZES[paper], size, strict=True)
        if a != b
    ]
    prefix = "" if ours == paper else "stand-in: "
    return prefix + (", ".join(differences) if differences else "as printed")


def deviation_rows(study: PaperRecords) -> list[Row]:
    """κ of EulerK at the alpha that the labels choose, mean and std over starts."""
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
        row["verdict"] = "within a factor of 2" if 0.5 <= row["ratio"] <= 2 else "another size"
        rows.append(row)
    return rows


def score_rows(study: PaperRecords, measure: str) -> list[Row]:
    """One measure in percent for every set, protocol and method, beside the printed cell."""
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
    """The printed cell, as printed and as read, and how ours differs; baselines are compared with
    EulerK.
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
        return {"printed": None, "verdict": "nothing printed"}
    difference = round(mean - as_read.mean, 2)
    verdict = "level" if abs(difference) <= LEVEL else "above" if difference > 0 else "below"
    row: Row = {"printed": as_printed.mean, "printed_std": as_printed.std, "read": as_read.mean}
    return row | {"difference": difference, "verdict": verdict}


def sensitivity_rows(study: PaperRecords) -> list[Row]:
    """Mean NMI and ACC in percent, and κ, at every alpha."""
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
    """The objective after each pass of the first start, at the alpha that the labels choose for
    REK1.
    """
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
    """REK1 and REK2 from the same starts: in how many fits labels, objective and passes are the
    same, bit for bit.
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
    """Whether a fit of REK2 and that of REK1 from the same start gave the same."""
    ours, theirs = (records[replace(cell, method=method)] for method in ("REK1", "REK2"))
    return all(
        ours[name] == theirs[name] for name in ("labels", "objective", "passes", "nmi", "acc")
    )


PAPER_TABLES: dict[str, StudyTable[Plan, Cell]] = {
    "datasets": StudyTable("Data sets, beside the printed statistics", statistics_rows, all_sets),
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
        "REK1 and REK2 in angles from the same starts", equality_rows, all_sets, score_cells
    ),
}
