"""Compare the NMI of k-means, EulerK and REK on datasets with and without gross errors, and study
the defaults.

    python benchmarks/dirty.py table     # the table in docs/defaults.md
    python benchmarks/dirty.py defaults  # the means of all tested settings

Needs REKMEANS_DATA, a folder of NAME.npz files with arrays X and y.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from recipes import RECIPES
from rekmeans import EulerKMeans, RectifiedEulerKMeans, normalized_mutual_info
from rekmeans_paper.kernel_study_fits import N_STARTS, add_gross_errors, kmeans_clipped, kmeans_z

DATASETS = (
    "wine",
    "seeds",
    "yeast",
    "isolet",
    "pendigits",
    "satimage",
    "letter",
    "mnist",
    "covtype",
)
DATASETS_WITH_ERRORS = ("wine", "seeds", "pendigits", "satimage", "yeast", "isolet")
ROWS = 2000  # rows drawn from each dataset
DRAWS = 2  # draws of the errors and of the starts

Method = Callable[[np.ndarray, int, int], np.ndarray]


def table_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return at most ROWS rows of a dataset, in a fixed random order."""
    with np.load(Path(os.environ["REKMEANS_DATA"]) / f"{name}.npz") as data:
        X = data["X"].astype(float)
        y = data["y"]
    some = np.random.default_rng(0).permutation(len(X))[:ROWS]
    return X[some], y[some]


def rekmeans_method(estimator: type, **parameters: object) -> Method:
    return lambda X, k, seed: estimator(
        k, n_init=N_STARTS, random_state=seed, **parameters
    ).fit_predict(X)


def score(name: str, kind: str, share: float, seed: int, method: Method) -> float:
    """Return the NMI over the rows that have at least one correct cell."""
    X, y = table_of(name)
    with_errors, clean = (
        add_gross_errors(X, kind, share, seed) if share else (X, np.ones(len(X), bool))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = method(with_errors, len(np.unique(y)), seed)
    return normalized_mutual_info(y[clean], labels[clean])


def mean_score(name: str, kind: str, share: float, method: Method) -> float:
    return float(np.mean([score(name, kind, share, seed, method) for seed in range(DRAWS)]))


def scores(
    cases: list[tuple[str, str, float]], methods: dict[str, Method]
) -> dict[tuple[str, str, str, float], float]:
    """Score every method on every case, in parallel."""
    jobs = [(method, *case) for case in cases for method in methods]
    found = Parallel(n_jobs=2)(delayed(mean_score)(*job[1:], methods[job[0]]) for job in jobs)
    return dict(zip(jobs, found, strict=True))


def print_table() -> None:
    methods = {
        "k-means z": kmeans_z,
        "k-means clipped": kmeans_clipped,
        **RECIPES,
        "EulerK": rekmeans_method(EulerKMeans),
        "REK": rekmeans_method(RectifiedEulerKMeans),
    }
    shares = [("cells", 0.0), *product(("cells", "rows"), (0.05, 0.1, 0.2, 0.3))]
    cases = [(name, kind, share) for name in DATASETS for kind, share in shares]
    found = scores(cases, methods)
    print(
        "| dataset | method | clean | "
        + " | ".join(f"{kind} {share:.0%}" for kind, share in shares[1:])
        + " |"
    )
    print("|---" * (len(shares) + 2) + "|")
    for name, method in product(DATASETS, methods):
        cells = " | ".join(f"{found[method, name, kind, share]:.3f}" for kind, share in shares)
        print(f"| {name} | {method} | {cells} |")
    for method in methods:
        means = [
            np.mean([found[method, name, kind, share] for name in DATASETS])
            for kind, share in shares
        ]
        print(f"| mean | {method} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")


def settings() -> Iterator[tuple[str, Method]]:
    """Yield the settings that are compared for the defaults."""
    yield "k-means z", kmeans_z
    yield "k-means clipped", kmeans_clipped
    for scale, beyond, alpha in product(
        ("robust", "range"), ("ignore", "clip", "wrap"), (0.5, 0.75, 0.9, 1.0, 1.25)
    ):
        if scale == "robust" or beyond == "wrap":  # no value is outside the range of its own table
            yield (
                f"REK {scale} {beyond} {alpha}",
                rekmeans_method(RectifiedEulerKMeans, scale=scale, beyond=beyond, alpha=alpha),
            )


def print_defaults() -> None:
    methods = dict(settings())
    clean = [(name, "cells", 0.0) for name in DATASETS]
    with_errors = list(product(DATASETS_WITH_ERRORS, ("cells", "rows"), (0.02, 0.1, 0.2, 0.3)))
    found = scores(clean + with_errors, methods)
    print(
        "| setting | clean, 9 datasets | "
        + " | ".join(f"{k} {s:.0%}" for k, s in product(("cells", "rows"), (0.02, 0.1, 0.2, 0.3)))
        + " |"
    )
    for method in methods:
        columns = [np.mean([found[method, *case] for case in clean])]
        for kind, share in product(("cells", "rows"), (0.02, 0.1, 0.2, 0.3)):
            columns.append(
                np.mean([found[method, name, kind, share] for name in DATASETS_WITH_ERRORS])
            )
        print(f"| {method} | " + " | ".join(f"{c:.3f}" for c in columns) + " |", flush=True)


if __name__ == "__main__":
    {"table": print_table, "defaults": print_defaults}[sys.argv[1]]()
