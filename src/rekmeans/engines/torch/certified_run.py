"""A run on a GPU that launches many certified passes in one call."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import cast

import numpy as np

from ..._grid import Array
from ...centroids import rectified, relocate_empty_clusters
from ...kernels.euler import CircleSums, OnCircles
from ...model import Assignment, Centroids, Model, Pass, PassSums, State, Stop
from ...table import Table
from ..base import Run
from .mapped_rows import MappedRows, PackedRows
from .passes import FALLS, MAX_LOGGED, RELOCATES, REPEATS, STALLS, DevicePass, Record, make_pass
from .placement import explain_lack_of_memory


class DeviceSums:
    """The sums of a pass on the device. `fetch` copies all of them to the host."""

    def __init__(self, passes: DevicePass, loss: int, number: int) -> None:
        self.passes = passes
        self.loss = loss
        self.number = number

    @property
    def mass(self) -> Array:
        return self.passes.mass().cpu().numpy()

    def fetch(self) -> CircleSums:
        """Copy all sums to the host."""
        passes = self.passes
        d = passes.rows.d
        S = passes.sums().cpu().numpy()  # (planes, k, P)
        total = S[0] if len(S) == 1 else S[0].astype(object) + (S[1].astype(object) << 32)
        observed = np.repeat(self.mass[:, None], d, axis=1)
        if passes.rows.has_missing:
            observed = observed - (total[:, 2 * d : 3 * d] >> 23).astype(np.int64)
        seen = np.tile(observed, 2).astype(total.dtype)
        totals = total[:, : 2 * d] + passes.mean.cpu().numpy().astype(total.dtype) * seen
        return CircleSums(mass=self.mass, loss=self.loss, totals=totals, observed=observed)


class CertifiedRun(Run):
    """A run whose labels, bounds and sums stay on the GPU."""

    def __init__(
        self, rows: MappedRows, model: Model, table: Table, use_bounds: bool = True
    ) -> None:
        self.rows = rows
        self.model = model
        self.table = table
        self.use_bounds = use_bounds
        self.passes: DevicePass | None = None
        self.n_passes = 0
        self.candidate: Centroids | None = None  # the centroids on the GPU for the next pass

    def assign(self, C: Centroids) -> Assignment:
        passes = self._upload_centroids(C)
        passes.expect_loss_below(None)
        (record,) = passes.run(1)
        self.n_passes = self.n_passes + 1
        self.candidate = None
        return Assignment(record.n_changed, DeviceSums(passes, self._loss(record), self.n_passes))

    def update(self, sums: PassSums, C: Centroids) -> Centroids:
        if not isinstance(sums, DeviceSums):
            return self.model.update(sums, C)
        if sums.passes is not self.passes or sums.number != self.n_passes:
            raise RuntimeError(
                "A later pass has overwritten these sums. Call fetch() before the next pass."
            )
        self.candidate = self._fetch(0)
        return self.candidate

    def advance(self, state: State, stop: Stop, max_passes: int) -> State | None:
        """Make passes until the run ends or a pass leaves a cluster empty.

        Return None if only the last pass is left, which does not move the centroids.
        """
        n_left = min(max_passes, stop.max_iter - len(state.passes))
        if n_left <= 0:
            return None
        passes = self._upload_centroids(state.candidate)
        passes.expect_loss_below(int(state.loss) - passes.total_square if state.passes else None)
        batch_size = passes.first_batch_size
        verdict = FALLS
        made = list(state.passes)
        while verdict == FALLS and n_left > 0:
            count = 1 if stop.tol > 0 else min(batch_size, n_left)
            started = perf_counter()
            records = passes.run(count)
            seconds = (perf_counter() - started) / len(records)
            verdict = records[-1].verdict
            batch_size = min(2 * batch_size, MAX_LOGGED)
            n_left = n_left - len(records)
            kept = records[:-1] if verdict == STALLS else records
            made += [Pass(self._loss(record), record.n_changed, 0, seconds) for record in kept]
            self.n_passes += len(records)
            if verdict == FALLS and _has_converged(made, stop.tol):
                verdict = REPEATS
        return self._state_after(state, made, verdict)

    def _state_after(self, state: State, made: list[Pass], verdict: int) -> State:
        """Return the state of the run after these passes, given the verdict on the last one."""
        if verdict == STALLS and len(made) == len(state.passes):
            return replace(state, is_done=True)
        C = self._fetch(2 if verdict == STALLS else 1)
        if verdict in (STALLS, REPEATS):
            return State(C, C, made[-1].loss, tuple(made), is_done=True)
        candidate: Centroids = self._fetch(0)
        self.candidate = candidate
        if verdict == RELOCATES:
            mass = DeviceSums(self._passes, 0, 0).mass
            candidate, count = relocate_empty_clusters(
                self.model.kernel, self.rows.farthest, candidate, mass
            )
            made[-1] = replace(made[-1], n_relocated=count)
        return State(C, candidate, made[-1].loss, tuple(made), is_done=bool(candidate == C))

    def labels(self) -> Array:
        return self.rows.cells.to_input_type(self._passes.labels_of_rows())

    @property
    def _passes(self) -> DevicePass:
        if self.passes is None:
            raise RuntimeError("This run has no labels yet. Call assign() first.")
        return self.passes

    def _upload_centroids(self, C: Centroids) -> DevicePass:
        """Return the passes of this run after setting the centroids of the next pass."""
        if self.passes is None:
            key = (len(C), self.model.centroids is rectified, self.use_bounds)
            spare = self.rows.spare_passes.pop(key, None)
            if spare is not None:
                spare.reset()
            with explain_lack_of_memory(self.table, self.rows.device):
                store = cast(PackedRows, self.rows.store)
                self.passes = spare or make_pass(store, self.rows.w, *key)
        if C is not self.candidate:
            self.passes.set_centroids(self.rows.upload(C))
            self.candidate = C
        return self.passes

    def __del__(self) -> None:
        """Keep the buffers and graphs of this run for a later run."""
        if self.passes is not None:
            key = (self.passes.k, self.passes.is_rectified, self.use_bounds)
            self.rows.spare_passes[key] = self.passes

    def _loss(self, record: Record) -> int:
        return self._passes.total_square + record.loss

    def _fetch(self, back: int) -> OnCircles:
        return OnCircles(self._passes.centroids(back).cpu().numpy())


def _has_converged(made: list[Pass], tol: float) -> bool:
    """Return whether the last pass lowered the objective by at most the relative tolerance."""
    if tol <= 0 or len(made) < 2:
        return False
    return float(made[-2].loss - made[-1].loss) / float(made[-2].loss) <= tol
