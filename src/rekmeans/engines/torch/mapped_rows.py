"""Rows on circles on a device: mapped to the grid once, and stored with integer weights.

A plain store has F (n, 2d) int32. A packed store, for the certified passes, has four bytes per
value: f = mean + hi + lo exactly, with hi in fp16 for tensor cores and lo in int16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

import numpy as np
import torch
from torch import Tensor

from ..._grid import GRID, Array, integer_weight_bits
from ...kernels.base import Kernel, rectified_update
from ...kernels.euler import CircleSums, OnCircles
from ...model import Centroids, FarthestRow
from ..base import middle_centroid
from .cells import DeviceCells
from .exact import (
    COUNT_BITS,
    GRID_BITS,
    ExactSummation,
    ShiftedSums,
    add_shifted,
    add_sums,
    exact_distances,
    fetch_integers,
    observed_mask,
)
from .table import scaled_weights

if TYPE_CHECKING:
    from .passes import DevicePass

MAX_PACKED_COLUMNS = 16_383  # squared lengths of centred rows fit into 64 bits
# kernels number two moves of each row, plus one tile, in 32 bits
MAX_PACKED_ROWS = (1 << 30) - (1 << 12)
CELLS_PACKED_AT_ONCE = 1 << 24  # cells packed at a time; packing needs some float64 copies
MEAN_ROWS = 1 << 14  # rows used for the mean; any point near the rows works
NARROW_COLUMNS = 128  # up to this number, all columns fit into one tile
SQUARES_AT_ONCE = 1 << 22  # squared lengths added at a time; the sum needs some copies of them
LENGTH_BITS = 63  # |g|^2 < 2^63 for up to MAX_PACKED_COLUMNS columns
ROW_WEIGHT_BITS = 32  # a weight is at most 2^31

# yields slices of rows and their grid integers (m, 2d) int32, in order
GridBlocks = Callable[[], Iterator[tuple[slice, Tensor]]]


class Store(Protocol):
    """Mapped rows (n, 2d) on a device."""

    is_packed: ClassVar[bool]  # whether Triton kernels can run passes over them
    n: int
    d: int
    device: torch.device

    def grid(self, numbers: Tensor | slice) -> Tensor:
        """Return the grid integers (m, 2d) int32 of these rows. Missing cells are (0, 0)."""


class MakeStore(Protocol):
    """The constructor of a store. `spread_rows` returns a sample of mapped rows."""

    def __call__(
        self,
        n: int,
        d: int,
        device: torch.device,
        blocks: GridBlocks,
        spread_rows: Callable[[int], Tensor],
    ) -> Store: ...


class GridStore:
    """Plain grid integers on any device, 8 bytes per cell."""

    is_packed: ClassVar[bool] = False

    def __init__(
        self,
        n: int,
        d: int,
        device: torch.device,
        blocks: GridBlocks,
        spread_rows: Callable[[int], Tensor],
    ) -> None:
        self.n = n
        self.d = d
        self.device = device
        self.F = torch.empty((n, 2 * d), dtype=torch.int32, device=device)
        for at, F in blocks():
            self.F[at] = F

    def grid(self, numbers: Tensor | slice) -> Tensor:
        return self.F[numbers]


def stored_columns(count: int) -> int:
    """Return the number of columns with padding, a multiple of 16 for one tile, otherwise of 64."""
    step = 16 if count <= NARROW_COLUMNS else 64
    return -(-count // step) * step


class PackedRows:
    """Packed grid integers on a GPU with Triton, 4 bytes per value.

    hi fp16 (n, P) has cosines, sines and, if cells are missing, one gap column for each column. A
    gap column is 1 where the cell is missing. lo int16 (n, LP) has cosines and sines.
    """

    is_packed: ClassVar[bool] = True

    def __init__(
        self,
        n: int,
        d: int,
        device: torch.device,
        blocks: GridBlocks,
        spread_rows: Callable[[int], Tensor],
    ) -> None:
        self.n = n
        self.d = d
        self.device = device
        sample = spread_rows(MEAN_ROWS)  # (m, 2d) int32
        seen = observed_mask(sample).sum(0).clamp(min=1).repeat(2)
        self.mean = (sample.sum(0, dtype=torch.int64) / seen).round().to(torch.int32)  # (2d,)
        self.has_missing = not bool(observed_mask(sample).all())
        while not self._pack(blocks):  # a cell is missing, but no cell of the sample was
            self.has_missing = True

    def _pack(self, blocks: GridBlocks) -> bool:
        """Pack all rows; return False if a cell is missing and there are no gap columns."""
        n, d, device = self.n, self.d, self.device
        self.P = stored_columns((3 if self.has_missing else 2) * d)
        self.LP = stored_columns(2 * d)
        self.hi = torch.zeros(n, self.P, dtype=torch.float16, device=device)
        self.lo = torch.zeros(n, self.LP, dtype=torch.int16, device=device)
        self.squares = torch.empty(n, dtype=torch.int64, device=device)  # |g|^2
        # |g| in units of 1, rounded up; -1 if all cells are missing
        self.lengths = torch.empty(n, dtype=torch.float32, device=device)
        rho = torch.zeros((), dtype=torch.float64, device=device)
        for at, F in blocks():
            size = max(1, CELLS_PACKED_AT_ONCE // (2 * d))
            for start in range(at.start, at.stop, size):
                part = slice(start, min(start + size, at.stop))
                f = F[start - at.start : part.stop - at.start]
                observed = observed_mask(f)
                if not self.has_missing and not bool(observed.all()):
                    return False
                rho = torch.maximum(rho, self._pack_block(part, f, observed))
        self.rho = float(rho) * (1 + 1e-9)
        return True

    def _pack_block(self, at: slice, f: Tensor, observed: Tensor) -> Tensor:
        """Pack these rows, and return their largest |g - hi|/|g|."""
        d = self.d
        g = (f - self.mean).where(observed.repeat(1, 2), 0) if self.has_missing else f - self.mean
        hi = (g.double() / GRID).half()
        lo = g - (hi.double() * GRID).to(torch.int32)
        self.hi[at, : 2 * d] = hi
        self.lo[at, : 2 * d] = lo.to(torch.int16)
        if self.has_missing:
            self.hi[at, 2 * d : 3 * d] = (~observed).half()
        self.squares[at] = (g.long() ** 2).sum(1)
        length = self.squares[at].double().sqrt()
        self.lengths[at] = (length / GRID * (1 + 2.0**-22)).float().where(observed.any(1), -1.0)
        return ((lo.double() ** 2).sum(1).sqrt() / length.clamp(min=1.0)).max()

    def total_square(self, w: Tensor | None) -> int:
        """Return the exact sum of w |g|^2 over all rows."""
        summation = ExactSummation(self.n, ROW_WEIGHT_BITS)
        total: ShiftedSums = []
        for start in range(0, self.n, SQUARES_AT_ONCE):
            part = slice(start, start + SQUARES_AT_ONCE)
            sums = summation.total(self.squares[part], None if w is None else w[part], LENGTH_BITS)
            total = add_shifted(total, sums)
        return int(fetch_integers(total)[0])

    def grid(self, numbers: Tensor | slice) -> Tensor:
        d = self.d
        hi = self.hi[numbers]
        g = (hi[:, : 2 * d].float() * GRID).to(torch.int32) + self.lo[numbers][:, : 2 * d]
        f = g + self.mean
        return f.where(hi[:, 2 * d : 3 * d].repeat(1, 2) == 0, 0) if self.has_missing else f


def choose_store(device: torch.device, n: int, d: int) -> MakeStore:
    """Return the class of the store for n mapped rows with d columns."""
    fits = n <= MAX_PACKED_ROWS and d <= MAX_PACKED_COLUMNS
    return PackedRows if device.type == "cuda" and fits and find_spec("triton") else GridStore


class MappedRows:
    """The rows of a table on circles on one device, for passes and seeding."""

    def __init__(self, kernel: Kernel, cells: DeviceCells, largest_weight: float | None) -> None:
        self.kernel = kernel
        self.cells = cells
        self.n = cells.n
        self.d = cells.d
        self.device = cells.device
        # Buffers of finished runs, for later runs. They refer to the store. If the store referred
        # to them, the cycle would keep both on the device until the garbage collector runs.
        self.spare_passes: dict[tuple[int, bool, bool], DevicePass] = {}
        self._informative = (
            torch.ones(self.n, dtype=torch.bool, device=self.device)
            if kernel.beyond == "ignore"
            else None
        )
        self._any_missing = torch.zeros((), dtype=torch.bool, device=self.device)
        make_store = choose_store(self.device, self.n, self.d)
        self.store = make_store(
            self.n, self.d, self.device, self._map_blocks, cells.map_spread_rows
        )
        self.is_complete = not bool(self._any_missing)
        # the weight of each row in the sums (n,), or None if all are 1
        self.w, self.weight_bits = self._integer_weights(largest_weight)
        largest = 1 if self.w is None else int(self.w.max())
        self.summation = ExactSummation(self.n, largest.bit_length())

    def _map_blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield the slice and the grid integers (m, 2d) of each block.

        Also record which rows are informative and whether a cell is missing.
        """
        for at, cells in self.cells.blocks():
            F, informative = self.cells.map.embed(cells)
            if self._informative is not None:
                self._informative[at] = informative
            self._any_missing |= ~observed_mask(F).all()
            yield at, F

    def _integer_weights(self, largest: float | None) -> tuple[Tensor | None, int]:
        """Return the weights of the rows times 2^b, and b. Uninformative rows get weight 0."""
        given = self.cells.weights()
        informative = (
            None
            if self._informative is None or bool(self._informative.all())
            else self._informative
        )
        if given is None:
            return (None, 0) if informative is None else (informative.to(torch.int64), 0)
        bits = integer_weight_bits(float(given.max()) if largest is None else largest)
        w = scaled_weights(given, bits)
        return (w if informative is None else w * informative), bits

    def weights_at(self, at: slice) -> Tensor | None:
        """Return the weights of these rows, (m,), or None if all are 1."""
        return None if self.w is None else self.w[at]

    def filled_rows(self, numbers: Tensor) -> Tensor:
        """Return the grid integers (m, 2d) of these rows.

        Missing cells are filled from the rectified centroid of all rows.
        """
        F = self.store.grid(numbers)
        if self.is_complete:
            return F
        return torch.where(observed_mask(F).repeat(1, 2), F, self._overall)

    @cached_property
    def _overall(self) -> Tensor:
        """The rectified centroid of all rows, (1, 2d)."""
        start = middle_centroid(self.kernel)
        return self.upload(rectified_update(self.kernel, self.overall_sums(), start))

    def upload(self, C: Centroids) -> Tensor:
        """Copy the grid integers (k, 2d) of centroids to the device."""
        return self.cells.upload(cast(OnCircles, C).f)

    def overall_sums(self) -> CircleSums:
        """Return the sums of all rows as one cluster."""
        sums: list[ShiftedSums] = [[], [], []]
        for at in self.cells.slices():
            F = self.store.grid(at)
            zeros = torch.zeros(len(F), dtype=torch.int64, device=self.device)
            sums = add_sums(sums, self.block_sums(F, at, zeros, 1))
        return self.circle_sums(fetch_integers(*sums))

    def block_sums(self, F: Tensor, at: slice, labels: Tensor, k: int) -> list[ShiftedSums]:
        """Return mass (k,), totals (k, 2d) and observed weights (k, d) of a block of rows.

        Observed weights have shape (k, 0) if no cell is missing.
        """
        w = self.weights_at(at)
        by_label = self.summation.by_label
        ones = torch.ones(len(F), dtype=torch.int64, device=F.device)
        observed = ones[:, None][:, :0] if self.is_complete else observed_mask(F).to(torch.int64)
        return [
            by_label(ones, w, labels, k, COUNT_BITS),
            by_label(F.to(torch.int64), w, labels, k, GRID_BITS),
            by_label(observed, w, labels, k, COUNT_BITS),
        ]

    def circle_sums(self, fetched: list[Array], loss: int = 0) -> CircleSums:
        """Return the kernel's sums for the result of `block_sums` on the host."""
        mass, totals, observed = fetched
        if self.is_complete:
            observed = np.repeat(mass[:, None], self.d, axis=1)
        return CircleSums(mass=mass, loss=loss, totals=totals, observed=observed)

    def least_distances(self, C: Centroids) -> Tensor:
        """Return the distance of each row to its nearest centroid, (n,)."""
        centroids = self.upload(C)
        least = torch.empty(self.n, dtype=torch.int64, device=self.device)
        for at in self.cells.slices(len(C)):
            D = exact_distances(self.store.grid(at), centroids, self.is_complete)
            least[at] = D.min(1).values
        return least

    def farthest(self, C: Centroids) -> FarthestRow:
        """Return the row of positive weight with the largest distance to its nearest centroid."""
        least = self.least_distances(C)
        if self.w is not None:
            least.masked_fill_(self.w <= 0, -1)
        loss, row = least.max(0)  # the first row if several have the same loss
        return FarthestRow(int(loss), int(row), self.store.grid(row[None])[0].cpu().numpy())
