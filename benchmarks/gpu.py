"""The torch engine on a GPU: check labels in exact arithmetic, and compare the time of passes with
flash-kmeans and others.

    python benchmarks/gpu.py run [shape ...] --out gpu.jsonl
    python benchmarks/gpu.py table gpu.jsonl

Shapes are n x d columns (2d mapped) and k. The tables have overlapping groups on a curved sheet of
low rank. A run starts at random rows and makes 20 passes with mean centroids. Tables are unweighted
and complete unless the name says otherwise. Times are from device events and are medians of three
fits, without the first run.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

import gpu_table
from rekmeans._grid import GRID
from rekmeans.engines.torch.mapped_rows import MEAN_ROWS, PackedRows
from rekmeans.engines.torch.passes import CertifiedPass, SmallPass, make_pass, make_plain_pass

DEVICE = torch.device("cuda")
PASSES = 20
FITS = 3
CHECKED = (0, 1, 4, 9, 19)  # passes whose labels are checked
CHECKED_CELLS = 1 << 28  # cells of the checked rows
BLOCK = 1 << 17  # rows drawn at a time


class Shape(NamedTuple):
    n: int
    d: int
    k: int
    rank: int
    spread: float


SHAPES = {
    "10M x 16 k=10": Shape(10_000_000, 16, 10, 6, 1.2),
    "2M x 36 k=100": Shape(2_000_000, 36, 100, 8, 1.2),
    "1M x 128 k=4096": Shape(1_000_000, 128, 4096, 12, 1.5),
    "1M x 784 k=256": Shape(1_000_000, 784, 256, 16, 1.2),
    "29780 x 10752 k=256": Shape(29_780, 10_752, 256, 16, 1.2),
}


def draw_phases(shape: Shape, noise: float = 0.04, seed: int = 1) -> Iterator[tuple[int, Tensor]]:
    """Yield blocks of phases in half-turns: groups of standard width in `rank` directions, bent by
    tanh.
    """
    n, d, k, rank, spread = shape
    draw = torch.Generator(device=DEVICE).manual_seed(seed)

    def normal(*size: int) -> Tensor:
        return torch.randn(*size, generator=draw, device=DEVICE)

    middles = normal(k, rank) * spread
    directions = normal(rank, d) / math.sqrt(rank)
    shift = torch.rand(d, generator=draw, device=DEVICE)
    for start in range(0, n, BLOCK):
        count = min(BLOCK, n - start)
        own = torch.randint(0, k, (count,), generator=draw, device=DEVICE)
        z = middles[own] + normal(count, rank)
        yield (
            start,
            0.5 * torch.tanh(0.6 * (z @ directions) + shift - 0.5) + noise * normal(count, d),
        )


def draw_rows(shape: Shape, missing: float, is_weighted: bool) -> tuple[PackedRows, Tensor | None]:
    """Return mapped rows of the shape, with this share of missing cells, and their weights."""
    F = torch.empty(shape.n, 2 * shape.d, dtype=torch.int32, device=DEVICE)
    draw = torch.Generator(device=DEVICE).manual_seed(3)
    for start, phases in draw_phases(shape):
        t = phases.double() * math.pi
        f = torch.cat([t.cos(), t.sin()], 1).mul_(GRID).round_().int()
        if missing:
            gap = torch.rand(phases.shape, generator=draw, device=DEVICE) < missing
            f[gap.repeat(1, 2)] = 0
        F[start : start + len(f)] = f
    w = (
        torch.randint(1, 1 << 31, (shape.n,), generator=draw, device=DEVICE)
        if is_weighted
        else None
    )
    step = max(1, shape.n // MEAN_ROWS)
    rows = PackedRows(
        shape.n, shape.d, DEVICE, lambda: iter([(slice(0, shape.n), F)]), lambda _: F[::step]
    )
    return rows, w


def exact_labels(f: Tensor, M: Tensor, d: int) -> Tensor:
    """Return argmin of |f - m|^2 over observed cells, in exact float64 products of integers. Ties
    go to the lowest label.
    """
    m = M.long()
    high = (m + 2048) >> 12
    low = m - (high << 12)
    F = f.double()
    dots = ((F @ high.double().T).long() << 12) + (F @ low.double().T).long()
    squares = m[:, :d] ** 2 + m[:, d:] ** 2
    observed = ((f[:, :d] | f[:, d:]) != 0).double()
    halves = (squares >> 24, squares & ((1 << 24) - 1))
    seen = [(observed @ half.double().T).long() for half in halves]
    return (2 * dots - (seen[0] << 24) - seen[1]).argmax(1)


def count_wrong(rows: PackedRows, passes: CertifiedPass, M: Tensor, numbers: Tensor) -> int:
    """Count the labels of these rows that differ from exact arithmetic."""
    labels = passes.labels_of_rows()
    size = max(1, (1 << 26) // max(2 * rows.d, len(M)))
    parts = numbers.split(size)
    return sum(int((exact_labels(rows.grid(at), M, rows.d) != labels[at]).sum()) for at in parts)


def time_on_device(work: Callable[[], Any]) -> float:
    """Return the milliseconds between device events."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def median_time(work: Callable[[], Any], repeats: int = 7, at_once: int = 10) -> float:
    """Return the median time of one call. Several calls run in sequence to hide the launch time."""
    work()
    return (
        statistics.median(
            time_on_device(lambda: [work() for _ in range(at_once)]) for _ in range(repeats)
        )
        / at_once
    )


def measure_ceilings() -> dict[str, float]:
    """Measure the peak rates of the GPU: bytes copied and 16-bit products per second."""
    size = 1 << 30
    source, target = (torch.empty(size, dtype=torch.float32, device=DEVICE) for _ in range(2))
    copy = 8 * size / median_time(lambda: target.copy_(source)) / 1e9
    a, b = (torch.randn(8192, 8192, device=DEVICE, dtype=torch.float16) for _ in range(2))
    return {"copy_TB_s": copy, "product_TFLOP_s": 2 * 8192**3 / median_time(lambda: a @ b) / 1e9}


def measure_fit(
    rows: PackedRows, w: Tensor | None, start: Tensor, is_rectified: bool = False
) -> dict[str, Any]:
    """Return the milliseconds of each pass and of the fit, wrong labels in the checked passes, and
    the shares of scored and doubtful rows.
    """
    passes = make_pass(rows, w, len(start), is_rectified)
    draw = torch.Generator(device=DEVICE).manual_seed(7)
    count = min(rows.n, max(2000, CHECKED_CELLS // (2 * rows.d)), 100_000)
    checked = torch.randperm(rows.n, generator=draw, device=DEVICE)[:count]
    times = []
    whole = []
    wrong = 0
    shares = []
    for fit in range(-1, FITS):
        passes.reset()
        passes.give(start)
        passes.expect_loss_below(None)
        passes.buffers.progress.zero_()
        if not passes.graphs:
            passes.capture()
        torch.cuda.synchronize()
        if fit < 0:  # check each pass
            for t in range(PASSES):
                M = passes.centroids()
                (record,) = passes.run(1)
                wrong += count_wrong(rows, passes, M, checked) if t in CHECKED else 0
                shares.append(record.n_changed / rows.n)
            continue
        each = [
            time_on_device(lambda t=t: passes.launch((passes.position + t) % 3))
            for t in range(PASSES)
        ]
        times.append(each)
        passes.reset()
        passes.position = 0
        passes.give(start)
        passes.expect_loss_below(None)
        passes.buffers.progress.zero_()
        torch.cuda.synchronize()
        whole.append(
            time_on_device(
                lambda: [passes.launch((passes.position + t) % 3) for t in range(PASSES)]
            )
        )
    by_pass = [statistics.median(at) for at in zip(*times, strict=True)]
    return {
        "ms_fit": statistics.median(whole) / PASSES, "ms_by_pass": by_pass,
        "ms_late": statistics.mean(by_pass[10:]),
        "wrong": wrong, "checked": len(CHECKED) * count, "changed": shares, "columns": rows.P,
    }  # fmt: skip


def measure_assignment(rows: PackedRows, start: Tensor) -> dict[str, float]:
    """Measure the assignment kernel alone on all rows: milliseconds and rates."""
    passes = make_plain_pass(rows, None, len(start), False, use_bounds=False)
    passes.give(start)
    ms = median_time(lambda: passes.scoring.assign(-1, gather=False))
    flops = 2 * rows.n * 2 * rows.d * len(start)
    return {"ms": ms, "TFLOP_s": flops / ms / 1e9, "TB_s": 2 * rows.n * rows.P / ms / 1e9}


def measure_flash(rows: PackedRows, start: Tensor, dtype: torch.dtype) -> dict[str, float]:
    """Measure the first pass of flash-kmeans on the mapped features: assignment and update, without
    the map.
    """
    from flash_kmeans.assign_euclid_triton import euclid_assign_triton
    from flash_kmeans.centroid_update_triton import triton_centroid_update_sorted_euclid

    X = torch.empty(1, rows.n, 2 * rows.d, dtype=dtype, device=DEVICE)
    for at in range(0, rows.n, BLOCK):
        X[0, at : at + BLOCK] = (rows.grid(slice(at, at + BLOCK)).double() / GRID).to(dtype)
    C = (start.double() / GRID).to(dtype)[None].contiguous()
    squares = torch.cat([(part.float() ** 2).sum(-1) for part in X[0].split(BLOCK)])[None].to(dtype)
    labels = euclid_assign_triton(X, C, squares)
    assign = median_time(lambda: euclid_assign_triton(X, C, squares))
    update = median_time(lambda: triton_centroid_update_sorted_euclid(X, labels, C))
    return {"ms_assign": assign, "ms_update": update, "ms": assign + update}


def measure_torch(rows: PackedRows, start: Tensor) -> dict[str, float]:
    """Measure plain torch in float32: a product, argmax and index_add, in blocks."""
    X = torch.cat(
        [rows.grid(slice(at, at + BLOCK)).float() / GRID for at in range(0, rows.n, BLOCK)]
    )
    C = start.float() / GRID

    def one_pass() -> Tensor:
        half = (C * C).sum(1) / 2
        labels = torch.cat([(part @ C.T - half).argmax(1) for part in X.split(1 << 16)])
        sums = torch.zeros_like(C).index_add_(0, labels, X)
        return sums / torch.bincount(labels, minlength=len(C)).clamp(min=1)[:, None]

    return {"ms": median_time(one_pass, 3, 3)}


def measure_small() -> Iterator[dict[str, Any]]:
    """Measure passes in one launch: the time of sixteen passes minus that of one."""
    for n, d, k in ((178, 13, 3), (2000, 16, 10), (20_000, 16, 26)):
        shape = Shape(n, d, k, 4, 1.2)
        rows, _ = draw_rows(shape, 0.0, False)
        passes = SmallPass(rows, k, False)
        start = rows.grid(torch.arange(k, device=DEVICE))

        def prepare(passes: SmallPass = passes, start: Tensor = start) -> None:
            passes.reset()
            passes.give(start)
            passes.expect_loss_below(None)
            passes.added.zero_()

        prepare()
        most = len(passes.run(16))
        times = {}
        for count in (1, most):
            each = []
            for _ in range(30):
                prepare()
                torch.cuda.synchronize()
                each.append(time_on_device(lambda passes=passes, count=count: passes.launch(count)))
            times[count] = statistics.median(each)
        us = (times[most] - times[1]) / (most - 1) * 1e3
        yield {
            "shape": f"{n} x {d} k={k}",
            "us_a_pass": us,
            "us_first": times[1] * 1e3,
            "passes": most,
        }


def run(names: list[str], out: Path, peers: bool) -> None:
    with out.open("w") as file:

        def record(**fields: Any) -> None:
            print(json.dumps(fields), file=file, flush=True)
            print(
                {
                    key: value
                    for key, value in fields.items()
                    if key not in ("ms_by_pass", "changed")
                },
                flush=True,
            )

        record(
            kind="machine",
            device=torch.cuda.get_device_name(),
            torch=torch.__version__,
            **measure_ceilings(),
        )
        for small in measure_small():
            record(kind="small", **small)
        for name in names:
            for variant, missing, is_weighted in VARIANTS:
                rows, w = draw_rows(SHAPES[name], missing, is_weighted)
                start = draw_start(rows, SHAPES[name].k)
                record(kind="ours", shape=name, variant=variant, **measure_fit(rows, w, start))
                if not variant:
                    record(
                        kind="rectified",
                        shape=name,
                        **measure_fit(rows, w, start, is_rectified=True),
                    )
                    record(kind="assignment", shape=name, **measure_assignment(rows, start))
                    for peer, measure in PEERS.items() if peers else ():
                        try:
                            record(kind="peer", shape=name, peer=peer, **measure(rows, start))
                        # record that a library does not support this shape
                        except Exception as error:
                            record(kind="peer", shape=name, peer=peer, error=str(error)[:200])
                        torch.cuda.empty_cache()
                del rows
                gc.collect()
                torch.cuda.empty_cache()


def draw_start(rows: PackedRows, k: int) -> Tensor:
    """Return random rows. Missing cells are filled with the mean of all rows."""
    draw = torch.Generator(device=DEVICE).manual_seed(5)
    start = rows.grid(torch.randperm(rows.n, generator=draw, device=DEVICE)[:k])
    return torch.where(start == 0, rows.mean, start) if rows.has_missing else start


VARIANTS = (("", 0.0, False), ("1 % missing", 0.01, False), ("weights", 0.0, True))
PEERS: dict[str, Callable[[PackedRows, Tensor], dict[str, float]]] = {
    "flash-kmeans float16": lambda rows, start: measure_flash(rows, start, torch.float16),
    "flash-kmeans float32": lambda rows, start: measure_flash(rows, start, torch.float32),
    "torch float32": measure_torch,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["run", "table"])
    parser.add_argument("names", nargs="*", help="shapes to run, or the output file of a run")
    parser.add_argument("--out", type=Path, default=Path("gpu.jsonl"))
    parser.add_argument("--no-peers", action="store_true")
    asked = parser.parse_args()
    if asked.action == "run":
        run(asked.names or list(SHAPES), asked.out, not asked.no_peers)
    else:
        gpu_table.write(Path(asked.names[0]), Path("docs/images/gpu.png"))


if __name__ == "__main__":
    main()
