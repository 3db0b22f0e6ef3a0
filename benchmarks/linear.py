"""Time of a fit against the rows: rectified RBF k-means and REK, linear; RBF k-means by the matrix
of all pairs, not.

    python benchmarks/linear.py linear.jsonl [linear.png]

Normal groups, 16 columns, k = 10, one start at the defaults of each estimator, this process alone.
Medians of repeats taken in turn; a fit begins with the table in memory and ends with labels,
centroids and pre-images. `passes` are those of the fit, so that seconds a pass can be compared
where methods stop at different passes.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from rekmeans import KernelKMeans, RectifiedEulerKMeans
from rekmeans.table.refusals import MAX_PAIRED_ROWS

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
COLUMNS = 16
K = 10
REPEATS = 3
PAIRED = 10_000  # rows up to which the fit by pairs is timed; above, only its refusal
METHODS: dict[str, Callable[[], Any]] = {
    "REK": lambda: RectifiedEulerKMeans(K, random_state=0),
    "rectified RBF": lambda: KernelKMeans(K, kernel="rbf", random_state=0),
    "rectified Laplace": lambda: KernelKMeans(K, kernel="laplace", random_state=0),
    "mean RBF, all pairs": lambda: KernelKMeans(K, kernel="rbf", centroids="mean", random_state=0),
}


def rows(n: int) -> np.ndarray:
    """Twice as many overlapping normal groups as clusters: no fit ends after a few passes."""
    random = np.random.default_rng(0)
    return random.normal(0, 2.0, (2 * K, COLUMNS))[
        random.integers(0, 2 * K, n)
    ] + random.standard_normal((n, COLUMNS))


def time_fit(method: str, X: np.ndarray) -> tuple[float, Any]:
    started = perf_counter()
    model = METHODS[method]().fit(X)
    return perf_counter() - started, model


def measure_fits(n: int) -> list[dict[str, Any]]:
    """A record for each method: median seconds and passes, or why it is refused."""
    X = rows(n)
    methods = [method for method in METHODS if n <= PAIRED or "pairs" not in method]
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    passes = {}
    for repeat in range(REPEATS):
        for method in methods:
            if repeat and n == PAIRED and "pairs" in method:
                continue  # a minute each
            time, model = time_fit(method, X)
            seconds[method].append(time)
            passes[method] = int(model.n_iter_)
    records: list[dict[str, Any]] = [
        {"n": n, "method": m, "seconds": median(seconds[m]), "passes": passes[m], "all": seconds[m]}
        for m in methods
    ]
    refused = [
        {"n": n, "method": method, "refused": refusal(method, X)}
        for method in METHODS
        if method not in methods
    ]
    return records + refused


def refusal(method: str, X: np.ndarray) -> str | None:
    """The sentence with which a fit on all rows is refused; None where it would only be slow."""
    if len(X) <= MAX_PAIRED_ROWS:
        return None
    try:
        METHODS[method]().fit(X)
    except ValueError as error:
        return str(error)
    raise RuntimeError(f"{method} took {len(X)} rows.")


def plot(records: list[dict[str, Any]], picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    ax = figure.subplots()
    for method, mark in zip(METHODS, "os^x", strict=True):
        own = [record for record in records if record["method"] == method and "seconds" in record]
        ax.loglog(
            [r["n"] for r in own],
            [r["seconds"] for r in own],
            f"{mark}-",
            ms=4,
            lw=1.2,
            label=method,
        )
    ax.set(xlabel="rows", ylabel="seconds of a fit", title=f"{COLUMNS} columns, k = {K}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(picture, dpi=130, metadata={"Software": None})


def print_table(records: list[dict[str, Any]]) -> None:
    print("| rows | " + " | ".join(METHODS) + " | RBF / REK |")
    print("|---" * (len(METHODS) + 2) + "|")
    for n in dict.fromkeys(record["n"] for record in records):
        own = {r["method"]: r for r in records if r["n"] == n}
        cells = [
            f"{r['seconds']:.3g} s, {r['passes']} passes"
            if "seconds" in r
            else "refused"
            if r["refused"]
            else ""
            for r in own.values()
        ]
        print(
            f"| {n} | {' | '.join(cells)} | "
            f"{own['rectified RBF']['seconds'] / own['REK']['seconds']:.2f} |"
        )


def main(out: Path, picture: Path | None, most: int) -> None:
    warnings.simplefilter("ignore")
    records = []
    for n in SIZES:
        if n <= most:
            records += measure_fits(n)
            print(
                *(json.dumps(record) for record in records[-len(METHODS) :]), sep="\n", flush=True
            )
    out.write_text("".join(json.dumps(record) + "\n" for record in records))
    print_table(records)
    if picture:
        plot(records, picture)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    size = [a for a in arguments if a.isdigit()]
    files = [Path(a) for a in arguments if not a.isdigit()]
    main(files[0], files[1] if len(files) > 1 else None, int(size[0]) if size else SIZES[-1])
