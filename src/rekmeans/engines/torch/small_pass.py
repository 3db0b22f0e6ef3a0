"""The state of a run over a small table: several passes are one launch."""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from .device_pass import Record
from .kernels.small_fit import fit_small
from .launches import launch_kernel
from .packed_rows import PackedRows
from .pass_buffers import MOST_LOGGED, RING
from .tiles import power_of_two

# mapped columns; beyond, several launches are faster
MOST_ROWS = 1 << 15
MOST_COLUMNS = 128
MOST_CENTROIDS = 64
SMALL_LOG_FIELDS = 5  # n_changed, verdict, n_empty, low and high word of the objective
HIGHEST_WORD = 1 << 62  # high word above that of every objective


def is_small(rows: PackedRows, w: Tensor | None, k: int) -> bool:
    """Whether one launch of all passes pays, and can: without weights and missing cells."""
    fits = rows.n <= MOST_ROWS and 2 * rows.d <= MOST_COLUMNS and k <= MOST_CENTROIDS
    return fits and w is None and not rows.has_missing


class SmallPass:
    """Labels, sums and centroids of a run of k centroids; the face of DevicePass."""

    first_at_once = MOST_LOGGED

    def __init__(self, rows: PackedRows, k: int, is_rectified: bool) -> None:
        self.rows = rows
        self.k = k
        self.is_rectified = is_rectified
        self.device = rows.device
        self.total_square = rows.total_square(None)
        self.F = rows.grid(slice(0, rows.n)).contiguous()  # (n, 2d)
        self.order = self.inverse = torch.arange(k, dtype=torch.int32, device=self.device)
        self.mean = torch.zeros_like(rows.mean)  # its sums are of f itself
        is_cuda = self.device.type == "cuda"
        most = torch.cuda.get_device_properties(self.device).multi_processor_count if is_cuda else 1
        self.tile_rows = min(32, max(4, power_of_two(-(-rows.n // most))))
        self.n_programs = min(most, triton.cdiv(rows.n, self.tile_rows))
        n_sums = RING * k * 2 * rows.d
        # what passes add to
        self.added = self._zeros(n_sums + RING * (2 + k + 1) + 1, dtype=torch.int64)
        self.sums = self.added[:n_sums].view(RING, k, 2 * rows.d)
        self.losses = self.added[n_sums : n_sums + 2 * RING].view(RING, 2)
        rest = self.added[n_sums + 2 * RING :].view(torch.int32)
        self.sizes = rest[: RING * k].view(RING, k)
        self.changed = rest[RING * k : RING * (k + 1)]
        self.barrier = rest[-2:-1]
        self.progress = rest[-1:]
        self.M, self.last = self._zeros(RING, k, 2 * rows.d), self._zeros(2, dtype=torch.int64)
        self.log = self._zeros(MOST_LOGGED, SMALL_LOG_FIELDS, dtype=torch.int64)
        self.position = 0
        self.labels = torch.full((rows.n,), -1, dtype=torch.int16, device=self.device)

    def _zeros(self, *shape: int, dtype: torch.dtype = torch.int32) -> Tensor:
        return torch.zeros(*shape, dtype=dtype, device=self.device)

    @property
    def sums_of_pass(self) -> Tensor:
        """Sums of the last pass, (1, k, 2d)."""
        return self.sums[(self.position - 1) % RING][None]

    @property
    def mass_of_pass(self) -> Tensor:
        """Sizes of the clusters in the last pass, (k,)."""
        return self.sizes[(self.position - 1) % RING].long()

    def reset(self) -> None:
        """As before the first pass."""
        self.labels.fill_(-1)

    def give(self, f: Tensor) -> None:
        """Centroids (k, 2d) for the next pass."""
        self.M[self.position] = f

    def centroids(self, back: int = 0) -> Tensor:
        """Centroids (k, 2d) of the next pass, or of so many passes before."""
        return self.M[(self.position - back) % RING]

    def expect_loss_below(self, loss: int | None) -> None:
        """The objective, less the sum of w |g|^2, that the next pass must stay below; None: any."""
        whole = HIGHEST_WORD << 32 if loss is None else loss + self.total_square
        self.last.copy_(torch.tensor([whole & 0xFFFFFFFF, whole >> 32]))

    def run(self, count: int) -> list[Record]:
        """Up to so many passes; fewer where one of them stalls, repeats its centroids or leaves a
        cluster empty.
        """
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
        """Passes into sums that are zero."""
        rows = self.rows
        launch_kernel(
            fit_small, self.n_programs,
            self.F, self.labels, self.sums, self.sizes, self.losses, self.changed, self.M,
            self.last, self.barrier,
            self.log, self.progress, rows.n, self.position, count,
            k=self.k, KP=power_of_two(self.k), P=2 * rows.d, BP=power_of_two(2 * rows.d),
            BN=self.tile_rows,
            NPROG=self.n_programs, LOG=SMALL_LOG_FIELDS, RECTIFIED=self.is_rectified,
            num_warps=4, launch_cooperative_grid=True, enable_fp_fusion=False,
        )  # fmt: skip
