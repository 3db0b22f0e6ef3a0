"""A run on the card: many passes a call, each certified, none that waits for the host."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import torch

from ..._grid import Array
from ...centroids import rectified, relocate_empty_clusters
from ...kernels.euler import CircleSums, OnCircles
from ...model import Assignment, Model, Pass, State, Stop
from ..base import Run
from .device_pass import FALLS, RELOCATES, REPEATS, STALLS, DevicePass, Record
from .grouped_pass import CENTROIDS_IN_GROUP, GroupedPass
from .lack_of_memory import explain_lack_of_memory
from .packed_rows import NARROW_COLUMNS, PackedRows
from .pass_buffers import MOST_LOGGED
from .small_pass import SmallPass, is_small

MANY_CENTROIDS = 1024  # from which on groups of them pay
MOST_GROUP_CELLS = 1 << 30  # of bounds by row and group


class DeviceSums:
    """The sums of a pass where the card holds them: mass and loss are here, `fetch` brings the
    rest.
    """

    def __init__(self, passes: DevicePass, loss: int, number: int) -> None:
        self.passes = passes
        self.loss = loss
        self.number = number

    @property
    def mass(self) -> Array:
        return self.passes.mass_of_pass[self.passes.inverse[: self.passes.k].long()].cpu().numpy()

    def fetch(self) -> CircleSums:
        """All of them, as arrays of their own."""
        passes = self.passes
        d = self.passes.rows.d
        # (planes, k, P)
        S = passes.sums_of_pass[:, passes.inverse[: passes.k].long()].cpu().numpy()
        total = S[0] if len(S) == 1 else S[0].astype(object) + (S[1].astype(object) << 32)
        observed = np.repeat(self.mass[:, None], d, axis=1)
        if passes.rows.has_missing:
            observed = observed - (total[:, 2 * d : 3 * d] >> 23).astype(np.int64)
        seen = np.tile(observed, 2).astype(total.dtype)
        totals = total[:, : 2 * d] + passes.mean[: 2 * d].cpu().numpy().astype(total.dtype) * seen
        return CircleSums(mass=self.mass, loss=self.loss, totals=totals, observed=observed)


class TritonRun(Run):
    """A run's labels, bounds and sums, kept on the card."""

    def __init__(self, rows: Any, model: Model, use_bounds: bool = True) -> None:
        self.rows = rows
        self.model = model
        self.use_bounds = use_bounds
        self.store: PackedRows = rows.store
        self.passes: DevicePass | None = None
        self.n_passes = 0
        self.candidate: Any = None  # the centroids that the card holds for its next pass

    def assign(self, C: Any) -> Assignment:
        passes = self._upload_centroids(C)
        passes.expect_loss_below(None)
        (record,) = passes.run(1)
        self.n_passes = self.n_passes + 1
        self.candidate = None
        return Assignment(record.n_changed, DeviceSums(passes, self._loss(record), self.n_passes))

    def update(self, sums: Any, C: Any) -> Any:
        if not isinstance(sums, DeviceSums):
            return self.model.update(sums, C)
        if sums.passes is not self.passes or sums.number != self.n_passes:
            raise RuntimeError("these sums are gone: fetch them before the next pass of their run.")
        self.candidate = self._fetch(0)
        return self.candidate

    def advance(self, state: State, stop: Stop, max_passes: int) -> State | None:
        """Passes up to the end, to one that leaves a cluster empty, or to the last that may move
        the centroids.

        None where the closing pass is due.
        """
        most = min(max_passes, stop.max_iter - len(state.passes))
        if most <= 0:
            return None
        passes = self._upload_centroids(state.candidate)
        passes.expect_loss_below(state.loss - passes.total_square if state.passes else None)
        at_once = passes.first_at_once
        verdict = FALLS
        made = list(state.passes)
        while verdict == FALLS and most > 0:
            count = 1 if stop.tol > 0 else min(at_once, most)
            started = perf_counter()
            records = passes.run(count)
            seconds = (perf_counter() - started) / len(records)
            verdict = records[-1].verdict
            at_once = min(2 * at_once, MOST_LOGGED)
            most = most - len(records)
            kept = records[:-1] if verdict == STALLS else records
            made += [Pass(self._loss(record), record.n_changed, 0, seconds) for record in kept]
            self.n_passes += len(records)
            if verdict == FALLS and _fell_little(made, stop.tol):
                verdict = REPEATS
        return self._state_after(state, made, verdict)

    def _state_after(self, state: State, made: list[Pass], verdict: int) -> State:
        """Where the run stands after the passes made, the last of which came to this verdict."""
        if verdict == STALLS and len(made) == len(state.passes):
            return replace(state, is_done=True)
        C = self._fetch(2 if verdict == STALLS else 1)
        if verdict in (STALLS, REPEATS):
            return State(C, C, made[-1].loss, tuple(made), is_done=True)
        candidate = self.candidate = self._fetch(0)
        if verdict == RELOCATES:
            mass = DeviceSums(self._passes, 0, 0).mass
            candidate, count = relocate_empty_clusters(
                self.model.kernel, self.rows.farthest, candidate, mass
            )
            made[-1] = replace(made[-1], n_relocated=count)
        return State(C, candidate, made[-1].loss, tuple(made), is_done=bool(candidate == C))

    def labels(self) -> Any:
        passes = self._passes
        return self.rows.answer_labels(passes.order[passes.labels.long()])

    @property
    def _passes(self) -> DevicePass:
        if self.passes is None:
            raise RuntimeError("a run has labels after its first pass.")
        return self.passes

    def _upload_centroids(self, C: Any) -> DevicePass:
        """The state on the card, with these centroids for its next pass."""
        if self.passes is None:
            key = (len(C), self.model.centroids is rectified, self.use_bounds)
            spare = self.rows.spare_passes.pop(key, None)
            if spare is not None:
                spare.reset()
            with explain_lack_of_memory(self.rows.table, self.store.device):
                self.passes = spare or make_pass(self.store, self.rows.w, *key)
        if C is not self.candidate:
            self.passes.give(torch.as_tensor(C.f, device=self.store.device))
            self.candidate = C
        return self.passes

    def __del__(self) -> None:
        """Keep the buffers and graphs of an ended run for the next one.

        The rows keep them, not their store: the buffers refer to the store, and a cycle would keep
        both on the device until the garbage collector runs.
        """
        if self.passes is not None:
            self.rows.spare_passes[self.passes.k, self.passes.is_rectified, self.use_bounds] = (
                self.passes
            )

    def _loss(self, record: Record) -> int:
        return int(self._passes.total_square) + record.loss

    def _fetch(self, back: int) -> OnCircles:
        return OnCircles(self._passes.centroids(back).cpu().numpy())


def _fell_little(made: list[Pass], tol: float) -> bool:
    """Whether the last pass lowered the objective by at most a share tol of it."""
    if tol <= 0 or len(made) < 2:
        return False
    return float(made[-2].loss - made[-1].loss) / float(made[-2].loss) <= tol


def make_pass(
    rows: PackedRows, w: torch.Tensor | None, k: int, is_rectified: bool, use_bounds: bool = True
) -> Any:
    """The state of a run: in one launch where all is small, in groups of centroids where these are
    many.
    """
    if use_bounds and is_small(rows, w, k):
        return SmallPass(rows, k, is_rectified)
    n_cells = rows.n * -(-k // CENTROIDS_IN_GROUP)
    if (
        use_bounds
        and k >= MANY_CENTROIDS
        and rows.P > NARROW_COLUMNS
        and n_cells <= MOST_GROUP_CELLS
    ):
        return GroupedPass(rows, w, k, is_rectified)
    return DevicePass(rows, w, k, is_rectified, use_bounds)
