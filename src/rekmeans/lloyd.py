"""The one loop: assign, add up, move the centroids, until they repeat or the objective no longer falls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from ._grid import Array
from ._sums import Sums
from .assign import Hard, Map
from .centroids import CentroidRule, refilled
from .engines import Rows
from .kernels import Kernel

STAGE = 5  # passes of a stage before the last: enough to follow the change of reach

# (start, pass, record): both from 0; the record has objective, moved, refilled, seconds, and `fit`, which gives the Fit
# so far. What it returns says whether this start is to stop here.
Watch = Callable[[int, int, dict[str, Any]], bool | None]


@dataclass(frozen=True)
class Model:
    """What is plugged into the loop: a kernel, an assignment rule, a centroid rule."""

    kernel: Kernel
    assign: Callable[..., tuple[Array, Any]]
    centroids: CentroidRule

    def look(self, F: Array, w: Array, C: Array) -> tuple[Array, Sums]:
        """Labels of these rows and what they leave for the centroids."""
        D = self.kernel.distance(F, C)
        labels, W = self.assign(D, self.kernel.loss, w)
        return labels, self.kernel.pull(F, C, D, W)


@dataclass(frozen=True)
class Fit:
    """Centroids, the labels they give and the objective of both; n_iter passes, and what each pass saw."""

    centroids: Array
    labels: Array
    loss: Any  # the objective in the kernel's own numbers, exact where they are integers
    objective: float
    n_iter: int
    history: dict[str, Array]


def run(
    rows: Rows, model: Model, C: Array, max_iter: int, tol: float, watch: Callable[..., bool | None] | None = None
) -> Fit:
    """The fit from starting centroids C. A pass that does not lower the objective is dropped, with its centroids."""
    walk, loss = rows.walk(model), math.inf
    centroids, labels = C, walk.labels
    history: list[dict[str, Any]] = []

    def fit() -> Fit:
        passes = {name: np.array([record[name] for record in history]) for name in history[0]}
        return Fit(centroids, labels(), loss, history[-1]["objective"], min(len(history), max_iter), passes)

    for t in range(max_iter + 1):  # the last turn only labels the rows for the last centroids
        started = perf_counter()
        seen = walk.step(C)
        if history and seen.loss >= loss:
            labels = partial(labelled, rows, model, centroids)
            break
        fall = float(loss - seen.loss) / float(loss) if loss < math.inf else math.inf
        centroids, loss, filled = C, seen.loss, 0
        if t < max_iter and fall > tol:
            C, filled = refilled(rows, walk.moved(C), seen.mass)
        counts = {"objective": worth(rows, loss), "moved": seen.moved, "refilled": filled}
        history.append(counts | {"seconds": perf_counter() - started})
        stop = watch is not None and watch(t, history[-1] | {"fit": fit})
        if stop or np.array_equal(C, centroids):
            break
    return fit()


def annealed(
    rows: Rows, stages: Sequence[Model], C: Array, max_iter: int, tol: float, watch: Callable[..., Any] | None = None
) -> Fit:
    """The fit under each model in turn, from where the one before ended; the last alone runs to its end."""
    parts: list[Fit] = []
    stops: list[bool] = []

    def told(t: int, record: dict[str, Any], done: int) -> bool:
        so_far = {"fit": lambda: joined([*parts, record["fit"]()])}
        stops.append(bool(watch and watch(done + t, record | so_far)))
        return stops[-1]

    for model in stages:
        done = sum(len(fit.history["moved"]) for fit in parts)
        seen = None if watch is None else partial(told, done=done)
        limit = max_iter if model is stages[-1] else STAGE
        parts.append(run(rows, model, parts[-1].centroids if parts else C, limit, tol, seen))
        if any(stops):
            break
    return joined(parts)


def joined(parts: Sequence[Fit]) -> Fit:
    """The last fit, with the passes of all; `stage` says which had which, where there are several."""
    history = {name: np.concatenate([fit.history[name] for fit in parts]) for name in parts[0].history}
    stage = np.repeat(np.arange(len(parts)), [len(fit.history["moved"]) for fit in parts])
    history |= {"stage": stage} if len(parts) > 1 else {}
    return replace(parts[-1], history=history, n_iter=sum(fit.n_iter for fit in parts))


def best(
    rows: Rows, stages: Sequence[Model], starts: Iterable[Array], max_iter: int, tol: float, watch: Watch | None = None
) -> Fit:
    """The fit of lowest objective over the starts, the first of several; unwatched, an engine may run them at once."""
    if watch is None:
        starts = list(starts)
        at_once = rows.best(stages[-1], starts, max_iter, tol) if len(stages) == 1 else None
        return at_once or min((annealed(rows, stages, C, max_iter, tol) for C in starts), key=lambda fit: fit.loss)
    watched = (annealed(rows, stages, C, max_iter, tol, partial(watch, s)) for s, C in enumerate(starts))
    return min(watched, key=lambda fit: fit.loss)


def labelled(rows: Rows, model: Model, C: Array) -> Array:
    """The label that the model gives each row for these centroids, (n,); only a map's is not simply the nearest.

    Shared rows on circles walk too: their distances are no integers, and a tie has to fall as in the fit.
    """
    if isinstance(model.assign, Hard) or not (isinstance(model.assign, Map) or model.kernel.exact):
        return rows.nearest(C)
    walk = rows.walk(model)
    walk.step(C)
    return walk.labels()


def worth(rows: Rows, loss: Any) -> float:
    """A summed loss as squared distance in the mapped space, in the user's weights; infinite beyond all numbers."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(float(loss) * rows.kernel.worth, -rows.weight_bits))
