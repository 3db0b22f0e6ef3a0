"""Save fitted estimators as safetensors files and load them without loss."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

from .. import _parameters
from .._grid import Array
from .._text import caller_stacklevel, shorten_name
from ..atomic import atomic_write
from ..estimators.fitted_state import (
    CODEC,
    ESTIMATORS,
    FittedState,
    default_parameters,
    fitted_state,
    reject_other_models,
    restore_estimator,
)
from ..io.file_names import check_regular_file
from ..machine_memory import size_text
from ..model import ANSWER_VERSION
from ..table.schema import TableSchema
from ..tensor_file import (
    MAX_HEADER,
    DamagedFileError,
    RepeatedNameError,
    TensorFile,
    parse_distinct,
    read_tensor_file,
    write_tensor_file,
)
from .earlier_versions import EARLIER_VERSIONS, upgrade

FORMAT = "rekmeans"
VERSION = 3
# maximum number of characters of a path or a reason in an error message
LONGEST_PLACE = 80
LONGEST_FAULT = 150
MAX_VERSIONS = 10**6  # a larger answer version means a corrupt file
HEADER = {
    "format",
    "version",
    "answer_version",
    "estimator",
    "parameters",
    "n_features",
    "feature_names",
    "kernel",
    "centroids",
    "attributes",
}
OPTIONAL = {"schema"}  # only for models that were fitted on a table with a schema
# arrays with one entry per row of the fit or the stream: array name to (name prefixes,
# description, how to make the file smaller)
ROW_ARRAYS = {
    "kernel.fitted": (
        ("kernel.fitted", "kernel.counting", "centroids."),
        "the rows of the fit, which the means of this kernel require",
        "Use centroids='rectified' for a small file.",
    ),
    "kernel.fitted_lengths": (
        ("kernel.", "centroids."),  # the scale has one column per row
        "the values stored for each fitted row",
        "Fit fewer rows for a smaller file.",
    ),
    "stream_.recent.X": (
        ("stream_.recent.",),
        "the rows that partial_fit keeps for its scale",
        "Pass stream=False if the stream has ended.",
    ),
}
LARGE_FILE = 1 << 20  # bytes; smaller files cause no warning


def save(
    model: Any, path: str | os.PathLike[str], *, labels: bool = True, stream: bool = True
) -> None:
    """Write a fitted estimator to a safetensors file. The write is atomic.

    The file contains only numbers and text. Other parameters (a callable `init`, a RandomState)
    are replaced by their defaults, with a warning. The fitted state does not depend on them.

    Means of RBF and Laplace kernels and precomputed kernels predict from the rows of the fit, so
    their files contain these rows, or the weight of each row in each centroid. After
    `partial_fit`, the file contains the sums of the stream and up to 4096 of its rows. If
    such rows take up most of a file of 1 MB or more, a warning states its size.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package.
    path : str or path
        The path of the file. An existing file is replaced.
    labels : bool, default=True
        Whether to store `labels_` (4 bytes for each row of the fit) and `memberships_`.
    stream : bool, default=True
        Whether to store the sums and the rows of `partial_fit`, so that the loaded model can
        continue the stream with bitwise identical results.

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
    reject_other_models(model)
    state = fitted_state(model, labels=labels, stream=stream)
    records = {
        "parameters": state.parameters,
        "kernel": state.kernel,
        "centroids": state.centroids,
        **state.attributes,
    }
    plain, arrays = CODEC.to_record(records)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "answer_version": getattr(model, "answer_version_", ANSWER_VERSION),
        "estimator": state.estimator,
        "parameters": plain["parameters"]["table"],
        "n_features": state.n_features,
        "feature_names": state.feature_names,
        "kernel": plain["kernel"],
        "centroids": plain["centroids"],
        "attributes": {name: plain[name] for name in state.attributes},
    }
    if state.schema is not None:
        header["schema"] = state.schema.to_record()
    text = json.dumps(header, allow_nan=False)
    # the other half is for the names and shapes of the arrays
    if len(json.dumps(text)) > MAX_HEADER // 2:
        raise ValueError(
            f"The column names take more than {MAX_HEADER >> 21} MB. Use shorter names."
        )
    with atomic_write(path) as part:  # one key, because key order is not preserved
        write_tensor_file(part, {FORMAT: text}, arrays)
        size = part.stat().st_size
    _warn_of_rows(path, size, arrays)


def _warn_of_rows(path: str | os.PathLike[str], size: int, arrays: Mapping[str, Array]) -> None:
    """Warn if a file is large because it contains rows."""
    for name, (prefixes, what, fix) in ROW_ARRAYS.items():
        if name not in arrays or size < LARGE_FILE:
            continue
        n_bytes = sum(one.nbytes for key, one in arrays.items() if key.startswith(prefixes))
        if n_bytes > size / 2:
            warnings.warn(
                f"{os.fspath(path)} takes {size_text(size)}, including "
                f"{size_text(n_bytes)} for {what}. {fix}",
                stacklevel=caller_stacklevel(),
            )


def load(path: str | os.PathLike[str]) -> Any:
    """Load a fitted estimator from a file written by :func:`save`.

    Predictions, transformed rows and scores of the loaded model are bitwise identical, and it can
    continue a stream of `partial_fit`. Nothing in the file is executed. A corrupt file, a
    file from another program and a file in a newer format raise a ValueError. So does a path that
    is neither a regular file nor a folder. A missing file raises a FileNotFoundError. A folder
    raises an IsADirectoryError. The engine of the model does not need to be
    installed. A model with another answer version is loaded with a warning that a new fit may give
    different results. It keeps its `answer_version_`.

    Parameters
    ----------
    path : str or path
        The path of the file.

    Returns
    -------
    estimator
        The fitted estimator.

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
    place = shorten_name(os.fspath(path), LONGEST_PLACE)
    check_regular_file(path)
    try:
        file = read_tensor_file(path)
        header, arrays = parse_header(file)
        model = _make_model(header, arrays)
    except DamagedFileError as error:
        raise ValueError(
            f"{place} is damaged or not a safetensors file ({_short(error)}). Save the model again."
        ) from None
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise ValueError(f"{place} contains no valid model: {_short(error)}.") from None
    if header["answer_version"] != ANSWER_VERSION:
        model.answer_version_ = header["answer_version"]
        warnings.warn(
            f"The model was fitted with answer version {model.answer_version_}, but this rekmeans "
            f"has version {ANSWER_VERSION}. A new fit of the same table may give different "
            f"results.",
            stacklevel=caller_stacklevel(),
        )
    return model


def _make_model(header: dict[str, Any], arrays: Mapping[str, Array]) -> Any:
    plain = {name: header[name] for name in ("kernel", "centroids")}
    attributes = header["attributes"]
    if attributes.keys() & {*plain, "parameters"}:
        raise ValueError("attributes must not use the name of another entry")
    records = {"parameters": {"table": header["parameters"]}, **plain, **attributes}
    values = CODEC.from_record(records, arrays)
    state = FittedState(
        header["estimator"],
        values["parameters"],
        header["n_features"],
        header["feature_names"],
        values["kernel"],
        values["centroids"],
        {name: values[name] for name in attributes},
        TableSchema.from_record(header["schema"]) if "schema" in header else None,
    )
    return restore_estimator(state)


def _short(error: Exception) -> str:
    """Format the reason as one short line."""
    return shorten_name(" ".join(str(error).split()).removesuffix("."), LONGEST_FAULT)


def parse_header(file: TensorFile) -> tuple[dict[str, Any], Mapping[str, Array]]:
    """Return the header and arrays of a file, upgraded to the current format version.

    The entries of the header are checked.
    """
    try:
        header = parse_distinct(file.metadata.get(FORMAT) or "null")
    except RepeatedNameError:
        raise
    except (ValueError, RecursionError):
        raise ValueError("its header is not JSON; save the model again") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("it was not written by rekmeans.save")
    version = header.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ValueError(
            f"its format version is {version!r:.20}, but this rekmeans reads versions 1 to "
            f"{VERSION}; upgrade rekmeans"
        )
    _parameters.check_one_of("estimator", header.get("estimator"), ESTIMATORS)
    arrays: Mapping[str, Array] = file.arrays
    if version in EARLIER_VERSIONS:
        header, arrays = upgrade(header, arrays)
    elif not file.has_digest:
        raise DamagedFileError("it has no digest")
    _reject_other_names("the header", set(header) - OPTIONAL, HEADER)
    _parameters.check_int("n_features", header["n_features"])
    if _parameters.check_int("answer_version", header["answer_version"]) > MAX_VERSIONS:
        raise ValueError(f"answer_version must be at most {MAX_VERSIONS}")
    names = header["feature_names"]
    if not all(isinstance(header[name], dict) for name in ("parameters", "attributes")):
        raise ValueError("parameters and attributes must be JSON objects")
    if not isinstance(names, list | None):
        raise ValueError("feature_names must be a list or null")
    known = set(default_parameters(ESTIMATORS[header["estimator"]]))
    # parameters added after the file was written may be missing
    _reject_other_names("parameters", set(header["parameters"]) | known, known)
    return header, arrays


def _reject_other_names(what: str, names: set[str], known: set[str]) -> None:
    if names != known:
        more, less = (", ".join(sorted(some)) or "none" for some in (names - known, known - names))
        raise ValueError(
            f"{what} must match the format version; unknown: {more:.80}; missing: {less:.80}"
        )
