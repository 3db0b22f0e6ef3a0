"""Wide tables of counts with mostly zeros: seconds, passes and memory of a fit, for dense and CSR
input.

    python benchmarks/wide.py sets   # image datasets in REKMEANS_DATA, with rows of sum 1
    python benchmarks/wide.py drawn  # synthetic counts, like those of a spatial pyramid

The synthetic table has 29 780 x 10 752 counts of 256 classes. Each fit runs in a separate process.
Equal checksums of labels mean equal bits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from zlib import crc32

import numpy as np
from scipy import sparse

from race import fresh_peak, memory
from rekmeans import EulerKMeans, RectifiedEulerKMeans

DATASETS = {"sports8_spm": 8, "scene13_spm": 13, "tinyimagenet12_spm": 12, "caltech101_spm": 101}
METHODS = {"EulerK": EulerKMeans, "REK": RectifiedEulerKMeans}
FORMS = ("dense", "CSR")
# sizes of Caltech 256
ROWS = 29_780
WORDS = 512
CLASSES = 256
PATCHES = (700, 1500)  # smallest and largest number of patches per image
# concentration of the words of a class: one in eight counts is nonzero, as in photographs
GRAIN = 0.02
COMMON = 0.3  # concentration of the words that all classes share
OWN = 0.7  # share of a cell's words that depends on its class
STEEP = 300.0  # alpha for rows of sum 1
SLOW = 0.09  # alpha for raw counts: rows of sum 3 300 turn as far as rows of sum 1 at 300
COLUMNS = ("table", "method", "form", "MB given", "seconds", "passes", "MB more", "labels")


def drawn_counts(seed: int = 0) -> sparse.csr_array:
    """Draw counts of words in 1 + 4 + 16 cells of images, (ROWS, 21 WORDS) of uint16."""
    random = np.random.default_rng(seed)
    common = random.dirichlet(np.full(WORDS, COMMON))
    blocks = []
    words = random.dirichlet(np.full(WORDS, GRAIN), (CLASSES, 16))
    for classes in np.array_split(random.integers(CLASSES, size=ROWS), 64):
        own = OWN * words[classes] + (1 - OWN) * common
        patches = random.multinomial(random.integers(*PATCHES, len(classes)), np.full(16, 1 / 16))
        # (row, column) of the half and the quarter
        fine = random.multinomial(patches, own).reshape(-1, 2, 2, 2, 2, WORDS)
        middle = fine.sum(axis=(2, 4))
        levels = (middle.sum(axis=(1, 2)), middle, fine.swapaxes(2, 3))
        blocks.append(np.concatenate([level.reshape(len(classes), -1) for level in levels], axis=1))
        blocks[-1] = sparse.csr_array(blocks[-1].astype(np.uint16))
    return sparse.csr_array(sparse.vstack(blocks))


def input_table(path: Path, form: str) -> np.ndarray | sparse.csr_array:
    """Load a table in the given form. Rows of an image dataset are divided by their sum."""
    if path.suffix == ".npz" and path.stem in DATASETS:
        with np.load(path) as data:
            X = data["X"].astype(np.float32)
        X /= X.sum(axis=1, dtype=np.float64).astype(np.float32)[:, None]
        return sparse.csr_array(X) if form == "CSR" else X
    counts = sparse.csr_array(sparse.load_npz(path))
    return counts if form == "CSR" else counts.toarray()


def one(path: Path, method: str, form: str, k: int, alpha: float) -> None:
    """Run one timed fit and print its record."""
    X = input_table(path, form)
    model = METHODS[method](k, alpha=alpha, scale=None, init="random", n_init=1, random_state=0)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
    before = fresh_peak()
    started = perf_counter()
    model.fit(X)
    record = {
        "seconds": perf_counter() - started,
        "passes": model.n_iter_,
        "MB more": (memory("VmHWM") - before) / 1024,
    }
    print(
        json.dumps(
            record
            | {"MB given": size / 2**20, "labels": f"{crc32(model.labels_.astype(np.int32)):08x}"}
        )
    )


def line(path: Path, method: str, form: str, k: int, alpha: float) -> str:
    """Return a line of the table, measured in a separate process."""
    command = [sys.executable, __file__, "one", str(path), method, form, str(k), str(alpha)]
    record = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    record |= {"table": path.stem, "method": method, "form": form}
    cells = (record[name] for name in COLUMNS)
    return (
        "| "
        + " | ".join(f"{cell:,.1f}" if isinstance(cell, float) else str(cell) for cell in cells)
        + " |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("sets", "drawn", "one"))
    parser.add_argument("rest", nargs="*")
    arguments = parser.parse_args()
    if arguments.what == "one":
        path, method, form, k, alpha = arguments.rest
        one(Path(path), method, form, int(k), float(alpha))
        return
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    if arguments.what == "sets":
        folder = Path(os.environ["REKMEANS_DATA"])
        tables = [(folder / f"{name}.npz", k, STEEP) for name, k in DATASETS.items()]
        lines(tables, METHODS)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.npz"
        sparse.save_npz(path, counts := drawn_counts(), compressed=False)
        lines([(path, CLASSES, SLOW)], ["REK"])
        print(
            f"{counts.shape[0]:,} x {counts.shape[1]:,}, {counts.nnz / np.prod(counts.shape):.1%} "
            f"not zero"
        )


def lines(tables: list[tuple[Path, int, float]], methods: object) -> None:
    for path, k, alpha in tables:
        for method in methods:
            for form in FORMS:
                print(line(path, method, form, k, alpha), flush=True)


if __name__ == "__main__":
    main()
