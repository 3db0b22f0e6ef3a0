"""The cases of the race: name, table and number of clusters."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ALPHA = 1.0  # half-turns over the range of a column


@dataclass(frozen=True)
class Case:
    """A table and a number of clusters.

    `shared` names the file that it needs in REKMEANS_DATA. If `is_sparse`, rekmeans gets the table
    as CSR. Other libraries get the same mapped rows as without it, which are dense for any map.
    """

    name: str
    k: int
    table: Callable[[], np.ndarray]
    shared: str = ""
    is_sparse: bool = False

    def available(self) -> bool:
        return not self.shared or path_of(self.shared).is_file()


def path_of(name: str) -> Path:
    return Path(os.environ.get("REKMEANS_DATA", "")) / f"{name}.npz"


def shared_set(name: str, rows: int | None = None) -> Callable[[], np.ndarray]:
    """Return a function that loads the float32 table of a dataset."""

    def table() -> np.ndarray:
        with np.load(path_of(name)) as data:
            return data["X"][:rows].astype(np.float32)

    return table


def pyramid(name: str) -> Callable[[], np.ndarray]:
    """Return a function that loads spatial-pyramid counts, divided by the number of patches."""

    def table() -> np.ndarray:
        X = shared_set(name)()
        return X / X[:, :512].sum(axis=1, keepdims=True)

    return table


def overlapping(n: int, d: int, k: int) -> Callable[[], np.ndarray]:
    """Return a function that draws k normal clusters whose centres are about as far apart as the
    clusters are wide.
    """

    def table() -> np.ndarray:
        random = np.random.default_rng(0)
        centres = random.standard_normal((k, d)).astype(np.float32)
        return centres[random.integers(k, size=n)] + random.standard_normal((n, d)).astype(
            np.float32
        )

    return table


CASES = (
    Case("covtype-7", 7, shared_set("covtype"), "covtype"),
    Case("covtype-100", 100, shared_set("covtype"), "covtype"),
    Case("mnist-10", 10, shared_set("mnist", 60_000), "mnist"),
    Case("mnist-256", 256, shared_set("mnist", 60_000), "mnist"),
    Case("letter-26", 26, shared_set("letter"), "letter"),
    Case("scene13-13", 13, pyramid("scene13_spm"), "scene13_spm"),
    Case("scene13-13-sparse", 13, pyramid("scene13_spm"), "scene13_spm", is_sparse=True),
    Case("drawn-1M-16-10", 10, overlapping(1_000_000, 16, 10)),
    Case("drawn-200k-36-100", 100, overlapping(200_000, 36, 100)),
)

GROWTH = {  # one of n, d and k grows by two orders of magnitude, the others are constant
    "n": [(n, 32, 32) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000)],
    "d": [(20_000, d, 32) for d in (8, 24, 80, 240, 800)],
    "k": [(50_000, 32, k) for k in (8, 24, 80, 240, 800)],
}
FIT_GROWTH = {  # the same for whole fits
    "n": [(n, 16, 10) for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000)],
    "d": [(20_000, d, 10) for d in (4, 16, 64, 256, 1024)],
    "k": [(100_000, 16, k) for k in (4, 16, 64, 256, 1024)],
}
