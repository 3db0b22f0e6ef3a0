"""A table whose cells are a tensor on any device, or an array that supports DLPack."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import torch

from ..._grid import Array, integer_weight_bits
from ...table import ColumnSummary, MemoryTable, Table, draw_goals, validation
from ...table.base import EXACT_ROWS, SUMMARY_ROWS, ColumnAttributes, SummaryRows
from ...table.empty_rows import NO_LABEL, mark_rows
from ...table.memory import SUMMARY_SEED
from ...table.row_digest import MODULUS, digest_rows
from ...table.validation import is_device_array
from ...threads import count_threads

# largest number of cells of a block for column statistics; copies need a few hundred megabytes
MAX_BLOCK_CELLS = 1 << 24
# devices without float64; their tensors are copied to the host, and results are copied back
WITHOUT_DOUBLES = ("mps",)
HALF_TYPES = (torch.float16, torch.bfloat16)  # slow in NumPy, or not supported


def _identity(values: torch.Tensor) -> torch.Tensor:
    return values


@dataclass(frozen=True, eq=False)
class TorchTable:
    """Cells (n, d) on a device, with NaN for missing cells.

    `cell_weights` (n,) float64 are the weights of the rows, on the same device, or None if all are
    equal.
    """

    cells: torch.Tensor
    cell_weights: torch.Tensor | None = None
    columns: ColumnAttributes = field(default_factory=ColumnAttributes)
    # converts a tensor to an array of the library of X
    to_library: Callable[[torch.Tensor], Array] = _identity
    largest_weight: float | None = None  # of the whole table, if these rows are a block of it
    # whether the weights are 1, and 0 for rows without an observed value
    has_unit_weights: bool = False

    is_in_memory: ClassVar[bool] = True
    is_partitioned: ClassVar[bool] = False
    is_on_host: ClassVar[bool] = False

    @property
    def X(self) -> torch.Tensor:  # noqa: N802
        return self.cells

    @property
    def device(self) -> torch.device:
        return self.cells.device

    @property
    def n_rows(self) -> int:
        return int(self.cells.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.cells.shape[1])

    @cached_property
    def weights(self) -> Array | None:
        """The weights of all rows on the host, (n,)."""
        return None if self.cell_weights is None else self.cell_weights.cpu().numpy()

    @cached_property
    def empty_rows(self) -> Array:
        return self._empty_on_device.cpu().numpy()

    @cached_property
    def _empty_on_device(self) -> torch.Tensor:
        """The numbers of the rows without an observed value, on the device."""
        if not self.cells.is_floating_point():
            return torch.empty(0, dtype=torch.int64, device=self.device)
        found = [
            at.start + torch.nonzero(torch.isnan(X).all(1))[:, 0] for at, X in self.cell_blocks()
        ]
        return torch.cat(found)

    def without_empty_rows(self) -> TorchTable:
        """Return the table with weight 0 for rows without an observed value."""
        if not len(self._empty_on_device):
            return self
        is_unit = self.cell_weights is None
        weights = (
            torch.ones(self.n_rows, dtype=torch.float64, device=self.device)
            if self.cell_weights is None
            else self.cell_weights.clone()
        )
        weights[self._empty_on_device] = 0.0
        if not is_unit:  # without their weights, the others may all be 0
            smallest = weights.masked_fill(weights == 0, torch.inf).min()
            validation.reject_weight_range(float(weights.max()), float(smallest))
        return replace(self, cell_weights=weights, has_unit_weights=is_unit)

    def to_input_type(self, values: Array) -> Array:
        """Return values (n,) as an array of the library of X, on its device."""
        return self.to_library(self._mark_on_device(values))

    def mark_empty_rows(self, values: Array) -> Array:
        """Return values on the host, with -1 or NaN for rows without an observed value."""
        return mark_rows(values, self.empty_rows)

    def _mark_on_device(self, values: Array) -> torch.Tensor:
        """Return values on the device, with -1 or NaN for rows without an observed value."""
        on_device = torch.as_tensor(values, device=self.device)
        if not len(self._empty_on_device):
            return on_device
        marked = on_device.clone()
        marked[self._empty_on_device] = torch.nan if marked.is_floating_point() else NO_LABEL
        return marked

    def count_labels(self, labels: Array, k: int) -> Array:
        return torch.bincount(self._mark_on_device(labels) + 1, minlength=k + 1)[1:].cpu().numpy()

    def dense(self, rows: slice | Array = slice(None)) -> Array:
        """Copy these rows to the host."""
        numbers = (
            rows if isinstance(rows, slice) else torch.from_numpy(np.asarray(rows)).to(self.device)
        )
        return host_array(self.cells[numbers])

    def blocks(self, size: int) -> Iterator[slice]:
        return (slice(at, min(at + size, self.n_rows)) for at in range(0, self.n_rows, size))

    def cell_blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Yield the slice and the cells of blocks of bounded size, in order."""
        blocks = self.blocks(max(1, MAX_BLOCK_CELLS // self.n_columns))
        return ((at, self.cells[at]) for at in blocks)

    def has_missing(self) -> bool:
        return self.cells.is_floating_point() and any(
            bool(torch.isnan(X).any()) for _, X in self.cell_blocks()
        )

    def digest(self) -> int:
        w = None if self.has_unit_weights else self.weights
        blocks = ((at, host_array(cells)) for at, cells in self.cell_blocks())
        return (
            sum(digest_rows(X, None if w is None else w[at], at.start) for at, X in blocks)
            % MODULUS
        )

    def take(self, rows: Array, weights: Array) -> TorchTable:
        """Return a table of these rows with these weights, on the device."""
        numbers = torch.as_tensor(rows, device=self.device)
        return replace(
            self,
            cells=self.cells[numbers],
            cell_weights=self._on_device(weights),
            largest_weight=None,
        )

    def _on_device(self, weights: Array) -> torch.Tensor:
        return torch.as_tensor(weights, device=self.device).to(torch.float64)

    def sample(self, count: int, seed: int) -> TorchTable:
        w = self.cell_weights
        if self._n_counting() <= count:
            return self if w is None else self._counting_rows()
        rows, times = torch.unique(self._draw_rows(count, seed), return_counts=True)
        return self.take(rows, times)

    def _n_counting(self) -> int:
        return (
            self.n_rows
            if self.cell_weights is None
            else int(torch.count_nonzero(self.cell_weights))
        )

    def _counting_rows(self) -> TorchTable:
        """Return the rows of positive weight."""
        counting = torch.nonzero(self.cell_weights)[:, 0]
        return self.take(counting, self.cell_weights[counting])  # type: ignore[index]

    def _draw_rows(self, count: int, seed: int) -> torch.Tensor:
        """Return row numbers drawn by weight, (count,)."""
        words = np.random.PCG64(seed).random_raw(count)
        if self.cell_weights is None:
            return torch.from_numpy(draw_goals(self.n_rows, words)).to(self.device)
        bits = integer_weight_bits(float(self.cell_weights.max()))
        ends = scaled_weights(self.cell_weights, bits).cumsum(0)
        goals = torch.from_numpy(draw_goals(int(ends[-1]), words)).to(self.device)
        return torch.searchsorted(ends, goals, right=True).clamp(max=self.n_rows - 1)

    def column_summary(self, n_threads: int | None = None) -> ColumnSummary:
        return ColumnSummary(
            self.n_columns, self._extent, self._summary_rows, count_threads(n_threads)
        )

    def _summary_rows(self) -> SummaryRows:
        """Copy the rows from which the column statistics are computed to the host."""
        if self._n_counting() > EXACT_ROWS:
            return SummaryRows(
                host_array(self.cells[self._draw_rows(SUMMARY_ROWS, SUMMARY_SEED).sort().values]),
                None,
            )
        table = self if self.cell_weights is None else self._counting_rows()
        return MemoryTable(table.dense(), table.weights).column_summary().rows

    def _extent(self) -> tuple[Array, Array]:
        """Return the minimum and the maximum of the observed cells of each column, both (d,).

        Rows of weight 0 are ignored. Columns without observed cells get NaN.
        """
        low = torch.full((self.n_columns,), torch.inf, dtype=torch.float64, device=self.device)
        high = -low
        for at, block in self.cell_blocks():
            X = block.to(torch.float64)
            absent = torch.isnan(X)
            if self.cell_weights is not None:
                absent |= self.cell_weights[at][:, None] == 0
            low = torch.minimum(low, X.masked_fill(absent, torch.inf).amin(0))
            high = torch.maximum(high, X.masked_fill(absent, -torch.inf).amax(0))
        ends = torch.where(low <= high, torch.stack([low, high]), torch.nan).cpu().numpy()
        return ends[0], ends[1]


@dataclass(frozen=True)
class TensorMemoryTable(MemoryTable):
    """A table in memory whose X is a tensor on the host. Results for rows are tensors."""

    def to_input_type(self, values: Array) -> torch.Tensor:
        return torch.as_tensor(super().to_input_type(values))


def read_torch_table(
    estimator: object,
    X: object,
    sample_weight: object,
    *,
    fitting: bool,
    k: int,
    k_parameter: str,
    on_host: bool,
) -> Table:
    """Return the table of a tensor or an array on a GPU.

    The table is on the device of X. If `on_host` is True, it is a NumPy view of X.
    """
    cells = _as_tensor(X)
    to_library = _identity if isinstance(X, torch.Tensor) else _library_of(X)
    engine_is_auto = getattr(estimator, "engine", "auto") == "auto"
    if cells.device.type in WITHOUT_DOUBLES or (engine_is_auto and is_amd_gpu(cells.device)):
        cells, to_library, sample_weight = (
            cells.cpu(),
            partial(_move, cells.device),
            _host_weights(sample_weight),
        )
    validation.reject_array(
        cells.is_complex(), str(cells.dtype).removeprefix("torch."), tuple(cells.shape)
    )
    validation.reject_empty(cells)
    columns = validation.read_columns(estimator, np.empty((1, cells.shape[1])), fitting)
    if on_host:
        _reject_mixed_devices(cells.device, sample_weight)
        weights = _host_weights(sample_weight)
        table = validation.read_table(
            estimator, host_array(cells), weights, fitting=fitting, k=k, k_parameter=k_parameter
        )
        return TensorMemoryTable(
            table.X, table.weights, columns, has_unit_weights=table.has_unit_weights
        )
    table_on_device = TorchTable(cells, _read_weights(cells, sample_weight), columns, to_library)
    reject_bad_cells(table_on_device)
    validation.reject_few_rows(
        table_on_device.n_rows, len(table_on_device.empty_rows), k, k_parameter
    )
    return table_on_device.without_empty_rows()


def is_amd_gpu(device: torch.device) -> bool:
    """Return whether a device is an AMD GPU. The ROCm builds of torch also call it "cuda"."""
    return device.type == "cuda" and torch.version.hip is not None


def _move(device: torch.device, values: torch.Tensor) -> torch.Tensor:
    return (values.to(torch.float32) if values.dtype == torch.float64 else values).to(device)


def _as_tensor(X: object) -> torch.Tensor:
    """Return X as a detached tensor without a copy."""
    cells = X.detach() if isinstance(X, torch.Tensor) else torch.from_dlpack(X)
    if cells.layout != torch.strided:
        raise ValueError(
            f"X must be a dense tensor, got the layout {cells.layout}. Pass X.to_dense()."
        )
    return cells


def _library_of(X: object) -> Callable[[torch.Tensor], Array]:
    """Return the function that converts a tensor to an array of X's library without a copy.

    If the library has no `from_dlpack`, the function returns the tensor.
    """
    return getattr(sys.modules[type(X).__module__.split(".")[0]], "from_dlpack", _identity)


def _reject_mixed_devices(device: torch.device, sample_weight: object) -> None:
    other = torch.device("cpu")
    if _has_device(sample_weight):
        other = _as_tensor(sample_weight).device
    elif device.type != "cpu":  # NumPy weights are copied to the device of X
        return
    if other != device:
        raise ValueError(
            f"X and sample_weight must be on the same device, got {device} and {other}. Pass "
            f"sample_weight.to('{device}')."
        )


def _has_device(sample_weight: object) -> bool:
    return isinstance(sample_weight, torch.Tensor) or is_device_array(sample_weight)


def _host_weights(sample_weight: object) -> object:
    if not isinstance(sample_weight, torch.Tensor):
        return sample_weight
    return host_array(sample_weight.detach())


def _read_weights(cells: torch.Tensor, sample_weight: object) -> torch.Tensor | None:
    """Return row weights as float64 on the device of the cells.

    Invalid weights raise the same errors as on the host.
    """
    if sample_weight is None:
        return None
    _reject_mixed_devices(cells.device, sample_weight)
    n = cells.shape[0]
    if not _has_device(sample_weight):
        return torch.from_numpy(np.array(validation.read_weights(sample_weight, n))).to(
            cells.device
        )
    weights = _as_tensor(sample_weight)
    is_plain = weights.shape == (n,) and not weights.is_complex()
    if (
        is_plain
        and bool((torch.isfinite(weights) & (weights >= 0)).all())
        and bool((weights > 0).any())
    ):
        weights = weights.to(torch.float64)
        validation.reject_weight_range(float(weights.max()), float(weights[weights > 0].min()))
        return weights
    return torch.from_numpy(np.array(validation.read_weights(host_array(weights), n))).to(
        cells.device
    )


def reject_bad_cells(table: TorchTable) -> None:
    """Raise an error for a value that is too large or infinite.

    Only the invalid row is copied to the host.
    """
    if not table.cells.is_floating_point():
        return
    found: list[torch.Tensor] = []
    for at, X in table.cell_blocks():
        is_large = (
            torch.isinf(X) | (X.abs() > min(validation.LARGEST_VALUE, torch.finfo(X.dtype).max))
        ).any(1)
        found.append(torch.where(is_large.any(), at.start + is_large.to(torch.int8).argmax(), -1))
    numbers = torch.stack(found)
    if len(bad := numbers[numbers >= 0]):
        row = int(bad[0])
        cells = table.dense(slice(row, row + 1))
        validation.reject_bad_values(cells, range(table.n_columns), row)


def scaled_weights(weights: torch.Tensor, bits: int) -> torch.Tensor:
    """Return weights * 2^bits, rounded to integers."""
    return torch.round(times_power_of_two(weights, bits)).to(torch.int64)


def times_power_of_two(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Return values * 2^bits in float64, in two steps because 2^bits may overflow.

    Without the cast to float64, torch would convert an integer tensor to float32 and lose digits.
    """
    half = bits // 2
    return values.to(torch.float64) * math.ldexp(1.0, half) * math.ldexp(1.0, bits - half)


def host_array(cells: torch.Tensor) -> Array:
    """Return cells as a NumPy array. Half precision becomes float64.

    Other cells on the host are not copied.
    """
    return (cells.to(torch.float64) if cells.dtype in HALF_TYPES else cells).cpu().numpy()
