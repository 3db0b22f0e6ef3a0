"""Errata of the paper: each with its correction and a run that shows the error."""

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
# The result of a run, and whether it shows the erratum (None if nothing was run).
Finding = tuple[str, bool | None]


def branch_finding(study: PaperRecords) -> Finding:
    """Count the fits in which the printed update of REK2 raises the objective."""
    printed = [cell for cell in study.records if cell.method == "REK2 printed"]
    printed_rises = sum(study.records[cell]["rises"] > 0 for cell in printed)
    correct = [cell for cell in study.records if cell.method == "REK2"]
    correct_rises = sum(study.records[cell]["rises"] > 0 for cell in correct)
    text = (
        f"the printed update raises the objective in {printed_rises} of {len(printed)} fits, "
        f"atan2 in {correct_rises} of {len(correct)}"
    )
    if not printed:
        return "no fits in this run", None
    return text, printed_rises > 0 and correct_rises == 0


def degree_finding(study: PaperRecords) -> Finding:
    """Compute the printed κ of centroids on the circle."""
    case = moon_case(moon_alpha())
    m = make_estimator(RectifiedEulerKMeans, case).fit(case.X).centroids_
    printed, root = (float(deviation_degree(m, form).mean()) for form in ("printed", "root"))
    return (
        f"rectified centroids of half-moons: {printed:.4f} as printed, {abs(root):.4f} with the "
        f"root",
        printed < -0.4,
    )


def factor_finding(study: PaperRecords) -> Finding:
    """Count the rows on the wrong side of Lemma 1, as printed and with its factor 2."""
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
    """Count the rows of clusters p and q on the wrong side of their surface."""
    side = lemma(m[p], m[q]).side(F)
    return int(((labels == p) & (side < 0)).sum() + ((labels == q) & (side > 0)).sum())


def radius_finding(study: PaperRecords) -> Finding:
    """Measure the length of mapped rows."""
    X = datasets.half_moons(0).X
    lengths = np.sqrt((EulerMap(scale="range").fit_transform(X) ** 2).sum(axis=1) / 2)
    return f"mapped rows of half-moons have length {lengths.mean():.6f} = sqrt(d/2), d = 2", bool(
        abs(lengths - 1).max() < 1e-6
    )


def rotation_finding(study: PaperRecords) -> Finding:
    """Compare NMI of REK1 on the three datasets with both readings."""
    compared = {}
    for paper, ours, key, protocol in paper_settings(study.plan, study.names):
        if paper in published.READ_AS and key == "range":
            by_alpha = records_by_alpha(study.records, protocol_cells(ours, protocol, ["REK1"]))
            nmi = 100 * fmean(record["nmi"] for record in by_alpha[best_alpha(by_alpha, "nmi")])
            values = (published.printed_value, published.reference_value)
            cells = [value("NMI", "REK1", paper) for value in values]
            compared[paper] = (nmi, *(cell.mean for cell in cells if cell is not None))
    if not compared:
        return "none of the three datasets is in this run", None
    text = "; ".join(
        f"{name} {ours:.1f}: printed {a}, read {b}" for name, (ours, a, b) in compared.items()
    )
    return text, all(abs(ours - b) < abs(ours - a) for ours, a, b in compared.values())


def size_finding(study: PaperRecords) -> Finding:
    """List the datasets whose statistics differ from the printed ones."""
    available = [row for row in statistics_rows(study) if row.get("ours") == row["set"]]
    different = [
        f"{row['set']}: {row['verdict']}" for row in available if row["verdict"] != "as printed"
    ]
    return ("; ".join(different), True) if different else ("no such dataset in this run", None)


def scale_finding(study: PaperRecords) -> Finding:
    """Compare κ of X at alpha with κ of X/10 at alpha and at ten times alpha."""
    X = datasets.half_moons(0).X.astype(np.float64)
    kappas = [
        float(EulerKMeans(2, alpha=alpha, scale=None, random_state=0).fit(rows).deviation_.mean())
        for alpha, rows in ((0.5, X), (5.0, X / 10), (0.5, X / 10))
    ]
    text = (
        f"half-moons: κ {kappas[0]:.4f}; with values ten times smaller, {kappas[1]:.4f} for ten "
        f"times alpha"
    )
    text += f" and {kappas[2]:.4f} for the same alpha"
    return text, abs(kappas[0] - kappas[1]) < 1e-6 < kappas[0] - kappas[2]


def scaling_finding(study: PaperRecords) -> Finding:
    """Compare the gains of scaling and of rectification on the low-dimensional datasets.

    The gains are means of NMI in points.
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
        return "no low-dimensional dataset in this run", None
    by_scale = fmean(best[s, "range", "REK1"] - best[s, "paper", "REK1"] for s in sets)
    by_rule = fmean(best[s, "paper", "REK1"] - best[s, "paper", "EulerK"] for s in sets)
    return (
        f"mean NMI over the datasets ({len(sets)}): scaled columns {by_scale:+.1f} points, "
        f"rectification {by_rule:+.1f}",
        by_scale > abs(by_rule),
    )


def moduli_finding(study: PaperRecords) -> Finding:
    """Compute the moduli of REK1's centroids by the printed update, and of EulerK's by table 1.

    The correct modulus of REK1's centroids is 1.
    """
    case = moon_case(moon_alpha())
    labels = make_estimator(RectifiedEulerKMeans, case).fit(case.X).labels_
    S, bare = (
        abs(_resultants(mapped_rows(one), labels, 2))
        for one in (case, replace(case, alpha=1 / np.pi))
    )
    update = S / bare  # the printed denominator has cos x instead of cos(alpha pi x)
    text = (
        f"half-moons: REK1's centroids have moduli {update.min():.2f} to "
        f"{update.max():.2f} by the printed update; "
    )
    text += (
        f"EulerK's {S.min():.0f} to {S.max():.0f} without 1/n; those of REK1 in table 1 are "
        f"sqrt(2) times as long as rows"
    )
    return text, bool(abs(update - 1).min() > 0.1 and S.min() > 1)


def multiplier_finding(study: PaperRecords) -> Finding:
    """Compute the derivative of the Lagrangian by a at the update.

    Λ is taken from n + 2Λ = |S| and from the printed equation.
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
            # A central difference is exact for degree 2 in a.
            steepest[which] = max(steepest[which], float(abs(ahead - behind).max()))
    text = "half-moons: the largest derivative of the Lagrangian at S/|S| is "
    text += f"{steepest[0]:.6f} with n + 2Λ = |S|, {steepest[1]:.1f} with the printed n + Λ = |S|"
    return text, steepest[0] < 1e-9 < steepest[1]


def _lagrangian(members: Array, m: Array, multipliers: Array) -> Array:
    """Return the Lagrangian of each column (d,), for rows and a centroid of modulus 1.

    Both are divided by sqrt(2) in the formula.
    """
    return (abs(members - m) ** 2).sum(axis=0) / 4 + multipliers * (abs(m) ** 2 - 1) / 2


def optimum_finding(study: PaperRecords) -> Finding:
    """Count the converged fits that a single move of a row improves.

    The objective is sum_c (n_c d - sum_l |S_cl|).
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
    text = f"half-moons, {k} clusters: in {lower} of {MOON_STARTS} converged fits, moving one row "
    return f"{text}lowers the objective, by up to {max(gains):.3f}", lower > 0


def _resultants(Z: Array, labels: Array, k: int) -> Array:
    """Return the sum of each cluster's mapped rows, (k, d)."""
    return np.stack([Z[labels == c].sum(axis=0) for c in range(k)])


class Erratum(NamedTuple):
    """A statement of the paper, its correction, and the run that shows the error."""

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
        "the statistics of the datasets",
        "Event has 8 classes, satimage 6, yeast 8 columns, wine 178 rows",
        size_finding,
    ),
    Erratum(
        "κ is smaller in high dimension",
        "κ is per coordinate: it depends on alpha times the scale of the data",
        scale_finding,
    ),
    Erratum(
        "convergence to a local minimum",
        "to a partial optimum, given a fixed rule for ties",
        optimum_finding,
    ),
    Erratum(
        "the scaling of the input is not stated",
        "its effect is larger than that of rectification",
        scaling_finding,
    ),
)


def erratum_rows(study: PaperRecords) -> list[Row]:
    """Return each erratum with its correction and the result of its run."""
    rows = []
    for number, erratum in enumerate(ERRATA, 1):
        text, shown = erratum.run(study)
        row: Row = {"number": number, "paper": erratum.says, "right": erratum.right, "run": text}
        rows.append(row | {"verdict": VERDICTS[shown]})
    return rows


ERRATA_TABLE: StudyTable[Plan, Cell] = StudyTable(
    "Errata, each with the run that shows it", erratum_rows, all_sets, score_cells
)
