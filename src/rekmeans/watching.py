"""Watching a fit: `watch_passes`, the lines that verbose prints, and scikit-learn's callbacks for
the tasks fit > start > pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from .lloyd import PassReport, Watch
from .model import Centroids, Fit

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # callbacks came with scikit-learn 1.9
    CallbackSupportMixin = type("NoCallbacks", (), {})
    with_callbacks = None

Callbacks: Any = CallbackSupportMixin  # gives an estimator set_callbacks, where scikit-learn has it
Wrapped = TypeVar("Wrapped", bound=Callable[..., Any])


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
# that a fit has to call, the outermost first
ACTIVE_CALLBACKS: ContextVar[tuple[Callback, ...]] = ContextVar(
    "rekmeans_pass_callbacks", default=()
)


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
    token = ACTIVE_CALLBACKS.set((*ACTIVE_CALLBACKS.get(), callback))
    try:
        yield
    finally:
        ACTIVE_CALLBACKS.reset(token)


def with_fit_callbacks(method: Wrapped) -> Wrapped:
    """The method, whose callbacks are taken down however it ends; one frame deeper with any
    scikit-learn.
    """

    @wraps(method)
    def without_callbacks(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    return cast(Wrapped, with_callbacks(method) if with_callbacks else without_callbacks)


def print_passes(n_starts: int) -> Watch:
    """Prints a line for each pass, with the number of the start where there are several."""

    def print_line(s: int, t: int, record: PassReport) -> None:
        start = f"start {s + 1}/{n_starts}  " if n_starts > 1 else ""
        counts = (
            f"objective {record['inertia']:.6g}  changed {record['n_changed']}  "
            f"relocated {record['n_relocated']}"
        )
        print(f"{start}pass {t + 1}  {counts}  {record['seconds'] * 1e3:.1f} ms", flush=True)

    return print_line


def send_events(n_starts: int, n_rows: int) -> Watch | None:
    """Gives each pass to the callbacks of `watch_passes`, which may stop the start;

    None if there are none.
    """
    callbacks = ACTIVE_CALLBACKS.get()

    def send(start: int, number: int, record: PassReport) -> bool:
        counts = int(record["n_changed"]), int(record["n_relocated"])
        event = PassEvent(
            start, n_starts, number, n_rows, float(record["inertia"]), *counts, record["seconds"]
        )
        answers = [callback(event) for callback in callbacks]  # all of them are called
        return any(isinstance(answer, bool | np.bool_) and answer for answer in answers)

    return send if callbacks else None


def combine_watches(*watches: Watch | None) -> Watch | None:
    """All of these that are not None as one, which stops when any does."""
    active = [watch for watch in watches if watch is not None]
    return (lambda *passed: max(bool(watch(*passed)) for watch in active)) if active else None


class Tasks:
    """The tasks of one fit, reported to the callbacks of its estimator as they begin and end.

    A pass begins when the one before it ends; the last one begun gave no better centroids, or never
    ran, and ends as an empty task.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any, starts: int = 0, max_iter: int = 0
    ) -> None:
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.data = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.n_starts = starts
        self.n_passes = max_iter + 1
        self.has_callbacks = bool(getattr(estimator, "_skl_callbacks", ()))
        self.fit: Any = None  # the tasks under way
        self.start: Any = None
        self.turn: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.fit = estimator._init_callback_context(max_subtasks=starts)
            self.fit.call_on_fit_task_begin(**self.data)

    def starts(self, starts: Iterator[Centroids | None]) -> Iterator[Centroids | None]:
        """The same starts, each a task from its seeding to its last pass; a callback may stop
        them.
        """
        if not self.has_callbacks:
            yield from starts
            return
        for _ in range(self.n_starts):
            self.start = self._begin_task(self.fit, "start", self.n_passes)
            C = next(starts)
            self.turn = self._begin_task(self.start, "pass")
            yield C
            if self.turn is not None:
                self.turn.call_on_fit_task_end(estimator=self.data["estimator"])
            if self.start.call_on_fit_task_end(**self.data):
                return

    def watch(self, attributes: Callable[[Fit], dict[str, Any]]) -> Watch | None:
        """Ends a pass, with the estimator that this fit would give, and begins the next;

        None without callbacks.
        """

        def end_pass(s: int, t: int, record: PassReport) -> bool:
            stop = self.turn.call_on_fit_task_end(
                **self.data, reconstruction_attributes=lambda: attributes(record["fit"]())
            )
            self.turn = (
                None if stop or t + 1 == self.n_passes else self._begin_task(self.start, "pass")
            )
            return stop

        return end_pass if self.has_callbacks else None

    def end(self) -> None:
        """The estimator is fitted."""
        if self.fit is not None:
            self.fit.call_on_fit_task_end(**self.data, reconstruction_attributes={})

    def _begin_task(self, parent: Any, name: str, subtasks: int = 0) -> Any:
        return parent.subcontext(task_name=name, max_subtasks=subtasks).call_on_fit_task_begin(
            **self.data
        )
