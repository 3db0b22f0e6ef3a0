"""Input that is not a table but leads to one: the sentence that says how to pass it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn import get_config

# DLPack's numbers of memory that the processor reads: plain, pinned, managed
HOST_MEMORY = {1, 3, 11, 13}


def is_device_array(X: Any) -> bool:
    """Return whether X is an array in the memory of a GPU or another device, as DLPack reports."""
    if not hasattr(X, "__dlpack_device__"):
        return False
    try:
        return int(X.__dlpack_device__()[0]) not in HOST_MEMORY
    except (BufferError, ValueError):  # a device that DLPack has no number for
        return True


def refuse_device_array(X: Any) -> None:
    """Raise an error for an array on a GPU or another device where rows on the host are needed."""
    if is_device_array(X):
        device = str(getattr(X, "device", "a GPU"))
        raise TypeError(
            f"X must be on the host here, got a {type(X).__name__} on {device}: pass X.cpu()."
        )


def refuse_what_is_no_table(X: Any) -> None:
    """Refuse paths, functions and readers where rows in memory are needed."""
    kind = type(X).__name__
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X must be in memory here, got the path {str(X)!r:.60}: pass the table that is read "
            f"from it."
        )
    if isinstance(X, list | tuple) and X and isinstance(X[0], str | os.PathLike):
        raise TypeError(
            f"X must be a table or a path, got a {kind} of {len(X)} paths: pass a pattern, their "
            f"folder, or "
            "pyarrow.dataset.dataset(paths)."
        )
    if isinstance(X, Iterator):
        raise TypeError(
            f"X must be readable more than once, got a {kind}: pass a function that gives a new "
            f"one."
        )
    if hasattr(X, "__array__"):
        return
    if callable(X):
        raise TypeError(f"X must be in memory here, got a {kind}: pass a table.")
    if type(X).__module__.startswith("pyarrow"):
        raise TypeError(
            f"X must be a pyarrow table, a dataset or a path, got a {kind}: pass its path, or "
            f"read it."
        )


def refuse_gathering(estimator: Any, X: Any) -> None:
    """Refuse to bring the rows of a Dask collection here because of the container that scikit-learn
    puts them in.
    """
    container = (
        getattr(estimator, "_sklearn_output_config", {}).get("transform")
        or get_config()["transform_output"]
    )
    if hasattr(X, "__dask_graph__") and container != "default":
        raise ValueError(
            f"set_output(transform={container!r}) would gather all rows of Dask here: use "
            f"transform='default', whose "
            "answer is lazy."
        )


@contextmanager
def explain_reading() -> Iterator[None]:
    """An error of the library that reads a table is a sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"X must stay while it is read, a file is gone: {_reason(error)}."
        ) from error
    except Exception as error:
        if not type(error).__module__.startswith("pyarrow"):
            raise
        raise ValueError(
            f"X cannot be read ({_reason(error)}): write its columns with one type in every file."
        ) from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split(". ")[0].split())[:160].rstrip(".")
