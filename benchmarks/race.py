"""Race every contender on every case, each run in a separate process, and write JSON lines, a table
and a plot.

    python benchmarks/race.py run --out race.jsonl [--only CASE] [--repeats 5]
    python benchmarks/race.py table race.jsonl
    python benchmarks/race.py plot race.jsonl race.png
    python benchmarks/race.py compare before/src after/src --out builds.jsonl [--repeats 7]

`compare` alternates between two builds of rekmeans. Each folder contains the package and its
compiled core. The time of a run is the fit alone: reading, importing and, for other libraries,
mapping are done before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any, TextIO

import numpy as np
from scipy import sparse

from contenders import CAP, CONTENDERS, Problem
from grid import ALPHA, CASES, Case

OURS = "rekmeans"
BESIDE = ("rekmeans-rek",)  # has a different objective: shown, but not part of the race


def prepare_case(case: Case, folder: Path) -> Path:
    """Write the raw rows, mapped rows and start of a case as .npy files, with the number of passes
    of plain Lloyd.
    """
    from rekmeans import EulerKMeans, EulerMap

    X = case.table()
    S = X[np.random.default_rng(0).choice(len(X), case.k, replace=False)]
    mapping = EulerMap(alpha=ALPHA, scale="range", beyond="wrap").fit(X)
    for name, array in {
        "X": X,
        "S": S,
        "F": mapping.transform(X),
        "C": mapping.transform(S),
    }.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array, dtype=np.float32))
    if case.is_sparse:
        sparse.save_npz(folder / "X.npz", sparse.csr_array(X))
    model = EulerKMeans(
        case.k, alpha=ALPHA, scale="range", beyond="wrap", init=S, max_iter=CAP
    ).fit(X)
    (folder / "passes").write_text(str(model.n_iter_))
    return folder


def one(contender: str, folder: Path) -> None:
    """Run one timed fit and print its record."""
    problem = Problem(
        *(np.load(folder / f"{name}.npy") for name in "XSFC"), int((folder / "passes").read_text())
    )
    if (folder / "X.npz").exists():
        problem = problem._replace(X=sparse.load_npz(folder / "X.npz"))
    run = CONTENDERS[contender].run
    small = Problem(*(array[: 4 * len(problem.C)] for array in problem[:4]), 2)
    run(small)  # warm up imports, thread pools and code paths
    before = fresh_peak()
    started = perf_counter()
    outcome = run(problem)
    seconds = perf_counter() - started
    record = {
        "seconds": seconds,
        "passes": int(outcome.passes),
        "grown_mb": (memory("VmHWM") - before) / 1024,
    }
    print(json.dumps(record | {"objective": objective(problem.F, outcome.labels, len(problem.C))}))


def memory(name: str) -> float:
    """Return a memory statistic of this process in KiB: VmRSS (current) or VmHWM (peak), or NaN if
    the system does not report it.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except FileNotFoundError:
        return math.nan
    return float(next(line for line in lines if line.startswith(name)).split()[1])


def fresh_peak() -> float:
    """Reset the peak memory and return the memory in use."""
    peak = Path("/proc/self/clear_refs")
    if peak.exists():
        peak.write_text("5")
    return memory("VmRSS")


def objective(F: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Return half the sum of squared distances to the cluster means, in float64, computed only from
    the labels.
    """
    total = 0.0
    for c in range(k):
        own = F[labels == c].astype(np.float64)
        total += ((own - own.mean(axis=0)) ** 2).sum() / 2 if len(own) else 0.0
    return total


def run(out: Path, only: str | None, repeats: int, skip: set[str]) -> None:
    names = [
        name for name, contender in CONTENDERS.items() if contender.available() and name not in skip
    ]
    with out.open("a") as lines:
        for case in CASES:
            if (only and case.name != only) or not case.available():
                continue
            with tempfile.TemporaryDirectory() as folder:
                prepare_case(case, Path(folder))
                for repeat in range(repeats):
                    for name in names if repeat % 2 == 0 else names[::-1]:
                        record = run_one(name, folder) | {
                            "case": case.name,
                            "contender": name,
                            "version": CONTENDERS[name].version(),
                        }
                        write_record(lines, record)


def run_one(contender: str, folder: str, *options: str) -> dict[str, Any]:
    """Return the record of one run in a separate process, or its error."""
    done = subprocess.run(
        [sys.executable, __file__, "one", contender, folder, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"error": done.stderr[-300:]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def write_record(lines: TextIO, record: dict[str, Any]) -> None:
    """Append a record with the description of this machine."""
    lines.write(json.dumps(record | machine()) + "\n")
    lines.flush()
    print(record, file=sys.stderr)


def import_build(build: Path) -> None:
    """Import rekmeans from this folder, even if it is installed as an editable package."""
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if "editable" not in type(finder).__module__
    ]
    sys.path.insert(0, str(build))
    import rekmeans

    if not Path(rekmeans.__file__).is_relative_to(build.resolve()):
        raise ImportError(f"rekmeans was imported from {rekmeans.__file__}, not from {build}.")


def compare(builds: Sequence[Path], out: Path, only: str | None, repeats: int) -> None:
    """Time each case with two alternating builds of rekmeans and print the medians."""
    with out.open("a") as lines:
        for case in CASES:
            if (only and case.name != only) or not case.available():
                continue
            with tempfile.TemporaryDirectory() as folder:
                import_build(builds[0])
                prepare_case(case, Path(folder))
                for repeat in range(repeats):
                    for build in builds if repeat % 2 == 0 else builds[::-1]:
                        record = run_one(OURS, folder, "--build", str(build.resolve()))
                        names = {"case": case.name, "contender": str(build)}
                        write_record(lines, record | names)
    print("| case | before, s | after, s | after / before |\n|---|---|---|---|")
    before, after = map(str, builds)
    for case_name, runs in medians(out).items():
        if runs[before]["objective"] != runs[after]["objective"]:
            print(f"{case_name}: the builds give different results")
        seconds = [runs[name]["seconds"] for name in (before, after)]
        ratio = seconds[1] / seconds[0]
        print(f"| {case_name} | {seconds[0]:.3f} | {seconds[1]:.3f} | {ratio:.3f} |")


def medians(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Return the medians by case and contender."""
    records = [r for r in map(json.loads, path.read_text().splitlines()) if "seconds" in r]
    key = lambda r: (r["case"], r["contender"])  # noqa: E731
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (case, contender), group in groupby(sorted(records, key=key), key=key):
        runs = list(group)
        found.setdefault(case, {})[contender] = {
            name: median(r[name] for r in runs)
            for name in ("seconds", "passes", "grown_mb", "objective")
        }
    return found


def ratios(found: dict[str, dict[str, dict[str, float]]]) -> dict[str, tuple[str, float]]:
    """Return the fastest other library for each case, with its time relative to rekmeans."""
    best = {}
    for case, runs in found.items():
        peers = {
            name: r["seconds"] for name, r in runs.items() if name != OURS and name not in BESIDE
        }
        if peers and OURS in runs:
            name = min(peers, key=peers.__getitem__)
            best[case] = (name, peers[name] / runs[OURS]["seconds"])
    return best


def table(path: Path) -> None:
    found = medians(path)
    print(
        "| case | contender | seconds | passes | ms per pass | objective | additional memory, MB | "
        "relative time |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for case, runs in found.items():
        for name, r in sorted(runs.items(), key=lambda item: item[1]["seconds"]):
            print(
                f"| {case} | {name} | {r['seconds']:.3f} | {r['passes']:.0f} | "
                f"{1e3 * r['seconds'] / r['passes']:.2f} "
                f"| {r['objective']:.2f} | {r['grown_mb']:.0f} | "
                f"{r['seconds'] / runs[OURS]['seconds']:.2f} |"
            )
    best = ratios(found)
    print()
    for case, (name, ratio) in best.items():
        print(f"- {case}: fastest other library {name}, {ratio:.2f} times the time of rekmeans")
    print(
        f"- geometric mean over {len(best)} cases: "
        f"{geometric_mean(r for _, r in best.values()):.2f}"
    )


def plot(path: Path, picture: Path) -> None:
    import matplotlib.pyplot as plt

    best = ratios(medians(path))
    figure, axis = plt.subplots(figsize=(8, 0.5 * len(best) + 1.5), layout="constrained")
    bars = axis.barh(list(best), [ratio for _, ratio in best.values()], color="C0")
    axis.bar_label(bars, [f"{ratio:.1f} x ({name})" for name, ratio in best.values()], padding=4)
    axis.axvline(1, color="0.3", lw=1)
    axis.set(
        xlabel="time of the fastest other library / time of rekmeans, to convergence",
        xlim=(0, None),
    )
    axis.margins(x=0.25)
    figure.savefig(picture, dpi=130)


def machine() -> dict[str, Any]:
    """Return a description of this machine."""
    return {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()}


def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [
        line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")
    ]
    return names[0] if names else platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--out", type=Path, required=True)
    runner.add_argument("--only")
    runner.add_argument("--repeats", type=int, default=5)
    runner.add_argument("--skip", nargs="*", default=[])
    single = commands.add_parser("one")
    single.add_argument("contender")
    single.add_argument("folder", type=Path)
    single.add_argument("--build", type=Path)
    builds = commands.add_parser("compare")
    builds.add_argument("builds", type=Path, nargs=2, metavar="SRC")
    builds.add_argument("--out", type=Path, required=True)
    builds.add_argument("--only")
    builds.add_argument("--repeats", type=int, default=7)
    commands.add_parser("table").add_argument("path", type=Path)
    plotter = commands.add_parser("plot")
    plotter.add_argument("path", type=Path)
    plotter.add_argument("picture", type=Path)
    args = parser.parse_args()
    if args.command == "run":
        run(args.out, args.only, args.repeats, set(args.skip))
    elif args.command == "compare":
        compare(args.builds, args.out, args.only, args.repeats)
    elif args.command == "one":
        if args.build:
            import_build(args.build)
        one(args.contender, args.folder)
    elif args.command == "table":
        table(args.path)
    else:
        plot(args.path, args.picture)


if __name__ == "__main__":
    main()
