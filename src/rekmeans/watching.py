"""Watching passes: while `watch_passes` is open, every fit calls back after each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class PassEvent:
    """One pass of a fit, as a callback of :func:`watch_passes` gets it.

    Parameters
    ----------
    start : int
        Number of the start, from 0.
    n_starts : int
        How many starts the fit makes.
    number : int
        Number of the pass within its start, from 0.
    n_rows : int
        Rows of the table.
    inertia : float
        Objective of the centroids that the pass began with.
    n_changed : int
        Rows whose label changed; all of them in the first pass.
    n_relocated : int
        Empty clusters that got a row.
    seconds : float
        Time of the pass.
    """

    start: int
    n_starts: int
    number: int
    n_rows: int
    inertia: float
    n_changed: int
    n_relocated: int
    seconds: float


Callback = Callable[[PassEvent], object]
_CALLBACKS: ContextVar[tuple[Callback, ...]] = ContextVar("rekmeans_pass_callbacks", default=())


@contextmanager
def watch_passes(callback: Callback) -> Iterator[None]:
    """Call `callback` after each pass of every fit in this context.

    Watching does not change the answer. Contexts may be nested: each callback is called, the
    outermost first. Threads and processes started inside have contexts of their own and are not
    watched.

    Parameters
    ----------
    callback : callable
        Gets a :class:`PassEvent`. If it returns True, that start stops after this pass (of a map or
        neural gas also its later stages; labels and objective are then those of the last stage).

    Yields
    ------
    None
        Nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans, watch_passes
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> events = []
    >>> with watch_passes(events.append):
    ...     model = RectifiedEulerKMeans(n_clusters=2, n_init=1, random_state=0).fit(X)
    >>> [event.inertia for event in events] == model.history_["inertia"].tolist()
    True
    """
    if not callable(callback):
        raise TypeError(f"watch_passes needs a function of a PassEvent, got {callback!r:.60}.")
    token = _CALLBACKS.set((*_CALLBACKS.get(), callback))
    try:
        yield
    finally:
        _CALLBACKS.reset(token)


def active_callbacks() -> tuple[Callback, ...]:
    """The callbacks that a fit has to call now, the outermost first."""
    return _CALLBACKS.get()
