"""The buffers of a run on a card: centroids in a ring, sums, and lists that a pass fills."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .accumulator import check_accumulator
from .error_bound import TESTED, relative_error
from .packed_rows import PackedRows
from .tiles import Tiles, choose_tiles

LOG_FIELDS = 9  # n_changed, verdict, n_empty and the digits of the objective
MOST_LOGGED = 16  # passes between two looks at the log
RING = 3  # centroids of the pass before, of this one and of the next
LEAST_PAIRS = 1 << 14  # room for pairs of a doubtful row and a candidate; else half as many as rows


class PassBuffers:
    """Buffers of a run of k centroids over packed rows; `order` is the caller's number of each
    centroid here.
    """

    def __init__(
        self,
        rows: PackedRows,
        w: Tensor | None,
        k: int,
        is_rectified: bool,
        use_bounds: bool = True,
        tiles: Tiles | None = None,
    ) -> None:
        self.rows = rows
        self.w = w
        self.k = k
        self.is_rectified = is_rectified
        self.use_bounds = use_bounds
        self.total_square = rows.total_square(w)
        self.device = rows.device
        self.is_cuda = rows.device.type == "cuda"
        self.tiles = tiles or choose_tiles(rows.P, k)
        self.K = -(-k // self.tiles.centroids) * self.tiles.centroids
        properties = torch.cuda.get_device_properties(self.device) if self.is_cuda else None
        if properties and properties.major not in TESTED:
            check_accumulator(self.device)
        self.n_processors = properties.multi_processor_count if properties else 1
        self.kappa = relative_error(
            rows.P, self.tiles.centroids, properties.major if properties else 9
        )
        self.planes = 1 if self.w is None else 2
        self.position = 0  # of the ring: the centroids of the next pass
        self.graphs: list[Any] = []
        self.is_new = True  # no centroids were given yet
        self.label_type = torch.int16 if self.K < 1 << 15 else torch.int32
        self._allocate_centroids()
        self._allocate_rows()
        self._allocate_bounds()

    def _zeros(self, *shape: int, dtype: torch.dtype = torch.int32) -> Tensor:
        return torch.zeros(*shape, dtype=dtype, device=self.device)

    def _allocate_centroids(self) -> None:
        K = self.K
        P = self.rows.P
        self.ring = [self._zeros(K, P) for _ in range(RING)]
        self.C = self._zeros(K, P, dtype=torch.float16)
        self.bias = torch.full((K,), 1e29, device=self.device)
        self.S = self._zeros(self.planes, K, P, dtype=torch.int64)
        self.N = self._zeros(K, dtype=torch.int64)
        self.mean = torch.nn.functional.pad(self.rows.mean, (0, P - 2 * self.rows.d))
        self.stats, self.AB = (
            self._zeros(4, K, dtype=torch.float32),
            self._zeros(2, dtype=torch.float32),
        )
        self.cum, self.cum_max = (
            self._zeros(K, dtype=torch.float64),
            self._zeros(1, dtype=torch.float64),
        )
        self.cum_low, self.cum_high = (self._zeros(K, dtype=torch.float32) for _ in range(2))
        self.differs, self.counts, self.offsets = (
            self._zeros(K),
            self._zeros(2 * K),
            self._zeros(2 * K),
        )
        self.digits, self.last = (
            self._zeros(K, 6, dtype=torch.int64),
            self._zeros(6, dtype=torch.int64),
        )
        self.order = torch.arange(K, dtype=torch.int32, device=self.device)
        self.inverse = self.order.clone()
        self.log = self._zeros(MOST_LOGGED, LOG_FIELDS, dtype=torch.int64)
        self.progress, self.halt = self._zeros(1), self._zeros(1)
        self.counters = self._zeros(8)  # movers, doubts, pairs, rows to score, entries of the sort

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
        self.doubt_overflow = self._zeros(n, dtype=torch.int8)
        self.most_pairs = max(n // 2, LEAST_PAIRS)
        self.pair_slot, self.pair_centroid = empty(self.most_pairs), empty(self.most_pairs)
        self.pair_score = empty(self.most_pairs, torch.int64)
        self.ranks = empty(2 * n)
        self.entry_own = empty(2 * n)
        self.entry_row = empty(2 * n, torch.int64)

    def _allocate_bounds(self) -> None:
        """Allocate the result of scoring each row: its new label or a doubt, and the bound that
        allows skipping it.
        """
        n = self.rows.n
        device = self.device
        self.new = torch.empty(n, dtype=self.label_type, device=device)
        self.threshold = torch.empty(n, device=device)
        self.Z = torch.full((n,), -1.0, device=device)

    @property
    def sums_of_pass(self) -> Tensor:
        """Sums of the last pass, in one plane or two words, (planes, K, P)."""
        return self.S

    @property
    def mass_of_pass(self) -> Tensor:
        """Weight of each cluster in the last pass, (K,)."""
        return self.N

    def reset(self) -> None:
        """As before the first pass."""
        self.is_new = True
        self.labels.fill_(-1)
        self._reset_bounds()
        for sums_or_drift in (self.S, self.N, self.cum, self.cum_max, self.counts, self.counters):
            sums_or_drift.zero_()

    def _reset_bounds(self) -> None:
        """Set the bounds so that the next pass scores every row."""
        self.Z.fill_(-1.0)
