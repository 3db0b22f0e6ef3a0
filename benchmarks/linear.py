"""Time of a fit by the number of rows: rectified RBF k-means and REK are linear, RBF k-means with
the matrix of all pairs is not.

    python benchmarks/linear.py linear.jsonl [linear.png]

The tables have normal groups, 16 columns and k = 10. Each estimator fits one start with its
defaults, without other processes. Times are medians of alternating repeats, from the table in
memory to labels, centroids and pre-images. `passes` is the number of passes of a fit, so that the
time of a pass can be compared between methods that stop after different numbers of passes.
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
from rekmeans.table.validation import MAX_PAIRED_ROWS

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
COLUMNS = 16
K = 10
REPEATS = 3
# largest number of rows for which the fit with all pairs is timed; above, only its error is
# recorded
PAIRED = 10_000
METHODS: dict[str, Callable[[], Any]] = {
    "REK": lambda: RectifiedEulerKMeans(K, random_state=0),
    "rectified RBF": lambda: KernelKMeans(K, kernel="rbf", random_state=0),
    "rectified Laplace": lambda: KernelKMeans(K, kernel="laplace", random_state=0),
    "mean RBF, all pairs": lambda: KernelKMeans(K, kernel="rbf", centroids="mean", random_state=0),
}


def rows(n: int) -> np.ndarray:
    """Return twice as many overlapping normal groups as clusters, so that no fit ends after a few
    passes.
    """
    random = np.random.default_rng(0)
    return random.normal(0, 2.0, (2 * K, COLUMNS))[
        random.integers(0, 2 * K, n)
    ] + random.standard_normal((n, COLUMNS))


def time_fit(method: str, X: np.ndarray) -> tuple[float, Any]:
    started = perf_counter()
    model = METHODS[method]().fit(X)
    return perf_counter() - started, model


def measure_fits(n: int) -> list[dict[str, Any]]:
    """Return a record for each method: median seconds and passes, or the error message."""
    X = rows(n)
    methods = [method for method in METHODS if n <= PAIRED or "pairs" not in method]
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    passes = {}
    for repeat in range(REPEATS):
        for method in methods:
            if repeat and n == PAIRED and "pairs" in method:
                continue  # these take a minute each
            time, model = time_fit(method, X)
            seconds[method].append(time)
            passes[method] = int(model.n_iter_)
    records: list[dict[str, Any]] = [
        {"n": n, "method": m, "seconds": median(seconds[m]), "passes": passes[m], "all": seconds[m]}
        for m in methods
    ]
    refused = [
        {"n": n, "method": method, "refused": error_message(method, X)}
        for method in METHODS
        if method not in methods
    ]
    return records + refused


def error_message(method: str, X: np.ndarray) -> str | None:
    """Return the error message of a fit on all rows, or None if the fit would only be slow."""
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
    ax.set(xlabel="rows", ylabel="seconds per fit", title=f"{COLUMNS} columns, k = {K}")
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


def main(out: Path, picture: Path | None, max_rows: int) -> None:
    warnings.simplefilter("ignore")
    records = []
    for n in SIZES:
        if n <= max_rows:
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
