"""The one loop: assign, add up, move the centroids, until they repeat or the objective no longer falls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from .centroids import relocate_empty_clusters
from .engines import Rows, Run
from .model import Fit, Model, Pass, State, Stop

STAGE = 5  # passes of a stage before the last: enough to follow the change of reach

# (start, pass, record): both from 0; the record has inertia, n_changed, n_relocated, seconds, and `fit`, which gives
# the Fit so far. What it returns says whether this start is to end here.
Watch = Callable[[int, int, dict[str, Any]], bool | None]


class Ending(NamedTuple):
    """Where a run under one model stands, now or at its end."""

    run: Run
    model: Model
    state: State
    stop: Stop
    stage: int = 0


def run(rows: Rows, model: Model, C: Any, stop: Stop, watch: Callable[..., bool | None] | None = None) -> Fit:
    """The fit from starting centroids C. A pass that does not lower the objective is dropped, with its centroids."""
    return make_fit(rows, run_stages(rows, [model], C, stop, watch))


def run_to_end(rows: Rows, model: Model, C: Any, stop: Stop, watch: Callable[[Ending], bool] | None = None) -> Ending:
    """Pass after pass, until nothing changes, the objective no longer falls, or the watcher stops it."""
    run, state = rows.start_run(model), State(C, C)
    most_passes = 1 if watch else stop.max_iter + 1
    while not state.is_done:
        done = len(state.passes)
        state = run.advance(state, stop, most_passes) or next_state(rows, run, model, state, stop)
        if watch is not None and len(state.passes) > done and watch(Ending(run, model, state, stop)):
            break
    return Ending(run, model, state, stop)


def next_state(rows: Rows, run: Run, model: Model, state: State, stop: Stop) -> State:
    """One pass: the rows assigned to the candidate, and the next candidate; the pass after the last only labels."""
    started, C = perf_counter(), state.candidate
    assignment = run.assign(C)
    loss, number = assignment.sums.loss, len(state.passes)
    if number and loss >= state.loss:
        return replace(state, is_done=True)
    fall = float(state.loss - loss) / float(state.loss) if state.loss < math.inf else math.inf
    candidate, n_relocated = C, 0
    if number < stop.max_iter and fall > stop.tol:
        candidate = run.update(assignment.sums, C)
        candidate, n_relocated = relocate_empty_clusters(model.kernel, rows.farthest, candidate, assignment.sums.mass)
    record = Pass(loss, assignment.n_changed, n_relocated, perf_counter() - started)
    return State(C, candidate, loss, (*state.passes, record), is_done=bool(candidate == C))


def run_stages(
    rows: Rows, stages: Sequence[Model], C: Any, stop: Stop, watch: Callable[..., bool | None] | None = None
) -> list[Ending]:
    """A run under each model in turn, from where the one before ended; the last alone runs to its end."""
    endings: list[Ending] = []
    stopped: list[bool] = []  # what the watcher said after each pass of all stages

    def watch_stage(ending: Ending) -> bool:
        so_far = [*endings, ending._replace(stage=len(endings))]
        record = last_record(rows, ending.state) | {"fit": partial(make_fit, rows, so_far)}
        stopped.append(bool(watch and watch(len(stopped), record)))
        return stopped[-1]

    for stage, model in enumerate(stages):
        is_last = stage == len(stages) - 1
        limit = stop if is_last else replace(stop, max_iter=STAGE)
        start = endings[-1].state.centroids if endings else C
        endings.append(run_to_end(rows, model, start, limit, watch_stage if watch else None)._replace(stage=stage))
        if any(stopped) and not is_last:  # labels and objective are to be those of the model that predicts
            closing = run_to_end(rows, stages[-1], endings[-1].state.centroids, replace(stop, max_iter=0))
            endings.append(closing._replace(stage=len(stages) - 1))
        if any(stopped):
            break
    return endings


def best(rows: Rows, stages: Sequence[Model], starts: Iterable[Any], stop: Stop, watch: Watch | None = None) -> Fit:
    """The fit of lowest objective over the starts, the first of several; unwatched, some may run side by side."""

    def loss(endings: Sequence[Ending]) -> Any:
        return endings[-1].state.loss

    if watch is not None:
        watched = (run_stages(rows, stages, C, stop, partial(watch, s)) for s, C in enumerate(starts))
        return make_fit(rows, min(watched, key=loss))
    starts = list(starts)
    at_once = min(rows.concurrent_starts(len(starts[0])), len(starts))
    if at_once == 1:
        return make_fit(rows, min((run_stages(rows, stages, C, stop) for C in starts), key=loss))
    with ThreadPoolExecutor(at_once) as pool:
        return make_fit(rows, min(pool.map(lambda C: run_stages(rows, stages, C, stop), starts), key=loss))


def make_fit(rows: Rows, endings: Sequence[Ending]) -> Fit:
    """The fit of the last stage with the passes of all, also where its run has gone on since.

    `stage` in the history says which stage had which pass, where there are several.
    """
    run, model, state = endings[-1][:3]
    labels = state.labels
    if labels is None:
        is_last = run.n_passes == len(state.passes)
        labels = run.labels() if is_last else rows.label(model, state.centroids)
    passes = [record for ending in endings for record in ending.state.passes]
    history = {
        "inertia": np.array([inertia(rows, record.loss) for record in passes]),
        "n_changed": np.array([record.n_changed for record in passes]),
        "n_relocated": np.array([record.n_relocated for record in passes]),
        "seconds": np.array([record.seconds for record in passes]),
    }
    if len(endings) > 1:
        history["stage"] = np.array([ending.stage for ending in endings for _ in ending.state.passes])
    n_iter = sum(min(len(ending.state.passes), ending.stop.max_iter) for ending in endings)
    return Fit(state.centroids, labels, state.loss, float(history["inertia"][-1]), n_iter, history)


def last_record(rows: Rows, state: State) -> dict[str, Any]:
    """What a watcher gets of the last pass."""
    record = state.passes[-1]
    counts = {"inertia": inertia(rows, record.loss), "n_changed": record.n_changed, "n_relocated": record.n_relocated}
    return counts | {"seconds": record.seconds}


def inertia(rows: Rows, loss: Any) -> float:
    """A summed loss as squared distance in the mapped space, in the user's weights; infinite where it overflows."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(float(loss) * rows.kernel.loss_unit, -rows.weight_bits))
