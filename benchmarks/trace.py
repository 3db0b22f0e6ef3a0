"""Count the functions and files of the package that one fit runs, by what it reads.

    python benchmarks/trace.py             # numpy, parquet, csv, dask, in one process each
    python benchmarks/trace.py csv --list  # and the functions by file

A station is a named function of the package that was called, by its file and first line; lambdas,
comprehensions, class bodies and module level code do not count. The csv and parquet
fits are `rekmeans fit TABLE -k 3` with labels, model, summary and report.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

KINDS = ("numpy", "parquet", "csv", "dask")
N, D = 3000, 5


def make_rows() -> np.ndarray:
    """Return three groups of rows, (N, D)."""
    random = np.random.default_rng(0)
    return random.normal(size=(N, D)) + 5 * random.integers(0, 3, (N, 1))


def fit_numpy(folder: Path) -> None:
    from rekmeans import RectifiedEulerKMeans

    RectifiedEulerKMeans(3, random_state=0).fit(make_rows())


def fit_dask(folder: Path) -> None:
    from dask import array, config

    from rekmeans import RectifiedEulerKMeans

    with config.set(scheduler="synchronous"):
        RectifiedEulerKMeans(3, random_state=0).fit(array.from_array(make_rows(), chunks=(1000, D)))


def fit_file(name: str) -> Callable[[Path], None]:
    """Return a function that runs the command on a file of this name."""

    def fit(folder: Path) -> None:
        import pandas as pd

        from rekmeans.cli import status

        frame = pd.DataFrame(make_rows(), columns=[f"c{j}" for j in range(D)])
        frame.to_csv(folder / name, index=False) if name == "t.csv" else frame.to_parquet(
            folder / name, index=False
        )
        if status(["fit", str(folder / name), "-k", "3", "--quiet"]):
            raise SystemExit(f"the fit of {name} failed")

    return fit


FITS = {
    "numpy": fit_numpy,
    "parquet": fit_file("t.parquet"),
    "csv": fit_file("t.csv"),
    "dask": fit_dask,
}


def trace(run: Callable[[], None]) -> dict[str, set[str]]:
    """Return the functions of the package that `run` calls, by file."""
    from rekmeans import __file__ as package

    root = str(Path(package).parent)
    codes: set[CodeType] = set()

    def record(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    threading.setprofile(record)
    sys.setprofile(record)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    found: dict[str, set[str]] = defaultdict(set)
    for code in codes:
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if code.co_filename.startswith(root) and code.co_filename.endswith(".py") and is_function:
            name = f"{code.co_qualname}:{code.co_firstlineno}"
            found[str(Path(code.co_filename).relative_to(root))].add(name)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=KINDS)
    parser.add_argument("--list", action="store_true", help="print the functions by file")
    options = parser.parse_args()
    if options.kind is None:
        for kind in KINDS:
            subprocess.run([sys.executable, __file__, kind], check=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = trace(lambda: FITS[options.kind](Path(folder)))
    stations = sum(map(len, found.values()))
    print(f"{options.kind}: {stations} stations in {len(found)} files")
    for file, names in sorted(found.items()) if options.list else ():
        print(f"  {file}: {', '.join(sorted(names))}")


if __name__ == "__main__":
    main()
