"""Data sets by name, from the folder that REKMEANS_DATA names: NAME.npz with arrays X and y."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from .._grid import Array

LOW = ("wine", "seeds", "yeast", "isolet", "pendigits", "satimage")
HIGH = {
    "sports8_spm": "Event",
    "scene13_spm": "Scene13",
    "caltech101_spm": "Caltech101",
    "tinyimagenet12_spm": "SImagenet",
}
MOONS = "halfmoon"
NAMES = (MOONS, *LOW, *HIGH.values(), "Caltech256")


@dataclass(frozen=True)
class Dataset:
    """Rows X (n, d), classes y (n,), and where they come from."""

    name: str
    X: Array
    y: Array
    source: str
    licence: str
    note: str


class Missing(LookupError):  # noqa: N818
    """A data set that is nowhere to be had."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name, self.why = name, why


def load(name: str) -> Dataset:
    """The data set of this name."""
    if name == MOONS:
        return half_moons()
    folder = os.environ.get("REKMEANS_DATA")
    if not folder:
        raise Missing(name, "REKMEANS_DATA names no folder to look in")
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        raise Missing(name, f"REKMEANS_DATA has no {name}.npz")
    with np.load(path) as arrays:
        return Dataset(name, arrays["X"].astype(np.float32), arrays["y"], "REKMEANS_DATA", "", "")


def half_moons(random_state: Any = 0) -> Dataset:
    """Two half-moons in the plane, drawn anew: the paper states neither their number of rows nor their noise."""
    X, y = make_moons(300, noise=0.08, random_state=random_state)
    return Dataset(MOONS, X.astype(np.float32), y, "sklearn.datasets.make_moons", "none needed", "Drawn here.")
