"""The tables of the study beyond: the fits each needs, and tidy rows (dicts) from their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from statistics import fmean, pstdev
from typing import Any

from . import datasets
from .study import ALONE, ROBUST, ROWS, YARDSTICKS, Fit, Records
from .tables import Row, six

KINDS = ("cells", "rows")
RADIAL = ("rbf", "laplace")
RULES = ("mean", "rectified")


@dataclass(frozen=True)
class Plan:
    """How much is run; widths are alphas for Euler and multiples of gamma="auto" for the others."""

    sets: tuple[str, ...]
    dirty: tuple[str, ...]  # those of them that get gross errors
    rows: int
    starts: int  # of the tables on deviation
    tries: int  # of those on rectification
    draws: int  # of dirt
    alphas: tuple[float, ...]
    multiples: tuple[float, ...]
    clusters: tuple[int, ...]
    steep: float  # the second width of the table on rectification, times the first
    shares: tuple[float, ...]


FULL = Plan(
    sets=(datasets.MOONS, *datasets.LOW),
    dirty=(datasets.MOONS, *datasets.LOW),
    rows=ROWS,
    starts=3,
    tries=5,
    draws=2,
    alphas=(0.1, 0.3, 0.5, 0.7, 0.9, 1.2, 1.8),
    multiples=(1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0),
    clusters=(2, 5, 10, 20, 40),
    steep=2.0,
    shares=(0.05, 0.1, 0.2, 0.3, 0.4),
)
QUICK = Plan(
    sets=(datasets.MOONS, "wine", "seeds", "pendigits", "satimage"),
    dirty=(datasets.MOONS, "wine", "seeds", "pendigits", "satimage"),
    rows=600,
    starts=2,
    tries=3,
    draws=1,
    alphas=(0.1, 0.5, 0.9, 1.8),
    multiples=(1 / 16, 1 / 4, 1.0, 4.0),
    clusters=(2, 10, 40),
    steep=2.0,
    shares=(0.05, 0.1, 0.2, 0.3, 0.4),
)
DEFAULTS = {"euler": 0.9, "rbf": 1.0, "laplace": 1.0, "laplace-l2": 1.0}


@dataclass(frozen=True)
class Found:
    """What was run: the plan on the sets at hand, and the records."""

    plan: Plan
    records: Records


@dataclass(frozen=True)
class Table:
    """A table: its title, its rows from what was found, and the fits it needs before."""

    title: str
    rows: Callable[[Found], list[Row]]
    fits: Callable[[Plan], Iterable[Fit]]


def widths(plan: Plan) -> dict[str, tuple[float, ...]]:
    """The widths tried, by kernel."""
    return {"euler": plan.alphas} | dict.fromkeys(RADIAL, plan.multiples)


def width_fits(plan: Plan) -> Iterator[Fit]:
    for name, (kernel, tried), seed in product(plan.sets, widths(plan).items(), range(plan.starts)):
        yield from (Fit("deviation", name, kernel, width, seed=seed) for width in tried)


def cluster_fits(plan: Plan) -> Iterator[Fit]:
    for name, kernel, k, seed in product(plan.sets, widths(plan), plan.clusters, range(plan.starts)):
        yield Fit("deviation", name, kernel, DEFAULTS[kernel], k, seed=seed)


def deviation_fits(plan: Plan) -> Iterator[Fit]:
    yield from width_fits(plan)
    yield from cluster_fits(plan)


def rectification_fits(plan: Plan) -> Iterator[Fit]:
    for name, steep, seed in product(plan.sets, (1.0, plan.steep), range(plan.tries)):
        for (kernel, width), rule in product(DEFAULTS.items(), RULES):
            yield Fit("rectification", name, f"{kernel} {rule}", width * steep, seed=seed)
        for method in YARDSTICKS:
            if method != "k-means z" or steep == 1.0:  # it has no width
                yield Fit("rectification", name, method, steep, seed=seed)


def dirt_fits(plan: Plan) -> Iterator[Fit]:
    for name, method, seed in product(plan.dirty, ROBUST, range(plan.draws)):
        yield Fit("dirt", name, method, seed=seed)
        yield from (
            Fit("dirt", name, method, dirt=dirt, share=share, seed=seed) for dirt, share in product(KINDS, plan.shares)
        )


def _over_seeds(records: Records, fits: Iterable[Fit]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Records by everything but the seed, in the order of the fits."""
    same: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for fit in fits:
        same.setdefault((fit.dataset, fit.method, fit.width, fit.k, fit.dirt, fit.share), []).append(records[fit])
    return same


def _deviations(found: Found, fits: Iterable[Fit]) -> list[Row]:
    rows = []
    for (name, kernel, width, *_), own in _over_seeds(found.records, fits).items():
        row: Row = {"kernel": kernel, "set": name, "width": width, "k": own[0]["k"]}
        row |= {"kappa": six(fmean(r["kappa"] for r in own)), "std": six(pstdev(r["kappa"] for r in own))}
        row |= {what: six(fmean(r[what] for r in own)) for what in ("score", "nmi")}
        rows.append(row | {"starts": len(own)})
    return sorted(rows, key=lambda row: (list(DEFAULTS).index(row["kernel"]), found.plan.sets.index(row["set"])))


def by_width(found: Found) -> list[Row]:
    """κ of the means against the width of the kernel, with as many clusters as classes."""
    return _deviations(found, width_fits(found.plan))


def by_clusters(found: Found) -> list[Row]:
    """κ of the means against the number of clusters, at the default width."""
    return _deviations(found, cluster_fits(found.plan))


def representation(found: Found) -> list[Row]:
    """For each kernel and set the fits of least and of greatest κ, with the representation score of their clusters."""
    every = by_width(found) + by_clusters(found)
    rows = []
    for kernel, name in product(widths(found.plan), found.plan.sets):
        own = [row for row in every if (row["kernel"], row["set"]) == (kernel, name)]
        for which, choose in (("least", min), ("greatest", max)):
            row = choose(own, key=lambda row: row["kappa"])
            rows.append({"kernel": kernel, "set": name, "of all": f"{which} kappa"} | _cut(row, "width k kappa score"))
    return rows


def _cut(row: Row, names: str) -> Row:
    return {name: row[name] for name in names.split()}


def rectification(found: Found) -> list[Row]:
    """NMI and ACC of mean and rectified centroids and of the yardsticks; `change` is rectified less mean."""
    rows = []
    for (name, method, width, *_), own in _over_seeds(found.records, rectification_fits(found.plan)).items():
        kernel, _, rule = method.partition(" ")
        row: Row = {
            "set": name,
            "kernel": kernel if rule in RULES else None,
            "method": rule if rule in RULES else method,
        }
        row |= {"width": None if method == "k-means z" else width}
        for what in ("nmi", "acc"):
            row |= {what: six(fmean(r[what] for r in own)), f"{what}_std": six(pstdev(r[what] for r in own))}
        row |= {what: six(fmean(r[what] for r in own)) for what in ("kappa", "score") if what in own[0]}
        rows.append(row | {"starts": len(own)})
    means = {(row["set"], row["kernel"], row["width"]): row["nmi"] for row in rows if row["method"] == "mean"}
    for row in rows:
        if row["method"] == "rectified":
            row["change"] = six(row["nmi"] - means[row["set"], row["kernel"], row["width"]])
    return rows


def rectification_means(found: Found) -> list[Row]:
    """The same over the sets."""
    every, rows = rectification(found), []
    for key in dict.fromkeys((row["kernel"], row["method"], row["width"]) for row in every):
        own = [row for row in every if (row["kernel"], row["method"], row["width"]) == key]
        row: Row = dict(zip(("kernel", "method", "width"), key, strict=True))
        row |= {what: six(fmean(r[what] for r in own)) for what in ("nmi", "acc")}
        row |= {what: six(fmean(r[what] for r in own)) for what in ("kappa", "score", "change") if what in own[0]}
        rows.append(row | {"sets": len(own)})
    return rows


def robustness(found: Found) -> list[Row]:
    """NMI over the rows that are not wholly dirty, against the share of gross errors."""
    rows = []
    for (name, method, _, _, dirt, share), own in _over_seeds(found.records, dirt_fits(found.plan)).items():
        values = [r["nmi"] for r in own]
        for kind in (dirt,) if share else KINDS:  # the clean fits stand for both
            row: Row = {"set": name, "dirt": kind, "share": share} | _method(method)
            rows.append(row | {"nmi": six(fmean(values)), "std": six(pstdev(values)), "draws": len(values)})
    return rows


def _method(method: str) -> Row:
    """The name, and what happens to values beyond the robust range."""
    if method.endswith(ALONE):
        return {"method": method.removesuffix(ALONE), "beyond": "wrap"}
    return {"method": method, "beyond": None if method.startswith("k-means") else "ignore"}


def robustness_means(found: Found) -> list[Row]:
    """Mean NMI over the sets at each share, and the first share at which it is below half of the clean one."""
    every = robustness(found)
    rows = []
    for key in methods(every):
        own = [row for row in every if (row["dirt"], row["method"], row["beyond"]) == key]
        course = {s: six(fmean(r["nmi"] for r in own if r["share"] == s)) for s in (0.0, *found.plan.shares)}
        row: Row = dict(zip(("dirt", "method", "beyond"), key, strict=True))
        row |= {f"{share:.0%}" if share else "clean": nmi for share, nmi in course.items()}
        rows.append(row | {"breaks": broken(course)})
    return rows


def methods(rows: list[Row]) -> list[tuple[Any, ...]]:
    """(dirt, method, beyond), those on cells first."""
    return sorted(dict.fromkeys((row["dirt"], row["method"], row["beyond"]) for row in rows), key=lambda key: key[0])


def breaks(found: Found) -> list[Row]:
    """Where each method breaks on each set: the first share at which its NMI is below half of its clean one."""
    every = robustness(found)
    rows = []
    for key in methods(every):
        row: Row = dict(zip(("dirt", "method", "beyond"), key, strict=True))
        for name in found.plan.dirty:
            own = [r for r in every if (r["dirt"], r["method"], r["beyond"], r["set"]) == (*key, name)]
            row[name] = broken({r["share"]: r["nmi"] for r in own})
        rows.append(row)
    return rows


def broken(course: dict[float, float]) -> str:
    """The first share, in order, whose NMI is below half of that at share 0."""
    worse = [share for share in sorted(course) if course[share] < course[0.0] / 2]
    return f"{worse[0]:.0%}" if worse else "never"


def claims(found: Found) -> list[Row]:
    """What the paper says of Euler's means, for every kernel, and what is said here of points, each counted."""
    wide, many, points = by_width(found), by_clusters(found), rectification(found)
    pairs = list(product(widths(found.plan), found.plan.sets))

    def own(rows: list[Row], kernel: str, name: str) -> list[Row]:
        return [row for row in rows if (row["kernel"], row["set"]) == (kernel, name)]

    def end(rows: list[Row], by: str, what: str, choose: Callable[..., Row]) -> float:
        return choose(rows, key=lambda row: row[by])[what]

    flat = [end(own(wide, *p), "width", "kappa", min) < end(own(wide, *p), "width", "kappa", max) for p in pairs]
    fewer = [end(own(many, *p), "k", "kappa", max) < end(own(many, *p), "k", "kappa", min) for p in pairs]
    rises = [end(own(wide, *p), "width", "score", min) > end(own(wide, *p), "width", "score", max) for p in pairs]
    bounded = [0 <= row["score"] <= 1 for row in wide + many]
    on = [row["kappa"] < 1e-6 for row in points if row["method"] == "rectified"]  # the grid of Euler rounds at 2^-23
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
        {"claim": claim, "in": sum(seen), "of": len(seen), "verdict": "holds" if all(seen) else "not everywhere"}
        for claim, seen in counted.items()
    ]


def claim_fits(plan: Plan) -> Iterator[Fit]:
    yield from deviation_fits(plan)
    yield from rectification_fits(plan)


TABLES: dict[str, Table] = {
    "claims": Table("What holds", claims, claim_fits),
    "widths": Table("Deviation degree of means against the width of the kernel", by_width, width_fits),
    "clusters": Table("Deviation degree of means against the number of clusters", by_clusters, cluster_fits),
    "representation": Table("Representation score where means deviate least and most", representation, deviation_fits),
    "rectification_means": Table(
        "What rectification changes: mean over the sets", rectification_means, rectification_fits
    ),
    "rectification": Table("What rectification changes, set by set", rectification, rectification_fits),
    "robustness_means": Table("NMI under gross errors: mean over the sets", robustness_means, dirt_fits),
    "breaks": Table("Where each method breaks: share of gross errors that halves its NMI", breaks, dirt_fits),
    "robustness": Table("NMI under gross errors, set by set", robustness, dirt_fits),
}
