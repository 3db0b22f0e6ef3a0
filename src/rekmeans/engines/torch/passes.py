"""Certified passes of a run on a GPU. Many passes are launched without waiting for the host.

A pass scores rows in fp16, decides doubtful rows in integers, adds the rows whose labels changed,
and moves the centroids. `CertifiedPass` uses several launches for a pass. It scores rows with
`PlainScoring` or, for many centroids, with `GroupedScoring`. `SmallPass` makes several passes over
a small table in one launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import torch
import triton
from torch import Tensor

from .error_bound import relative_error
from .kernels import assignment, small_fit, update
from .launches import capture_graph, launch_kernel, replay_graph
from .mapped_rows import NARROW_COLUMNS, PackedRows
from .placement import check_accumulator

MAX_LOGGED = 16  # largest number of passes between two reads of the log
LOG_FIELDS = 9  # n_changed, verdict, n_empty and the 6 digits of the objective
RING = 3  # centroids of the previous, the current and the next pass
MIN_PAIRS = 1 << 14  # smallest capacity of the list of (doubtful row, candidate) pairs
MIN_CAPTURED = 4  # smallest number of passes in one call for which a CUDA graph is faster
# gathering the rows to score is faster if they are at most this share of all rows
GATHER_SHARE = 0.6
GATHER_SHARE_WIDE = 0.9
ONE_HOT_CLUSTERS = 128  # largest number of clusters whose sums are one-hot products
# tile of the sums of sorted movers: one warp adds a run in registers
RUN_ROWS = 32
RUN_COLUMNS = 128
# clusters in a tile of the running sums; a Triton tile has at most 2^20 numbers
CLUSTERS_AT_ONCE = 1 << 13
# a last digit, in units of 2^80, above that of every objective: objectives are below 2^123
MAX_LAST_DIGIT = 1 << 44

MANY_CENTROIDS = 1024  # smallest number of centroids for which grouped scoring is faster
CENTROIDS_IN_GROUP = 256  # one tile of the product
MAX_GROUP_CELLS = 1 << 30  # largest number of bounds, one for each row and group
POWER_STEPS = 20  # steps of the power method that finds the widest direction

# largest sizes for SmallPass; several launches are faster for larger ones
MAX_SMALL_ROWS = 1 << 15
MAX_SMALL_COLUMNS = 128  # mapped columns
MAX_SMALL_CENTROIDS = 64
SMALL_LOG_FIELDS = 5  # n_changed, verdict, n_empty, low and high word of the objective
MAX_HIGH_WORD = 1 << 62  # a high word above that of every objective

# verdicts on a pass, see kernels/update.py
FALLS: int = update.FALLS.value
STALLS: int = update.STALLS.value
RELOCATES: int = update.RELOCATES.value
REPEATS: int = update.REPEATS.value


@dataclass(frozen=True)
class Record:
    """One entry of the log that the GPU writes."""

    n_changed: int
    verdict: int
    loss: int  # minus the sum of w |g|^2


class DevicePass(Protocol):
    """A strategy for the passes of a run over packed rows, with the state between passes."""

    rows: PackedRows
    k: int
    is_rectified: bool
    total_square: int  # the sum of w |g|^2
    mean: Tensor  # (2d,) the grid point to which the sums are relative
    # number of passes before the host first reads the log; later batches double in size
    first_batch_size: int

    def reset(self) -> None:
        """Return to the state before the first pass."""

    def set_centroids(self, f: Tensor) -> None:
        """Set the centroids (k, 2d) of the next pass."""

    def centroids(self, back: int = 0) -> Tensor:
        """Return the centroids (k, 2d) of the next pass, or of the pass `back` passes earlier."""

    def expect_loss_below(self, loss: int | None) -> None:
        """Set the limit for the objective of the next pass, minus the sum of w |g|^2.

        None means no limit.
        """

    def run(self, count: int) -> list[Record]:
        """Make up to `count` passes.

        Stop early if a pass stalls, repeats its centroids or leaves a cluster empty.
        """

    def labels_of_rows(self) -> Tensor:
        """Return the labels of the last pass, (n,) int32."""

    def sums(self) -> Tensor:
        """Return the sums of the last pass, (planes, k, P), as one plane or as two words."""

    def mass(self) -> Tensor:
        """Return the weight of each cluster in the last pass, (k,)."""


# Tile sizes of the assignment kernels, tuned on an H200. All tile sizes give the same bits.


class Tiles(NamedTuple):
    rows: int
    centroids: int
    columns: int
    n_warps: int
    n_stages: int
    programs: int  # for each multiprocessor


def power_of_two(count: int, least: int = 1) -> int:
    """Return the smallest power of two that is at least `count` and `least`."""
    return max(least, 1 << (count - 1).bit_length())


def choose_tiles(P: int, k: int) -> Tiles:
    """Return the tile sizes for P stored columns and k centroids."""
    if P <= NARROW_COLUMNS:
        columns = power_of_two(P, 16)
        if k <= 16:
            return Tiles(64, 16, columns, 2 if columns <= 32 else 4, 1, 32 if columns <= 32 else 8)
        return Tiles(128, min(128, power_of_two(k)), columns, 4, 1, 2)
    if k <= 64:
        return Tiles(128, power_of_two(k, 16), 64, 4, 4, 3)
    return Tiles(
        128, min(256, power_of_two(k)), 64, 8, 4 if 1024 < P < 4096 else 3, 1 if P < 4096 else 2
    )


def choose_candidate_tiles(P: int, centroids: int) -> Tiles:
    """Return the tile sizes of the kernel that scores the few doubtful rows."""
    if centroids < 128:
        return Tiles(64, centroids, min(64, power_of_two(P, 16)), 4, 3, 2)
    if P >= 4096:
        return Tiles(64, 64, 128, 4, 4, 2)
    return Tiles(128, centroids, min(64, power_of_two(P, 16)), 8, 3, 2)


class PassBuffers:
    """The buffers of a run: a ring of centroids, sums, and lists of rows that a pass fills.

    Centroids may be stored in a different order. `order` maps a stored number to the caller's
    number, and `inverse` maps the caller's number to the stored number.
    """

    def __init__(self, rows: PackedRows, w: Tensor | None, k: int, tiles: Tiles) -> None:
        self.rows = rows
        self.w = w
        self.k = k
        self.tiles = tiles
        self.device = rows.device
        self.K = -(-k // tiles.centroids) * tiles.centroids
        self.n_processors = 1
        major = 9  # Triton's interpreter stands for a Hopper GPU
        if rows.device.type == "cuda":
            check_accumulator(rows.device)
            properties = torch.cuda.get_device_properties(rows.device)
            self.n_processors = properties.multi_processor_count
            major = properties.major
        self.kappa = relative_error(rows.P, tiles.centroids, major)
        self.planes = 1 if w is None else 2
        self.label_type = torch.int16 if self.K < 1 << 15 else torch.int32
        self._allocate_centroids()
        self._allocate_rows()

    def zeros(self, *shape: int, dtype: torch.dtype = torch.int32) -> Tensor:
        return torch.zeros(*shape, dtype=dtype, device=self.device)

    def _allocate_centroids(self) -> None:
        K = self.K
        P = self.rows.P
        self.ring = [self.zeros(K, P) for _ in range(RING)]
        self.C = self.zeros(K, P, dtype=torch.float16)
        self.bias = torch.full((K,), 1e29, device=self.device)
        self.S = self.zeros(self.planes, K, P, dtype=torch.int64)
        self.N = self.zeros(K, dtype=torch.int64)
        self.mean = torch.nn.functional.pad(self.rows.mean, (0, P - 2 * self.rows.d))
        self.stats = self.zeros(4, K, dtype=torch.float32)
        self.AB = self.zeros(2, dtype=torch.float32)
        self.cum = self.zeros(K, dtype=torch.float64)
        self.cum_max = self.zeros(1, dtype=torch.float64)
        self.cum_low = self.zeros(K, dtype=torch.float32)
        self.cum_high = self.zeros(K, dtype=torch.float32)
        self.differs = self.zeros(K)
        self.counts = self.zeros(2 * K)
        self.offsets = self.zeros(2 * K)
        self.digits = self.zeros(K, 6, dtype=torch.int64)
        self.last = self.zeros(6, dtype=torch.int64)
        self.order = torch.arange(K, dtype=torch.int32, device=self.device)
        self.inverse = self.order.clone()
        self.log = self.zeros(MAX_LOGGED, LOG_FIELDS, dtype=torch.int64)
        self.progress = self.zeros(1)
        self.halt = self.zeros(1)
        self.counters = self.zeros(8)  # movers, doubts, pairs, rows to score, entries of the sort

    def _allocate_rows(self) -> None:
        n = self.rows.n
        device = self.device
        kind = self.label_type

        def empty(count: int, dtype: torch.dtype = torch.int32) -> Tensor:
            return torch.empty(count, dtype=dtype, device=device)

        self.labels = torch.full((n,), -1, dtype=kind, device=device)
        self.mover_old = empty(n, kind)
        self.scored = empty(n)
        self.mover_row = empty(n)
        self.doubt_row = empty(n)
        self.doubt_new = empty(n)
        self.doubt_threshold = empty(n, torch.float32)
        self.doubt_best = empty(n, torch.int64)
        self.doubt_overflow = self.zeros(n, dtype=torch.int8)
        self.max_pairs = max(n // 2, MIN_PAIRS)
        self.pair_slot = empty(self.max_pairs)
        self.pair_centroid = empty(self.max_pairs)
        self.pair_score = empty(self.max_pairs, torch.int64)
        self.ranks = empty(2 * n)
        self.entry_own = empty(2 * n)
        self.entry_row = empty(2 * n, torch.int64)

    def reset(self) -> None:
        """Return to the state before the first pass."""
        self.labels.fill_(-1)
        for sums_or_drift in (self.S, self.N, self.cum, self.cum_max, self.counts, self.counters):
            sums_or_drift.zero_()


class Scoring(Protocol):
    """A strategy for scoring rows, with bounds that allow later passes to skip rows."""

    def begin(self, f: Tensor) -> bool:
        """Prepare for the first centroids (k, 2d); return whether captured graphs are stale."""

    def score_rows(self) -> None:
        """Label the certain rows; list the rows whose labels changed and the doubtful rows."""

    def follow_drift(self) -> None:
        """Update the bounds after the centroids have moved."""

    def reset(self) -> None:
        """Set the bounds so that the next pass scores every row."""


class PlainScoring:
    """Scoring of each row for all centroids. One bound per row allows later passes to skip it."""

    def __init__(self, buffers: PassBuffers, use_bounds: bool) -> None:
        self.buffers = buffers
        self.use_bounds = use_bounds
        n = buffers.rows.n
        # the new label, or -1 - label if in doubt, and the score that candidates must reach
        self.new = torch.empty(n, dtype=buffers.label_type, device=buffers.device)
        self.threshold = torch.empty(n, device=buffers.device)
        self.Z = torch.full((n,), -1.0, device=buffers.device)  # bounds

    def begin(self, f: Tensor) -> bool:
        return False

    def reset(self) -> None:
        self.Z.fill_(-1.0)

    def score_rows(self) -> None:
        b = self.buffers
        n = b.rows.n
        share = GATHER_SHARE if b.rows.P <= NARROW_COLUMNS else GATHER_SHARE_WIDE
        limit = int(n * share) if self.use_bounds else -1
        if self.use_bounds:
            launch_kernel(
                assignment.list_unproven_rows, triton.cdiv(n, 2048),
                self.Z, b.labels, b.cum_high, b.scored, b.counters, b.halt, n, 2048, num_warps=8,
            )  # fmt: skip
            self.assign(limit, gather=True)
        self.assign(limit, gather=False)
        launch_kernel(
            assignment.list_movers_and_doubts, triton.cdiv(n, 512),
            b.scored, b.labels, self.new, self.threshold, b.mover_row, b.mover_old, b.doubt_row,
            b.doubt_threshold, b.doubt_best, b.doubt_new, b.counters, b.counters.view(torch.int64),
            b.halt, n, limit, 512, num_warps=1,
        )  # fmt: skip

    def assign(self, limit: int, gather: bool) -> None:
        """Score the listed rows (gather=True), or all rows if more than `limit` are listed."""
        b = self.buffers
        rows = b.rows
        tiles = b.tiles
        first = 0  # the stored number of the caller's first centroid
        n_programs = min(triton.cdiv(rows.n, tiles.rows), b.n_processors * tiles.programs)
        launch_kernel(
            assignment.assign, n_programs,
            rows.hi, b.C, b.bias, rows.lengths, b.AB, self.new, self.threshold, self.Z, b.cum_low,
            b.scored, b.counters, b.halt, rows.n, limit, first,
            K=b.K, P=rows.P, BN=tiles.rows, BK=tiles.centroids, BP=tiles.columns,
            NPROG=n_programs, GATHER=gather,
            BOUND=self.use_bounds, STAGES=tiles.n_stages if rows.P <= tiles.columns else 1,
            num_warps=tiles.n_warps, num_stages=tiles.n_stages,
        )  # fmt: skip

    def follow_drift(self) -> None:
        """Do nothing, because check_convergence sums the drift of each centroid."""


class GroupedScoring:
    """Scoring of each row for the groups of centroids that its bounds do not rule out.

    Nearby centroids are in the same group.
    """

    def __init__(self, buffers: PassBuffers, group: int) -> None:
        self.buffers = buffers
        self.group = group
        self.first = 0  # the stored number of the caller's first centroid
        n = buffers.rows.n
        device = buffers.device
        G = self.G = buffers.K // group
        self.own_score = torch.empty(n, device=device)
        self.own_upper = torch.empty(n, device=device)
        self.LZ = torch.full((n, G), -1e30, device=device)
        self.T1 = torch.empty(n, G, device=device)
        self.T2 = torch.empty(n, G, device=device)
        self.lists = buffers.zeros(G, n)
        self.list_counts = buffers.zeros(G)
        self.group_cum = buffers.zeros(G, dtype=torch.float64)
        self.drift_low = buffers.zeros(G, dtype=torch.float32)
        self.drift_high = buffers.zeros(G, dtype=torch.float32)

    def begin(self, f: Tensor) -> bool:
        """Choose an order in which nearby centroids are stored together."""
        b = self.buffers
        b.order[: b.k] = order_by_neighbourhood(f, self.group // 4).to(torch.int32)
        b.inverse[b.order.long()] = torch.arange(b.K, dtype=torch.int32, device=b.device)
        first = int(b.inverse[0])
        is_stale = first != self.first  # graphs contain it as a constant
        self.first = first
        return is_stale

    def reset(self) -> None:
        self.LZ.fill_(-1e30)
        for drift in (self.group_cum, self.drift_low, self.drift_high, self.list_counts):
            drift.zero_()

    def score_rows(self) -> None:
        b = self.buffers
        rows = b.rows
        G = self.G
        found = (self.own_score, self.own_upper, self.LZ)
        columns = min(64, power_of_two(rows.P, 16))
        launch_kernel(
            assignment.list_groups_to_score, triton.cdiv(rows.n, 128),
            rows.hi, b.C, b.bias, rows.lengths, b.AB, b.labels, *found, self.drift_high,
            self.lists, self.list_counts, b.scored, b.counters, b.halt, rows.n,
            P=rows.P, G=G, BN=128, BP=columns,
        )  # fmt: skip
        n_programs = b.n_processors
        launch_kernel(
            assignment.score_groups, n_programs,
            rows.hi, b.C, b.bias, self.lists, self.list_counts, self.T1, self.T2, b.halt, rows.n,
            P=rows.P, KG=self.group, G=G, BN=128,
            BP=min(columns, 16 if rows.P % columns else columns), NPROG=n_programs,
            num_warps=8, num_stages=3,
        )  # fmt: skip
        n_programs = b.n_processors * 8
        launch_kernel(
            assignment.merge_groups, n_programs,
            rows.lengths, b.AB, b.labels, *found, self.drift_low, self.drift_high, self.T1,
            self.T2, b.scored, b.mover_row, b.mover_old, b.doubt_row, b.doubt_threshold,
            b.doubt_best, b.doubt_new, b.counters, b.halt, self.first,
            KG=self.group, G=G, GP=power_of_two(G), BN=64, NPROG=n_programs,
        )  # fmt: skip

    def follow_drift(self) -> None:
        b = self.buffers
        launch_kernel(
            assignment.sum_group_drift, self.G,
            b.stats, self.group_cum, self.drift_low, self.drift_high, self.list_counts, b.halt,
            b.k, b.K, KG=self.group,
        )  # fmt: skip


class CertifiedPass:
    """A pass that consists of several launches, with a strategy for scoring rows."""

    first_batch_size = 1

    def __init__(self, buffers: PassBuffers, scoring: Scoring, is_rectified: bool) -> None:
        self.buffers = buffers
        self.scoring = scoring
        self.is_rectified = is_rectified
        self.rows = buffers.rows
        self.k = buffers.k
        self.mean = buffers.mean[: 2 * self.rows.d]
        self.total_square = self.rows.total_square(buffers.w)
        self.position = 0  # of the next pass's centroids in the ring
        self.graphs: list[torch.cuda.CUDAGraph] = []
        self.is_new = True  # True until the first centroids are set

    @property
    def labels(self) -> Tensor:
        """The labels of the last pass by stored numbers, (n,)."""
        return self.buffers.labels

    def labels_of_rows(self) -> Tensor:
        return self.buffers.order[self.labels.long()]

    def sums(self) -> Tensor:
        return self.buffers.S[:, self._stored_numbers()]

    def mass(self) -> Tensor:
        return self.buffers.N[self._stored_numbers()]

    def _stored_numbers(self) -> Tensor:
        """Return the stored numbers of the caller's centroids, (k,)."""
        return self.buffers.inverse[: self.k].long()

    def reset(self) -> None:
        self.is_new = True
        self.buffers.reset()
        self.scoring.reset()

    # centroids in and out

    def set_centroids(self, f: Tensor) -> None:
        """Set the centroids (k, 2d) of the next pass, and update the bounds of the rows."""
        b = self.buffers
        after = b.ring[(self.position + 1) % RING]
        if self.is_new and self.scoring.begin(f):
            self.graphs = []
        after[: self.k, : 2 * self.rows.d] = f[b.order[: self.k].long()]
        if self.is_new:  # no drift yet
            b.ring[self.position].copy_(after)
        self.is_new = False
        b.halt.zero_()
        self._move_centroids(self.position, given=True)
        self.position = (self.position + 1) % RING

    def centroids(self, back: int = 0) -> Tensor:
        stored = self.buffers.ring[(self.position - back) % RING]
        return stored[self._stored_numbers(), : 2 * self.rows.d]

    def expect_loss_below(self, loss: int | None) -> None:
        digits = (
            [0, 0, 0, 0, 0, MAX_LAST_DIGIT]
            if loss is None
            else [loss >> 16 * i & 0xFFFF for i in range(5)]
        )
        if loss is not None:
            digits.append(loss >> 80)
        self.buffers.last.copy_(torch.tensor(digits, dtype=torch.int64))

    # passes

    def run(self, count: int) -> list[Record]:
        b = self.buffers
        b.progress.zero_()
        b.halt.zero_()
        if b.device.type == "cuda" and not self.graphs and count >= MIN_CAPTURED:
            self.capture()
        for i in range(count):
            self.launch((self.position + i) % RING)
        n_done = int(b.progress.item())
        self.position = (self.position + n_done) % RING
        return [_record(row) for row in b.log[:n_done].tolist()]

    def launch(self, position: int) -> None:
        """Launch the pass at this position of the ring, as a graph if one has been captured."""
        if self.graphs:
            replay_graph(self.buffers.device, self.graphs[position])
        else:
            self._launch_kernels(position)

    def capture(self) -> None:
        """Capture a graph of the pass for each position of the ring.

        Before that, a halted pass compiles all kernels without doing any work.
        """
        b = self.buffers
        b.halt.fill_(1)
        self._launch_kernels(0)
        torch.cuda.synchronize(b.device)
        self.graphs = [
            capture_graph(b.device, partial(self._launch_kernels, position))
            for position in range(RING)
        ]
        b.halt.zero_()

    def _launch_kernels(self, position: int) -> None:
        self.scoring.score_rows()
        self._decide_doubtful_rows(self.buffers.ring[position])
        self._add_movers()
        self._move_centroids(position, given=False)

    def _decide_doubtful_rows(self, M: Tensor) -> None:
        b = self.buffers
        rows = self.rows
        n_programs = b.n_processors * 2
        size, centroids, columns, n_warps, n_stages, _ = choose_candidate_tiles(
            rows.P, b.tiles.centroids
        )
        launch_kernel(
            assignment.list_candidates, n_programs,
            rows.hi, b.C, b.bias, b.doubt_row, b.doubt_threshold, b.pair_slot, b.pair_centroid,
            b.doubt_overflow, b.counters, b.halt, b.max_pairs,
            K=b.K, P=rows.P, BN=size, BK=centroids, BP=columns, NPROG=n_programs,
            num_warps=n_warps, num_stages=n_stages,
        )  # fmt: skip
        columns = min(512, power_of_two(2 * rows.d))
        n_programs = b.n_processors * 16
        exact = {"D": rows.d, "P": rows.P, "LP": rows.LP, "MISSING": rows.has_missing}
        launch_kernel(
            assignment.score_pairs, n_programs,
            rows.hi, rows.lo, b.mean, M, b.doubt_row, b.pair_slot, b.pair_centroid, b.pair_score,
            b.doubt_best, b.counters, b.halt, b.max_pairs,
            BQ=max(1, 512 // columns), BP=columns, NPROG=n_programs, **exact,
        )  # fmt: skip
        n_programs = b.n_processors
        launch_kernel(
            assignment.choose_winners, n_programs,
            b.pair_slot, b.pair_centroid, b.pair_score, b.doubt_best, b.doubt_new, b.order,
            b.counters, b.halt, b.max_pairs, B=256, NPROG=n_programs,
        )  # fmt: skip
        launch_kernel(
            assignment.score_overflow, n_programs,
            rows.hi, rows.lo, b.mean, M, b.doubt_row, b.doubt_overflow, b.doubt_new, b.inverse,
            b.counters, b.halt, b.max_pairs, self.k, BP=columns, NPROG=n_programs, **exact,
        )  # fmt: skip
        launch_kernel(
            assignment.list_decided_movers, n_programs,
            b.doubt_row, b.doubt_new, b.inverse, b.labels, b.mover_row, b.mover_old, b.counters,
            b.halt, B=256, NPROG=n_programs,
        )  # fmt: skip

    def _add_movers(self) -> None:
        b = self.buffers
        rows = self.rows
        k = self.k
        movers = (b.labels, b.mover_row, b.mover_old)
        upper = rows.n + 1  # movers are sorted only if there are fewer than this
        if b.w is None and k <= ONE_HOT_CLUSTERS and rows.P <= NARROW_COLUMNS:
            n_programs = b.n_processors * 8
            is_few = k <= 32
            upper = 0 if is_few else rows.n // 2
            launch_kernel(
                update.add_movers_of_few_clusters, n_programs,
                rows.hi, rows.lo, b.mean, *movers, b.S, b.N, b.counters, b.halt, k, upper,
                KP=power_of_two(k, 16), P=rows.P, LP=rows.LP, BP=power_of_two(rows.P, 16),
                BM=128 if is_few else 64, MIN_MOVERS=128 if is_few else 256, NPROG=n_programs,
                num_warps=4 if is_few else 8,
            )  # fmt: skip
            if is_few:
                return
        weights = b.N if b.w is None else b.w
        shape = {"P": rows.P, "LP": rows.LP, "WEIGHTED": b.w is not None}
        plane = b.K * rows.P
        # sorting is faster for at least this many movers
        lower = min((8 if k > 1024 else 2) * k, upper)
        columns = min(256, power_of_two(rows.P))
        n_programs = b.n_processors * 16
        launch_kernel(
            update.add_few_movers, n_programs,
            rows.hi, rows.lo, weights, *movers, b.S, b.N, b.counters, b.halt, plane, lower,
            BM=max(1, 1024 // columns), BP=columns, NPROG=n_programs, **shape,
        )  # fmt: skip
        n_programs = b.n_processors * 4
        tile_k = power_of_two(k, 16) if k <= ONE_HOT_CLUSTERS else 0
        launch_kernel(
            update.rank_movers, n_programs,
            *movers, b.ranks, b.counts, b.counters, b.halt, lower, upper,
            BM=min(256, 8192 // tile_k) if tile_k else 256, NPROG=n_programs, KP=tile_k,
        )  # fmt: skip
        tile_c = min(CLUSTERS_AT_ONCE, power_of_two(k))
        launch_kernel(update.place_clusters, 1, b.counts, b.offsets, b.counters, k, B=tile_c)
        launch_kernel(
            update.sort_movers, n_programs,
            *movers, b.ranks, b.offsets, b.entry_row, b.entry_own, b.counters, b.halt, lower,
            upper, BM=256, NPROG=n_programs,
        )  # fmt: skip
        n_programs = b.n_processors * 32
        launch_kernel(
            update.add_sorted_movers, n_programs,
            rows.hi, rows.lo, weights, b.entry_row, b.entry_own, b.S, b.N, b.counters, b.halt,
            plane,
            BR=RUN_ROWS, BP=min(RUN_COLUMNS // b.planes, power_of_two(rows.P)), NPROG=n_programs,
            num_warps=1, **shape,
        )  # fmt: skip

    def _move_centroids(self, position: int, given: bool) -> None:
        """Compute the next centroids from those at this position of the ring.

        They follow from the sums, unless `given` is True: then the ring already has them.
        """
        b = self.buffers
        rows = self.rows
        after = b.ring[(position + 1) % RING]
        launch_kernel(
            update.move_centroids, self.k,
            b.S, b.N, b.mean, b.ring[position], after, b.C, b.bias, b.stats, b.cum, b.differs,
            b.digits, b.halt, b.K * rows.P, b.K,
            D=rows.d, P=rows.P, BD=min(512, power_of_two(rows.d)), GIVEN=given,
            RECTIFIED=self.is_rectified,
            MISSING=rows.has_missing, WEIGHTED=b.w is not None, num_warps=4,
            enable_fp_fusion=False,
        )  # fmt: skip
        self.scoring.follow_drift()
        launch_kernel(
            update.check_convergence, 1,
            b.stats, b.cum, b.cum_max, b.cum_low, b.cum_high, b.differs, b.digits, b.last, b.N,
            b.AB, b.counters, b.log, b.progress, b.halt, self.k, b.K,
            rows.rho * (1 + 2.0**-20), b.kappa,
            BK=min(1024, power_of_two(self.k)), LOG=LOG_FIELDS, GIVEN=given,
            MISSING=rows.has_missing,
            num_warps=4, enable_fp_fusion=False,
        )  # fmt: skip


def _record(row: list[int]) -> Record:
    n_changed, code, _, *digits = row
    return Record(n_changed, code, sum(digit << 16 * i for i, digit in enumerate(digits)))


def order_by_neighbourhood(f: Tensor, leaf: int) -> Tensor:
    """Return an order of the rows of f (k, p) in which nearby rows are close.

    The rows are repeatedly halved along their widest direction, until at most `leaf` are left.
    """
    parts = [torch.arange(len(f), device=f.device)]
    done = False
    while not done:
        halves = [
            half
            for part in parts
            for half in (_split_in_two(f, part) if len(part) > leaf else (part,))
        ]
        done = len(halves) == len(parts)
        parts = halves
    return torch.cat(parts)


def _split_in_two(f: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
    x = f[part].double()
    x = x - x.mean(0)
    v = x[int((x * x).sum(1).argmax())]
    for _ in range(POWER_STEPS):
        v = x.T @ (x @ v)
        v = v / v.norm().clamp(min=1e-300)
    sorted_part = part[(x @ v).argsort(stable=True)]
    return sorted_part[: len(part) // 2], sorted_part[len(part) // 2 :]


class SmallPass:
    """Passes over a small table, several in one launch, without weights and missing cells."""

    first_batch_size = MAX_LOGGED

    def __init__(self, rows: PackedRows, k: int, is_rectified: bool) -> None:
        self.rows = rows
        self.k = k
        self.is_rectified = is_rectified
        self.device = rows.device
        self.total_square = rows.total_square(None)
        self.F = rows.grid(slice(0, rows.n)).contiguous()  # (n, 2d)
        self.mean = torch.zeros_like(rows.mean)  # the sums are of f itself, not relative to a mean
        is_cuda = self.device.type == "cuda"
        properties = torch.cuda.get_device_properties(self.device) if is_cuda else None
        n_processors = properties.multi_processor_count if properties else 1
        self.tile_rows = min(32, max(4, power_of_two(-(-rows.n // n_processors))))
        self.n_programs = min(n_processors, triton.cdiv(rows.n, self.tile_rows))
        n_sums = RING * k * 2 * rows.d
        # all buffers that passes add to
        self.added = self._zeros(n_sums + RING * (2 + k + 1) + 1, dtype=torch.int64)
        self.ring_sums = self.added[:n_sums].view(RING, k, 2 * rows.d)
        self.losses = self.added[n_sums : n_sums + 2 * RING].view(RING, 2)
        rest = self.added[n_sums + 2 * RING :].view(torch.int32)
        self.sizes = rest[: RING * k].view(RING, k)
        self.changed = rest[RING * k : RING * (k + 1)]
        self.barrier = rest[-2:-1]
        self.progress = rest[-1:]
        self.M = self._zeros(RING, k, 2 * rows.d)
        self.last = self._zeros(2, dtype=torch.int64)
        self.log = self._zeros(MAX_LOGGED, SMALL_LOG_FIELDS, dtype=torch.int64)
        self.position = 0
        self.labels = torch.full((rows.n,), -1, dtype=torch.int16, device=self.device)

    def _zeros(self, *shape: int, dtype: torch.dtype = torch.int32) -> Tensor:
        return torch.zeros(*shape, dtype=dtype, device=self.device)

    def labels_of_rows(self) -> Tensor:
        return self.labels.to(torch.int32)

    def sums(self) -> Tensor:
        return self.ring_sums[(self.position - 1) % RING][None]

    def mass(self) -> Tensor:
        return self.sizes[(self.position - 1) % RING].long()

    def reset(self) -> None:
        self.labels.fill_(-1)

    def set_centroids(self, f: Tensor) -> None:
        self.M[self.position] = f

    def centroids(self, back: int = 0) -> Tensor:
        return self.M[(self.position - back) % RING]

    def expect_loss_below(self, loss: int | None) -> None:
        whole = MAX_HIGH_WORD << 32 if loss is None else loss + self.total_square
        self.last.copy_(torch.tensor([whole & 0xFFFFFFFF, whole >> 32]))

    def run(self, count: int) -> list[Record]:
        self.added.zero_()
        self.launch(count)
        n_done = int(self.progress.item())
        records = [
            Record(n_changed, verdict, (high << 32) + low - self.total_square)
            for n_changed, verdict, _, low, high in self.log[:n_done].tolist()
        ]
        self.expect_loss_below(records[-1].loss)
        self.position = (self.position + n_done) % RING
        return records

    def launch(self, count: int) -> None:
        """Launch `count` passes. All sums must be 0 before."""
        rows = self.rows
        launch_kernel(
            small_fit.fit_small, self.n_programs,
            self.F, self.labels, self.ring_sums, self.sizes, self.losses, self.changed, self.M,
            self.last, self.barrier,
            self.log, self.progress, rows.n, self.position, count,
            k=self.k, KP=power_of_two(self.k), P=2 * rows.d, BP=power_of_two(2 * rows.d),
            BN=self.tile_rows,
            NPROG=self.n_programs, LOG=SMALL_LOG_FIELDS, RECTIFIED=self.is_rectified,
            num_warps=4, launch_cooperative_grid=True, enable_fp_fusion=False,
        )  # fmt: skip


def make_pass(
    rows: PackedRows, w: Tensor | None, k: int, is_rectified: bool, use_bounds: bool = True
) -> DevicePass:
    """Return the strategy for the passes of a run: small, grouped or plain."""
    if use_bounds and is_small(rows, w, k):
        return SmallPass(rows, k, is_rectified)
    n_cells = rows.n * -(-k // CENTROIDS_IN_GROUP)
    if (
        use_bounds
        and k >= MANY_CENTROIDS
        and rows.P > NARROW_COLUMNS
        and n_cells <= MAX_GROUP_CELLS
    ):
        return make_grouped_pass(rows, w, k, is_rectified)
    return make_plain_pass(rows, w, k, is_rectified, use_bounds)


def is_small(rows: PackedRows, w: Tensor | None, k: int) -> bool:
    """Return whether SmallPass supports these sizes and is faster."""
    fits = rows.n <= MAX_SMALL_ROWS and 2 * rows.d <= MAX_SMALL_COLUMNS and k <= MAX_SMALL_CENTROIDS
    return fits and w is None and not rows.has_missing


def make_plain_pass(
    rows: PackedRows, w: Tensor | None, k: int, is_rectified: bool, use_bounds: bool = True
) -> CertifiedPass:
    """Return a pass that scores each row for all centroids."""
    buffers = PassBuffers(rows, w, k, choose_tiles(rows.P, k))
    return CertifiedPass(buffers, PlainScoring(buffers, use_bounds), is_rectified)


def make_grouped_pass(
    rows: PackedRows,
    w: Tensor | None,
    k: int,
    is_rectified: bool,
    group: int = CENTROIDS_IN_GROUP,
) -> CertifiedPass:
    """Return a pass that scores each row for groups of centroids."""
    buffers = PassBuffers(rows, w, k, choose_tiles(rows.P, k)._replace(centroids=group))
    return CertifiedPass(buffers, GroupedScoring(buffers, group), is_rectified)
