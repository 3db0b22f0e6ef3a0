"""The tables of the kernel study: the fits they need, and their rows computed from the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from statistics import fmean, pstdev
from typing import Any

from .fit_records import Record
from .kernel_study_fits import BASELINES, ROBUST, WRAP_SUFFIX, KernelFit, KernelPlan
from .study import StudyRecords, StudyTable
from .values import Row, six_digits

KINDS = ("cells", "rows")
RADIAL = ("rbf", "laplace")
CENTROID_RULES = ("mean", "rectified")
KernelRecords = StudyRecords[KernelPlan, KernelFit]
Names = dict[str, str]  # of the available datasets
DEFAULT_WIDTHS = {"euler": 0.9, "rbf": 1.0, "laplace": 1.0, "laplace-l2": 1.0}


def study_sets(plan: KernelPlan) -> tuple[str, ...]:
    """Return all datasets of the plan."""
    return plan.sets + plan.error_sets


def _present(sets: tuple[str, ...], names: Names) -> list[str]:
    """Return the available ones among the datasets."""
    return [name for name in sets if name in names]


def widths(plan: KernelPlan) -> dict[str, tuple[float, ...]]:
    """Return the widths to run, by kernel."""
    return {"euler": plan.alphas} | dict.fromkeys(RADIAL, plan.multiples)


def width_fits(plan: KernelPlan, names: Names) -> Iterator[KernelFit]:
    for name, (kernel, values), seed in product(
        _present(plan.sets, names), widths(plan).items(), range(plan.starts)
    ):
        yield from (KernelFit(name, "deviation", kernel, width, seed=seed) for width in values)


def cluster_fits(plan: KernelPlan, names: Names) -> Iterator[KernelFit]:
    for name, kernel, k, seed in product(
        _present(plan.sets, names), widths(plan), plan.clusters, range(plan.starts)
    ):
        yield KernelFit(name, "deviation", kernel, DEFAULT_WIDTHS[kernel], k, seed=seed)


def deviation_fits(plan: KernelPlan, names: Names) -> Iterator[KernelFit]:
    yield from width_fits(plan, names)
    yield from cluster_fits(plan, names)


def rectification_fits(plan: KernelPlan, names: Names) -> Iterator[KernelFit]:
    for name, steep, seed in product(
        _present(plan.sets, names), (1.0, plan.steep), range(plan.rectification_starts)
    ):
        for (kernel, width), rule in product(DEFAULT_WIDTHS.items(), CENTROID_RULES):
            yield KernelFit(name, "rectification", f"{kernel} {rule}", width * steep, seed=seed)
        for method in BASELINES:
            if method != "k-means z" or steep == 1.0:  # k-means z has no width
                yield KernelFit(name, "rectification", method, steep, seed=seed)


def gross_error_fits(plan: KernelPlan, names: Names) -> Iterator[KernelFit]:
    for name, method, seed in product(_present(plan.error_sets, names), ROBUST, range(plan.draws)):
        yield KernelFit(name, "gross errors", method, seed=seed)
        yield from (
            KernelFit(name, "gross errors", method, errors_in=kind, share=share, seed=seed)
            for kind, share in product(KINDS, plan.shares)
        )


def _over_seeds(
    records: dict[KernelFit, Record], fits: Iterable[KernelFit]
) -> dict[tuple[Any, ...], list[Record]]:
    """Group the records of fits that differ only in their seed, in the order of the fits."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for fit in fits:
        groups.setdefault(
            (fit.dataset, fit.method, fit.width, fit.k, fit.errors_in, fit.share), []
        ).append(records[fit])
    return groups


def _deviation_rows(study: KernelRecords, fits: Iterable[KernelFit]) -> list[Row]:
    rows = []
    for (name, kernel, width, *_), group in _over_seeds(study.records, fits).items():
        row: Row = {"kernel": kernel, "set": name, "width": width, "k": group[0]["k"]}
        row |= {
            "kappa": six_digits(fmean(r["kappa"] for r in group)),
            "std": six_digits(pstdev(r["kappa"] for r in group)),
        }
        row |= {what: six_digits(fmean(r[what] for r in group)) for what in ("score", "nmi")}
        rows.append(row | {"starts": len(group)})
    return sorted(
        rows,
        key=lambda row: (
            list(DEFAULT_WIDTHS).index(row["kernel"]),
            study.plan.sets.index(row["set"]),
        ),
    )


def width_rows(study: KernelRecords) -> list[Row]:
    """Return κ of the means for each kernel width, with as many clusters as classes."""
    return _deviation_rows(study, width_fits(study.plan, study.names))


def cluster_rows(study: KernelRecords) -> list[Row]:
    """Return κ of the means for each number of clusters, with the default width."""
    return _deviation_rows(study, cluster_fits(study.plan, study.names))


def representation_rows(study: KernelRecords) -> list[Row]:
    """Return the fits with the smallest and largest κ for each kernel and dataset."""
    every = width_rows(study) + cluster_rows(study)
    rows = []
    for kernel, name in product(widths(study.plan), _present(study.plan.sets, study.names)):
        group = [row for row in every if (row["kernel"], row["set"]) == (kernel, name)]
        for which, choose in (("smallest", min), ("largest", max)):
            row = choose(group, key=lambda row: row["kappa"])
            rows.append(
                {"kernel": kernel, "set": name, "of all": f"{which} kappa"}
                | _select_columns(row, "width k kappa score")
            )
    return rows


def _select_columns(row: Row, names: str) -> Row:
    return {name: row[name] for name in names.split()}


def rectification_rows(study: KernelRecords) -> list[Row]:
    """Return NMI and ACC of mean centroids, rectified centroids and the baselines.

    `change` is the NMI of rectified centroids minus that of means.
    """
    rows = []
    for (name, method, width, *_), group in _over_seeds(
        study.records, rectification_fits(study.plan, study.names)
    ).items():
        kernel, _, rule = method.partition(" ")
        row: Row = {
            "set": name,
            "kernel": kernel if rule in CENTROID_RULES else None,
            "method": rule if rule in CENTROID_RULES else method,
        }
        row |= {"width": None if method == "k-means z" else width}
        for what in ("nmi", "acc"):
            row |= {
                what: six_digits(fmean(r[what] for r in group)),
                f"{what}_std": six_digits(pstdev(r[what] for r in group)),
            }
        row |= {
            what: six_digits(fmean(r[what] for r in group))
            for what in ("kappa", "score")
            if what in group[0]
        }
        rows.append(row | {"starts": len(group)})
    means = {
        (row["set"], row["kernel"], row["width"]): row["nmi"]
        for row in rows
        if row["method"] == "mean"
    }
    for row in rows:
        if row["method"] == "rectified":
            row["change"] = six_digits(row["nmi"] - means[row["set"], row["kernel"], row["width"]])
    return rows


def rectification_mean_rows(study: KernelRecords) -> list[Row]:
    """Return the means of `rectification_rows` over the datasets."""
    every = rectification_rows(study)
    rows = []
    for key in dict.fromkeys((row["kernel"], row["method"], row["width"]) for row in every):
        group = [row for row in every if (row["kernel"], row["method"], row["width"]) == key]
        row: Row = dict(zip(("kernel", "method", "width"), key, strict=True))
        row |= {what: six_digits(fmean(r[what] for r in group)) for what in ("nmi", "acc")}
        row |= {
            what: six_digits(fmean(r[what] for r in group))
            for what in ("kappa", "score", "change")
            if what in group[0]
        }
        rows.append(row | {"sets": len(group)})
    return rows


def robustness_rows(study: KernelRecords) -> list[Row]:
    """Return NMI over the scored rows for each share of gross errors."""
    rows = []
    for (name, method, _, _, errors_in, share), group in _over_seeds(
        study.records, gross_error_fits(study.plan, study.names)
    ).items():
        values = [r["nmi"] for r in group]
        for kind in (errors_in,) if share else KINDS:  # fits without errors count for both kinds
            row: Row = {"set": name, "errors_in": kind, "share": share} | _method_columns(method)
            rows.append(
                row
                | {
                    "nmi": six_digits(fmean(values)),
                    "std": six_digits(pstdev(values)),
                    "draws": len(values),
                }
            )
    return rows


def _method_columns(method: str) -> Row:
    """Return the name of a method and its treatment of values outside the robust range."""
    if method.endswith(WRAP_SUFFIX):
        return {"method": method.removesuffix(WRAP_SUFFIX), "beyond": "wrap"}
    return {"method": method, "beyond": None if method.startswith("k-means") else "ignore"}


def robustness_mean_rows(study: KernelRecords) -> list[Row]:
    """Return the mean NMI over the datasets for each share, and the share that halves it."""
    every = robustness_rows(study)
    rows = []
    for key in method_keys(every):
        group = [row for row in every if (row["errors_in"], row["method"], row["beyond"]) == key]
        nmi_by_share = {
            s: six_digits(fmean(r["nmi"] for r in group if r["share"] == s))
            for s in (0.0, *study.plan.shares)
        }
        row: Row = dict(zip(("errors_in", "method", "beyond"), key, strict=True))
        row |= {f"{share:.0%}" if share else "clean": nmi for share, nmi in nmi_by_share.items()}
        rows.append(row | {"breaks": breaking_share(nmi_by_share)})
    return rows


def method_keys(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Return the distinct (errors_in, method, beyond), with errors in cells first."""
    return sorted(
        dict.fromkeys((row["errors_in"], row["method"], row["beyond"]) for row in rows),
        key=lambda key: key[0],
    )


def break_rows(study: KernelRecords) -> list[Row]:
    """Return the share of gross errors that halves the NMI of each method on each dataset."""
    every = robustness_rows(study)
    rows = []
    for key in method_keys(every):
        row: Row = dict(zip(("errors_in", "method", "beyond"), key, strict=True))
        for name in _present(study.plan.error_sets, study.names):
            group = [
                r
                for r in every
                if (r["errors_in"], r["method"], r["beyond"], r["set"]) == (*key, name)
            ]
            row[name] = breaking_share({r["share"]: r["nmi"] for r in group})
        rows.append(row)
    return rows


def breaking_share(nmi_by_share: dict[float, float]) -> str:
    """Return the smallest share whose NMI is below half of the NMI at share 0."""
    below_half = [
        share for share in sorted(nmi_by_share) if nmi_by_share[share] < nmi_by_share[0.0] / 2
    ]
    return f"{below_half[0]:.0%}" if below_half else "never"


def claim_rows(study: KernelRecords) -> list[Row]:
    """Count how often the paper's claims about means, and ours about rectified centroids, hold."""
    wide, many, points = width_rows(study), cluster_rows(study), rectification_rows(study)
    pairs = list(product(widths(study.plan), _present(study.plan.sets, study.names)))

    def rows_of(rows: list[Row], kernel: str, name: str) -> list[Row]:
        return [row for row in rows if (row["kernel"], row["set"]) == (kernel, name)]

    def end(rows: list[Row], by: str, what: str, choose: Callable[..., Row]) -> float:
        return choose(rows, key=lambda row: row[by])[what]

    flat = [
        end(rows_of(wide, *p), "width", "kappa", min)
        < end(rows_of(wide, *p), "width", "kappa", max)
        for p in pairs
    ]
    fewer = [
        end(rows_of(many, *p), "k", "kappa", max) < end(rows_of(many, *p), "k", "kappa", min)
        for p in pairs
    ]
    rises = [
        end(rows_of(wide, *p), "width", "score", min)
        > end(rows_of(wide, *p), "width", "score", max)
        for p in pairs
    ]
    bounded = [0 <= row["score"] <= 1 for row in wide + many]
    # Euler rounds to a grid of 2^-23.
    on = [row["kappa"] < 1e-6 for row in points if row["method"] == "rectified"]
    level = [abs(row["change"]) <= 0.05 for row in points if row["method"] == "rectified"]
    counted = {
        "means deviate less as the kernel flattens": flat,
        "means deviate less as the number of clusters grows": fewer,
        "centroids represent rows better as the kernel flattens": rises,
        "the representation score lies between 0 and 1": bounded,
        "rectified centroids lie on the mapped data": on,
        "rectification changes NMI by at most 0.05": level,
    }
    return [
        {
            "claim": claim,
            "in": sum(cases),
            "of": len(cases),
            "verdict": "holds" if all(cases) else "not everywhere",
        }
        for claim, cases in counted.items()
    ]


def claim_fits(plan: KernelPlan, names: Names) -> Iterator[KernelFit]:
    yield from deviation_fits(plan, names)
    yield from rectification_fits(plan, names)


KERNEL_TABLES: dict[str, StudyTable[KernelPlan, KernelFit]] = {
    "claims": StudyTable("Claims, and how often they hold", claim_rows, study_sets, claim_fits),
    "widths": StudyTable(
        "Deviation degree of means against the width of the kernel",
        width_rows,
        study_sets,
        width_fits,
    ),
    "clusters": StudyTable(
        "Deviation degree of means against the number of clusters",
        cluster_rows,
        study_sets,
        cluster_fits,
    ),
    "representation": StudyTable(
        "Representation score at the smallest and the largest deviation",
        representation_rows,
        study_sets,
        deviation_fits,
    ),
    "rectification_means": StudyTable(
        "Effect of rectification: mean over the datasets",
        rectification_mean_rows,
        study_sets,
        rectification_fits,
    ),
    "rectification": StudyTable(
        "Effect of rectification on each dataset",
        rectification_rows,
        study_sets,
        rectification_fits,
    ),
    "robustness_means": StudyTable(
        "NMI under gross errors: mean over the datasets",
        robustness_mean_rows,
        study_sets,
        gross_error_fits,
    ),
    "breaks": StudyTable(
        "Breakdown: the share of gross errors that halves the NMI of a method",
        break_rows,
        study_sets,
        gross_error_fits,
    ),
    "robustness": StudyTable(
        "NMI under gross errors on each dataset", robustness_rows, study_sets, gross_error_fits
    ),
}
