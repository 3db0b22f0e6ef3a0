"""The tables of the kernel study: the fits each needs, and tidy rows (dicts) from their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from statistics import fmean, pstdev
from typing import Any

from .fit_records import Record
from .kernel_study_fits import ALONE, ROBUST, YARDSTICKS, KernelFit, KernelPlan
from .study import StudyRecords, StudyTable
from .values import Row, six_digits

KINDS = ("cells", "rows")
RADIAL = ("rbf", "laplace")
CENTROID_RULES = ("mean", "rectified")
KernelRecords = StudyRecords[KernelPlan, KernelFit]
Names = dict[str, str]  # of the available data sets
DEFAULT_WIDTHS = {"euler": 0.9, "rbf": 1.0, "laplace": 1.0, "laplace-l2": 1.0}


def study_sets(plan: KernelPlan) -> tuple[str, ...]:
    """Every set of the plan."""
    return plan.sets + plan.dirty


def _present(sets: tuple[str, ...], names: Names) -> list[str]:
    """Those of the sets that are available."""
    return [name for name in sets if name in names]


def widths(plan: KernelPlan) -> dict[str, tuple[float, ...]]:
    """The widths tried, by kernel."""
    return {"euler": plan.alphas} | dict.fromkeys(RADIAL, plan.multiples)


def width_fits(plan: KernelPlan, names: Names) -> Iterator[KernelFit]:
    for name, (kernel, tried), seed in product(
        _present(plan.sets, names), widths(plan).items(), range(plan.starts)
    ):
        yield from (KernelFit(name, "deviation", kernel, width, seed=seed) for width in tried)


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
        _present(plan.sets, names), (1.0, plan.steep), range(plan.tries)
    ):
        for (kernel, width), rule in product(DEFAULT_WIDTHS.items(), CENTROID_RULES):
            yield KernelFit(name, "rectification", f"{kernel} {rule}", width * steep, seed=seed)
        for method in YARDSTICKS:
            if method != "k-means z" or steep == 1.0:  # it has no width
                yield KernelFit(name, "rectification", method, steep, seed=seed)


def gross_error_fits(plan: KernelPlan, names: Names) -> Iterator[KernelFit]:
    for name, method, seed in product(_present(plan.dirty, names), ROBUST, range(plan.draws)):
        yield KernelFit(name, "dirt", method, seed=seed)
        yield from (
            KernelFit(name, "dirt", method, dirt=dirt, share=share, seed=seed)
            for dirt, share in product(KINDS, plan.shares)
        )


def _over_seeds(
    records: dict[KernelFit, Record], fits: Iterable[KernelFit]
) -> dict[tuple[Any, ...], list[Record]]:
    """Records by everything but the seed, in the order of the fits."""
    same: dict[tuple[Any, ...], list[Record]] = {}
    for fit in fits:
        same.setdefault(
            (fit.dataset, fit.method, fit.width, fit.k, fit.dirt, fit.share), []
        ).append(records[fit])
    return same


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
    """κ of the means against the width of the kernel, with as many clusters as classes."""
    return _deviation_rows(study, width_fits(study.plan, study.names))


def cluster_rows(study: KernelRecords) -> list[Row]:
    """κ of the means against the number of clusters, at the default width."""
    return _deviation_rows(study, cluster_fits(study.plan, study.names))


def representation_rows(study: KernelRecords) -> list[Row]:
    """For each kernel and set the fits of least and of greatest κ, with the representation score of
    their clusters.
    """
    every = width_rows(study) + cluster_rows(study)
    rows = []
    for kernel, name in product(widths(study.plan), _present(study.plan.sets, study.names)):
        group = [row for row in every if (row["kernel"], row["set"]) == (kernel, name)]
        for which, choose in (("least", min), ("greatest", max)):
            row = choose(group, key=lambda row: row["kappa"])
            rows.append(
                {"kernel": kernel, "set": name, "of all": f"{which} kappa"}
                | _select_columns(row, "width k kappa score")
            )
    return rows


def _select_columns(row: Row, names: str) -> Row:
    return {name: row[name] for name in names.split()}


def rectification_rows(study: KernelRecords) -> list[Row]:
    """NMI and ACC of mean and rectified centroids and of the yardsticks; `change` is rectified less
    mean.
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
    """The same over the sets."""
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
    """NMI over the rows that are not wholly dirty, against the share of gross errors."""
    rows = []
    for (name, method, _, _, dirt, share), group in _over_seeds(
        study.records, gross_error_fits(study.plan, study.names)
    ).items():
        values = [r["nmi"] for r in group]
        for kind in (dirt,) if share else KINDS:  # the clean fits stand for both
            row: Row = {"set": name, "dirt": kind, "share": share} | _method_columns(method)
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
    """The name, and what happens to values beyond the robust range."""
    if method.endswith(ALONE):
        return {"method": method.removesuffix(ALONE), "beyond": "wrap"}
    return {"method": method, "beyond": None if method.startswith("k-means") else "ignore"}


def robustness_mean_rows(study: KernelRecords) -> list[Row]:
    """Mean NMI over the sets at each share, and the first share at which it is below half of the
    clean one.
    """
    every = robustness_rows(study)
    rows = []
    for key in method_keys(every):
        group = [row for row in every if (row["dirt"], row["method"], row["beyond"]) == key]
        course = {
            s: six_digits(fmean(r["nmi"] for r in group if r["share"] == s))
            for s in (0.0, *study.plan.shares)
        }
        row: Row = dict(zip(("dirt", "method", "beyond"), key, strict=True))
        row |= {f"{share:.0%}" if share else "clean": nmi for share, nmi in course.items()}
        rows.append(row | {"breaks": breaking_share(course)})
    return rows


def method_keys(rows: list[Row]) -> list[tuple[Any, ...]]:
    """(dirt, method, beyond), those on cells first."""
    return sorted(
        dict.fromkeys((row["dirt"], row["method"], row["beyond"]) for row in rows),
        key=lambda key: key[0],
    )


def break_rows(study: KernelRecords) -> list[Row]:
    """Where each method breaks on each set: the first share at which its NMI is below half of its
    clean one.
    """
    every = robustness_rows(study)
    rows = []
    for key in method_keys(every):
        row: Row = dict(zip(("dirt", "method", "beyond"), key, strict=True))
        for name in _present(study.plan.dirty, study.names):
            group = [
                r for r in every if (r["dirt"], r["method"], r["beyond"], r["set"]) == (*key, name)
            ]
            row[name] = breaking_share({r["share"]: r["nmi"] for r in group})
        rows.append(row)
    return rows


def breaking_share(course: dict[float, float]) -> str:
    """The first share, in order, whose NMI is below half of that at share 0."""
    worse = [share for share in sorted(course) if course[share] < course[0.0] / 2]
    return f"{worse[0]:.0%}" if worse else "never"


def claim_rows(study: KernelRecords) -> list[Row]:
    """What the paper says of Euler's means, for every kernel, and what rectified points should do,
    each counted.
    """
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
    # the grid of Euler rounds at 2^-23
    on = [row["kappa"] < 1e-6 for row in points if row["method"] == "rectified"]
    level = [abs(row["change"]) <= 0.05 for row in points if row["method"] == "rectified"]
    counted = {
        "means deviate less as the kernel flattens": flat,
        "means deviate less as clusters become more": fewer,
        "points represent rows better as the kernel flattens": rises,
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
    "claims": StudyTable("What holds", claim_rows, study_sets, claim_fits),
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
        "Representation score where means deviate least and most",
        representation_rows,
        study_sets,
        deviation_fits,
    ),
    "rectification_means": StudyTable(
        "What rectification changes: mean over the sets",
        rectification_mean_rows,
        study_sets,
        rectification_fits,
    ),
    "rectification": StudyTable(
        "What rectification changes, set by set", rectification_rows, study_sets, rectification_fits
    ),
    "robustness_means": StudyTable(
        "NMI under gross errors: mean over the sets",
        robustness_mean_rows,
        study_sets,
        gross_error_fits,
    ),
    "breaks": StudyTable(
        "Where each method breaks: share of gross errors that halves its NMI",
        break_rows,
        study_sets,
        gross_error_fits,
    ),
    "robustness": StudyTable(
        "NMI under gross errors, set by set", robustness_rows, study_sets, gross_error_fits
    ),
}
