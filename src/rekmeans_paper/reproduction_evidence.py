"""Additional tables: half-moons, the likely scaling of the paper, and scores on unseen rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import log10, sqrt
from statistics import fmean, stdev

from rekmeans import EulerKMeans
from rekmeans.metrics import deviation_degree

from . import datasets, published
from .methods import Case, make_estimator
from .reproduction_cells import HALF_ESTIMATORS, Cell
from .reproduction_plans import DEFAULT_ALPHA, Plan, Protocol
from .reproduction_tables import PaperRecords, best_alpha, protocol_cells, records_by_alpha
from .study import StudyTable
from .values import Row, six_digits

DRAWS = 3  # random draws of each start, as in the paper's figures
MOON_STARTS = 10  # starts of a fit on half-moons
# Larger values wrap around.
MOON_ALPHAS = tuple(alpha for alpha in published.ALPHAS if 0.1 <= alpha <= 2)
ON_CIRCLE = {"circle": "random points of the circle", "random": "random mapped rows"}
SEARCHED_SCALINGS = ("none", "row L1", "row L2", "range")


def moon_case(alpha: float, k: int = 2, init: str = "k-means++", seed: int = 0) -> Case:
    """Return a fit of the half-moons with columns scaled by their range."""
    return Case(datasets.half_moons(0).X, k, alpha, "range", "wrap", init, seed)


@cache
def moon_alpha() -> float:
    """Return the alpha for which EulerK's κ on our half-moons is nearest to the printed one."""
    return min(
        MOON_ALPHAS, key=lambda alpha: abs(_kappas(alpha)[0] - published.KAPPA[datasets.MOONS])
    )


def _kappas(alpha: float, k: int = 2, seed: int = 0) -> tuple[float, float]:
    """Return EulerK's mean κ on the half-moons, by the formula with the root and as printed."""
    case = moon_case(alpha, k, seed=seed)
    m = make_estimator(EulerKMeans, case).fit(case.X).centroids_
    return float(deviation_degree(m).mean()), float(deviation_degree(m, "printed").mean())


def moon_rows(study: PaperRecords) -> list[Row]:
    """Return κ of EulerK with two clusters for each alpha, next to the printed 0.298."""
    rows = []
    for alpha in MOON_ALPHAS:
        root, as_printed = _kappas(alpha)
        row: Row = {
            "alpha": alpha,
            "kappa": six_digits(root),
            "by_printed_formula": six_digits(as_printed),
        }
        row["printed"] = published.KAPPA[datasets.MOONS]
        rows.append(row | {"nearest": alpha == moon_alpha()})
    return rows


def moon_cluster_rows(study: PaperRecords) -> list[Row]:
    """Return κ of EulerK on half-moons for each number of clusters."""
    alpha = moon_alpha()
    mean = {
        k: fmean(_kappas(alpha, k, s)[0] for s in range(MOON_STARTS))
        for k in range(2, study.plan.max_clusters + 1)
    }
    return [{"k": k, "alpha": alpha, "kappa": six_digits(kappa)} for k, kappa in mean.items()]


def start_rows(study: PaperRecords) -> list[Row]:
    """Return centroids of EulerK that started on the circle, three draws of each kind of start."""
    rows: list[Row] = []
    for init, name in ON_CIRCLE.items():
        for draw in range(DRAWS):
            case = moon_case(moon_alpha(), init=init, seed=draw)
            model = make_estimator(EulerKMeans, case).fit(case.X)
            for c, m in enumerate(model.centroids_):
                head: Row = {
                    "start": name,
                    "draw": draw,
                    "cluster": c,
                    "kappa": six_digits(model.deviation_[c]),
                }
                rows += [
                    head
                    | {
                        "column": j,
                        "re": float(z.real),
                        "im": float(z.imag),
                        "modulus": six_digits(abs(z)),
                    }
                    for j, z in enumerate(m)
                ]
    return rows


def search_sets(plan: Plan) -> tuple[str, ...]:
    """Return the datasets of the scaling search."""
    return plan.search_sets


def search_cells(plan: Plan, names: dict[str, str]) -> Iterator[Cell]:
    """Yield the EulerK fits of each dataset with each scaling."""
    for name in plan.search_sets:
        for scaling in SEARCHED_SCALINGS if name in names else ():
            yield from protocol_cells(names[name], _with_scaling(plan, scaling), ["EulerK"])


def _with_scaling(plan: Plan, scaling: str) -> Protocol:
    return replace(plan.search, scaling=scaling)


def scaling_rows(study: PaperRecords) -> list[Row]:
    """Compare NMI, ACC and κ of EulerK with the printed values for each candidate scaling.

    Alpha is chosen with the labels. The result is evidence for a scaling, not proof.
    """
    rows = [
        _scaling_row(study, name, by)
        for by in SEARCHED_SCALINGS
        for name in study.plan.search_sets
        if name in study.names
    ]
    for by in SEARCHED_SCALINGS:
        group = [row for row in rows if row["scaling"] == by]
        if group:
            gaps: Row = {
                gap: round(fmean(row[gap] for row in group), 3) for gap in ("gap", "kappa_gap")
            }
            rows.append({"set": "mean of all", "scaling": by} | gaps)
    return rows


def _scaling_row(study: PaperRecords, name: str, by: str) -> Row:
    by_alpha = records_by_alpha(
        study.records, protocol_cells(study.names[name], _with_scaling(study.plan, by), ["EulerK"])
    )
    alpha = best_alpha(by_alpha, "nmi")
    nmi, acc, kappa = (
        fmean(record[m] for record in by_alpha[alpha]) for m in ("nmi", "acc", "kappa")
    )
    printed = (
        published.reference_value("NMI", "EulerK", name),
        published.printed_value("ACC", "EulerK", name),
    )
    row: Row = {
        "set": name,
        "scaling": by,
        "alpha": alpha,
        "nmi": round(100 * nmi, 2),
        "acc": round(100 * acc, 2),
    }
    means = [cell.mean for cell in printed if cell is not None]
    row |= {"printed_nmi": means[0], "printed_acc": means[1]}
    row["gap"] = round(fmean((abs(row["nmi"] - means[0]), abs(row["acc"] - means[1]))), 2)  # points
    row |= {"kappa": six_digits(kappa), "printed_kappa": published.KAPPA[name]}
    # powers of ten
    row["kappa_gap"] = round(abs(log10(max(kappa, 1e-12) / published.KAPPA[name])), 3)
    noted_alpha = published.PUBLISHED["chosen_alpha_in_source_comments"]["EulerK"].get(name)
    if noted_alpha in by_alpha:
        at_noted_alpha = {
            m: fmean(record[m] for record in by_alpha[noted_alpha]) for m in ("nmi", "acc", "kappa")
        }
        row |= {"noted_alpha": noted_alpha, "nmi_there": round(100 * at_noted_alpha["nmi"], 2)}
        row |= {
            "acc_there": round(100 * at_noted_alpha["acc"], 2),
            "kappa_there": six_digits(at_noted_alpha["kappa"]),
        }
    return row


def half_sets(plan: Plan) -> tuple[str, ...]:
    """Return the datasets that are split in half."""
    return (datasets.MOONS, *plan.low_sets)


def half_cells(plan: Plan, names: dict[str, str]) -> Iterator[Cell]:
    """Yield the fits of both methods on random halves, with the library's defaults."""
    for name in half_sets(plan):
        for method in HALF_ESTIMATORS if name in names else ():
            for draw in range(plan.halves):
                yield Cell(
                    names[name], "robust", "k-means++", method, DEFAULT_ALPHA, 0, draw, half=True
                )


def half_rows(study: PaperRecords) -> list[Row]:
    """Return the gain in NMI of REK over EulerK on held-out halves, with a 95 % interval."""
    rows = []
    cells = list(half_cells(study.plan, study.names))
    for name in dict.fromkeys(cell.dataset for cell in cells):
        nmi = {
            method: [
                100 * study.records[c]["nmi"]
                for c in cells
                if (c.dataset, c.method) == (name, method)
            ]
            for method in HALF_ESTIMATORS
        }
        gains = [rek - mean for rek, mean in zip(nmi["REK1"], nmi["EulerK"], strict=True)]
        gain = fmean(gains)
        width = 1.96 * stdev(gains) / sqrt(len(gains))
        row: Row = {"set": name, "draws": len(gains)} | {
            method: round(fmean(v), 2) for method, v in nmi.items()
        }
        row |= {
            "gain": round(gain, 2),
            "from": round(gain - width, 2),
            "to": round(gain + width, 2),
        }
        row["verdict"] = (
            "REK ahead"
            if gain - width > 0
            else "EulerK ahead"
            if gain + width < 0
            else "no difference shown"
        )
        rows.append(row)
    return rows


EVIDENCE: dict[str, StudyTable[Plan, Cell]] = {
    "moons": StudyTable("Half-moons: deviation degree of EulerK at each alpha", moon_rows),
    "clusters": StudyTable(
        "Half-moons: deviation degree of EulerK against the number of clusters", moon_cluster_rows
    ),
    "starts": StudyTable("Half-moons: centroids of EulerK from starts on the circle", start_rows),
    "scaling": StudyTable(
        "Scalings that could explain the printed figures: evidence, not proof",
        scaling_rows,
        search_sets,
        search_cells,
    ),
    "halves": StudyTable(
        "Fitted on one half, scored on the other", half_rows, half_sets, half_cells
    ),
}
