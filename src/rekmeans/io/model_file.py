"""Model files: a fitted estimator in a safetensors file that gives the same bits back."""

from __future__ import annotations

import json
import math
import os
import warnings
from typing import Any

import numpy as np

from .. import _parameters
from .._text import shorten_name
from ..atomic import atomic_write
from ..estimators import EulerMap
from ..machine_memory import machine_memory, size_text
from ..model import ANSWER_VERSION
from .file_names import check_regular_file
from .model_state import (
    CLUSTER_ARRAYS,
    ESTIMATORS,
    MAP_ARRAYS,
    OPTIONAL_ARRAYS,
    SCALE_OPTIONS,
    Header,
    default_parameters,
    model_of_state,
    model_state,
)
from .tensor_header import (
    MOST_HEADER,
    DamagedHeaderError,
    RepeatedNameError,
    TensorHeader,
    parse_distinct,
    read_tensor_header,
)

FORMAT = "rekmeans"
VERSION = 2
# letters of a path and of what is wrong in a message: together a short sentence
LONGEST_PLACE = 80
LONGEST_FAULT = 150
LONGEST_TEXT = 200  # letters of a parameter or engine; names of columns may be longer
MOST_VERSIONS = 10**6  # of the answer: a larger number is damage
BYTES = {"F64": 8, "I64": 8, "I32": 4}  # of a number of an array
FIRST_ANSWER_VERSION = 1  # of files that do not name theirs
FIRST_NAMES = {  # of the arrays in files of version 1
    "centre": "shift",
    "history.objective": "history.inertia",
    "history.moved": "history.n_changed",
    "history.refilled": "history.n_relocated",
}
HEADER = {
    "format",
    "version",
    "answer_version",
    "estimator",
    "parameters",
    "alpha",
    "beyond",
    "feature_names",
}


def save(model: Any, path: str | os.PathLike[str], *, labels: bool = True) -> None:
    """Write a fitted estimator to a safetensors file, complete or not at all.

    The file holds numbers and text only. Parameters that are neither (a callable `init`, a
    RandomState) are stored as their defaults, with a warning; the fitted state does not depend on
    them.

    Parameters
    ----------
    model : EulerKMeans, RectifiedEulerKMeans or EulerMap
        Fitted.
    path : str or path
        The file; an earlier one is replaced.
    labels : bool
        Whether `labels_`, 4 bytes for each row of the fit, goes into the file.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from rekmeans import RectifiedEulerKMeans, load, save
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = RectifiedEulerKMeans(n_clusters=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.safetensors"))
    ...     same = load(os.path.join(folder, "model.safetensors"))
    >>> np.array_equal(same.transform(X), model.transform(X))
    True
    """
    safetensors = _import_safetensors()
    state, arrays = model_state(model, labels)
    answer_version = getattr(model, "answer_version_", ANSWER_VERSION)
    header = {"format": FORMAT, "version": VERSION, "answer_version": answer_version} | state
    text = json.dumps(header, allow_nan=False)
    # the other half is for the names and shapes of arrays
    if len(json.dumps(text)) > MOST_HEADER // 2:
        raise ValueError(
            f"the names of columns take more than {MOST_HEADER >> 21} MB: use shorter ones."
        )
    with atomic_write(path) as part:  # one key: the order of several is not kept
        part.write_bytes(safetensors.numpy.save(arrays, {FORMAT: text}))


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted estimator that :func:`save` wrote.

    It predicts, transforms and scores with the same bits. Nothing in the file is run. A file that
    is damaged, foreign or of a newer format is a ValueError that says so. A path to anything but a
    regular file also raises a ValueError, except for a folder (IsADirectoryError) and a missing
    file (FileNotFoundError). A model can be loaded where its engine is not installed. A model of
    another answer version loads, with a warning that a new fit may give other bits; it keeps that
    number as `answer_version_`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    EulerKMeans, RectifiedEulerKMeans or EulerMap
        The estimator.

    Examples
    --------
    >>> import os, tempfile
    >>> from rekmeans import EulerMap, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(EulerMap(alpha=0.5, scale="range").fit([[0.0], [4.0]]), os.path.join(folder,
    ...     "map.safetensors"))
    ...     load(os.path.join(folder, "map.safetensors")).transform([[4.0]])
    array([[0., 1.]])
    """
    safetensors = _import_safetensors()
    place = shorten_name(os.fspath(path), LONGEST_PLACE)
    check_regular_file(path)
    try:
        file_header = read_tensor_header(path)
        header = parse_header(file_header.metadata.get(FORMAT))
        _refuse_other_arrays(header, file_header)
        arrays = _read_arrays(path, file_header)
        model = model_of_state(
            header, arrays if header["version"] == VERSION else _upgrade_arrays(arrays)
        )
    except (safetensors.SafetensorError, DamagedHeaderError) as error:
        raise ValueError(
            f"{place} is not a safetensors file, or damaged ({_short(error)}): save the model "
            f"again."
        ) from None
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{place} holds no model that can be loaded: {_short(error)}.") from None
    if header["answer_version"] != ANSWER_VERSION:
        model.answer_version_ = header["answer_version"]
        _warn_of_answer_version(model.answer_version_)
    return model


def _read_arrays(path: str | os.PathLike[str], file_header: TensorHeader) -> dict[str, Any]:
    """The arrays of a file; safetensors compares their places with the length of the file."""
    try:
        with _import_safetensors().safe_open(os.fspath(path), framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file_header.kinds}
    except (OSError, MemoryError) as error:
        raise ValueError(f"its arrays cannot be read: {error}") from None


def _short(error: Exception) -> str:
    """What was wrong, on a short line."""
    return shorten_name(" ".join(str(error).split()).removesuffix("."), LONGEST_FAULT)


def _warn_of_answer_version(version: int) -> None:
    warnings.warn(
        f"the model was fitted by answer version {version}, this rekmeans has {ANSWER_VERSION}: "
        "a new fit of the same table may give other bits",
        stacklevel=3,
    )


def parse_header(text: str | None) -> Header:
    """The header of a file, of this format, with the entries it must have."""
    try:
        header = parse_distinct(text or "null")
    except RepeatedNameError:
        raise
    except (ValueError, RecursionError):
        raise ValueError("its header is not JSON; save the model again") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("it was not written by rekmeans.save")
    if type(header.get("version")) is not int or not 1 <= header["version"] <= VERSION:
        version = f"{header.get('version')!r:.20}"
        raise ValueError(
            f"its format has version {version}, this rekmeans reads 1 to {VERSION}; update rekmeans"
        )
    _parameters.check_one_of("estimator", header.get("estimator"), ESTIMATORS)
    kind = ESTIMATORS[header["estimator"]]
    if header["version"] == 1:
        header = (
            {"answer_version": FIRST_ANSWER_VERSION}
            | ({} if kind is EulerMap else {"engine": ""})
            | header
        )
    of_clusterers = set() if kind is EulerMap else {"n_iter", "inertia", "engine"}
    _refuse_other_names("the header", set(header), HEADER | of_clusterers)
    if _parameters.check_int("answer_version", header["answer_version"]) > MOST_VERSIONS:
        raise ValueError(f"answer_version must be at most {MOST_VERSIONS}")
    if not isinstance(engine := header.get("engine", ""), str) or len(engine) > LONGEST_TEXT:
        raise ValueError(f"engine must be text of at most {LONGEST_TEXT} letters")
    values = header["parameters"]
    names = header["feature_names"]
    known = set(default_parameters(kind))
    if not isinstance(values, dict) or not isinstance(names, list | None):
        raise ValueError("parameters must be a table and feature_names a list or null")
    # a missing one is newer than the file
    _refuse_other_names("parameters", set(values) | known, known)
    if any(
        isinstance(value, list | dict)
        or len(value if isinstance(value, str) else "") > LONGEST_TEXT
        for value in values.values()
    ):
        raise ValueError(f"parameters must be numbers and text of at most {LONGEST_TEXT} letters")
    return header


def _refuse_other_arrays(header: Header, file_header: TensorHeader) -> None:
    kinds = file_header.kinds
    is_map = header["estimator"] == "EulerMap"
    required, optional = (
        (MAP_ARRAYS, SCALE_OPTIONS) if is_map else (CLUSTER_ARRAYS, OPTIONAL_ARRAYS)
    )
    if header["version"] == 1:
        earlier = {new: old for old, new in FIRST_NAMES.items()}
        required = {
            earlier.get(name, name): kind for name, kind in required.items() if name != "period"
        }
    _refuse_other_names("the arrays", set(kinds) - set(optional), set(required))
    known = required | optional
    for name, kind in kinds.items():
        if kind != known[name]:
            raise ValueError(f"{name} must be of type {known[name]}, got {kind:.20}")
    n_bytes = sum(
        math.prod(shape) * BYTES[kinds[name]] for name, shape in file_header.shapes.items()
    )
    if n_bytes > machine_memory():
        raise ValueError(
            f"its arrays take {size_text(n_bytes)}, this machine has {size_text(machine_memory())}"
        )


def _upgrade_arrays(arrays: dict[str, Any]) -> dict[str, Any]:
    """The arrays of a file of version 1, whose scale had one interval a column and no period, as
    those of today.
    """
    renamed = {FIRST_NAMES.get(name, name): values for name, values in arrays.items()}
    intervals = {name: renamed[name].reshape(-1, 1) for name in ("low", "high", "shift")}
    return renamed | intervals | {"period": np.zeros(renamed["unit"].size)}


def _refuse_other_names(what: str, names: set[str], known: set[str]) -> None:
    if names != known:
        more, less = (", ".join(sorted(some)) or "none" for some in (names - known, known - names))
        raise ValueError(
            f"{what} must be those of its version; unknown: {more:.80}; missing: {less:.80}"
        )


def _import_safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError(
            "saving and loading models needs safetensors: pip install 'rekmeans[export]'."
        ) from None
    return safetensors
