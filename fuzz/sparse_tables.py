"""Attacks with SciPy sparse tables whose arrays are inconsistent.

A fit must give the result of the dense table or raise an error. Such a table may crash the process,
so each case runs in a child process.
"""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from rekmeans import EulerKMeans, FuzzyCMeans, KernelKMeans, RectifiedEulerKMeans

from .attack import Attack, register
from .table_cases import Array, Generator

LONGEST_FIT = 20  # seconds
MODELS: dict[str, Callable[[], Any]] = {
    "rek": lambda: RectifiedEulerKMeans(2, random_state=0),
    "rek reference": lambda: RectifiedEulerKMeans(2, random_state=0, engine="reference"),
    "eulerk": lambda: EulerKMeans(2, scale="range", random_state=0),
    "linear": lambda: KernelKMeans(2, kernel="linear", random_state=0),
    "rbf mean": lambda: KernelKMeans(2, kernel="rbf", centroids="mean", random_state=0),
    "fuzzy": lambda: FuzzyCMeans(2, scale=None, random_state=0),
}


@dataclass(frozen=True)
class SparseCase:
    """A sparse table with damaged arrays, and a clusterer."""

    kind: str  # format of the table: csr, csc, coo or bsr
    damage: str
    model: str
    # True if the table has the same numbers in another order, so that a fit must succeed
    is_valid: bool
    table: Any = field(repr=False)
    numbers: Array = field(repr=False)  # the numbers before the damage


# Damages. Each one changes the arrays of a CSR, CSC or BSR table, or of a COO table, in place.


def _set_index(rng: Generator, T: Any, value: int) -> None:
    indices = T.coords[rng.integers(2)] if T.format == "coo" else T.indices
    if len(indices):
        indices[rng.integers(len(indices))] = value


def _shuffle_pointers(rng: Generator, T: Any) -> None:
    T.indptr = rng.permutation(T.indptr)


def _unsort(rng: Generator, T: Any) -> None:
    """Shuffle the stored cells of each row or column of a table that is marked as sorted."""
    for start, stop in zip(T.indptr[:-1], T.indptr[1:], strict=True):
        order = start + rng.permutation(stop - start)
        T.indices[start:stop] = T.indices[order]
        T.data[start:stop] = T.data[order]
    T.has_sorted_indices = T.has_canonical_format = True


def _split(rng: Generator, T: Any) -> None:
    """Split each stored cell into two halves, in a table that is marked as free of duplicates."""
    T.data, T.indices, T.indptr = (
        np.repeat(T.data / 2, 2, axis=0),
        np.repeat(T.indices, 2),
        T.indptr * 2,
    )
    T.has_sorted_indices = T.has_canonical_format = True


def _wide_indices(rng: Generator, T: Any) -> None:
    T.indices, T.indptr = T.indices.astype(np.int64), T.indptr.astype(np.int64)


def _set_pointer(rng: Generator, T: Any) -> None:
    T.indptr[rng.integers(len(T.indptr))] = rng.choice([-1, 10**6, 2**31 - 1, 0])


def _cut(rng: Generator, T: Any, name: str) -> None:
    setattr(T, name, getattr(T, name)[: rng.integers(len(getattr(T, name)) + 1)])


def _bad_value(rng: Generator, T: Any) -> None:
    if T.data.size:
        T.data.flat[rng.integers(T.data.size)] = rng.choice([np.inf, -np.inf, 1e200])


def _other_shape(rng: Generator, T: Any) -> None:
    n, d = T.shape
    T._shape = (n, max(1, d - 1)) if rng.random() < 0.5 else (max(1, n // 2), d)


Damage = Callable[[Generator, Any], None]
VALID: dict[str, Damage] = {
    "none": lambda rng, T: None,
    "cells out of order, marked as sorted": _unsort,
    "cells in two halves, marked as canonical": _split,
    "64-bit indices": _wide_indices,
}
BROKEN: dict[str, Damage] = {
    "index beyond": lambda rng, T: _set_index(rng, T, int(rng.choice([10**4, 10**8, 2**31 - 1]))),
    "index negative": lambda rng, T: _set_index(rng, T, -int(rng.integers(1, 10**6))),
    "pointers shuffled": _shuffle_pointers,
    "pointer set": _set_pointer,
    "indices cut": lambda rng, T: _cut(rng, T, "indices"),
    "data cut": lambda rng, T: _cut(rng, T, "data"),
    "pointers cut": lambda rng, T: _cut(rng, T, "indptr"),
    "indices that are not integers": lambda rng, T: setattr(T, "indices", T.indices + 0.5),
    "a value too large": _bad_value,
    "another shape": _other_shape,
}
COO_BROKEN = {
    name: BROKEN[name]
    for name in ("index beyond", "index negative", "data cut", "a value too large")
}


def draw_sparse(rng: Generator) -> SparseCase:
    n, d = 2 * int(rng.integers(4, 60)), 2 * int(rng.integers(1, 40))
    X = np.where(rng.random((n, d)) < rng.choice([0.05, 0.3, 1.0]), rng.normal(size=(n, d)), 0.0)
    kind = str(rng.choice(["csr", "csc", "coo", "bsr"]))
    T = (
        sparse.bsr_array(X, blocksize=(2, 2))
        if kind == "bsr"
        else sparse.coo_array(X).asformat(kind)
    )
    is_valid = bool(rng.random() < 0.3)
    damages = (
        (VALID if is_valid else BROKEN)
        if kind in ("csr", "csc")
        else COO_BROKEN
        if kind == "coo"
        else BROKEN
    )
    is_valid = is_valid and kind in ("csr", "csc")
    damage = str(rng.choice(list(damages)))
    damages[damage](rng, T)
    return SparseCase(kind, damage, str(rng.choice(list(MODELS))), is_valid, T, X)


def check_sparse(case: SparseCase) -> None:
    """Check that a fit gives the result of the dense table or raises an error, without crashing."""
    error, labels = in_child(lambda: _fit(case))
    if case.is_valid:
        assert not error, error
        dense = MODELS[case.model]().fit(case.numbers)
        assert "rek" not in case.model or np.array_equal(labels, dense.labels_), (
            "not the labels of the dense table"
        )
    if error:
        assert error.startswith(("ValueError", "TypeError")), error
        assert error.endswith("."), f"no sentence: {error}"


def _fit(case: SparseCase) -> tuple[str, Any]:
    try:
        with warnings.catch_warnings(action="ignore"):
            # a forked child has no threads to use
            model = MODELS[case.model]().set_params(n_threads=1)
            return "", model.fit(case.table).labels_
    except Exception as error:
        return f"{type(error).__name__}: {error}", None


def in_child(call: Callable[[], Any]) -> Any:
    """Return the result of a call in a child process, which may crash."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(LONGEST_FIT)
        with open(write, "wb") as pipe:
            pickle.dump(call(), pipe)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        result = pipe.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code == 0, f"the process ended by {signal.Signals(-code).name if code < 0 else code}"
    return pickle.loads(result)


register(Attack("sparse_tables", draw_sparse, check_sparse, n_cases=2000))
