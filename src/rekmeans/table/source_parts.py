"""Parts of a source that several threads read side by side, each block worked on by the thread that read it."""

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
    """Rows of a source from the one of number `start` on, read block by block; a block is valid until the next."""

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
    found: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
    is_stopped = Event()

    def work_on_part(part: SourcePart) -> None:
        start = part.start
        try:
            for block in part.read():
                if is_stopped.is_set():
                    return
                found.put((len(block.X), work(start, block)))
                start += len(block.X)
        finally:
            found.put(None)

    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(work_on_part, part) for part in parts]
        try:
            for _ in futures:
                while (item := found.get()) is not None:
                    yield item
                for future in futures:
                    if future.done():
                        future.result()
        finally:
            is_stopped.set()
            pool.shutdown(cancel_futures=True)
    for future in futures:
        future.result()
