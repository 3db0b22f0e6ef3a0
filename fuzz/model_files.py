"""Attacks with hostile model files of every estimator, most of them with a valid digest.

Loading a file must succeed or raise a short error, in bounded memory, and must not run its code.
"""

from __future__ import annotations

import json
import pickle
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_tensors

import rekmeans
from rekmeans import RectifiedEulerKMeans, load, save
from rekmeans.tensor_file import seal_header

from .attack import Attack, register
from .command import command_server
from .mutation import mutate, sealed
from .sparse_tables import in_child

LONGEST_SENTENCE = 300  # characters of an error message
MAX_RESIDENT = 500 << 20  # bytes
ODD_VALUES = (
    "2",
    2.0,
    True,
    None,
    [],
    {},
    -1,
    0,
    10**4000,
    1e308,
    "x" * 10**6,
    [[]],
    "NaN",
    2**63,
    "\x1b[2J\n",
)
DTYPES = ("F16", "BF16", "F32", "F8_E4M3", "U8", "I8", "BOOL", "F65", "", "x" * 10**6, 7, None)


class Payload:
    """An object whose pickle creates a file in the current folder when it is loaded."""

    def __reduce__(self) -> Any:
        return (open, ("ran", "w"))


@dataclass
class Draft:
    """The parts of a model file, which attacks change before they are joined."""

    inner: Any  # header written by rekmeans: a dict or text
    entries: dict[str, Any]  # of arrays: dtype, shape, data_offsets
    blob: bytearray
    outer: dict[str, Any] = field(default_factory=dict)  # additional entries of the header
    repeat: tuple[str, str] = ("", "")  # text in the header and its replacement
    length: int | None = None  # length of the header as stored in the file
    grow_to: int = 0  # size of the file in bytes, including a hole at the end

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        inner = self.inner if isinstance(self.inner, str) else json.dumps(self.inner)
        metadata = {"sha256": "0" * 64, "rekmeans": inner}
        header = json.dumps({"__metadata__": metadata} | self.entries | self.outer)
        data = seal_header(header.replace(*self.repeat, 1).encode(), [self.blob])
        length = len(data) if self.length is None else self.length
        return (length % 2**64).to_bytes(8, "little") + data + bytes(self.blob)


@cache
def _rows() -> Any:
    return np.random.default_rng(0).normal(size=(40, 3))


K = 2
SEED = {"random_state": 0, "n_threads": 1}
MODELS: dict[str, Callable[[], Any]] = {
    "rek": partial(RectifiedEulerKMeans, K, **SEED),
    "eulerk": partial(rekmeans.EulerKMeans, K, **SEED),
    "euler map": rekmeans.EulerMap,
    "linear": partial(rekmeans.KernelKMeans, K, kernel="linear", **SEED),
    "rbf": partial(rekmeans.KernelKMeans, K, kernel="rbf", **SEED),
    "laplace": partial(rekmeans.KernelKMeans, K, kernel="laplace", **SEED),
    "rbf mean": partial(rekmeans.KernelKMeans, K, kernel="rbf", centroids="mean", **SEED),
    "precomputed": partial(
        rekmeans.KernelKMeans, K, kernel="precomputed", centroids="mean", **SEED
    ),
    "fuzzy": partial(rekmeans.FuzzyCMeans, K, **SEED),
    "map": partial(rekmeans.SelfOrganizingMap, (1, K), stages=2, **SEED),
    "gas": partial(rekmeans.NeuralGas, K, stages=2, **SEED),
    "several": partial(rekmeans.MultipleKernelKMeans, K, kernels=(0.5, ("rbf", 1.0)), **SEED),
    "shapes": partial(rekmeans.MahalanobisFuzzyCMeans, K, **SEED),
}
STREAMS: dict[str, Callable[[], Any]] = {
    "rek stream": partial(RectifiedEulerKMeans, K, half_life=30, **SEED),
    "eulerk stream": partial(rekmeans.EulerKMeans, K, **SEED),
    "rbf stream": partial(rekmeans.KernelKMeans, K, kernel="rbf", half_life=30, **SEED),
}


def _table(name: str) -> Any:
    """Return the rows or the kernel values that a model is fitted on."""
    X = _rows()
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2)) if name == "precomputed" else X


@cache
def _model(name: str = "rek") -> bytes:
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(action="ignore"),
    ):
        if name in STREAMS:
            model = STREAMS[name]().partial_fit(_rows()).partial_fit(_rows()[:7])
        else:
            model = MODELS[name]().fit(_table(name))
        save(model, Path(folder) / "m.safetensors")
        return (Path(folder) / "m.safetensors").read_bytes()


def _draft(name: str = "rek") -> Draft:
    data = _model(name)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    inner = json.loads(header.pop("__metadata__")["rekmeans"])
    return Draft(inner, header, bytearray(data[8 + length :]))


def _pick(rng: np.random.Generator, values: Any) -> Any:
    values = list(values)
    return values[int(rng.integers(len(values)))]


def _repeat_array(draft: Draft, rng: np.random.Generator) -> None:
    name = _pick(rng, draft.entries)
    entry = f'"{name}": {json.dumps(draft.entries[name])}'
    draft.repeat = (entry, f"{entry}, {entry}")


def _repeat_metadata(draft: Draft, rng: np.random.Generator) -> None:
    draft.repeat = (
        '"__metadata__": ',
        _pick(rng, ['"__metadata__": {}, "__metadata__": ', '"__metadata__": 3, "x": ']),
    )


def _repeat_inner(draft: Draft, rng: np.random.Generator) -> None:
    name = _pick(rng, draft.inner)
    draft.inner = (
        json.dumps(draft.inner)[:-1] + f', "{name}": {json.dumps(_pick(rng, [1, "x", None]))}}}'
    )


def _long_name(draft: Draft, rng: np.random.Generator) -> None:
    draft.entries["n" * int(rng.integers(10**3, 3 * 10**6))] = draft.entries[
        _pick(rng, draft.entries)
    ]


def _odd_value(draft: Draft, rng: np.random.Generator) -> None:
    draft.inner[_pick(rng, draft.inner)] = _pick(rng, ODD_VALUES)


def _odd_parameter(draft: Draft, rng: np.random.Generator) -> None:
    name = _pick(rng, [*draft.inner["parameters"], "p" * 10**6])
    draft.inner["parameters"][name] = _pick(rng, ODD_VALUES)


def _odd_names(draft: Draft, rng: np.random.Generator) -> None:
    names = [
        ["a", "a", "b"],
        ["x" * 10**6] * 3,
        ["a"] * 10**6,
        [1, 2, 3],
        ["\x1b", "\n", ""],
        [None] * 3,
        [[]] * 3,
    ]
    draft.inner["feature_names"] = _pick(rng, names)


def _odd_type(draft: Draft, rng: np.random.Generator) -> None:
    draft.entries[_pick(rng, draft.entries)]["dtype"] = _pick(rng, DTYPES)


def _odd_shape(draft: Draft, rng: np.random.Generator) -> None:
    entry = draft.entries[_pick(rng, draft.entries)]
    side = _pick(rng, [-1, 0, 1, 2**31, 2**63, 2**64, 10**30, 1.5, "3", None, True])
    shape = _pick(
        rng, [[], [side], [side, 1], [1] * 100, [side] * 3, "x", None, [*entry["shape"], side]]
    )
    entry["shape"] = shape


def _odd_offsets(draft: Draft, rng: np.random.Generator) -> None:
    entry = draft.entries[_pick(rng, draft.entries)]
    low, high = entry["data_offsets"]
    ends = [
        [high, low],
        [low, high + 8],
        [low - 8, high],
        [0, high],
        [-1, high],
        [low, 2**63],
        [low, 2**64],
        [low],
    ]
    entry["data_offsets"] = _pick(rng, [*ends, [low, low], "x", None, [1.5, 2]])


def _odd_length(draft: Draft, rng: np.random.Generator) -> None:
    length = len(json.dumps(draft.entries))
    draft.length = _pick(
        rng,
        [0, 1, -1, 2**63, 2**60, 100_000_000, 99_999_999, length, length + int(rng.integers(99))],
    )


def _odd_numbers(draft: Draft, rng: np.random.Generator) -> None:
    name = _pick(rng, draft.entries)
    low, high = draft.entries[name]["data_offsets"]
    kind = {"F64": "<f8", "I64": "<i8", "I32": "<i4", "U32": "<u4"}[draft.entries[name]["dtype"]]
    values = np.frombuffer(draft.blob[low:high], kind).copy()
    numbers = (
        [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308] if kind == "<f8" else [-1, 2**31 - 1, -(2**31)]
    )
    numbers = [0, 1, 2**32 - 1, 2**31] if kind == "<u4" else numbers
    if not len(values):
        return
    values[rng.integers(len(values), size=rng.integers(1, 4))] = _pick(rng, numbers)
    draft.blob[low:high] = values.tobytes()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Yield every (container, key) in plain JSON."""
    keys = value if isinstance(value, dict) else range(len(value))
    found = []
    for key in keys:
        found.append((value, key))
        found += _places(value[key]) if isinstance(value[key], dict | list) else []
    return found


def _odd_field(draft: Draft, rng: np.random.Generator) -> None:
    container, key = _pick(rng, _places(draft.inner))
    container[key] = _pick(rng, ODD_VALUES)


def _swap_fields(draft: Draft, rng: np.random.Generator) -> None:
    (one, a), (two, b) = (_pick(rng, _places(draft.inner)) for _ in range(2))
    one[a], two[b] = json.loads(json.dumps([two[b], one[a]]))


def _drop_field(draft: Draft, rng: np.random.Generator) -> None:
    container, key = _pick(rng, _places(draft.inner))
    del container[key]


def _foreign_record(draft: Draft, rng: np.random.Generator) -> None:
    """Replace the name of a record by that of another or an unregistered class."""
    places = [
        (container, key) for container, key in _places(draft.inner) if key in ("record", "records")
    ]
    container, key = _pick(rng, places)
    container[key] = _pick(
        rng, ["Popen", "os.system", "Kernel", "Gram", "Stack", "Linear", "Points", "Sums", "Stream"]
    )


def _no_array(draft: Draft, rng: np.random.Generator) -> None:
    del draft.entries[_pick(rng, draft.entries)]


def _deep(draft: Draft, rng: np.random.Generator) -> None:
    depth = int(rng.integers(10**3, 10**6))
    if rng.random() < 0.5:
        draft.inner = "[" * depth
    else:
        draft.repeat = ('"__metadata__"', '"x": ' + "[" * depth + "]" * depth + ', "__metadata__"')


def _many(draft: Draft, rng: np.random.Generator) -> None:
    """Add millions of small values to one of the two headers."""
    text = (
        "["
        + _pick(rng, ["{},", "[],", "0,", '"a",', "1.5,"]) * int(rng.integers(10**5, 6 * 10**6))
        + "0]"
    )
    if rng.random() < 0.5:
        draft.inner = json.dumps(draft.inner)[:-1] + f', "more": {text}}}'
    else:
        draft.repeat = ('"__metadata__"', f'"x": {text}, "__metadata__"')


def _pickle(draft: Draft, rng: np.random.Generator) -> None:
    payload = pickle.dumps(Payload())
    if rng.random() < 0.5:
        draft.blob[: len(payload)] = payload
    else:
        draft.inner["parameters"][_pick(rng, draft.inner["parameters"])] = payload.decode("latin-1")


def _hole(draft: Draft, rng: np.random.Generator) -> None:
    """Replace an array by one of many gigabytes, stored as a hole in the file."""
    name = _pick(
        rng, ["labels_", "centroids.f", "history_.inertia", "kernel.scale.unit", *draft.entries]
    )
    if draft.entries.get(name, {}).get("dtype") not in ("F64", "I32"):
        return
    size = {"F64": 8, "I32": 4}[draft.entries[name]["dtype"]]
    count = int(rng.integers(10**8, 10**12))
    low = len(draft.blob)
    draft.entries[name] |= {"shape": [count], "data_offsets": [low, low + count * size]}
    draft.grow_to = low + count * size


CHANGES: dict[str, Callable[[Draft, np.random.Generator], None]] = {
    change.__name__.strip("_"): change
    for change in (
        *(
            _repeat_array,
            _repeat_metadata,
            _repeat_inner,
            _long_name,
            _odd_value,
            _odd_parameter,
            _odd_names,
            _odd_type,
        ),
        *(
            _odd_shape,
            _odd_offsets,
            _odd_length,
            _odd_numbers,
            _odd_field,
            _swap_fields,
            _drop_field,
            _foreign_record,
            _no_array,
            _deep,
            _many,
            _pickle,
            _hole,
        ),
    )
}


@dataclass(frozen=True)
class HostileModel:
    """A model file and the changes made to it."""

    model: str
    changes: tuple[str, ...]
    data: bytes = field(repr=False)
    grow_to: int = 0


def _draw_crafted(rng: np.random.Generator) -> HostileModel:
    return _crafted(rng, _pick(rng, MODELS), list(CHANGES))


def _draw_forged(rng: np.random.Generator) -> HostileModel:
    """Draw a file with a valid layout and invalid values."""
    names = ["odd_field", "swap_fields", "drop_field", "foreign_record", "odd_numbers", "no_array"]
    return _crafted(rng, _pick(rng, [*MODELS, *STREAMS, *STREAMS]), names)


def _crafted(rng: np.random.Generator, model: str, changes: list[str]) -> HostileModel:
    draft = _draft(model)
    names = tuple(_pick(rng, changes) for _ in range(rng.integers(1, 3)))
    for name in names:
        if (
            isinstance(draft.inner, dict)
            and isinstance(draft.inner.get("parameters"), dict)
            and draft.entries
        ):
            CHANGES[name](draft, rng)
    data = draft.to_bytes()
    header = len(data) - len(draft.blob)
    return HostileModel(model, names, data, draft.grow_to and header + draft.grow_to)


def _draw_damaged(rng: np.random.Generator) -> HostileModel:
    model = _pick(rng, [*MODELS, *STREAMS])
    return HostileModel(model, ("mutated",), sealed(mutate(_model(model), rng), rng, 0.8))


def _check(case: HostileModel) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "m.safetensors").write_bytes(case.data)
        np.save(folder / "t.npy", _rows())
        if case.grow_to > len(case.data):
            with (folder / "m.safetensors").open("r+b") as file:
                file.truncate(case.grow_to)
        answer = command_server().run(["predict", "m.safetensors", "t.npy", "--csv", "-q"], folder)
        what = f"{case.changes}: {answer.err[-300:]}"
        answer.reject_unclean()
        assert answer.memory < MAX_RESIDENT, f"{answer.memory >> 20} MB, {what}"
        sentences = [line for line in answer.err.splitlines() if line.startswith("rekmeans: ")]
        assert all(len(line) <= LONGEST_SENTENCE for line in sentences), what
        assert answer.status == 0 or "m.safetensors" in answer.err or "t.npy" in answer.err, what
        assert not (folder / "ran").exists(), f"{case.changes}: something in the file was run"


def _check_use(case: HostileModel) -> None:
    """Check predictions and streams of the model in a child process, which they may crash."""
    error, answer = in_child(partial(_use, case))
    if error:
        assert error.startswith("ValueError: "), error
        assert error.endswith("."), f"the message does not end with a period: {error}"
        assert len(error) <= LONGEST_SENTENCE, f"{len(error)} characters: {error[:200]}"
        return
    for labels, k in answer:
        assert 0 <= labels.min() <= labels.max() < k


def _use(case: HostileModel) -> tuple[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.safetensors"
        path.write_bytes(case.data)
        answers = []
        try:
            with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
                model = load(path)
                X = _table(case.model)
                if isinstance(model, rekmeans.EulerMap):
                    model.inverse_transform(model.transform(X))
                    return "", []
                answers.append((model.predict(X), len(model.deviation_)))
                if case.model != "precomputed":
                    model.transform(X), model.score_samples(X), model.score(X)
                if hasattr(model, "stream_"):
                    for block in (X, X[:5] * 50):
                        model.partial_fit(block)
                        answers.append((model.predict(X), len(model.deviation_)))
        except Exception as error:
            return f"{type(error).__name__}: {error}".replace(folder, ""), None
        return "", answers


# the draft has the same arrays as the file
assert set(load_tensors(_model())) == set(_draft().entries)
register(Attack("models.crafted", _draw_crafted, _check, n_cases=600))
register(Attack("models.forged", _draw_forged, _check_use, n_cases=1000))
register(Attack("models.damaged", _draw_damaged, _check, n_cases=1000))
