"""The one loop: assign, add up, move the centroids, until they repeat or the objective no longer
falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from ._grid import Array
from .centroids import relocate_empty_clusters
from .engines import Rows, Run
from .model import Fit, Model, Pass, State, Stop

# n d k up to which a run takes less than starting a thread for it, and up to which several runs
# are best made side by side, each on one thread
TINY_WORK = 1 << 16
SMALL_WORK = 1 << 22
STAGE = 5  # passes of a stage before the last: enough to follow the change of reach

# (start, pass, record): both from 0; the record has inertia, n_changed, n_relocated, seconds, and
# `fit`, which gives the Fit so far. What it returns says whether this start is to end here.
Watch = Callable[[int, int, dict[str, Any]], bool | None]


class Ending(NamedTuple):
    """Where a run under one model stands, now or at its end."""

    run: Run | None  # None where it is known from a checkpoint only
    model: Model
    state: State
    stop: Stop
    stage: int = 0
    n_before: int = 0  # passes of the state that were made before this run began

    @property
    def saved_stage(self) -> SavedStage:
        return SavedStage(self.stage, self.stop.max_iter, self.state)


class SavedStage(NamedTuple):
    """What a checkpoint keeps of an ending."""

    stage: int
    max_iter: int
    state: State

    def restore(self, stages: Sequence[Model], stop: Stop) -> Ending:
        return Ending(
            None, stages[self.stage], self.state, replace(stop, max_iter=self.max_iter), self.stage
        )


class Progress(NamedTuple):
    """How far a fit has come: the start under way, its stages up to the one under way, and the best
    start before.
    """

    start: int
    stages: tuple[SavedStage, ...]
    best: tuple[SavedStage, ...] = ()  # none before the first start has ended


class Journal(Protocol):
    """Gets the progress of a fit after each pass, and has that of an interrupted one, which goes
    on.
    """

    progress: Progress | None

    def record(self, progress: Progress) -> None: ...


def run(
    rows: Rows, model: Model, C: Any, stop: Stop, watch: Callable[..., bool | None] | None = None
) -> Fit:
    """The fit from starting centroids C.

    A pass that does not lower the objective is dropped, with its centroids.
    """
    return make_fit(rows, run_stages(rows, [model], C, stop, watch))


def run_to_end(
    rows: Rows,
    model: Model,
    C: Any,
    stop: Stop,
    watch: Callable[[Ending], bool] | None = None,
    state: State | None = None,
) -> Ending:
    """Pass after pass, until nothing changes, the objective no longer falls, or the watcher stops
    it.

    A run that goes on from a state labels the rows as its last pass did, so that changes are
    counted as in one go.
    """
    run = rows.start_run(model)
    n_before = 0
    if state is None:
        state = State(C, C)
    elif not state.is_done:
        run.assign(state.centroids)
        n_before = len(state.passes) - 1
    most_passes = 1 if watch else stop.max_iter + 1
    while not state.is_done:
        done = len(state.passes)
        state = run.advance(state, stop, most_passes) or next_state(rows, run, model, state, stop)
        ending = Ending(run, model, state, stop, n_before=n_before)
        if watch is not None and len(state.passes) > done and watch(ending):
            break
    return Ending(run, model, state, stop, n_before=n_before)


def next_state(rows: Rows, run: Run, model: Model, state: State, stop: Stop) -> State:
    """One pass: the rows assigned to the candidate, and the next candidate; the pass after the last
    only labels.
    """
    started = perf_counter()
    C = state.candidate
    assignment = run.assign(C)
    loss = assignment.sums.loss
    number = len(state.passes)
    if number and loss >= state.loss:
        return replace(state, is_done=True)
    fall = float(state.loss - loss) / float(state.loss) if state.loss < math.inf else math.inf
    candidate = C
    n_relocated = 0
    if number < stop.max_iter and fall > stop.tol:
        candidate = run.update(assignment.sums, C)
        candidate, n_relocated = relocate_empty_clusters(
            model.kernel, rows.farthest, candidate, assignment.sums.mass
        )
    record = Pass(loss, assignment.n_changed, n_relocated, perf_counter() - started)
    return State(C, candidate, loss, (*state.passes, record), is_done=bool(candidate == C))


def run_stages(
    rows: Rows,
    stages: Sequence[Model],
    C: Any,
    stop: Stop,
    watch: Callable[..., bool | None] | None = None,
    saved: Sequence[SavedStage] = (),
) -> list[Ending]:
    """A run under each model in turn, from where the one before ended; the last alone runs to its
    end.

    `saved` are the stages that an interrupted start went through; the last of them goes on.
    """
    endings = [one.restore(stages, stop) for one in saved[:-1]]
    # what the watcher said after each pass of all stages
    stopped = [False for one in saved for _ in one.state.passes]

    def watch_stage(ending: Ending) -> bool:
        so_far = [*endings, ending._replace(stage=len(endings))]
        record = last_record(rows, ending.state) | {
            "fit": partial(make_fit, rows, so_far),
            "endings": so_far,
        }
        stopped.append(bool(watch and watch(len(stopped), record)))
        return stopped[-1]

    for stage, model in list(enumerate(stages))[len(endings) :]:
        is_last = stage == len(stages) - 1
        limit = stop if is_last else replace(stop, max_iter=STAGE)
        start = endings[-1].state.centroids if endings else C
        state = saved[-1].state if saved and stage == saved[-1].stage else None
        ending = run_to_end(rows, model, start, limit, watch_stage if watch else None, state)
        endings.append(ending._replace(stage=stage))
        # labels and objective are to be those of the model that predicts
        if any(stopped) and not is_last:
            closing = run_to_end(
                rows, stages[-1], endings[-1].state.centroids, replace(stop, max_iter=0)
            )
            endings.append(closing._replace(stage=len(stages) - 1))
        if any(stopped):
            break
    return endings


def best(
    rows: Rows,
    stages: Sequence[Model],
    starts: Iterable[Any],
    stop: Stop,
    watch: Watch | None = None,
    journal: Journal | None = None,
) -> Fit:
    """The fit of lowest objective over the starts, the first of several; unwatched, some may run
    side by side.

    Where an interrupted fit goes on, starts up to the one under way are not looked at.
    """
    if watch is not None or journal is not None:
        return make_fit(rows, _best_watched(rows, stages, starts, stop, watch, journal))
    starts = list(starts)
    work = len(rows) * rows.table.n_columns * len(starts[0])
    at_once = min(rows.n_parallel_runs, len(starts)) if TINY_WORK < work <= SMALL_WORK else 1
    if at_once == 1:
        return make_fit(
            rows, min((run_stages(rows, stages, C, stop) for C in starts), key=start_loss)
        )
    with ThreadPoolExecutor(at_once) as pool:
        return make_fit(
            rows, min(pool.map(lambda C: run_stages(rows, stages, C, stop), starts), key=start_loss)
        )


def start_loss(endings: Sequence[Ending]) -> Any:
    """The objective that a start came to."""
    return endings[-1].state.loss


def _best_watched(
    rows: Rows,
    stages: Sequence[Model],
    starts: Iterable[Any],
    stop: Stop,
    watch: Watch | None,
    journal: Journal | None,
) -> list[Ending]:
    """The best of starts that run one after the other, each pass reported."""
    progress = None if journal is None else journal.progress
    found = [one.restore(stages, stop) for one in progress.best] if progress else []

    def report(s: int, t: int, record: dict[str, Any]) -> bool:
        if journal is not None:
            saved, best_saved = (
                tuple(ending.saved_stage for ending in endings)
                for endings in (record["endings"], found)
            )
            journal.record(Progress(s, saved, best_saved))
        return bool(watch and watch(s, t, record))

    for s, C in enumerate(starts):
        if progress and s < progress.start:
            continue
        saved = progress.stages if progress and s == progress.start else ()
        endings = run_stages(rows, stages, C, stop, partial(report, s), saved)
        found = endings if not found or start_loss(endings) < start_loss(found) else found
    return found


def make_fit(rows: Rows, endings: Sequence[Ending]) -> Fit:
    """The fit of the last stage with the passes of all, also where its run has gone on since.

    `stage` in the history says which stage had which pass, where there are several.
    """
    run, model, state, n_before = *endings[-1][:3], endings[-1].n_before
    labels = state.labels
    if labels is None:
        is_last = run is not None and run.n_passes + n_before == len(state.passes)
        # its last pass was dropped; nothing follows
        if run is not None and state.is_done and not is_last:
            run.assign(state.centroids)
            is_last = True
        labels = run.labels() if run is not None and is_last else rows.label(model, state.centroids)
    passes = [record for ending in endings for record in ending.state.passes]
    history = {
        "inertia": _inertias(rows, [record.loss for record in passes]),
        "n_changed": np.array([record.n_changed for record in passes]),
        "n_relocated": np.array([record.n_relocated for record in passes]),
        "seconds": np.array([record.seconds for record in passes]),
    }
    if len(endings) > 1:
        history["stage"] = np.array(
            [ending.stage for ending in endings for _ in ending.state.passes]
        )
    n_iter = sum(min(len(ending.state.passes), ending.stop.max_iter) for ending in endings)
    return Fit(state.centroids, labels, state.loss, float(history["inertia"][-1]), n_iter, history)


def last_record(rows: Rows, state: State) -> dict[str, Any]:
    """What a watcher gets of the last pass."""
    record = state.passes[-1]
    counts = {
        "inertia": inertia(rows, record.loss),
        "n_changed": record.n_changed,
        "n_relocated": record.n_relocated,
    }
    return counts | {"seconds": record.seconds}


def inertia(rows: Rows, loss: Any) -> float:
    """A summed loss as squared distance in the mapped space, in the user's weights; infinite where
    it overflows.
    """
    return float(_inertias(rows, [loss])[0])


def _inertias(rows: Rows, losses: Sequence[Any]) -> Array:
    with np.errstate(over="ignore"):
        return np.ldexp(
            np.array([float(loss) for loss in losses]) * rows.kernel.loss_unit, -rows.weight_bits
        )
