"""Parts of a source that several threads read side by side, each block worked on by the thread that
read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import Any, NamedTuple, TypeVar

from .._grid import Array

Item = TypeVar("Item")


class RawBlock(NamedTuple):
    """Some rows in the order of the table."""

    X: Any  # (m, d): an array, or ColumnCells
    weights: Array | None  # (m,) as they are written, None for all equal


class SourcePart(NamedTuple):
    """Rows of a source from the one of number `start` on, read block by block; a block is valid
    until the next.
    """

    start: int
    read: Callable[[], Iterator[RawBlock]]


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, each made in a thread while the one before is used."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item


def map_parts(
    parts: Sequence[SourcePart], work: Callable[[int, RawBlock], Item], n_threads: int
) -> Iterator[tuple[int, Item]]:
    """Rows and `work(start, block)` of each block of all parts, as threads come to them."""
    # None at the end of a part
    found: SimpleQueue[tuple[int, Item] | BaseException | None] = SimpleQueue()
    is_stopped = Event()

    def work_on_part(part: SourcePart) -> None:
        start = part.start
        try:
            for block in part.read():
                if is_stopped.is_set():
                    return
                found.put((len(block.X), work(start, block)))
                start += len(block.X)
            found.put(None)
        except BaseException as error:
            found.put(error)

    n_left = len(parts)
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for part in parts:
                pool.submit(work_on_part, part)
            while n_left:
                item = found.get()
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    n_left -= 1
                else:
                    yield item
        finally:
            is_stopped.set()
            pool.shutdown(cancel_futures=True)
