"""The cells of a table on a device, in blocks, and the map from cells to phases and grid integers.

t = fmod((x - shift) rate, 2) in float64, then cos(pi t) and sin(pi t), correctly rounded to 2^-23.
Each arithmetic operation is a separate torch operation, so that multiplications and additions are
never fused. The few values near a rounding tie are decided on the host with exact integers, as in
the reference engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
import torch

from ..._grid import DOUBT, GRID, Array, round_correctly
from ...kernels.base import Kernel
from ...kernels.euler import Euler
from ...table import Table
from ...table.source_parts import prefetch
from .launches import current_device
from .placement import check_row_count
from .table import TorchTable

HOST_CELLS = 1 << 21  # cells of a block on the host: 16 MB in float64, about the size of a cache
DEVICE_CELLS = 1 << 25  # cells of a block on a device: 256 MB in float64
KEPT_CELLS_SHARE = 0.1  # share of a GPU's free memory for cells, in addition to the mapped rows


class DeviceCells(ABC):
    """The cells of a table as tensors on a device, in blocks of bounded size, and their map."""

    def __init__(self, kernel: Kernel, table: Table, device: torch.device) -> None:
        check_row_count(table)
        self.device = device
        self.n = table.n_rows
        self.d = table.n_columns
        self.map = PhaseMap(kernel, device)
        self.max_cells = HOST_CELLS if device.type == "cpu" else DEVICE_CELLS

    @abstractmethod
    def read(self, at: slice) -> torch.Tensor:
        """Return the cells (m, d) of these rows, on the device of the table."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Yield the slice and the cells (m, d) on the device of each block, in order."""

    @abstractmethod
    def weights(self) -> torch.Tensor | None:
        """Return the weights of the table (n,), float64 on the device; None if all are equal."""

    @abstractmethod
    def to_input_type(self, labels: torch.Tensor) -> Array:
        """Return labels as a tensor on the device of X if X is a tensor, or as a NumPy array."""

    def slices(self, k: int = 1) -> Iterator[slice]:
        """Yield slices of rows that limit the number of cells and of distances to k centroids."""
        size = max(1, self.max_cells // max(2 * self.d, k))
        return (slice(at, min(at + size, self.n)) for at in range(0, self.n, size))

    def upload(self, values: Array) -> torch.Tensor:
        """Copy a NumPy array to the device."""
        return torch.from_numpy(_writeable(values)).to(self.device)

    def upload_numbers(self, numbers: Array | torch.Tensor) -> torch.Tensor:
        """Return labels or row numbers (m,) as int64 on the device."""
        return torch.as_tensor(numbers, device=self.device).to(torch.int64)

    def map_spread_rows(self, count: int) -> torch.Tensor:
        """Return about `count` mapped rows, spread evenly over the table."""
        cells = self.read(slice(0, self.n, max(1, self.n // count)))
        return self.map.embed(cells.to(self.device))[0]


class TensorCells(DeviceCells):
    """The cells of a table that is a tensor."""

    def __init__(self, kernel: Kernel, table: TorchTable, device: torch.device) -> None:
        super().__init__(kernel, table, device)
        self.table = table

    def read(self, at: slice) -> torch.Tensor:
        return self.table.cells[at]

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        return ((at, self.read(at).to(self.device)) for at in self.slices())

    def weights(self) -> torch.Tensor | None:
        weights = self.table.cell_weights
        return None if weights is None else weights.to(self.device)

    def to_input_type(self, labels: torch.Tensor) -> Array:
        return labels.to(self.table.device)


class HostCells(DeviceCells):
    """The cells of a table on the host, copied to the device.

    If they need little of its memory, they stay there for the pre-images.
    """

    def __init__(self, kernel: Kernel, table: Table, device: torch.device) -> None:
        super().__init__(kernel, table, device)
        self.table = table
        self._kept: list[tuple[slice, torch.Tensor]] = []

    def read(self, at: slice) -> torch.Tensor:
        return torch.from_numpy(_writeable(self.table.dense(at)))

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        return iter(self._kept) if self._kept else self._upload_all()

    def _upload_all(self) -> Iterator[tuple[slice, torch.Tensor]]:
        kept = []
        max_bytes = (
            KEPT_CELLS_SHARE * torch.cuda.mem_get_info(self.device)[0]
            if self.device.type == "cuda"
            else 0
        )
        for at, cells in upload_blocks(self.read, self.slices(), self.device):
            if self.n * self.d * cells.element_size() <= max_bytes:
                kept.append((at, cells))
            yield at, cells
        self._kept = kept

    def weights(self) -> torch.Tensor | None:
        weights = self.table.weights
        return None if weights is None else self.upload(weights).to(torch.float64)

    def to_input_type(self, labels: torch.Tensor) -> Array:
        return labels.cpu().numpy()


def cells_on_device(kernel: Kernel, table: Table, device: torch.device) -> DeviceCells:
    """Return the cells of any table on a device."""
    if isinstance(table, TorchTable):
        return TensorCells(kernel, table, device)
    return HostCells(kernel, table, device)


def count_uninformative(w: torch.Tensor, given: torch.Tensor | None) -> int:
    """Count the rows of positive weight in the table (`given`) but of weight w = 0 in the sums."""
    is_uninformative = w == 0 if given is None else (w == 0) & (given > 0)
    return int(is_uninformative.sum())


def upload_blocks(
    read: Callable[[slice], torch.Tensor], blocks: Iterator[slice], device: torch.device
) -> Iterator[tuple[slice, torch.Tensor]]:
    """Copy blocks of cells from the host to a device, and yield them in order.

    The next block is copied to a GPU while the GPU computes on the current one.
    """
    if device.type != "cuda":
        yield from ((at, read(at).to(device)) for at in blocks)
        return
    stream = torch.cuda.Stream(device)

    def send() -> Iterator[tuple[slice, torch.Tensor, torch.cuda.Event]]:
        for at in blocks:
            with current_device(device):  # the current device is set for each thread separately
                # torch reuses this memory after the copy has finished
                pinned = read(at).contiguous().pin_memory()
                with torch.cuda.stream(stream):
                    cells = pinned.to(device, non_blocking=True)
                copied = stream.record_event()
            yield at, cells, copied

    for at, cells, copied in prefetch(send()):
        with current_device(device):
            current = torch.cuda.current_stream(device)
            current.wait_event(copied)
            cells.record_stream(current)
        yield at, cells


def _writeable(values: Array) -> Array:
    """Return an array that torch accepts, without a copy if possible."""
    is_plain = (
        values.flags.writeable
        and values.dtype.isnative
        and all(step >= 0 for step in values.strides)
    )
    return values if is_plain else np.array(values, values.dtype.newbyteorder("="))


class PhaseMap:
    """The map of a kernel's scale on a device."""

    def __init__(self, kernel: Kernel, device: torch.device) -> None:
        scale = kernel.scale
        self.beyond = kernel.beyond
        self.is_euler = kernel.formula == Euler.formula

        def upload(values: Array) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(values, np.float64)).to(device)

        self.low, self.high, self.shift = (
            upload(ends.T) for ends in (scale.low, scale.high, scale.shift)
        )  # (m, d)
        factor = cast(Euler, kernel).rates if self.is_euler else scale.unit
        self.factor = upload(factor.T)  # (m, d)
        self.periodic = torch.from_numpy(np.flatnonzero(scale.period > 0)).to(device)
        self.period = upload(scale.period[scale.period > 0])

    def coordinates(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the kernel's coordinates (m, d) of cells (m, d), and a mask of informative rows.

        Missing coordinates are NaN. The mask (m,) is None if all rows are informative.
        """
        X = X.to(torch.float64)
        values, shift, factor = (
            (X, self.shift[0], self.factor[0]) if self.beyond == "wrap" else self._nearest_ends(X)
        )
        steps = values - shift
        informative = None
        if self.beyond == "ignore":
            inside = self._inside(X)
            informative = inside.any(1)
            steps.masked_fill_(~(inside | ~informative[:, None]), torch.nan)
        if len(self.periodic):
            steps[:, self.periodic] = torch.fmod(steps[:, self.periodic], self.period)
        return (steps * factor if self.is_euler else steps / factor), informative

    def _inside(self, X: torch.Tensor) -> torch.Tensor:
        """Return a mask (m, d) of the cells inside the kept intervals."""
        inside = torch.zeros_like(X, dtype=torch.bool)
        for low, high in zip(self.low, self.high, strict=True):
            inside |= (X >= low) & (X <= high)
        return inside

    def _nearest_ends(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Clip each cell to the nearest kept interval; return it with its shift and its factor.

        If several intervals are equally near, take the first.
        """
        values = _clip_cells(X, self.low[0], self.high[0])
        shift, factor = self.shift[0], self.factor[0]
        if len(self.low) == 1:
            return values, shift, factor
        shift, factor = shift.expand_as(X), factor.expand_as(X)
        gap = (values - X).abs()
        others = zip(self.low[1:], self.high[1:], self.shift[1:], self.factor[1:], strict=True)
        for low, high, other_shift, other_factor in others:
            ends = _clip_cells(X, low, high)
            distance = (ends - X).abs()
            closer = distance < gap  # False if the column does not have this interval
            values, gap = torch.where(closer, ends, values), torch.where(closer, distance, gap)
            shift = torch.where(closer, other_shift, shift)
            factor = torch.where(closer, other_factor, factor)
        return values, shift, factor

    def embed(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the mapped rows of cells (m, d), and a mask of informative rows.

        Mapped rows are grid integers (m, 2d) for an exact kernel, otherwise coordinates (m, d).
        """
        coordinates, informative = self.coordinates(X)
        return (grid_of_phases(coordinates) if self.is_euler else coordinates), informative


def grid_of_phases(phases: torch.Tensor) -> torch.Tensor:
    """Return the grid integers [cos | sin] of phases (m, d) in half-turns, (m, 2d) int32.

    A missing phase gives (0, 0).
    """
    t = torch.fmod(phases, 2.0)
    missing = torch.isnan(t)
    t = t.masked_fill_(missing, 0.0)
    quarter = torch.round(2 * t)
    r = t - quarter / 2  # exact, |r| <= 1/4
    angle = torch.pi * r
    c, s = _nearest_grid_integers(torch.stack([torch.cos(angle), torch.sin(angle)]), r)
    turn = quarter.to(torch.int32) & 3
    odd = (turn & 1) == 1
    cos, sin = torch.where(odd, s, c), torch.where(odd, c, s)
    cos = torch.where((turn == 1) | (turn == 2), -cos, cos).masked_fill_(missing, 0)
    return torch.cat([cos, torch.where(turn >= 2, -sin, sin)], dim=1)


def _nearest_grid_integers(values: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    """Return the nearest grid integers of the cosines and sines (2, m, d) of pi r."""
    scaled = values * GRID
    near = torch.round(scaled)
    doubtful = torch.nonzero((scaled - near).abs_() > 0.5 - DOUBT)  # (few, 3)
    out = near.to(torch.int32)
    if len(doubtful):
        at = doubtful.T
        pairs = torch.stack([at[0].to(torch.float64), r[at[1], at[2]]], dim=1).cpu()
        different, places = torch.unique(pairs, dim=0, return_inverse=True)
        exact = [
            round_correctly(angle, cosine=not is_sine) for is_sine, angle in different.tolist()
        ]
        out[at[0], at[1], at[2]] = torch.tensor(exact, dtype=torch.int32)[places].to(out.device)
    return out


def _clip_cells(X: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Clip cells (m, d) to [low, high] (d,). Cells are NaN if they or the bounds are NaN."""
    return torch.minimum(torch.maximum(X, low), high)
