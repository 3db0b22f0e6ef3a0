"""Attacks with small files whose headers declare large tables.

Reading such a file must succeed or raise one error, and must not allocate the declared size.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from .attack import Attack, register
from .command import MEGABYTE, Limits, command_server

SMALL = 8 * MEGABYTE  # largest size of a generated file in bytes
# bytes beyond those of the imports: enough for the rows of a compressed file, but not for a table
# of the declared size
MAX_ADDRESSES = 1024 * MEGABYTE


@dataclass(frozen=True)
class LargeTable:
    """A file whose header declares a table of the size `promise`."""

    name: str
    promise: str
    data: bytes = field(repr=False)


def _npy(shape: tuple[int, ...], dtype: str, n_bytes: int) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + bytes(n_bytes)


def _sizes(rng: np.random.Generator) -> tuple[int, int]:
    """Draw the numbers of rows and columns, each from 0 to 10^18."""
    n, d = (
        int(10 ** rng.uniform(-1, 18)) if rng.random() < 0.7 else int(rng.integers(4))
        for _ in range(2)
    )
    return n, d


def _draw_npy(rng: np.random.Generator) -> LargeTable:
    (n, d) = _sizes(rng)
    dtype = str(rng.choice(["<f8", "|u1", "|b1", "<f4", "<f2", "<i8", "|O"]))
    n_bytes = min(n * d * np.dtype(dtype).itemsize, int(10 ** rng.uniform(0, 6.5)))
    return LargeTable("t.npy", f"{n} x {d} of {dtype}", _npy((n, d), dtype, n_bytes))


def _draw_npz(rng: np.random.Generator) -> LargeTable:
    file = io.BytesIO()
    inner = _draw_npy(rng)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", inner.data)
        if rng.random() < 0.5:
            archive.writestr(
                "y.npy", _npy((_sizes(rng)[0],), str(rng.choice(["<i8", "<U9", "<U99999999"])), 80)
            )
    return LargeTable("t.npz", inner.promise, file.getvalue())


def _draw_libsvm(rng: np.random.Generator) -> LargeTable:
    columns = sorted({int(10 ** rng.uniform(0, 12)) for _ in range(6)})
    lines = [f"{i % 2} " + " ".join(f"{j}:{i + 1}" for j in columns) for i in range(4)]
    return LargeTable("t.libsvm", f"columns {columns}", "\n".join(lines).encode())


def _draw_csv(rng: np.random.Generator) -> LargeTable:
    d = int(10 ** rng.uniform(2, 5.7))
    cell = str(rng.choice(["1", "a", "", '"', "1e9", "-"]))
    head = ",".join(f"c{j}" for j in range(d)) if rng.random() < 0.5 else ",".join([cell] * d)
    return LargeTable(
        "t.csv", f"{d} columns of {cell}", (head + "\n" + ",".join([cell] * d) + "\n").encode()
    )


def _draw_packed_csv(rng: np.random.Generator) -> LargeTable:
    """Draw many rows, one long line, or one long cell, compressed to about a thousandth."""
    piece = _PIECES[int(rng.integers(len(_PIECES)))]
    count = int(rng.integers(10, 400)) * MEGABYTE // len(piece)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(b"a,b\n1,2\n")
        block = piece * (MEGABYTE // len(piece))
        for _ in range(count * len(piece) // MEGABYTE):
            stream.write(block)
    return LargeTable("t.csv.zst", f"{count} of {piece!r}", sink.getvalue().to_pybytes())


_PIECES = (b"1,2\n", b"1", b",", b"\n", b'"', b"1,x\n", b"\0")


def _draw_parquet(rng: np.random.Generator) -> LargeTable:
    """Draw a table with many rows and constant columns, which takes a few bytes."""
    n = int(10 ** rng.uniform(4, 7))
    file = io.BytesIO()
    names = [f"c{j}" for j in range(int(10 ** rng.uniform(0, 3)) if n < 10**5 else 3)]
    parquet.write_table(pa.table(dict.fromkeys(names, pa.array(np.zeros(n, np.int8)))), file)
    return LargeTable("t.parquet", f"{n} x {len(names)}", file.getvalue())


def _check(case: LargeTable) -> None:
    assert len(case.data) <= SMALL, f"the file has {len(case.data) >> 20} MB"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / case.name).write_bytes(case.data)
        # more clusters than rows, so even a valid table raises an error
        words = ["fit", case.name, "-k", 10**9, "-q"]
        answer = command_server().run(words, folder, Limits(memory=MAX_ADDRESSES))
        answer.reject_unclean()
        assert answer.status == 2, case.promise
        assert case.name in answer.err or "n_clusters" in answer.err or "X " in answer.err, (
            answer.err
        )


DRAWS: tuple[Callable[[np.random.Generator], LargeTable], ...] = (
    *(_draw_npy, _draw_npz, _draw_libsvm, _draw_csv, _draw_packed_csv, _draw_parquet),
)
for _draw in DRAWS:
    register(Attack(f"sizes.{_draw.__name__.removeprefix('_draw_')}", _draw, _check, n_cases=100))
