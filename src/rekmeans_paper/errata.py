"""Where the paper is wrong: each erratum with what is right and the run that shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np

from rekmeans import EulerKMeans, EulerMap, RectifiedEulerKMeans
from rekmeans.metrics import deviation_degree
from rekmeans.surfaces import Surface, mean_surface

from . import datasets, published
from .methods import make_estimator, mapped_rows
from .reproduction_cells import Cell
from .reproduction_evidence import MOON_STARTS, moon_alpha, moon_case
from .reproduction_plans import Plan
from .reproduction_tables import (
    PaperRecords,
    all_sets,
    best_alpha,
    paper_settings,
    protocol_cells,
    records_by_alpha,
    score_cells,
    statistics_rows,
)
from .study import StudyTable
from .values import Array, Row

VERDICTS = {True: "shown", False: "not shown by this run", None: "no run"}
# what the run gave, and whether it shows the erratum; None where nothing was run
Finding = tuple[str, bool | None]


def branch_finding(study: PaperRecords) -> Finding:
    """Fits of the printed REK2 whose objective rises."""
    cells = [cell for cell in study.records if cell.method == "REK2 printed"]
    up = sum(study.records[cell]["rises"] > 0 for cell in cells)
    right = [cell for cell in study.records if cell.method == "REK2"]
    never = sum(study.records[cell]["rises"] > 0 for cell in right)
    text = (
        f"the printed update raises the objective in {up} of {len(cells)} fits, atan2 in "
        f"{never} of {len(right)}"
    )
    return (text, up > 0 and never == 0) if cells else ("no fits in this run", None)


def degree_finding(study: PaperRecords) -> Finding:
    """The printed κ of centroids that lie on the circle."""
    case = moon_case(moon_alpha())
    m = make_estimator(RectifiedEulerKMeans, case).fit(case.X).centroids_
    printed, root = (float(deviation_degree(m, form).mean()) for form in ("printed", "root"))
    return (
        f"rectified centroids of half-moons: {printed:.4f} as printed, {abs(root):.4f} with the "
        f"root",
        printed < -0.4,
    )


def factor_finding(study: PaperRecords) -> Finding:
    """Rows that Lemma 1, as printed and with its factor 2, puts on the wrong side."""
    case = moon_case(moon_alpha(), k=3)
    model = make_estimator(EulerKMeans, case).fit(case.X)
    F = EulerMap(alpha=case.alpha, scale="range", beyond="wrap").fit_transform(case.X)
    wrong = [
        sum(
            _count_wrong_side(lemma, model.centroids_, F, model.labels_, p, q)
            for p, q in combinations(range(3), 2)
        )
        for lemma in (_printed_lemma, mean_surface)
    ]
    text = (
        f"half-moons, 3 clusters: {wrong[0]} rows on the wrong side as printed, {wrong[1]} "
        f"with the factor"
    )
    return text, wrong[1] == 0 < wrong[0]


def _printed_lemma(p: Array, q: Array) -> Surface:
    surface = mean_surface(p, q)
    return replace(surface, normal=surface.normal / 2)


def _count_wrong_side(
    lemma: Callable[..., Surface], m: Array, F: Array, labels: Array, p: int, q: int
) -> int:
    """Rows of clusters p and q on the other's side of their surface."""
    side = lemma(m[p], m[q]).side(F)
    return int(((labels == p) & (side < 0)).sum() + ((labels == q) & (side > 0)).sum())


def radius_finding(study: PaperRecords) -> Finding:
    """The length of mapped rows."""
    X = datasets.half_moons(0).X
    lengths = np.sqrt((EulerMap(scale="range").fit_transform(X) ** 2).sum(axis=1) / 2)
    return f"all mapped half-moons have length {lengths.mean():.6f} = sqrt(d/2), d = 2", bool(
        abs(lengths - 1).max() < 1e-6
    )


def rotation_finding(study: PaperRecords) -> Finding:
    """NMI of REK1 on the three sets beside both readings."""
    compared = {}
    for paper, ours, key, protocol in paper_settings(study.plan, study.names):
        if paper in published.READ_AS and key == "range":
            by_alpha = records_by_alpha(study.records, protocol_cells(ours, protocol, ["REK1"]))
            nmi = 100 * fmean(record["nmi"] for record in by_alpha[best_alpha(by_alpha, "nmi")])
            values = (published.printed_value, published.reference_value)
            cells = [value("NMI", "REK1", paper) for value in values]
            compared[paper] = (nmi, *(cell.mean for cell in cells if cell is not None))
    if not compared:
        return "none of the three sets in this run", None
    text = "; ".join(
        f"{name} {ours:.1f}: printed {a}, read {b}" for name, (ours, a, b) in compared.items()
    )
    return text, all(abs(ours - b) < abs(ours - a) for ours, a, b in compared.values())


def size_finding(study: PaperRecords) -> Finding:
    """Sets whose statistics are not as printed."""
    at_hand = [row for row in statistics_rows(study) if row.get("ours") == row["set"]]
    other = [f"{row['set']}: {row['verdict']}" for row in at_hand if row["verdict"] != "as printed"]
    return ("; ".join(other), True) if other else ("no such set at hand", None)


def scale_finding(study: PaperRecords) -> Finding:
    """κ at alpha of X, and at ten times alpha of X/10."""
    X = datasets.half_moons(0).X.astype(np.float64)
    kappas = [
        float(EulerKMeans(2, alpha=alpha, scale=None, random_state=0).fit(rows).deviation_.mean())
        for alpha, rows in ((0.5, X), (5.0, X / 10), (0.5, X / 10))
    ]
    text = (
        f"half-moons: κ {kappas[0]:.4f}; values ten times smaller: {kappas[1]:.4f} at ten "
        f"times alpha"
    )
    text += f", {kappas[2]:.4f} at the same"
    return text, abs(kappas[0] - kappas[1]) < 1e-6 < kappas[0] - kappas[2]


def scaling_finding(study: PaperRecords) -> Finding:
    """What scaling gains beside what rectification gains, NMI in points, mean over the
    low-dimensional sets.
    """
    best: dict[tuple[str, str, str], float] = {}
    for paper, ours, key, protocol in paper_settings(study.plan, study.names):
        for method in ("EulerK", "REK1") if paper in datasets.LOW else ():
            by_alpha = records_by_alpha(study.records, protocol_cells(ours, protocol, [method]))
            best[paper, key, method] = 100 * fmean(
                r["nmi"] for r in by_alpha[best_alpha(by_alpha, "nmi")]
            )
    sets = {s for s, _, _ in best if {(s, "range", "REK1"), (s, "paper", "EulerK")} <= set(best)}
    if not sets:
        return "no low-dimensional set in this run", None
    by_scale = fmean(best[s, "range", "REK1"] - best[s, "paper", "REK1"] for s in sets)
    by_rule = fmean(best[s, "paper", "REK1"] - best[s, "paper", "EulerK"] for s in sets)
    return (
        f"NMI over {len(sets)} sets: scaled columns {by_scale:+.1f} points, rectification "
        f"{by_rule:+.1f}",
        by_scale > abs(by_rule),
    )


def moduli_finding(study: PaperRecords) -> Finding:
    """Moduli, 1 being due, of REK1's centroids by the printed update, and of EulerK's by table
    1.
    """
    case = moon_case(moon_alpha())
    labels = make_estimator(RectifiedEulerKMeans, case).fit(case.X).labels_
    S, bare = (
        abs(_resultants(mapped_rows(one), labels, 2))
        for one in (case, replace(case, alpha=1 / np.pi))
    )
    update = S / bare  # its denominator has cos x where cos(alpha pi x) belongs
    text = (
        f"half-moons: REK1's centroids have moduli {update.min():.2f} to "
        f"{update.max():.2f} by the printed update; "
    )
    text += (
        f"EulerK's {S.min():.0f} to {S.max():.0f} without 1/n; REK1's in table 1 are "
        f"sqrt(2) times as long as rows"
    )
    return text, bool(abs(update - 1).min() > 0.1 and S.min() > 1)


def multiplier_finding(study: PaperRecords) -> Finding:
    """The derivative by a of the Lagrangian where the update puts it, with Λ from n + 2Λ = |S| and
    as printed.
    """
    case = moon_case(moon_alpha())
    labels = make_estimator(RectifiedEulerKMeans, case).fit(case.X).labels_
    Z = mapped_rows(case)
    steepest = [0.0, 0.0]
    for c, S in enumerate(_resultants(Z, labels, 2)):
        members = Z[labels == c]
        m = S / abs(S)
        short = abs(S) - (labels == c).sum()
        for which, multipliers in enumerate((short / 2, short)):
            ahead, behind = (_lagrangian(members, m + step, multipliers) for step in (0.5, -0.5))
            # exact: it is of degree 2 in a
            steepest[which] = max(steepest[which], float(abs(ahead - behind).max()))
    text = "half-moons: the largest slope of the Lagrangian at S/|S| is "
    text += f"{steepest[0]:.6f} with n + 2Λ = |S|, {steepest[1]:.1f} with the printed n + Λ = |S|"
    return text, steepest[0] < 1e-9 < steepest[1]


def _lagrangian(members: Array, m: Array, multipliers: Array) -> Array:
    """Its share of each column (d,), for rows and a centroid of modulus 1: both enter divided by
    sqrt(2).
    """
    return (abs(members - m) ** 2).sum(axis=0) / 4 + multipliers * (abs(m) ** 2 - 1) / 2


def optimum_finding(study: PaperRecords) -> Finding:
    """Fits that have ended, although one row moved to another cluster lowers sum_c (n_c d - sum_l
    |S_cl|).
    """
    k = 6
    gains = []
    for seed in range(MOON_STARTS):
        case = moon_case(moon_alpha(), k, "random", seed)
        labels = make_estimator(RectifiedEulerKMeans, case).fit(case.X).labels_
        Z = mapped_rows(case)
        S = _resultants(Z, labels, k)
        left = (abs(S[labels] - Z) - abs(S[labels])).sum(axis=1)  # (n,)
        come = (abs(S + Z[:, None]) - abs(S)).sum(axis=2)  # (n, k)
        come[np.arange(len(Z)), labels] = -np.inf
        gains.append(float((left[:, None] + come).max()))
    lower = sum(gain > 1e-6 for gain in gains)
    text = (
        f"half-moons, {k} clusters: in {lower} of {MOON_STARTS} fits that had ended, "
        f"moving one row "
    )
    return f"{text}lowers the objective, by up to {max(gains):.3f}", lower > 0


def _resultants(Z: Array, labels: Array, k: int) -> Array:
    """The sum of each cluster's mapped rows, (k, d)."""
    return np.stack([Z[labels == c].sum(axis=0) for c in range(k)])


class Erratum(NamedTuple):
    """What the paper says, what is right, and the run that shows it."""

    says: str
    right: str
    run: Callable[[PaperRecords], Finding]


ERRATA = (
    Erratum(
        "REK2's update is u = -arccos(sum cos/A)",
        "u = atan2(sum sin, sum cos): -arccos has the wrong sign unless sum sin <= 0",
        branch_finding,
    ),
    Erratum(
        "κ = 1 - sum(a² + b²)/sqrt(d)",
        "κ = 1 - sqrt(sum(a² + b²)/d), which is 0 on the circle",
        degree_finding,
    ),
    Erratum(
        "Lemma 1 without a factor 2",
        "2(a_p - a_q)a + 2(b_p - b_q)b = |a_p|² - |a_q|² + |b_p|² - |b_q|²",
        factor_finding,
    ),
    Erratum(
        "REK1's update has cos x and sin x; table 1 has EulerK's centroid without 1/n and REK1's "
        "with modulus 1",
        "cos and sin of alpha pi x; 1/n; modulus 1/sqrt(2)",
        moduli_finding,
    ),
    Erratum(
        "the multiplier, its index and shapes; a derivative by a binary P",
        "2Λ, one multiplier for each centroid and column; the update is unaffected",
        multiplier_finding,
    ),
    Erratum(
        "mapped rows lie on a unit hyper-sphere",
        "on a torus of d circles inside a sphere of radius sqrt(d/2)",
        radius_finding,
    ),
    Erratum(
        "the NMI columns of yeast, isolet and satimage",
        "rotated: they read as isolet, satimage and yeast (an inference from measured values)",
        rotation_finding,
    ),
    Erratum(
        "the statistics of the data sets",
        "Event has 8 classes, satimage 6, yeast 8 columns, wine 178 rows",
        size_finding,
    ),
    Erratum(
        "κ is smaller in high dimension",
        "κ is per coordinate: alpha times the scale of the data drives it",
        scale_finding,
    ),
    Erratum(
        "convergence to a local minimum",
        "to a partial optimum, given a fixed rule for ties",
        optimum_finding,
    ),
    Erratum(
        "the scaling of the input is not stated",
        "it costs more than rectification gains",
        scaling_finding,
    ),
)


def erratum_rows(study: PaperRecords) -> list[Row]:
    """Each erratum, what is right, the run that shows it."""
    rows = []
    for number, erratum in enumerate(ERRATA, 1):
        text, shown = erratum.run(study)
        row: Row = {"number": number, "paper": erratum.says, "right": erratum.right, "run": text}
        rows.append(row | {"verdict": VERDICTS[shown]})
    return rows


ERRATA_TABLE: StudyTable[Plan, Cell] = StudyTable(
    "Errata, each with the run that shows it", erratum_rows, all_sets, score_cells
)
