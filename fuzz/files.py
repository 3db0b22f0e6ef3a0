"""Attacks with damaged table files of every format.

Reading a file must succeed or raise one error that names the file, in bounded memory. Each file is
read by `fit` or `predict`, and by `inspect`.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import dump_svmlight_file

from rekmeans import RectifiedEulerKMeans, save

from .attack import Attack, register
from .command import command_server
from .mutation import mutate

MAX_RESIDENT = 500 << 20  # bytes; the files have a few kilobytes
# share of the cases that run `fit` with classes; the others run `predict`, which is 10 times faster
FITS = 0.05


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {
        "a": rng.normal(size=40),
        "count": rng.integers(0, 9, 40),
        "kind": rng.choice(["x", "y"], 40),
    }
    return pd.DataFrame(columns | {"b": rng.normal(size=40).astype(np.float32)})


def _numbers() -> Any:
    return _frame()[["a", "count", "b"]].to_numpy(np.float64)


def _classes() -> Any:
    return np.arange(40) % 3


def _bytes(write: Callable[[Any], Any]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _packed_csv(kind: str) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, kind) as stream:
        stream.write(_frame().to_csv(index=False).encode())
    return sink.getvalue().to_pybytes()


# {attack: (file name, function that returns the undamaged bytes)}
GOOD: dict[str, tuple[str, Callable[[], bytes]]] = {
    "csv": ("t.csv", lambda: _frame().to_csv(index=False).encode()),
    "tsv": ("t.tsv", lambda: _frame().to_csv(index=False, sep="\t").encode()),
    "csv-gz": ("t.csv.gz", lambda: _packed_csv("gzip")),
    "csv-bz2": ("t.csv.bz2", lambda: _packed_csv("bz2")),
    "csv-zst": ("t.csv.zst", lambda: _packed_csv("zstd")),
    "npy": ("t.npy", lambda: _bytes(lambda file: np.save(file, _numbers()))),
    "npz": ("t.npz", lambda: _bytes(lambda file: np.savez(file, X=_numbers(), y=_classes()))),
    "npz-packed": (
        "t.npz",
        lambda: _bytes(lambda file: np.savez_compressed(file, X=_numbers(), y=_classes())),
    ),
    "parquet": ("t.parquet", lambda: _bytes(lambda file: _frame().to_parquet(file))),
    "feather": ("t.feather", lambda: _bytes(lambda file: _frame().to_feather(file))),
    "feather-plain": (
        "t.feather",
        lambda: _bytes(lambda file: _frame().to_feather(file, compression="uncompressed")),
    ),
    "libsvm": (
        "t.libsvm",
        lambda: _bytes(
            lambda file: dump_svmlight_file(_numbers(), _classes(), file, zero_based=False)
        ),
    ),
}
NAMELESS = ("t.npz", "t.libsvm")  # formats without column names, whose class column is y


@cache
def _undamaged(attack: str) -> bytes:
    return GOOD[attack][1]()


@cache
def _model() -> bytes:
    """Return a model of three unnamed columns, which predicts any table with three columns."""
    with tempfile.TemporaryDirectory() as folder:
        save(
            RectifiedEulerKMeans(2, random_state=0).fit(_numbers()), Path(folder) / "m.safetensors"
        )
        return (Path(folder) / "m.safetensors").read_bytes()


@dataclass(frozen=True)
class DamagedFile:
    """A file with its damaged bytes, and the command that reads it."""

    name: str
    data: bytes
    arguments: tuple[str, ...]


def _draw(attack: str, rng: np.random.Generator) -> DamagedFile:
    name = GOOD[attack][0]
    data = mutate(_undamaged(attack), rng)
    if rng.random() < FITS:
        label = () if name == "t.npy" else ("--label", "y" if name in NAMELESS else "kind")
        return DamagedFile(name, data, ("fit", name, "-k", "2", "-q", "--starts", "1", *label))
    return DamagedFile(name, data, ("predict", "m.safetensors", name, "--csv", "-q"))


def _check(case: DamagedFile) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / case.name).write_bytes(case.data)
        (folder / "m.safetensors").write_bytes(_model())
        answer = command_server().run(case.arguments, folder)
        answer.reject_unclean()
        assert answer.memory < MAX_RESIDENT, f"{answer.memory >> 20} MB"
        left = sorted(
            path.name for path in folder.iterdir() if path.name not in (case.name, "m.safetensors")
        )
        assert bool(left) == (answer.status == 0), f"status {answer.status} leaves {left}"
        inspected = command_server().run(("inspect", case.name), folder)
        inspected.reject_unclean(case.name)
        assert inspected.memory < MAX_RESIDENT, f"inspect: {inspected.memory >> 20} MB"
        assert bool(inspected.out) == (inspected.status == 0), f"inspect prints {inspected.out!r}"


for _attack in GOOD:
    register(Attack(f"files.{_attack}", partial(_draw, _attack), _check))
