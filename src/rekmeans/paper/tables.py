"""One function per table: the cells it needs, and tidy rows (dicts) with ours, printed, difference and verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import Any

import numpy as np

from . import datasets, published
from .cells import Cell, Record, Records
from .methods import EULER
from .protocol import Plan, Protocol

LEVEL = 2.0  # points; a smaller difference between two tables of random starts is no evidence
BASELINES = ("k-means", "k-means z")
PLAIN_START = "k-means++"  # of the baselines: scikit-learn's own default
Row = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """What was run: the plan, the records, the data sets at hand (paper's name -> ours), why others are missing."""

    plan: Plan
    records: Records
    names: dict[str, str]
    missing: dict[str, str]


@dataclass(frozen=True)
class Table:
    """A table: its title, its rows from what was found, and what it needs before: data sets, and cells on them."""

    title: str
    rows: Callable[[Found], list[Row]]
    sets: Callable[[Plan], tuple[str, ...]] = lambda plan: ()
    cells: Callable[[Plan, dict[str, str]], Iterable[Cell]] = lambda plan, names: ()


def all_sets(plan: Plan) -> tuple[str, ...]:
    """Every set of the plan."""
    return plan.low_sets + plan.high_sets


def settings(plan: Plan, names: dict[str, str]) -> Iterator[tuple[str, str, str, Protocol]]:
    """(paper's name, our name, key of the protocol, protocol) of every set at hand."""
    for sets, protocols in ((plan.low_sets, plan.low), (plan.high_sets, plan.high)):
        for paper in (name for name in sets if name in names):
            for key, protocol in protocols.items():
                yield paper, names[paper], key, protocol


def fits(ours: str, protocol: Protocol, methods: Iterable[str]) -> Iterator[Cell]:
    """Every alpha and start of a protocol on one set."""
    for method in methods:
        for alpha in protocol.alphas:
            for start in range(protocol.starts):
                yield Cell(ours, protocol.scaling, protocol.init, method, alpha, 0, start)


def baselines(ours: str, protocol: Protocol) -> Iterator[Cell]:
    """k-means on the rows of a protocol, which knows no alpha."""
    scaling = protocol.scaling if protocol.scaling.startswith("row") else "none"
    for method in BASELINES:
        for start in range(protocol.starts):
            yield Cell(ours, scaling, PLAIN_START, method, 0.0, 0, start)


def score_cells(plan: Plan, names: dict[str, str]) -> Iterator[Cell]:
    for _, ours, _, protocol in settings(plan, names):
        yield from fits(ours, protocol, EULER)
        yield from baselines(ours, protocol)


def columns(rows: list[Row]) -> list[str]:
    """The names of all columns, in the order they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row))


def over_starts(records: Records, cells: Iterable[Cell]) -> dict[float, list[Record]]:
    """Records by alpha, one entry a start."""
    by_alpha: dict[float, list[Record]] = {}
    for cell in cells:
        by_alpha.setdefault(cell.alpha, []).append(records[cell])
    return by_alpha


def chosen(by_alpha: dict[float, list[Record]], measure: str) -> float:
    """The alpha of the highest mean: chosen with the true labels, as the paper does."""
    return max(by_alpha, key=lambda alpha: fmean(record[measure] for record in by_alpha[alpha]))


def statistics(found: Found) -> list[Row]:
    """Rows, columns and classes of each set, ours beside the printed."""
    rows: list[Row] = []
    for paper in published.SETS:
        n, d, k = published.SIZES[paper]
        row: Row = {"set": paper, "ours": found.names.get(paper), "printed": f"{n} x {d}, {k}"}
        if paper in found.names:
            data = datasets.load(found.names[paper])
            size = (*data.X.shape, len(np.unique(data.y)))
            row |= dict(zip(("rows", "columns", "classes"), size, strict=True))
            row |= {"verdict": _same(paper, found.names[paper], size), "source": data.source, "note": data.note}
        else:
            why = found.missing.get(paper)
            row |= {"verdict": "not in this plan" if why is None else "missing", "note": why}
        rows.append(row)
    return rows


def _same(paper: str, ours: str, size: tuple[int, ...]) -> str:
    words = ("rows", "columns", "classes")
    other = [f"{w} {b} not {a}" for w, a, b in zip(words, published.SIZES[paper], size, strict=True) if a != b]
    stands = "" if ours == paper else "stand-in: "
    return stands + (", ".join(other) if other else "as printed")


def deviation(found: Found) -> list[Row]:
    """κ of EulerK at the alpha that the labels choose, mean and std over starts."""
    rows = []
    for paper, ours, key, protocol in settings(found.plan, found.names):
        by_alpha = over_starts(found.records, fits(ours, protocol, ["EulerK"]))
        alpha = chosen(by_alpha, "nmi")
        kappas = [record["kappa"] for record in by_alpha[alpha]]
        row: Row = {"set": paper, "ours": ours, "protocol": key, "alpha": alpha}
        row |= {"kappa": six(fmean(kappas)), "std": six(pstdev(kappas)), "printed": published.KAPPA[paper]}
        row["ratio"] = six(row["kappa"] / row["printed"])
        row["verdict"] = "within a factor of 2" if 0.5 <= row["ratio"] <= 2 else "another size"
        rows.append(row)
    return rows


def scores(found: Found, measure: str) -> list[Row]:
    """One measure in percent for every set, protocol and method, beside the printed cell."""
    rows = []
    for paper, ours, key, protocol in settings(found.plan, found.names):
        runs = {method: list(fits(ours, protocol, [method])) for method in EULER}
        for cell in baselines(ours, protocol):
            runs.setdefault(cell.method, []).append(cell)
        for method, cells in runs.items():
            by_alpha = over_starts(found.records, cells)
            alpha = chosen(by_alpha, measure)
            values = [100 * record[measure] for record in by_alpha[alpha]]
            row: Row = {"set": paper, "ours": ours, "protocol": key, "method": method, "alpha": alpha or None}
            row |= {"mean": round(fmean(values), 2), "std": round(pstdev(values), 2), "starts": len(values)}
            rows.append(row | beside(row["mean"], measure.upper(), method, paper))
    return rows


def beside(mean: float, measure: str, method: str, paper: str) -> Row:
    """The printed cell, as printed and as read, and how ours differs; baselines are held against EulerK."""
    own = "REK2" if method == "REK2 printed" else method if method in published.METHODS else "EulerK"
    as_printed, as_read = (look(measure, own, paper) for look in (published.printed, published.read))
    if as_printed is None or as_read is None:
        return {"printed": None, "verdict": "nothing printed"}
    difference = round(mean - as_read.mean, 2)
    verdict = "level" if abs(difference) <= LEVEL else "above" if difference > 0 else "below"
    row: Row = {"printed": as_printed.mean, "printed_std": as_printed.std, "read": as_read.mean}
    return row | {"difference": difference, "verdict": verdict}


def sensitivity(found: Found) -> list[Row]:
    """Mean NMI and ACC in percent, and κ, at every alpha."""
    rows = []
    for paper, ours, key, protocol in settings(found.plan, found.names):
        for method in EULER:
            for alpha, records in over_starts(found.records, fits(ours, protocol, [method])).items():
                row: Row = {"set": paper, "ours": ours, "protocol": key, "method": method, "alpha": alpha}
                row |= {name: round(100 * fmean(r[name] for r in records), 2) for name in ("nmi", "acc")}
                rows.append(row | {"kappa": six(fmean(record["kappa"] for record in records))})
    return rows


def course(found: Found) -> list[Row]:
    """The objective after each pass of the first start, at the alpha that the labels choose for REK1."""
    rows = []
    for paper, ours, key, protocol in settings(found.plan, found.names):
        alpha = chosen(over_starts(found.records, fits(ours, protocol, ["REK1"])), "nmi")
        for method in EULER:
            cell = Cell(ours, protocol.scaling, protocol.init, method, alpha, 0, 0)
            head: Row = {"set": paper, "ours": ours, "protocol": key, "method": method, "alpha": alpha}
            steps = enumerate(found.records[cell]["course"], 1)
            rows += [head | {"pass": t, "objective": objective} for t, objective in steps]
    return rows


def equality(found: Found) -> list[Row]:
    """REK1 and REK2 from the same starts: in how many fits labels, objective and passes are the same, bit for bit."""
    rows = []
    for paper, ours, key, protocol in settings(found.plan, found.names):
        same = [alike(found.records, cell) for cell in fits(ours, protocol, ["REK2"])]
        row: Row = {"set": paper, "ours": ours, "protocol": key, "fits": len(same), "same": sum(same)}
        row["printed_rises"] = sum(found.records[cell]["rises"] > 0 for cell in fits(ours, protocol, ["REK2 printed"]))
        rows.append(row | {"verdict": "the same" if all(same) else "not the same"})
    return rows


def alike(records: Records, cell: Cell) -> bool:
    """Whether a fit of REK2 and that of REK1 from the same start gave the same."""
    ours, theirs = (records[replace(cell, method=method)] for method in ("REK1", "REK2"))
    return all(ours[name] == theirs[name] for name in ("labels", "objective", "passes", "nmi", "acc"))


def six(value: float) -> float:
    """Six significant digits."""
    return float(f"{value:.6g}")


TABLES: dict[str, Table] = {
    "datasets": Table("Data sets, beside the printed statistics", statistics, all_sets),
    "deviation": Table("Deviation degree of EulerK", deviation, all_sets, score_cells),
    "nmi": Table("NMI in percent", lambda found: scores(found, "nmi"), all_sets, score_cells),
    "acc": Table("ACC in percent", lambda found: scores(found, "acc"), all_sets, score_cells),
    "alphas": Table("NMI, ACC and deviation degree against alpha", sensitivity, all_sets, score_cells),
    "objective": Table("Objective after each pass", course, all_sets, score_cells),
    "equality": Table("REK1 and REK2 in angles from the same starts", equality, all_sets, score_cells),
}
