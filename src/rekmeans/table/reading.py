"""How far a table that is not in memory has been read: told to whoever watches, block by block or
by partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ROWS_READ = "rows read"
PARTITIONS_DONE = "partitions done"
# how many, of how many where that is known, and of what
ReadingCallback = Callable[[int, int | None, str], object]
_CALLBACK: ContextVar[ReadingCallback | None] = ContextVar(
    "rekmeans_reading_callback", default=None
)


@contextmanager
def watch_reading(callback: ReadingCallback) -> Iterator[None]:
    """Call `callback` for blocks of every table that is read in this context, and for its
    partitions on a cluster.
    """
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


def report_reading(n_done: int, n_all: int | None, what: str = ROWS_READ) -> None:
    """Tell the callback, if there is one."""
    if (callback := _CALLBACK.get()) is not None:
        callback(n_done, n_all, what)
