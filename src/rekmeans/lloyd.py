"""Lloyd's loop: assign the rows and move the centroids until the objective no longer falls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import NamedTuple, Protocol, TypedDict

import numpy as np

from ._grid import Array
from .centroids import relocate_empty_clusters
from .engines import Rows, Run
from .model import Centroids, Fit, Loss, Model, Pass, State, Stop

# Bounds of n d k between which the starts of a fit run in parallel, each on one thread. A smaller
# run takes less time than starting a thread, and a larger run uses all threads itself.
TINY_WORK = 1 << 16
SMALL_WORK = 1 << 22
STAGE = 5  # passes of each stage except the last: enough to follow the change of reach


class PassReport(TypedDict):
    """The report of one pass to a watcher."""

    inertia: float
    n_changed: int
    n_relocated: int
    seconds: float
    fit: Callable[[], Fit]  # computes the fit after this pass
    results: Sequence[RunResult]  # of the stages so far, the current one included


# called with (pass, report) or (start, pass, report), counted from 0; True ends the start
RunWatch = Callable[[int, PassReport], bool | None]
Watch = Callable[[int, int, PassReport], bool | None]


class RunResult(NamedTuple):
    """The state of a run under one model, between two passes or at its end."""

    run: Run | None  # None if only a checkpoint holds the state
    model: Model
    state: State
    stop: Stop
    stage: int = 0
    n_before: int = 0  # passes of the state from before this run, as read from a checkpoint

    @property
    def saved_stage(self) -> SavedStage:
        """The part of this result that a checkpoint stores."""
        return SavedStage(self.stage, self.stop.max_iter, self.state)


class SavedStage(NamedTuple):
    """The part of a result that a checkpoint stores."""

    stage: int
    max_iter: int
    state: State

    def restore(self, stages: Sequence[Model], stop: Stop) -> RunResult:
        """Return the result without its run."""
        limit = replace(stop, max_iter=self.max_iter)
        return RunResult(None, stages[self.stage], self.state, limit, self.stage)


class Progress(NamedTuple):
    """The progress of a fit: the current start and its stages, and the best start before it."""

    start: int
    stages: tuple[SavedStage, ...]
    best: tuple[SavedStage, ...] = ()  # empty until the first start ends


class Journal(Protocol):
    """A log of the progress after each pass; `progress` is that of an interrupted fit, if any."""

    progress: Progress | None

    def record(self, progress: Progress) -> None: ...


def run(rows: Rows, model: Model, C: Centroids, stop: Stop, watch: RunWatch | None = None) -> Fit:
    """Return the fit from starting centroids C.

    A pass that does not lower the objective is dropped, with its centroids.
    """
    return make_fit(rows, run_stages(rows, [model], C, stop, watch))


def run_to_end(
    rows: Rows,
    model: Model,
    C: Centroids,
    stop: Stop,
    watch: Callable[[RunResult], bool] | None = None,
    state: State | None = None,
) -> RunResult:
    """Run passes until the centroids repeat, the objective no longer falls, or the watcher stops.

    With a state, the run resumes from it. The rows are first labelled by the centroids of the last
    pass, so that changed labels are counted as in an uninterrupted run.
    """
    run = rows.start_run(model)
    n_before = 0
    if state is None:
        state = State(C, C)
    elif not state.is_done:
        run.assign(state.centroids)
        n_before = len(state.passes) - 1
    max_passes = 1 if watch else stop.max_iter + 1
    while not state.is_done:
        n_passes = len(state.passes)
        state = run.advance(state, stop, max_passes) or next_state(rows, run, model, state, stop)
        result = RunResult(run, model, state, stop, n_before=n_before)
        if watch is not None and len(state.passes) > n_passes and watch(result):
            break
    return RunResult(run, model, state, stop, n_before=n_before)


def next_state(rows: Rows, run: Run, model: Model, state: State, stop: Stop) -> State:
    """Run one pass: assign the rows to the candidate centroids, and compute the next ones.

    The pass after the last iteration only labels the rows.
    """
    started = perf_counter()
    C = state.candidate
    assignment = run.assign(C)
    loss = assignment.sums.loss
    number = len(state.passes)
    check_loss(loss, number + 1)
    if number and loss >= state.loss:
        return replace(state, is_done=True)
    candidate = C
    n_relocated = 0
    if number < stop.max_iter and relative_fall(state.loss, loss) > stop.tol:
        candidate = run.update(assignment.sums, C)
        candidate, n_relocated = relocate_empty_clusters(
            model.kernel, rows.farthest, candidate, assignment.sums.mass
        )
    record = Pass(loss, assignment.n_changed, n_relocated, perf_counter() - started)
    return State(C, candidate, loss, (*state.passes, record), is_done=bool(candidate == C))


def check_loss(loss: Loss, iteration: int) -> None:
    """Raise ValueError unless the loss of an iteration is finite; iterations count from 1."""
    if not math.isfinite(loss):
        raise ValueError(
            f"The loss of iteration {iteration} is {float(loss)}: a distance overflowed, or a "
            f"formula divided by zero. Use a wider scale or a smaller gamma. If you wrote the "
            f"kernel or the assignment rule, check its formulas."
        )


def relative_fall(before: Loss, after: Loss) -> float:
    """Return the fall of the loss divided by its absolute value.

    The fall is infinite if the previous loss is infinite (before the first pass) or 0.
    """
    if before == 0 or before == math.inf:
        return math.inf
    return float(before - after) / abs(float(before))


def run_stages(
    rows: Rows,
    stages: Sequence[Model],
    C: Centroids,
    stop: Stop,
    watch: RunWatch | None = None,
    saved: Sequence[SavedStage] = (),
) -> list[RunResult]:
    """Run each model in turn, from the centroids of the stage before it.

    Only the last stage runs to its end. `saved` are the stages of an interrupted start. The run
    resumes in the last of these.
    """
    results = [one.restore(stages, stop) for one in saved[:-1]]
    # whether the watcher stopped the start, after each pass of all stages
    stopped = [False for one in saved for _ in one.state.passes]

    def watch_stage(result: RunResult) -> bool:
        so_far = [*results, result._replace(stage=len(results))]
        report = make_report(rows, so_far)
        stopped.append(bool(watch and watch(len(stopped), report)))
        return stopped[-1]

    for stage, model in list(enumerate(stages))[len(results) :]:
        is_last = stage == len(stages) - 1
        limit = stop if is_last else replace(stop, max_iter=STAGE)
        start = results[-1].state.centroids if results else C
        state = saved[-1].state if saved and stage == saved[-1].stage else None
        result = run_to_end(rows, model, start, limit, watch_stage if watch else None, state)
        results.append(result._replace(stage=stage))
        # labels and objective must come from the last model, which is used for prediction
        if any(stopped) and not is_last:
            only_label = replace(stop, max_iter=0)
            closing = run_to_end(rows, stages[-1], results[-1].state.centroids, only_label)
            results.append(closing._replace(stage=len(stages) - 1))
        if any(stopped):
            break
    return results


def fit_best_start(
    rows: Rows,
    stages: Sequence[Model],
    starts: Iterable[Centroids | None],
    stop: Stop,
    watch: Watch | None = None,
    journal: Journal | None = None,
) -> Fit:
    """Return the fit with the lowest objective over the starts, the first one on ties.

    Small runs run in parallel unless they are watched. A start is None if an interrupted fit
    began it. Only the last of these is resumed.
    """
    if watch is not None or journal is not None:
        return make_fit(rows, _watch_starts(rows, stages, starts, stop, watch, journal))
    given = [C for C in starts if C is not None]
    run_start = partial(run_stages, rows, stages, stop=stop)
    work = len(rows) * rows.table.n_columns * len(given[0])
    n_threads = min(rows.n_parallel_runs, len(given)) if TINY_WORK < work <= SMALL_WORK else 1
    if n_threads == 1:
        return make_fit(rows, min(map(run_start, given), key=start_loss))
    with ThreadPoolExecutor(n_threads) as pool:
        return make_fit(rows, min(pool.map(run_start, given), key=start_loss))


def start_loss(results: Sequence[RunResult]) -> Loss:
    """Return the objective at the end of a start."""
    return results[-1].state.loss


def _watch_starts(
    rows: Rows,
    stages: Sequence[Model],
    starts: Iterable[Centroids | None],
    stop: Stop,
    watch: Watch | None,
    journal: Journal | None,
) -> list[RunResult]:
    """Run the starts in turn, report each pass, and return the results of the best start."""
    progress = None if journal is None else journal.progress
    best = [one.restore(stages, stop) for one in progress.best] if progress else []

    def report_pass(s: int, t: int, report: PassReport) -> bool:
        if journal is not None:
            stages_so_far = tuple(result.saved_stage for result in report["results"])
            best_so_far = tuple(result.saved_stage for result in best)
            journal.record(Progress(s, stages_so_far, best_so_far))
        return bool(watch and watch(s, t, report))

    for s, C in enumerate(starts):
        if progress and s < progress.start:
            continue
        saved = progress.stages if progress and s == progress.start else ()
        start = saved[0].state.centroids if C is None else C
        results = run_stages(rows, stages, start, stop, partial(report_pass, s), saved)
        if not best or start_loss(results) < start_loss(best):
            best = results
    return best


def make_fit(rows: Rows, results: Sequence[RunResult]) -> Fit:
    """Return the fit of the last stage with the passes of all stages.

    It does not change if the run makes further passes. With several stages, the history has the
    stage of each pass.
    """
    last = results[-1]
    state = last.state
    labels = state.labels if state.labels is not None else _label_rows(rows, last)
    passes = [record for result in results for record in result.state.passes]
    history = {
        "inertia": _inertias(rows, [record.loss for record in passes]),
        "n_changed": np.array([record.n_changed for record in passes]),
        "n_relocated": np.array([record.n_relocated for record in passes]),
        "seconds": np.array([record.seconds for record in passes]),
    }
    if len(results) > 1:
        history["stage"] = np.array(
            [result.stage for result in results for _ in result.state.passes]
        )
    n_iter = sum(min(len(result.state.passes), result.stop.max_iter) for result in results)
    return Fit(state.centroids, labels, state.loss, float(history["inertia"][-1]), n_iter, history)


def _label_rows(rows: Rows, result: RunResult) -> Array:
    """Return the labels for the centroids of a result, from its run if it still has them."""
    run = result.run
    state = result.state
    if run is None:
        return rows.label(result.model, state.centroids)
    is_last = run.n_passes + result.n_before == len(state.passes)
    # the run is done, and its last pass was dropped
    if state.is_done and not is_last:
        run.assign(state.centroids)
        is_last = True
    return run.labels() if is_last else rows.label(result.model, state.centroids)


def make_report(rows: Rows, results: Sequence[RunResult]) -> PassReport:
    """Return the report of the last pass of these results."""
    record = results[-1].state.passes[-1]
    return PassReport(
        inertia=inertia(rows, record.loss),
        n_changed=record.n_changed,
        n_relocated=record.n_relocated,
        seconds=record.seconds,
        fit=partial(make_fit, rows, results),
        results=results,
    )


def inertia(rows: Rows, loss: Loss) -> float:
    """Return a summed loss as a squared distance in the mapped space, with the user's weights.

    It is infinite on overflow.
    """
    return float(_inertias(rows, [loss])[0])


def _inertias(rows: Rows, losses: Sequence[Loss]) -> Array:
    with np.errstate(over="ignore"):
        squares = np.array([float(loss) for loss in losses]) * rows.kernel.loss_unit
        return np.ldexp(squares, -rows.weight_bits)
