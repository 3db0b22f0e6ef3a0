"""A pass on a card: what is scored, decided, added up and moved, launched without a stall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
import triton
from torch import Tensor

from .kernels import assign as assigning
from .kernels import centroids as moving
from .kernels import doubtful, sums, verdict
from .launches import capture_graph, launch_kernel, replay_graph
from .packed_rows import NARROW_COLUMNS
from .pass_buffers import LOG_FIELDS, RING, PassBuffers
from .tiles import choose_candidate_tiles, power_of_two

CAPTURED = 4  # passes in one go from which on a graph of them pays
# of the rows to score, below which gathering them pays
GATHER_SHARE = 0.6
GATHER_SHARE_WIDE = 0.9
ONE_HOT_CLUSTERS = 128  # up to which sums are a one-hot product
# tile of the sums of sorted movers: one warp adds a run in registers
RUN_ROWS = 32
RUN_COLUMNS = 128
# clusters in a tile of the running sums; Triton takes at most 2^20 numbers a tile
CLUSTERS_AT_ONCE = 1 << 13
# last digit, in units of 2^80, above that of every objective: these are below 2^123
UNBEATEN = 1 << 44
# verdicts on a pass
FALLS = verdict.FALLS.value
STALLS = verdict.STALLS.value
RELOCATES = verdict.RELOCATES.value
REPEATS = verdict.REPEATS.value


@dataclass(frozen=True)
class Record:
    """What the card wrote down of a pass."""

    n_changed: int
    verdict: int
    loss: int  # less the sum of w |g|^2


class DevicePass(PassBuffers):
    """The pass of a run of k centroids over packed rows."""

    # centroids in and out

    def give(self, f: Tensor) -> None:
        """Centroids (k, 2d) for the next pass; the bounds of the rows follow them."""
        after = self.ring[(self.position + 1) % RING]
        if self.is_new:
            self._begin(f)
        after[: self.k, : 2 * self.rows.d] = f[self.order[: self.k].long()]
        if self.is_new:  # nothing has drifted yet
            self.ring[self.position].copy_(after)
        self.is_new = False
        self.halt.zero_()
        self._move_centroids(self.position, given=True)
        self.position = (self.position + 1) % RING

    def centroids(self, back: int = 0) -> Tensor:
        """Centroids (k, 2d) of the next pass, or of so many passes before, in the caller's
        order.
        """
        return self.ring[(self.position - back) % RING][
            self.inverse[: self.k].long(), : 2 * self.rows.d
        ]

    def expect_loss_below(self, loss: int | None) -> None:
        """The objective, less the sum of w |g|^2, that the next pass must stay below; None: any."""
        digits = (
            [0, 0, 0, 0, 0, UNBEATEN]
            if loss is None
            else [loss >> 16 * i & 0xFFFF for i in range(5)]
        )
        if loss is not None:
            digits.append(loss >> 80)
        self.last.copy_(torch.tensor(digits, dtype=torch.int64))

    # passes

    def run(self, count: int) -> list[Record]:
        """Up to so many passes; fewer where one of them stalls, repeats its centroids or leaves a
        cluster empty.
        """
        self.progress.zero_()
        self.halt.zero_()
        if self.is_cuda and not self.graphs and count >= CAPTURED:
            self._capture()
        for i in range(count):
            self._replay((self.position + i) % RING)
        n_done = int(self.progress.item())
        self.position = (self.position + n_done) % RING
        return [_record(row) for row in self.log[:n_done].tolist()]

    def _replay(self, position: int) -> None:
        if self.graphs:
            replay_graph(self.device, self.graphs[position])
        else:
            self._launch(position)

    def _capture(self) -> None:
        """A graph of the pass for each position of the ring; a halted pass compiles every kernel
        and does nothing.
        """
        self.halt.fill_(1)
        self._launch(0)
        torch.cuda.synchronize(self.device)
        self.graphs = [
            capture_graph(self.device, partial(self._launch, position)) for position in range(RING)
        ]
        self.halt.zero_()

    def _begin(self, f: Tensor) -> None:
        """What follows from the first centroids."""

    def _launch(self, position: int) -> None:
        self._score_rows()
        self._decide_doubtful_rows(self.ring[position])
        self._add_movers()
        self._move_centroids(position, given=False)

    def _score_rows(self) -> None:
        """Labels of certain rows; rows that changed theirs and rows in doubt in their lists."""
        share = GATHER_SHARE if self.rows.P <= NARROW_COLUMNS else GATHER_SHARE_WIDE
        limit = int(self.rows.n * share) if self.use_bounds else -1
        if self.use_bounds:
            launch_kernel(
                assigning.list_unproven_rows, triton.cdiv(self.rows.n, 2048),
                self.Z, self.labels, self.cum_high, self.scored, self.counters, self.halt,
                self.rows.n, 2048,
                num_warps=8,
            )  # fmt: skip
            self._assign(limit, gather=True)
        self._assign(limit, gather=False)
        launch_kernel(
            assigning.list_movers_and_doubts, triton.cdiv(self.rows.n, 512),
            self.scored, self.labels, self.new, self.threshold, self.mover_row, self.mover_old,
            self.doubt_row,
            self.doubt_threshold, self.doubt_best, self.doubt_new, self.counters,
            self.counters.view(torch.int64),
            self.halt, self.rows.n, limit, 512, num_warps=1,
        )  # fmt: skip

    def _assign(self, limit: int, gather: bool) -> None:
        rows, tiles = self.rows, self.tiles
        n_programs = min(triton.cdiv(rows.n, tiles.rows), self.n_processors * tiles.programs)
        launch_kernel(
            assigning.assign, n_programs,
            rows.hi, self.C, self.bias, rows.lengths, self.AB, self.new, self.threshold, self.Z,
            self.cum_low,
            self.scored, self.counters, self.halt, rows.n, limit, self.first,
            K=self.K, P=rows.P, BN=tiles.rows, BK=tiles.centroids, BP=tiles.columns,
            NPROG=n_programs, GATHER=gather,
            BOUND=self.use_bounds, STAGES=tiles.n_stages if rows.P <= tiles.columns else 1,
            num_warps=tiles.n_warps, num_stages=tiles.n_stages,
        )  # fmt: skip

    # passes launched before the host looks at what became of them; then twice as many each time
    first_at_once = 1
    first = 0  # the place here of the caller's first centroid

    def _decide_doubtful_rows(self, M: Tensor) -> None:
        rows = self.rows
        many = self.n_processors * 2
        size, centroids, columns, n_warps, n_stages, _ = choose_candidate_tiles(
            rows.P, self.tiles.centroids
        )
        launch_kernel(
            doubtful.list_candidates, many,
            rows.hi, self.C, self.bias, self.doubt_row, self.doubt_threshold, self.pair_slot,
            self.pair_centroid,
            self.doubt_overflow, self.counters, self.halt, self.most_pairs,
            K=self.K, P=rows.P, BN=size, BK=centroids, BP=columns, NPROG=many, num_warps=n_warps,
            num_stages=n_stages,
        )  # fmt: skip
        columns = min(512, power_of_two(2 * rows.d))
        many = self.n_processors * 16
        exact = {"D": rows.d, "P": rows.P, "LP": rows.LP, "MISSING": rows.has_missing}
        launch_kernel(
            doubtful.score_pairs, many,
            rows.hi, rows.lo, self.mean, M, self.doubt_row, self.pair_slot, self.pair_centroid,
            self.pair_score,
            self.doubt_best, self.counters, self.halt, self.most_pairs,
            BQ=max(1, 512 // columns), BP=columns, NPROG=many, **exact,
        )  # fmt: skip
        few = self.n_processors
        launch_kernel(
            doubtful.choose_winners, few,
            self.pair_slot, self.pair_centroid, self.pair_score, self.doubt_best, self.doubt_new,
            self.order,
            self.counters, self.halt, self.most_pairs, B=256, NPROG=few,
        )  # fmt: skip
        launch_kernel(
            doubtful.score_overflow, few,
            rows.hi, rows.lo, self.mean, M, self.doubt_row, self.doubt_overflow, self.doubt_new,
            self.inverse,
            self.counters, self.halt, self.most_pairs, self.k, BP=columns, NPROG=few, **exact,
        )  # fmt: skip
        launch_kernel(
            doubtful.list_decided_movers, few,
            self.doubt_row, self.doubt_new, self.inverse, self.labels, self.mover_row,
            self.mover_old, self.counters,
            self.halt, B=256, NPROG=few,
        )  # fmt: skip

    def _add_movers(self) -> None:
        rows, c, halt = self.rows, self.counters, self.halt
        movers = (self.labels, self.mover_row, self.mover_old)
        upper = rows.n + 1  # movers from which on they are not sorted
        if self.w is None and self.k <= ONE_HOT_CLUSTERS and rows.P <= NARROW_COLUMNS:
            many = self.n_processors * 8
            is_few = self.k <= 32
            upper = 0 if is_few else rows.n // 2
            launch_kernel(
                sums.add_movers_of_few_clusters, many,
                rows.hi, rows.lo, self.mean, *movers, self.S, self.N, c, halt, self.k, upper,
                KP=power_of_two(self.k, 16), P=rows.P, LP=rows.LP, BP=power_of_two(rows.P, 16),
                BM=128 if is_few else 64, LEAST=128 if is_few else 256, NPROG=many,
                num_warps=4 if is_few else 8,
            )  # fmt: skip
            if is_few:
                return
        weights = self.N if self.w is None else self.w
        shape = {"P": rows.P, "LP": rows.LP, "WEIGHTED": self.w is not None}
        plane = self.K * rows.P
        # from so many movers on sorting them pays
        most = min((8 if self.k > 1024 else 2) * self.k, upper)
        columns = min(256, power_of_two(rows.P))
        many = self.n_processors * 16
        launch_kernel(
            sums.add_few_movers, many,
            rows.hi, rows.lo, weights, *movers, self.S, self.N, c, halt, plane, most,
            BM=max(1, 1024 // columns), BP=columns, NPROG=many, **shape,
        )  # fmt: skip
        some = self.n_processors * 4
        tile_k = power_of_two(self.k, 16) if self.k <= ONE_HOT_CLUSTERS else 0
        launch_kernel(
            sums.rank_movers, some,
            *movers, self.ranks, self.counts, c, halt, most, upper,
            BM=min(256, 8192 // tile_k) if tile_k else 256, NPROG=some, KP=tile_k,
        )  # fmt: skip
        tile_c = min(CLUSTERS_AT_ONCE, power_of_two(self.k))
        launch_kernel(sums.place_clusters, 1, self.counts, self.offsets, c, self.k, B=tile_c)
        launch_kernel(
            sums.sort_movers,
            some,
            *movers,
            self.ranks,
            self.offsets,
            self.entry_row,
            self.entry_own,
            c,
            halt,
            most,
            upper,
            BM=256,
            NPROG=some,
        )
        many = self.n_processors * 32
        launch_kernel(
            sums.add_sorted_movers, many,
            rows.hi, rows.lo, weights, self.entry_row, self.entry_own, self.S, self.N, c, halt,
            plane,
            BR=RUN_ROWS, BP=min(RUN_COLUMNS // self.planes, power_of_two(rows.P)), NPROG=many,
            num_warps=1, **shape,
        )  # fmt: skip

    def _move_centroids(self, position: int, given: bool) -> None:
        """The centroids after those at this position of the ring, from the sums or as given
        there.
        """
        rows = self.rows
        after = self.ring[(position + 1) % RING]
        launch_kernel(
            moving.move_centroids, self.k,
            self.S, self.N, self.mean, self.ring[position], after, self.C, self.bias, self.stats,
            self.cum,
            self.differs, self.digits, self.halt, self.K * rows.P, self.K,
            D=rows.d, P=rows.P, BD=min(512, power_of_two(rows.d)), GIVEN=given,
            RECTIFIED=self.is_rectified,
            MISSING=rows.has_missing, WEIGHTED=self.w is not None, num_warps=4,
            enable_fp_fusion=False,
        )  # fmt: skip
        self._follow_drift()
        launch_kernel(
            verdict.check_convergence, 1,
            self.stats, self.cum, self.cum_max, self.cum_low, self.cum_high, self.differs,
            self.digits, self.last,
            self.N, self.AB, self.counters, self.log, self.progress, self.halt, self.k, self.K,
            rows.rho * (1 + 2.0**-20), self.kappa,
            BK=min(1024, power_of_two(self.k)), LOG=LOG_FIELDS, GIVEN=given,
            MISSING=rows.has_missing,
            num_warps=4, enable_fp_fusion=False,
        )  # fmt: skip

    def _follow_drift(self) -> None:
        """What the bounds must know of a move."""


def _record(row: list[int]) -> Record:
    n_changed, code, _, *digits = row
    return Record(n_changed, code, sum(digit << 16 * i for i, digit in enumerate(digits)))
