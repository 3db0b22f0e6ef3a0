"""Time passes on a local Dask cluster, compared with the native engine on the same rows and with
dask-ml's KMeans.

    python benchmarks/cluster.py [rows, 8e6]

The table has 32 partitions of 32 columns (2 GB), k = 10, and all methods use the same start. The
native engine has the rows in memory. Workers are processes with one thread each, or one process
with two threads. dask-ml clusters the mapped rows of an eighth of the table on the same cluster,
with as many passes as EulerKMeans makes from the same start. Its objective is halved, because its
rows lack the factor sqrt(1/2) of the map (`pip install rekmeans[bench]`).
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter
from typing import Any

import numpy as np
from dask import array, delayed
from distributed import Client, LocalCluster

from out_of_memory import D, drawn_rows
from rekmeans import EulerKMeans, EulerMap, RectifiedEulerKMeans

K = 10
PARTITIONS = 32
PASSES = 10
REPEATS = 3
START = drawn_rows(999, 1000)[:K]


def pass_seconds(X: Any, **parameters: Any) -> Any:
    """Return the seconds of each pass after the first one, in which Dask maps the rows."""
    model = RectifiedEulerKMeans(
        K, init=START, n_init=1, max_iter=PASSES, scale="range", **parameters
    )
    return model.fit(X).history_["seconds"][1:]


def lazy_rows(n: int) -> Any:
    size = n // PARTITIONS
    parts = [
        array.from_delayed(delayed(drawn_rows)(i, size), (size, D), float)
        for i in range(PARTITIONS)
    ]
    return array.concatenate(parts).persist()


def local_cluster(n_workers: int, threads: int) -> LocalCluster:
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=threads, dashboard_address=None, memory_limit="9GB"
    )


def measure_passes(n: int) -> None:
    rows = np.concatenate([drawn_rows(i, n // PARTITIONS) for i in range(PARTITIONS)])
    print(
        f"\n{n:,} rows, {n * D * 8 / 1e9:.1f} GB in {PARTITIONS} partitions; median of {REPEATS} "
        f"alternating fits\n"
    )
    print("| workers x threads | mean pass | native, same threads | ratio | speed-up |")
    print("|---|---|---|---|---|")
    one = None
    for n_workers, threads in ((1, 1), (2, 1), (1, 2)):
        dask_seconds, native = compare_with_native(rows, n_workers, threads)
        one = one or (dask_seconds, native)
        speedups = f"{one[0] / dask_seconds:.2f}, native {one[1] / native:.2f}"
        over = f"{100 * (dask_seconds / native - 1):+.0f} %"
        print(
            f"| {n_workers} x {threads} | {dask_seconds:.4f} s | {native:.4f} s | {over} | "
            f"{speedups} |",
            flush=True,
        )


def compare_with_native(rows: Any, n_workers: int, threads: int) -> tuple[float, float]:
    """Return the mean time of a pass on a cluster and on the native engine, as medians of
    alternating fits.
    """
    found = []
    with local_cluster(n_workers, threads) as cluster, Client(cluster):
        X = lazy_rows(len(rows))
        for _ in range(REPEATS):
            pair = pass_seconds(X).mean(), pass_seconds(rows, n_threads=n_workers * threads).mean()
            print("   {:.4f} s, native {:.4f} s".format(*pair), file=sys.stderr, flush=True)
            found.append(pair)
    dask_seconds, native = np.median(found, axis=0)
    return float(dask_seconds), float(native)


def measure_dask_ml(n: int) -> None:
    from dask_ml.cluster import KMeans

    with local_cluster(2, 1) as cluster, Client(cluster):
        X = lazy_rows(n)
        started = perf_counter()
        model = EulerKMeans(K, init=START, n_init=1, max_iter=100, scale="range").fit(X)
        dask_seconds = perf_counter() - started
        euler = EulerMap(scale="range").fit(
            np.concatenate([drawn_rows(i, n // PARTITIONS) for i in range(PARTITIONS)])
        )
        F = X.map_blocks(euler.transform, dtype=float, chunks=(X.chunks[0], (2 * D,))).persist()
        started = perf_counter()
        other = KMeans(K, init=euler.transform(START), max_iter=model.n_iter_, tol=0.0).fit(F)
        dask_ml_seconds = perf_counter() - started
    print(f"\n{n:,} rows, {model.n_iter_} passes\n\n| | seconds | objective |\n|---|---|---|")
    print(
        f"| EulerKMeans | {dask_seconds:.2f} | {model.inertia_:.6g} |\n"
        f"| dask-ml | {dask_ml_seconds:.2f} | {other.inertia_ / 2:.6g} |"
    )
    print(f"\n{dask_ml_seconds / dask_seconds:.1f} times faster")


def main(n: str = "8e6") -> None:
    warnings.simplefilter("ignore")
    measure_passes(int(float(n)))
    measure_dask_ml(int(float(n)) // 8)


if __name__ == "__main__":
    main(*sys.argv[1:])
