"""Report progress and errors while an out-of-core table is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ROWS_READ = "rows read"
PARTITIONS_DONE = "partitions done"
# arguments: number done, total or None, unit
ReadingCallback = Callable[[int, int | None, str], object]
_CALLBACK: ContextVar[ReadingCallback | None] = ContextVar(
    "rekmeans_reading_callback", default=None
)


@contextmanager
def watch_reading(callback: ReadingCallback) -> Iterator[None]:
    """Call `callback` after each block and each Dask partition in this context."""
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


def report_reading(n_done: int, n_all: int | None, what: str = ROWS_READ) -> None:
    """Report progress to the callback, if one is set."""
    if (callback := _CALLBACK.get()) is not None:
        callback(n_done, n_all, what)


@contextmanager
def explain_reading() -> Iterator[None]:
    """Convert pyarrow and missing-file errors to errors that state the problem and the fix."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"X must not change while it is being read, but a file is missing: {_reason(error)}."
        ) from error
    except Exception as error:
        if not type(error).__module__.startswith("pyarrow"):
            raise
        raise ValueError(
            f"X cannot be read ({_reason(error)}). Use the same column types in all files."
        ) from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split(". ")[0].split())[:160].rstrip(".")
