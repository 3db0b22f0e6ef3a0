"""Monitoring of a fit: `watch_passes`, verbose output, and scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
except ImportError:  # callbacks are new in scikit-learn 1.9
    CallbackSupportMixin = type("NoCallbacks", (), {})
    with_callbacks = None

Callbacks: Any = CallbackSupportMixin  # adds set_callbacks to an estimator if scikit-learn has it
Wrapped = TypeVar("Wrapped", bound=Callable[..., Any])


@dataclass(frozen=True)
class PassEvent:
    """One pass of a fit, passed to the callbacks of :func:`watch_passes`.

    Parameters
    ----------
    start : int
        Number of the start, from 0.
    n_starts : int
        Number of starts of the fit.
    number : int
        Number of the pass within its start, from 0.
    n_rows : int
        Number of rows in the table.
    inertia : float
        Objective of the centroids at the beginning of the pass.
    n_changed : int
        Number of rows with a new label; all rows in the first pass.
    n_relocated : int
        Number of empty clusters that were moved to a row.
    seconds : float
        Duration of the pass.
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
# the callbacks of the enclosing `watch_passes` contexts, the outermost first
ACTIVE_CALLBACKS: ContextVar[tuple[Callback, ...]] = ContextVar(
    "rekmeans_pass_callbacks", default=()
)


@contextmanager
def watch_passes(callback: Callback) -> Iterator[None]:
    """Call `callback` after each pass of every fit in this context.

    Watching does not change the result. Contexts may be nested. Then all callbacks are called, the
    outermost first. Fits in threads and processes that are started inside the context are not
    watched.

    Parameters
    ----------
    callback : callable
        A function of a :class:`PassEvent`. If it returns True, the start stops after this pass. A
        self-organizing map or neural gas then skips its later stages, and its labels and objective
        are those of the last stage.

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
        raise TypeError(f"callback must be a function of a PassEvent; got {callback!r:.60}.")
    token = ACTIVE_CALLBACKS.set((*ACTIVE_CALLBACKS.get(), callback))
    try:
        yield
    finally:
        ACTIVE_CALLBACKS.reset(token)


def with_fit_callbacks(method: Wrapped) -> Wrapped:
    """Return the method with scikit-learn's teardown of callbacks, which runs even after an error.

    Without callbacks the method is wrapped too, so that the stack depth is always the same.
    """

    @wraps(method)
    def without_callbacks(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    return cast(Wrapped, with_callbacks(method) if with_callbacks else without_callbacks)


def print_passes(n_starts: int) -> Watch:
    """Return a watch that prints a line for each pass, with the number of the start if needed."""

    def print_line(s: int, t: int, record: PassReport) -> None:
        start = f"start {s + 1}/{n_starts}  " if n_starts > 1 else ""
        counts = (
            f"objective {record['inertia']:.6g}  changed {record['n_changed']}  "
            f"relocated {record['n_relocated']}"
        )
        print(f"{start}pass {t + 1}  {counts}  {record['seconds'] * 1e3:.1f} ms", flush=True)

    return print_line


def send_events(callbacks: Sequence[Callback], n_starts: int, n_rows: int) -> Watch:
    """Return a watch that calls the callbacks of `watch_passes`, which may stop the start."""

    def send(start: int, number: int, record: PassReport) -> bool:
        event = PassEvent(
            start=start,
            n_starts=n_starts,
            number=number,
            n_rows=n_rows,
            inertia=float(record["inertia"]),
            n_changed=int(record["n_changed"]),
            n_relocated=int(record["n_relocated"]),
            seconds=record["seconds"],
        )
        returned = [callback(event) for callback in callbacks]  # call all, even if one returns True
        return any(isinstance(value, bool | np.bool_) and value for value in returned)

    return send


class Tasks:
    """The tasks of one fit (fit > start > pass), reported to scikit-learn's callbacks.

    A pass begins when the previous one ends. The last pass ends as an empty task: it did not
    improve the centroids, or did not run.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, starts: int = 0) -> None:
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.data = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.n_starts = starts
        self.has_callbacks = bool(getattr(estimator, "_skl_callbacks", ()))
        self.fit: Any = None  # the contexts of the current tasks
        self.start: Any = None
        self.turn: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.fit = estimator._init_callback_context(max_subtasks=starts)
            self.fit.call_on_fit_task_begin(**self.data)

    def starts(
        self, starts: Iterator[Centroids | None], max_passes: int
    ) -> Iterator[Centroids | None]:
        """Yield the starts, each as a task from its seeding to its last pass.

        A callback may end the loop.
        """
        for _ in range(self.n_starts):
            self.start = self._begin_task(self.fit, "start", max_passes)
            C = next(starts)
            self.turn = self._begin_task(self.start, "pass")
            yield C
            if self.turn is not None:
                self.turn.call_on_fit_task_end(estimator=self.data["estimator"])
            if self.start.call_on_fit_task_end(**self.data):
                return

    def watch(self, attributes: Callable[[Fit], dict[str, Any]], max_passes: int) -> Watch:
        """Return a watch that ends the task of a pass and begins the next.

        `attributes` are the fitted attributes of the estimator for a fit that ends here.
        """

        def end_pass(s: int, t: int, record: PassReport) -> bool:
            stop = self.turn.call_on_fit_task_end(
                **self.data, reconstruction_attributes=lambda: attributes(record["fit"]())
            )
            self.turn = (
                None if stop or t + 1 == max_passes else self._begin_task(self.start, "pass")
            )
            return stop

        return end_pass

    def end(self) -> None:
        """End the task of the fit."""
        if self.fit is not None:
            self.fit.call_on_fit_task_end(**self.data, reconstruction_attributes={})

    def _begin_task(self, parent: Any, name: str, subtasks: int = 0) -> Any:
        return parent.subcontext(task_name=name, max_subtasks=subtasks).call_on_fit_task_begin(
            **self.data
        )


def watch_fit(
    tasks: Tasks,
    max_passes: int,
    n_rows: int,
    verbose: bool,
    attributes: Callable[[Fit], dict[str, Any]],
) -> Watch | None:
    """Return the watch of a fit, or None if nothing watches it.

    It calls the callbacks of `watch_passes`, prints if `verbose`, and reports to scikit-learn's
    callbacks. It stops the start if any of these does.
    """
    watches: list[Watch] = []
    if callbacks := ACTIVE_CALLBACKS.get():
        watches.append(send_events(callbacks, tasks.n_starts, n_rows))
    if verbose:
        watches.append(print_passes(tasks.n_starts))
    if tasks.has_callbacks:
        watches.append(tasks.watch(attributes, max_passes))
    if not watches:
        return None
    return lambda *passed: max(bool(watch(*passed)) for watch in watches)
