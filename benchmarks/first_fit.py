"""The first fit, default to default: what a person waits for from a table in memory to labels.

    python benchmarks/first_fit.py [--repeats 5] [--only CASE ...]

Contenders: RectifiedEulerKMeans at its defaults, and scikit-learn's KMeans and MiniBatchKMeans at theirs behind the
scaler that a person puts before them. Medians over the repeats, a seed of its own for each, in turn. The real
sets need REKMEANS_DATA; a case whose file is not there is left out aloud.
"""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.preprocessing import RobustScaler, StandardScaler

from rekmeans import RectifiedEulerKMeans

Fit = Callable[[np.ndarray, int, int], object]  # (X, k, seed)


def real(name: str, rows: int | None = None) -> np.ndarray:
    with np.load(Path(os.environ["REKMEANS_DATA"]) / f"{name}.npz") as data:
        X = data["X"].astype(np.float32 if name == "mnist" else np.float64)
    return X if rows is None else X[np.random.default_rng(0).permutation(len(X))[:rows]]


def drawn(n: int, d: int, k: int, apart: float) -> np.ndarray:
    """k normal groups of unit spread whose centres are so many times as wide."""
    random = np.random.default_rng(0)
    return random.normal(0, apart, (k, d))[random.integers(0, k, n)] + random.normal(size=(n, d))


CASES: dict[str, tuple[Callable[[], np.ndarray], int]] = {
    "wine": (lambda: real("wine"), 3),
    "pendigits": (lambda: real("pendigits"), 10),
    "letter": (lambda: real("letter"), 26),
    "covtype k=7": (lambda: real("covtype"), 7),
    "covtype 100k k=100": (lambda: real("covtype", 100_000), 100),
    "mnist k=10": (lambda: real("mnist"), 10),
    "200k x 20": (lambda: drawn(200_000, 20, 10, 4), 10),
    "1M x 16": (lambda: drawn(1_000_000, 16, 10, 4), 10),
    "500k x 16 overlapping": (lambda: drawn(500_000, 16, 50, 1.2), 50),
}
CONTENDERS: dict[str, Fit] = {
    "rekmeans": lambda X, k, seed: RectifiedEulerKMeans(k, random_state=seed).fit(X),
    "StandardScaler + KMeans": lambda X, k, seed: KMeans(k, random_state=seed).fit(StandardScaler().fit_transform(X)),
    "RobustScaler + KMeans": lambda X, k, seed: KMeans(k, random_state=seed).fit(RobustScaler().fit_transform(X)),
    "StandardScaler + MiniBatchKMeans": lambda X, k, seed: MiniBatchKMeans(k, random_state=seed).fit(
        StandardScaler().fit_transform(X)
    ),
}
OURS, RIVAL = "rekmeans", "StandardScaler + KMeans"


def measure(case: str, repeats: int) -> dict[str, float]:
    """Median seconds of each contender."""
    make, k = CASES[case]
    X = make()
    seconds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for fit in CONTENDERS.values():
        fit(X[: 50 * k], k, 0)  # libraries are loaded before the clock starts
    for seed in range(repeats):
        for name, fit in CONTENDERS.items():
            started = perf_counter()
            fit(X, k, seed)
            seconds[name].append(perf_counter() - started)
    return {name: median(times) for name, times in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Default to default.")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=CASES)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    libraries = ", ".join(f"{name} {version(name)}" for name in ("rekmeans", "scikit-learn", "numpy"))
    machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs"
    print(f"{machine}; {libraries}; medians of {options.repeats}\n")
    print("| case | " + " | ".join(CONTENDERS) + f" | {RIVAL} over ours |")
    print("|---" * (len(CONTENDERS) + 2) + "|")
    ratios = []
    for case in options.only or CASES:
        try:
            found = measure(case, options.repeats)
        except (KeyError, FileNotFoundError):
            print(f"| {case} | left out: its file is not in REKMEANS_DATA |")
            continue
        ratios.append(found[RIVAL] / found[OURS])
        times = " | ".join(f"{seconds:.3f} s" for seconds in found.values())
        print(f"| {case} | {times} | {ratios[-1]:.2f} |", flush=True)
    if ratios:
        print(f"\ngeometric mean {geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
