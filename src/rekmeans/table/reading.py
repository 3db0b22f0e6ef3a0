"""How far a table that is not in memory has been read: told to whoever watches, after each block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ReadingCallback = Callable[[int, int | None], object]  # rows read so far, and rows of the table where they are known
_CALLBACK: ContextVar[ReadingCallback | None] = ContextVar("rekmeans_reading_callback", default=None)


@contextmanager
def watch_reading(callback: ReadingCallback) -> Iterator[None]:
    """Call `callback` after each block of every table that is read in this context."""
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


def report_reading(n_done: int, n_rows: int | None) -> None:
    """Tell the callback, if there is one."""
    if (callback := _CALLBACK.get()) is not None:
        callback(n_done, n_rows)
