"""The one loop: assign, add up, move the centroids, until they repeat or the objective no longer falls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from .centroids import relocate_empty_clusters
from .engines import Rows, Run
from .model import Fit, Model, Pass, State, Stop

STAGE = 5  # passes of a stage before the last: enough to follow the change of reach

# (start, pass, record): both from 0; the record has inertia, n_changed, n_relocated, seconds, and `fit`, which gives
# the Fit so far. What it returns says whether this start is to end here.
Watch = Callable[[int, int, dict[str, Any]], bool | None]


def run(rows: Rows, model: Model, C: Any, stop: Stop, watch: Callable[..., bool | None] | None = None) -> Fit:
    """The fit from starting centroids C. A pass that does not lower the objective is dropped, with its centroids."""
    run, state = rows.start_run(model), State(C, C)
    most_passes = 1 if watch else stop.max_iter + 1
    while not state.is_done:
        done = len(state.passes)
        state = run.advance(state, stop, most_passes) or next_state(rows, run, model, state, stop)
        if watch is None or len(state.passes) == done:
            continue
        record = last_record(rows, state) | {"fit": partial(make_fit, rows, run, model, state, stop)}
        if watch(done, record):
            break
    return make_fit(rows, run, model, state, stop)


def next_state(rows: Rows, run: Run, model: Model, state: State, stop: Stop) -> State:
    """One pass: the rows assigned to the candidate, and the next candidate; the pass after the last only labels."""
    started, C = perf_counter(), state.candidate
    assignment = run.assign(C)
    loss, number = assignment.sums.loss, len(state.passes)
    if number and loss >= state.loss:
        return replace(state, is_done=True, is_current=False)
    fall = float(state.loss - loss) / float(state.loss) if state.loss < math.inf else math.inf
    candidate, n_relocated = C, 0
    if number < stop.max_iter and fall > stop.tol:
        candidate = run.update(assignment.sums, C)
        candidate, n_relocated = relocate_empty_clusters(model.kernel, rows.farthest, candidate, assignment.sums.mass)
    record = Pass(loss, assignment.n_changed, n_relocated, perf_counter() - started)
    return State(C, candidate, loss, (*state.passes, record), is_done=bool(candidate == C))


def make_fit(rows: Rows, run: Run, model: Model, state: State, stop: Stop) -> Fit:
    """The fit that a run has reached."""
    labels = state.labels
    if labels is None:
        labels = run.labels() if state.is_current else rows.label(model, state.centroids)
    history = {
        "inertia": np.array([inertia(rows, record.loss) for record in state.passes]),
        "n_changed": np.array([record.n_changed for record in state.passes]),
        "n_relocated": np.array([record.n_relocated for record in state.passes]),
        "seconds": np.array([record.seconds for record in state.passes]),
    }
    n_iter = min(len(state.passes), stop.max_iter)
    return Fit(state.centroids, labels, state.loss, float(history["inertia"][-1]), n_iter, history)


def last_record(rows: Rows, state: State) -> dict[str, Any]:
    """What a watcher is told of the last pass."""
    record = state.passes[-1]
    counts = {"inertia": inertia(rows, record.loss), "n_changed": record.n_changed, "n_relocated": record.n_relocated}
    return counts | {"seconds": record.seconds}


def run_stages(rows: Rows, stages: Sequence[Model], C: Any, stop: Stop, watch: Callable[..., Any] | None = None) -> Fit:
    """The fit under each model in turn, from where the one before ended; the last alone runs to its end."""
    parts: list[Fit] = []
    stops: list[bool] = []

    def watch_stage(t: int, record: dict[str, Any], done: int) -> bool:
        so_far = {"fit": lambda: join_stages([*parts, record["fit"]()])}
        stops.append(bool(watch and watch(done + t, record | so_far)))
        return stops[-1]

    for model in stages:
        done = sum(len(fit.history["n_changed"]) for fit in parts)
        watcher = None if watch is None else partial(watch_stage, done=done)
        limit = stop if model is stages[-1] else replace(stop, max_iter=STAGE)
        parts.append(run(rows, model, parts[-1].centroids if parts else C, limit, watcher))
        if any(stops):
            break
    return join_stages(parts)


def join_stages(parts: Sequence[Fit]) -> Fit:
    """The last fit, with the passes of all; `stage` says which had which, where there are several."""
    history = {name: np.concatenate([fit.history[name] for fit in parts]) for name in parts[0].history}
    stage = np.repeat(np.arange(len(parts)), [len(fit.history["n_changed"]) for fit in parts])
    history |= {"stage": stage} if len(parts) > 1 else {}
    return replace(parts[-1], history=history, n_iter=sum(fit.n_iter for fit in parts))


def best(rows: Rows, stages: Sequence[Model], starts: Iterable[Any], stop: Stop, watch: Watch | None = None) -> Fit:
    """The fit of lowest objective over the starts, the first of several; unwatched, some may run side by side."""
    if watch is not None:
        fits = (run_stages(rows, stages, C, stop, partial(watch, s)) for s, C in enumerate(starts))
        return min(fits, key=lambda fit: fit.loss)
    starts = list(starts)
    at_once = min(rows.concurrent_starts(len(starts[0])), len(starts))
    if at_once == 1:
        return min((run_stages(rows, stages, C, stop) for C in starts), key=lambda fit: fit.loss)
    with ThreadPoolExecutor(at_once) as pool:
        return min(pool.map(lambda C: run_stages(rows, stages, C, stop), starts), key=lambda fit: fit.loss)


def inertia(rows: Rows, loss: Any) -> float:
    """A summed loss as squared distance in the mapped space, in the user's weights; infinite beyond all numbers."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(float(loss) * rows.kernel.loss_unit, -rows.weight_bits))
