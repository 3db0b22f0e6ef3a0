r"""Time and memory of a first fit with default settings, from a table in memory to labels.

    python benchmarks/first_fit.py run --out first_fit.jsonl [--only CASE ...] [--repeats 5] \
        [--seconds 60]
    python benchmarks/first_fit.py table first_fit.jsonl
    python benchmarks/first_fit.py plot first_fit.jsonl first_fit.png

Each contender is called as in its documentation, with the number of clusters and a seed, after the
scaler that users typically apply. Each contender runs in a separate process for each case. It first
fits a small part of the table, so that libraries are loaded, and then the table with the seeds 0,
1, ... No new fit starts after `--seconds`. The real datasets need REKMEANS_DATA. Cases whose file
is missing are reported and skipped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from grid import path_of
from race import fresh_peak, machine, memory

OURS = "REK"
RIVAL = "StandardScaler + KMeans"
BLOCK = 1 << 14  # rows for which objectives are computed at a time


def real_table(name: str, rows: int | None = None) -> np.ndarray:
    """Return a real dataset, or a random sample of its rows."""
    with np.load(path_of(name)) as data:
        X = data["X"].astype(np.float32 if name == "mnist" else np.float64)
    return X if rows is None else X[np.random.default_rng(0).permutation(len(X))[:rows]]


def drawn(n: int, d: int, k: int, apart: float) -> np.ndarray:
    """Return k normal groups with unit standard deviation whose centres have a standard deviation
    of `apart`.
    """
    random = np.random.default_rng(0)
    return random.normal(0, apart, (k, d))[random.integers(0, k, n)] + random.normal(size=(n, d))


CASES: dict[str, tuple[Callable[[], np.ndarray], int]] = {
    "wine": (lambda: real_table("wine"), 3),
    "pendigits": (lambda: real_table("pendigits"), 10),
    "letter": (lambda: real_table("letter"), 26),
    "covtype k=7": (lambda: real_table("covtype"), 7),
    "covtype 100k k=100": (lambda: real_table("covtype", 100_000), 100),
    "mnist k=10": (lambda: real_table("mnist"), 10),
    "mnist k=256": (lambda: real_table("mnist"), 256),
    "200k x 20 k=10": (lambda: drawn(200_000, 20, 10, 4), 10),
    "1M x 16 k=10": (lambda: drawn(1_000_000, 16, 10, 4), 10),
    "500k x 16 k=50": (lambda: drawn(500_000, 16, 50, 1.2), 50),
    "60k x 16 k=5000": (lambda: drawn(60_000, 16, 5000, 1.2), 5000),
}


class Contender(NamedTuple):
    fit: Callable[[np.ndarray, int, int], np.ndarray]  # (X, k, seed) -> labels
    package: str
    module: str


def rek(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from rekmeans import RectifiedEulerKMeans

    return RectifiedEulerKMeans(k, random_state=seed).fit(X).labels_


def euler(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from rekmeans import EulerKMeans

    return EulerKMeans(k, random_state=seed).fit(X).labels_


def standard_kmeans(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(k, random_state=seed).fit(standardized(X)).labels_


def robust_kmeans(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import RobustScaler

    return KMeans(k, random_state=seed).fit(RobustScaler().fit_transform(X)).labels_


def standard_minibatch(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(k, random_state=seed).fit(standardized(X)).labels_


def standard_intelex(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from sklearnex.cluster import KMeans

    return KMeans(k, random_state=seed).fit(standardized(X)).labels_


def standard_faiss(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    import faiss

    Z = np.ascontiguousarray(standardized(X), np.float32)
    model = faiss.Kmeans(Z.shape[1], k, seed=seed + 1)
    model.train(Z)
    return model.index.search(Z, 1)[1][:, 0]


def standardized(X: np.ndarray) -> np.ndarray:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit_transform(X)


CONTENDERS = {
    OURS: Contender(rek, "rekmeans", "rekmeans"),
    "EulerK": Contender(euler, "rekmeans", "rekmeans"),
    RIVAL: Contender(standard_kmeans, "scikit-learn", "sklearn"),
    "RobustScaler + KMeans": Contender(robust_kmeans, "scikit-learn", "sklearn"),
    "StandardScaler + MiniBatchKMeans": Contender(standard_minibatch, "scikit-learn", "sklearn"),
    "StandardScaler + intelex KMeans": Contender(
        standard_intelex, "scikit-learn-intelex", "sklearnex"
    ),
    "StandardScaler + faiss": Contender(standard_faiss, "faiss-cpu", "faiss"),
}


# measuring


def measure_one(contender: str, folder: Path, k: int, repeats: int, limit: float) -> None:
    """Run fits of one contender in this process. Print their times and the peak memory, and store
    the last labels.
    """
    warnings.simplefilter("ignore")
    X = np.load(folder / "X.npy")
    fit = CONTENDERS[contender].fit
    fit(X[: max(50 * min(k, 20), 100)], min(k, 20), 0)
    before = fresh_peak()
    seconds = []
    began = perf_counter()
    while len(seconds) < repeats and (not seconds or perf_counter() - began < limit):
        started = perf_counter()
        labels = fit(X, k, len(seconds))
        seconds.append(perf_counter() - started)
    np.save(folder / "labels.npy", labels)
    print(json.dumps({"seconds": seconds, "grown_mb": (memory("VmHWM") - before) / 1024}))


def run(out: Path, only: list[str] | None, repeats: int, limit: float) -> None:
    """Run every contender on every case, and write one JSON line each."""
    contenders = [name for name, contender in CONTENDERS.items() if find_spec(contender.module)]
    with out.open("a") as lines:
        for case in only or CASES:
            make, k = CASES[case]
            try:
                X = make()
            except FileNotFoundError:
                print(f"{case} is skipped: its file is not in REKMEANS_DATA", file=sys.stderr)
                continue
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                np.save(folder / "X.npy", X)
                for contender in contenders:
                    command = [
                        sys.executable,
                        __file__,
                        "one",
                        contender,
                        name,
                        str(k),
                        str(repeats),
                        str(limit),
                    ]
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                    record: dict[str, Any] = {"case": case, "contender": contender, **machine()}
                    record["version"] = version(CONTENDERS[contender].package)
                    if done.returncode == 0:
                        labels = np.load(folder / "labels.npy")
                        record |= json.loads(done.stdout.splitlines()[-1]) | objectives(
                            X, labels, k
                        )
                    else:
                        record["error"] = done.stderr[-300:]
                    lines.write(json.dumps(record) + "\n")
                    lines.flush()
                    print(record, file=sys.stderr)


def objectives(X: np.ndarray, labels: np.ndarray, k: int) -> dict[str, float]:
    """Return the objectives of both methods for these labels: REK on the circles of the default
    scale, k-means on z-scores.
    """
    from rekmeans import EulerMap

    kinds = {"rek": EulerMap().fit(X).transform, "kmeans": _z_scores(X)}
    return {
        name: _loss_of_labels(transform, X, labels, k, on_circles=name == "rek")
        for name, transform in kinds.items()
    }


def _z_scores(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    return lambda rows: (rows - mean) / np.where(spread > 0, spread, 1.0)


def _loss_of_labels(
    transform: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
    labels: np.ndarray,
    k: int,
    *,
    on_circles: bool,
) -> float:
    """Return the sum of |f|^2 minus the part that the best centroids explain: |sum|^2/count for
    means, |sum| on each circle for rectified centroids.
    """
    sums, squares = 0.0, 0.0
    for at in range(0, len(X), BLOCK):
        F = transform(X[at : at + BLOCK]).astype(np.float64)
        own = labels[at : at + BLOCK]
        sums = (
            sums
            + sparse.csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(k, len(own)))
            @ F
        )
        squares += float((F * F).sum())
    if on_circles:
        d = sums.shape[1] // 2
        return squares - float(np.hypot(sums[:, :d], sums[:, d:]).sum())
    counts = np.bincount(labels, minlength=k)
    return squares - float(((sums**2).sum(axis=1) / np.maximum(counts, 1)).sum())


# table and plot


def by_case(path: Path) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """Yield the last record of each contender, case by case."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for case in dict.fromkeys(record["case"] for record in records):
        yield case, {r["contender"]: r for r in records if r["case"] == case and "seconds" in r}


def table(path: Path) -> None:
    print(
        "| case | contender | seconds | fits | additional memory, MB | objective of REK | "
        "of k-means | relative time |"
    )
    print("|---" * 8 + "|")
    ratios = {}
    for case, found in by_case(path):
        best = {name: min(record[name] for record in found.values()) for name in ("rek", "kmeans")}
        own = median(found[OURS]["seconds"])
        ratios[case] = median(found[RIVAL]["seconds"]) / own
        for name, record in sorted(found.items(), key=lambda item: median(item[1]["seconds"])):
            seconds = median(record["seconds"])
            above = " | ".join(f"{record[kind] / best[kind] - 1:+.1%}" for kind in best)
            cells = (
                f"{seconds:.4f} | {len(record['seconds'])} | {record['grown_mb']:.0f} | "
                f"{above} | {seconds / own:.2f}"
            )
            print(f"| {case} | {name} | {cells} |")
    print()
    for case, ratio in ratios.items():
        print(f"- {case}: {RIVAL} takes {ratio:.2f} times the time of rekmeans")
    print(f"- geometric mean over {len(ratios)} cases: {geometric_mean(ratios.values()):.2f}")


def plot(path: Path, picture: Path) -> None:
    import matplotlib.pyplot as plt

    cases = dict(by_case(path))
    peers = [name for name in CONTENDERS if name not in (OURS, "EulerK")]
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for i, peer in enumerate(peers):
        there = [(j, found) for j, found in enumerate(cases.values()) if peer in found]
        times = [
            median(found[peer]["seconds"]) / median(found[OURS]["seconds"]) for _, found in there
        ]
        marker = (
            {"marker": "o", "ms": 8}
            if peer == RIVAL
            else {"marker": "osd^v"[i % 5], "ms": 5, "alpha": 0.6}
        )
        axes.plot(times, [j for j, _ in there], linestyle="", label=peer, **marker)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"], minor=False)
    axes.tick_params(axis="x", which="minor", bottom=False)
    axes.set_yticks(range(len(cases)), list(cases))
    axes.invert_yaxis()
    axes.set_xlabel("time of a first fit, relative to rekmeans")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(picture, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description="Default to default.")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--only", nargs="*", choices=CASES)
    running.add_argument("--repeats", type=int, default=5)
    running.add_argument("--seconds", type=float, default=60.0)
    for name in ("table", "plot"):
        shown = commands.add_parser(name)
        shown.add_argument("path", type=Path)
        if name == "plot":
            shown.add_argument("picture", type=Path)
    one = commands.add_parser("one")
    one.add_argument("contender")
    one.add_argument("folder", type=Path)
    one.add_argument("k", type=int)
    one.add_argument("repeats", type=int)
    one.add_argument("seconds", type=float)
    options = parser.parse_args()
    if options.command == "run":
        run(options.out, options.only, options.repeats, options.seconds)
    elif options.command == "one":
        measure_one(options.contender, options.folder, options.k, options.repeats, options.seconds)
    elif options.command == "table":
        table(options.path)
    else:
        plot(options.path, options.picture)


if __name__ == "__main__":
    main()
