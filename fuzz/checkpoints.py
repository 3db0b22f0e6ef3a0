"""Attacks with hostile checkpoints whose digests are valid: the fit resumes with sane numbers or
raises one error.

A checkpoint may crash the process, so each case runs in a child process.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import rekmeans
from rekmeans import checkpoint, watch_passes
from rekmeans.checkpoint import FORMAT
from rekmeans.tensor_file import read_tensor_file, write_tensor_file

from .attack import Attack, register
from .mutation import mutate, sealed
from .sparse_tables import in_child
from .table_cases import Array, Generator

X = np.random.default_rng(0).normal(size=(60, 3)) + 3 * np.random.default_rng(1).integers(
    0, 3, (60, 1)
)
LONGEST_MESSAGE = 400  # letters
OPTIONS = {"random_state": 0, "n_init": 2, "init": "random", "n_threads": 1}
MODELS: dict[str, Callable[..., Any]] = {
    "rek": partial(rekmeans.RectifiedEulerKMeans, 3, **OPTIONS),
    "rek reference": partial(rekmeans.RectifiedEulerKMeans, 3, engine="reference", **OPTIONS),
    "eulerk": partial(rekmeans.EulerKMeans, 3, **OPTIONS),
    "linear": partial(rekmeans.KernelKMeans, 3, kernel="linear", **OPTIONS),
    "laplace": partial(rekmeans.KernelKMeans, 3, kernel="laplace", **OPTIONS),
    "gas": partial(rekmeans.NeuralGas, 3, stages=3, **OPTIONS),
    "rbf mean": partial(rekmeans.KernelKMeans, 3, kernel="rbf", centroids="mean", **OPTIONS),
    "fuzzy": partial(rekmeans.FuzzyCMeans, 3, **OPTIONS),
    "map": partial(rekmeans.SelfOrganizingMap, (1, 3), stages=3, **OPTIONS),
    "several": partial(rekmeans.MultipleKernelKMeans, 3, **OPTIONS),
    "shapes": partial(rekmeans.MahalanobisFuzzyCMeans, 3, **OPTIONS),
}
ODD_VALUES = (
    None,
    True,
    -1,
    0,
    1,
    10**6,
    2**31,
    2**63,
    1.5,
    "",
    "x",
    "nan",
    "-0x1p+3",
    "1e400",
    [],
    {},
    [[]],
)
ODD_NUMBERS = (
    0,
    -1,
    1,
    2**23,
    2**23 + 2,
    2**24,
    2**30,
    2**31 - 1,
    -(2**31),
    np.nan,
    np.inf,
    -np.inf,
    1e300,
)
ODD_TYPES = ("int8", "int16", "int64", "float32", "float64", "uint8", "uint32", "uint64", "bool")


class InterruptedFitError(Exception):
    """The fit ends here."""


@dataclass(frozen=True)
class HostileCheckpoint:
    """The checkpoint of an interrupted fit, and the changes made to it."""

    model: str
    changes: tuple[str, ...]
    content: bytes = field(repr=False)


@cache
def _content(model: str) -> bytes:
    """Return the checkpoint of a fit interrupted in its second start."""

    def interrupt(event: Any) -> None:
        if event.start == 1:
            raise InterruptedFitError

    interval = checkpoint.INTERVAL
    checkpoint.INTERVAL = 0.0
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            watch_passes(interrupt),
            warnings.catch_warnings(action="ignore"),
        ):
            try:
                MODELS[model](checkpoint=Path(folder) / "c").fit(X)
            except InterruptedFitError:
                return (Path(folder) / "c").read_bytes()
    finally:
        checkpoint.INTERVAL = interval
    raise AssertionError("the fit ended before it was interrupted")


def _parts(content: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "c").write_bytes(content)
        file = read_tensor_file(Path(folder) / "c")
    return json.loads(file.metadata[FORMAT]), file.arrays


def _joined(header: Any, arrays: dict[str, Array]) -> bytes:
    """Return the file, with a valid digest."""
    with tempfile.TemporaryDirectory() as folder:
        write_tensor_file(Path(folder) / "c", {FORMAT: json.dumps(header)}, arrays)
        return (Path(folder) / "c").read_bytes()


# changes of the header (plain JSON) and of the arrays beside it


def _pick(rng: Generator, values: Any) -> Any:
    values = list(values)
    return values[int(rng.integers(len(values)))]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in plain JSON."""
    keys = (
        value.keys()
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    found = []
    for key in keys:
        found += [(value, key), *_places(value[key])]
    return found


def _odd_value(header: dict[str, Any], arrays: dict[str, Array], rng: Generator) -> None:
    container, key = _pick(rng, _places(header["progress"]))
    container[key] = _pick(rng, ODD_VALUES)


def _swap_values(header: dict[str, Any], arrays: dict[str, Array], rng: Generator) -> None:
    (one, a), (two, b) = (_pick(rng, _places(header["progress"])) for _ in range(2))
    one[a], two[b] = json.loads(json.dumps([two[b], one[a]]))


def _drop_value(header: dict[str, Any], arrays: dict[str, Array], rng: Generator) -> None:
    container, key = _pick(rng, _places(header["progress"]))
    del container[key]


def _odd_entropy(header: dict[str, Any], arrays: dict[str, Array], rng: Generator) -> None:
    header["entropy"] = _pick(
        rng, [[], [-1], ["x"], [1.5], None, [2**200], {"a": 1}, [[1]], [True]]
    )


def _odd_numbers(header: dict[str, Any], arrays: dict[str, Array], rng: Generator) -> None:
    values = arrays[_pick(rng, arrays)]
    number = _pick(rng, ODD_NUMBERS)
    if values.size and (
        values.dtype.kind == "f" or (values.dtype.kind in "iu" and np.isfinite(number))
    ):
        info = np.iinfo(values.dtype) if values.dtype.kind in "iu" else None
        at = rng.integers(values.size, size=rng.integers(1, 4))
        values.flat[at] = number if info is None else min(max(int(number), info.min), info.max)


def _odd_type(header: dict[str, Any], arrays: dict[str, Array], rng: Generator) -> None:
    name = _pick(rng, arrays)
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(_pick(rng, ODD_TYPES))


def _odd_shape(header: dict[str, Any], arrays: dict[str, Array], rng: Generator) -> None:
    name = _pick(rng, arrays)
    values = arrays[name]
    arrays[name] = _pick(
        rng,
        [
            values.T,
            values[:0],
            values[:1],
            values.ravel(),
            values[..., :1],
            np.repeat(values, 3, axis=0),
            values[None],
        ],
    )


def _no_array(header: dict[str, Any], arrays: dict[str, Array], rng: Generator) -> None:
    del arrays[_pick(rng, arrays)]


CHANGES = {
    change.__name__.strip("_"): change
    for change in (
        _odd_value,
        _swap_values,
        _drop_value,
        _odd_entropy,
        _odd_numbers,
        _odd_numbers,
        _odd_type,
        _odd_shape,
        _no_array,
    )
}


def _draw_crafted(rng: Generator) -> HostileCheckpoint:
    model = str(rng.choice(list(MODELS)))
    header, arrays = _parts(_content(model))
    names = tuple(_pick(rng, CHANGES) for _ in range(rng.integers(1, 3)))
    for name in names:
        if arrays and _places(header["progress"]):
            CHANGES[name](header, arrays, rng)
    return HostileCheckpoint(model, names, _joined(header, arrays))


def _draw_damaged(rng: Generator) -> HostileCheckpoint:
    model = str(rng.choice(list(MODELS)))
    content = mutate(_content(model), rng)
    return HostileCheckpoint(model, ("mutated",), sealed(content, rng, 0.9))


def _check(case: HostileCheckpoint) -> None:
    error, answer = in_child(partial(_resume, case))
    if error:
        assert error.startswith("ValueError: checkpoint="), error
        assert error.endswith("."), f"no sentence: {error}"
        assert len(error) <= LONGEST_MESSAGE, f"{len(error)} letters: {error[:200]}"
        return
    labels, inertia, centroids = answer
    assert labels.shape == (len(X),)
    assert 0 <= labels.min() <= labels.max() < 3
    assert inertia >= 0
    assert np.isfinite(centroids).all()


def _resume(case: HostileCheckpoint) -> tuple[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        path.write_bytes(case.content)
        try:
            with warnings.catch_warnings(action="ignore"):
                model = MODELS[case.model](checkpoint=path).fit(X)
        except Exception as error:
            return f"{type(error).__name__}: {error}".replace(folder, ""), None
        return "", (model.labels_, model.inertia_, model.centroids_)


register(Attack("checkpoints.crafted", _draw_crafted, _check, n_cases=1000))
register(Attack("checkpoints.damaged", _draw_damaged, _check, n_cases=1000))
