"""Time passes over out-of-core tables, compared with the rate of reading them and with passes in
memory.

    python benchmarks/out_of_memory.py FOLDER [parquet | array | resident | growth ...]

FOLDER gets the tables (3 GB, and 1 GB more for `resident`) and keeps them. Groups are normal and
overlap, with k = 10 unless stated otherwise. Fits use the defaults. All their passes are counted,
including the first one, which maps every row. pyarrow and the fits alternate in one process. Rates
refer to float64 cells.

- parquet: passes of a fit, compared with `to_batches` on the same files with the same number of
  threads
- array: passes of a fit of a .npy file and of a memmap in the page cache, compared with the same
  rows in memory
- resident: the peak memory of a process that fits 24 million rows x 32 (6.1 GB) in parquet
- growth: seconds per pass for 10^6 to 3 x 10^7 rows in parquet
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from pyarrow import dataset

from rekmeans import RectifiedEulerKMeans

D = 32
GROUPS = 10
FILE_ROWS = 1_000_000
REPEATS = 3
LIMIT = "600MB"
MAX_ITER = 20


def drawn_rows(number: int, n: int, decimals: int | None = None) -> Any:
    """Return rows of normal groups for one file of a table."""
    centres = np.random.default_rng(0).normal(0, 0.6, (GROUPS, D))
    random = np.random.default_rng(number + 1)
    X = centres[random.integers(0, GROUPS, n)] + random.standard_normal((n, D))
    return X if decimals is None else X.round(decimals)


def parquet_table(folder: Path, n: int, decimals: int | None = None) -> Path:
    """Return a folder of parquet files that pyarrow writes, created if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, at in enumerate(range(0, n, FILE_ROWS)):
        path = folder / f"{number:03}.parquet"
        if path.exists():
            continue
        X = drawn_rows(number, min(FILE_ROWS, n - at), decimals)
        columns = {f"c{j:02}": np.ascontiguousarray(X[:, j]) for j in range(D)}
        pyarrow.parquet.write_table(pa.table(columns), path)
    return folder


def npy_table(path: Path, n: int) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        X = np.lib.format.open_memmap(path, "w+", np.float64, (n, D))
        for number, at in enumerate(range(0, n, FILE_ROWS)):
            X[at : at + FILE_ROWS] = drawn_rows(number, min(FILE_ROWS, n - at))
        X.flush()
    return path


def decode_seconds(folder: Path) -> float:
    """Return the seconds in which pyarrow decodes all files, with its defaults or with little
    read-ahead, whichever is faster.
    """
    data = dataset.dataset(str(folder), format="parquet")
    return min(
        median(_scan_seconds(data, **options) for _ in range(REPEATS))
        for options in ({}, FEW_AHEAD)
    )


FEW_AHEAD = {"batch_size": (1 << 23) // (8 * D), "batch_readahead": 2, "fragment_readahead": 1}


def _scan_seconds(data: Any, **options: int) -> float:
    started = perf_counter()
    for _ in data.to_batches(**options):
        pass
    return perf_counter() - started


def fit_seconds(X: Any, k: int, memory_limit: str | None = LIMIT) -> Any:
    """Return the seconds of each pass of a fit."""
    model = RectifiedEulerKMeans(k, random_state=0, max_iter=MAX_ITER, memory_limit=memory_limit)
    return model.fit(X).history_["seconds"]


def pass_line(name: str, n: int, passes: Any, other: str, seconds: float) -> str:
    """Return a row of the table: the mean pass and the median of later passes, relative to the rate
    of `other`.
    """
    shares = " | ".join(
        f"{100 * seconds / one:.0f} %" for one in (passes.mean(), np.median(passes[1:]))
    )
    size = n * D * 8 / 1e9
    return (
        f"| {name} | {len(passes)} | {passes.mean():.3f} s, {size / passes.mean():.2f} GB/s | "
        f"{passes[0]:.3f} s "
        f"| {np.median(passes[1:]):.3f} s | {other} {seconds:.3f} s, {size / seconds:.2f} GB/s | "
        f"{shares} |"
    )


TITLES = (
    "rows",
    "passes",
    "mean pass",
    "first",
    "median of the others",
    "beside",
    "its rate, mean",
    "median",
)
HEAD = f"| {' | '.join(TITLES)} |\n{'|---' * len(TITLES)}|"


def measure_parquet(folder: Path) -> None:
    print("\n" + HEAD)
    for name, n, decimals in (("2 decimals", 8_000_000, 2), ("full precision", 4_000_000, None)):
        table = parquet_table(folder / f"parquet-{decimals}", n, decimals)
        decode_seconds(table)
        rounds = [(decode_seconds(table), fit_seconds(str(table), 10)) for _ in range(REPEATS)]
        passes = np.median([one[1] for one in rounds], axis=0)
        print(
            pass_line(
                f"{n:,} in parquet, {name}", n, passes, "pyarrow", median(r[0] for r in rounds)
            ),
            flush=True,
        )
        passes = np.median([fit_seconds(str(table), 10, None) for _ in range(REPEATS)], axis=0)
        print(
            pass_line("without a limit", n, passes, "pyarrow", median(r[0] for r in rounds)),
            flush=True,
        )


def measure_arrays(folder: Path) -> None:
    n = 4_000_000
    path = npy_table(folder / "table.npy", n)
    X = np.load(path)
    print("\n" + HEAD)
    for k, limit, in_memory in (
        (10, LIMIT, "mapped again"),
        (100, LIMIT, "mapped again"),
        (100, None, "kept"),
    ):
        forms = {".npy": str(path), "memmap": np.load(path, mmap_mode="r")}
        found: dict[str, list[Any]] = {name: [] for name in (*forms, "memory")}
        for _ in range(REPEATS):
            for name, form in forms.items():
                found[name].append(fit_seconds(form, k))
            found["memory"].append(fit_seconds(X, k, limit))
        medians = {name: np.median(seconds, axis=0) for name, seconds in found.items()}
        for name in forms:
            beside = f"in memory, {in_memory}"
            print(
                pass_line(
                    f"{n:,} in {name}, k = {k}", n, medians[name], beside, medians["memory"].mean()
                ),
                flush=True,
            )


RESIDENT = """
import sys, time, warnings
from rekmeans import RectifiedEulerKMeans
warnings.simplefilter("ignore")
started = time.perf_counter()
model = RectifiedEulerKMeans(10, random_state=0, memory_limit=sys.argv[2], max_iter=8)
model.fit(sys.argv[1])
seconds = time.perf_counter() - started
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
mean_seconds = float(model.history_["seconds"].mean())
print(peak // 1000, round(seconds, 1), round(mean_seconds, 2), len(model.labels_))
"""


def measure_resident(folder: Path) -> None:
    table = parquet_table(folder / "resident", 24_000_000, 2)
    print("\n| rows | memory_limit | peak memory | fit | mean pass |\n|---|---|---|---|---|")
    for limit in ("600MB", "300MB"):
        result = subprocess.check_output(
            [sys.executable, "-c", RESIDENT, str(table), limit], text=True
        )
        peak, seconds, mean, n = result.split()
        print(
            f"| {int(n):,} x {D} in parquet | {limit} | {peak} MB | {seconds} s | {mean} s |",
            flush=True,
        )


def measure_growth(folder: Path) -> None:
    print(
        "\n| rows | first pass | per row | median of the others | per row |\n|---|---|---|---|---|"
    )
    table = parquet_table(folder / "resident", 24_000_000, 2)
    files = sorted(map(str, table.glob("*.parquet")))
    for count in (1, 3, 10, 24):
        data = dataset.dataset(files[:count], format="parquet")
        seconds = fit_seconds(data, 10)
        shown = " | ".join(
            f"{one:.3f} s | {one / count / FILE_ROWS * 1e9:.0f} ns"
            for one in (seconds[0], np.median(seconds[1:]))
        )
        print(f"| {count * FILE_ROWS:,} | {shown} |", flush=True)


MEASURES = {
    "parquet": measure_parquet,
    "array": measure_arrays,
    "resident": measure_resident,
    "growth": measure_growth,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="folder for the tables, which are kept")
    parser.add_argument(
        "names", nargs="*", metavar="measure", help=f"of {', '.join(MEASURES)}; default: all"
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{os.cpu_count()} CPUs, pyarrow {pa.__version__}, numpy {np.__version__}")
    for name in asked.names or MEASURES:
        MEASURES[name](asked.folder)


if __name__ == "__main__":
    main()
