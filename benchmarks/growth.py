"""Measure how the time of a plain pass and of a whole fit grows with n, d and k, compared with the
sgemm rate and the memory bandwidth.

    python benchmarks/growth.py growth.jsonl [growth.png]

A plain pass scores every row (no skipping). Rates count 2 n (2d) k operations and 8 n d bytes. A
whole fit is a RectifiedEulerKMeans fit with defaults, for k normal groups that are far apart, so
that the number of passes stays about the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from grid import FIT_GROWTH, GROWTH
from rekmeans import RectifiedEulerKMeans
from rekmeans.engines.native import _core
from rekmeans.engines.native.exact import NativeRows
from rekmeans.kernels.euler import Euler
from rekmeans.scales import range_scale
from rekmeans.table import MemoryTable

REPEATS = 5


def fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = perf_counter()
        work()
        times.append(perf_counter() - started)
    return min(times)


def plain_pass(n: int, d: int, k: int, may_quantize: bool) -> float:
    """Return the seconds of one pass over normal rows, after a pass that sets the labels."""
    X = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    table = MemoryTable(X)
    rows = NativeRows(Euler(range_scale(table.column_summary()), "wrap", 0.9), table)
    C = rows.rows_as_centroids(np.arange(k)).f
    run = _core.Run(rows.core, k, False)
    run.may_quantize = may_quantize
    run.assign(C)
    return fastest(lambda: run.assign(C))


def whole_fit(n: int, d: int, k: int) -> dict[str, float]:
    """Return the seconds and passes of the fastest of several fits, from a table in memory to
    labels.
    """
    random = np.random.default_rng(0)
    X = random.normal(0, 4, (k, d))[random.integers(0, k, n)] + random.standard_normal((n, d))
    models = [RectifiedEulerKMeans(k, random_state=seed) for seed in range(REPEATS)]
    starts = iter(models)
    seconds = fastest(lambda: next(starts).fit(X))
    return {"seconds": seconds, "passes": models[-1].n_iter_}


def sgemm_rate() -> float:
    """Return the operations per second of a large float32 product."""
    A, B = (
        np.random.default_rng(0).standard_normal(s).astype(np.float32)
        for s in ((20_000, 1568), (1568, 256))
    )
    return 2 * 20_000 * 1568 * 256 / fastest(lambda: A @ B)


def bandwidth() -> float:
    """Return the bytes per second of reading rows that are larger than the cache, in a pass for a
    single centroid.
    """
    n, d = 1_000_000, 64
    A = np.ones((n, 2 * d), np.float32)
    v = np.ones(2 * d, np.float32)
    return 4 * A.size / fastest(lambda: A @ v)


def main(out: Path, picture: Path | None) -> None:
    rate, speed = sgemm_rate(), bandwidth()
    records = [{"sgemm_gflops": rate / 1e9, "bandwidth_gb": speed / 1e9}]
    print(records[0])
    for axis, sizes in GROWTH.items():
        for n, d, k in sizes:
            for quantized in (False, True):
                seconds = plain_pass(n, d, k, quantized)
                record = {
                    "axis": axis,
                    "n": n,
                    "d": d,
                    "k": k,
                    "quantized": quantized,
                    "seconds": seconds,
                }
                record |= {
                    "of_sgemm": 4 * n * d * k / seconds / rate,
                    "of_bandwidth": 8 * n * d / seconds / speed,
                }
                records.append(record)
                print(record)
        for n, d, k in FIT_GROWTH[axis]:
            record = {"axis": axis, "n": n, "d": d, "k": k, "whole": True} | whole_fit(n, d, k)
            records.append(record)
            print(record)
    out.write_text("".join(json.dumps(r) + "\n" for r in records))
    if picture:
        plot(records[1:], picture)


def plot(records: list[dict], picture: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for axis, panel in zip(GROWTH, axes, strict=True):
        here = [record for record in records if record["axis"] == axis]
        kinds = {
            "pass in float32": [r for r in here if r.get("quantized") is False],
            "pass with 8 bits first": [r for r in here if r.get("quantized")],
            "a whole fit": [r for r in here if "whole" in r],
        }
        for name, some in kinds.items():
            panel.loglog(
                [r[axis] for r in some], [1e3 * r["seconds"] for r in some], "o-", label=name
            )
        panel.set(xlabel=axis, ylabel="ms", title=f"growth in {axis}")
        panel.legend()
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
