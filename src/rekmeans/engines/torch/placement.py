"""The placement of rows on devices: the choice of devices, memory limits, blocks and shards.

Rows are placed on the device of a tensor, on the devices that the user names, or on the best
visible device.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from typing import ClassVar, cast

import numpy as np
import torch

from ..._grid import Array
from ...kernels.base import Kernel
from ...kernels.euler import Euler
from ...model import Assignment, Centroids, Model
from ...table import Block, MemoryTable, StreamTable, Table, TableFacts
from ..base import BaseRows, Run
from ..blocks import BlockRows
from ..native import Native
from .error_bound import MARGIN, TESTED, step_loss
from .launches import launch_kernel
from .table import WITHOUT_DOUBLES, TorchTable, is_amd_gpu

NO_AMD_GPU = "does not support AMD GPUs: its error bound is proven only for NVIDIA tensor cores."
# environment variable with a list of devices, such as "cuda:0,cuda:1"; rows are split over them
DEVICES = "REKMEANS_DEVICES"

# running sums of 32-bit limbs and of weights up to 2^31 fit into 64 bits for this many rows
MAX_DEVICE_ROWS = (1 << 31) - 1
FREE_SHARE = 0.6  # share of a GPU's free memory for mapped rows; a pass needs the rest
ROW_BYTES = 128  # bytes of a row in addition to its cells: labels, losses, bounds
CELL_BYTES = 8  # bytes of a mapped cell
MIN_BLOCK_ROWS = 256  # smallest number of rows in a block, regardless of the memory limit
# largest table for which seeding is faster on the CPU, because launches take longer than the work
FEW_CELLS = 1 << 21

# tiles for the accumulator test: rows, centroids, columns, warps
PROBE_TILES = ((128, 256, 64, 8), (128, 128, 64, 4), (64, 16, 32, 2))
PROBE_COLUMNS = 2048  # columns of the products in this test
# log2 of small factors: the alignment drops the bits of their products
SMALL_EXPONENTS = [exponent + part for exponent in range(-16, -8) for part in (0.0, -0.001)]

# maps a table on a device
PlaceRows = Callable[[Kernel, Table, torch.device], BaseRows]


# choice of devices


def devices_for(table: Table) -> list[torch.device]:
    """Return the devices for the rows of this table; raise an error for an unsupported device."""
    if not table.is_on_host:
        return [cast(TorchTable, table).device]
    devices = named_devices() or [best_device()]
    if any(map(is_amd_gpu, devices)):
        raise ValueError(f"engine='torch' {NO_AMD_GPU} Set {DEVICES}=cpu, or use engine='native'.")
    return devices


def explain_unsupported_device(table: TableFacts) -> str:
    """Return why the device of a tensor is not supported, and the fix; '' if it is supported."""
    return f"{NO_AMD_GPU} Pass X.cpu()." if is_amd_gpu(cast(TorchTable, table).device) else ""


def named_devices() -> list[torch.device]:
    """Return the devices that REKMEANS_DEVICES names, or an empty list."""
    names = [name.strip() for name in os.environ.get(DEVICES, "").split(",") if name.strip()]
    return [_device_with_doubles(_check_device(name)) for name in names]


def _check_device(name: str) -> torch.device:
    try:
        # the tensor's device has an index; the meaning of "cuda" depends on the thread
        device = torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        hint = (
            "" if torch.cuda.is_available() else f" (torch {torch.__version__} sees no CUDA device)"
        )
        raise ValueError(
            f"{DEVICES}={name!r} is not a torch device: {why}{hint}. Set it to 'cpu'."
        ) from None
    return device


def best_device() -> torch.device:
    """Return a CUDA device, or another device that supports float64, or the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return torch.device("xpu")
    return torch.device("cpu")


def _device_with_doubles(device: torch.device) -> torch.device:
    return torch.device("cpu") if device.type in WITHOUT_DOUBLES else device


def describe_device() -> str:
    """Return a description of the device on which tables on the host are placed."""
    device = (named_devices() or [best_device()])[0]
    if device.type != "cuda":
        return (
            f"torch {torch.__version__} on the {device.type}, with plain operations; no CUDA "
            f"device is visible"
        )
    if is_amd_gpu(device):
        return f"torch {torch.__version__}, but the engine {NO_AMD_GPU} Set {DEVICES}=cpu."
    properties = torch.cuda.get_device_properties(device)
    return (
        f"torch {torch.__version__} on {properties.name}, {properties.total_memory / 2**30:.0f} GiB"
    )


def adversarial_operands(rows: int, device: torch.device) -> Iterator[torch.Tensor]:
    """Yield rows (rows, PROBE_COLUMNS) whose products with each other are hard to add exactly."""
    draw = torch.Generator(device="cpu").manual_seed(0)
    for exponent in SMALL_EXPONENTS:  # a large first term, then terms that the alignment drops
        x = torch.full((rows, PROBE_COLUMNS), 2.0**exponent)
        x[:, 0] = 1.0
        yield x.half().to(device)
        x[:, ::16] = 1.0  # a large term in each step
        yield x.half().to(device)
        # large sums that cancel
        signs = torch.where(torch.arange(PROBE_COLUMNS) % 32 < 16, 1.0, -1.0)
        yield (x * signs).half().to(device)
    exponents = torch.rand(rows, PROBE_COLUMNS, generator=draw) * 14 - 14  # terms of all sizes
    signs = torch.randint(0, 2, (rows, PROBE_COLUMNS), generator=draw) * 2 - 1
    yield (2.0**exponents).half().to(device)
    yield (2.0**exponents * signs).half().to(device)
    yield torch.randn(rows, PROBE_COLUMNS, generator=draw).half().to(device)


def largest_share_of_bound(device: torch.device, major: int) -> float:
    """Return the largest error of the tensor cores on adversarial operands, relative to the bound.

    The bound is MARGIN P u sum |x c|, see error_bound.py. The model allows 1 / MARGIN of it.
    """
    from .kernels.assignment import multiply  # imports Triton, which only CUDA devices need

    worst = 0.0
    for n_rows, n_centroids, columns, n_warps in PROBE_TILES:
        for x in adversarial_operands(n_rows, device):
            C = x[torch.arange(n_centroids, device=device) % n_rows] * torch.linspace(
                0.5, 1.0, n_centroids, device=device
            ).half().unsqueeze(1)
            out = torch.empty(n_rows, n_centroids, device=device)
            tile = {"P": PROBE_COLUMNS, "BN": n_rows, "BK": n_centroids, "BP": columns}
            launch_kernel(multiply, 1, x, C, out, num_warps=n_warps, **tile)
            size = x.double().abs() @ C.double().abs().T
            error = (out.double() - x.double() @ C.double().T).abs()
            worst = max(
                worst, float((error / (MARGIN * PROBE_COLUMNS * step_loss(major) * size)).max())
            )
    return worst


@cache
def check_accumulator(device: torch.device) -> None:
    """Raise an error if the tensor cores of an untested GPU exceed the model of error_bound.py."""
    major = torch.cuda.get_device_properties(device).major
    if major in TESTED:
        return
    if (share := largest_share_of_bound(device, major)) > 1 / MARGIN:
        name = torch.cuda.get_device_name(device)
        raise RuntimeError(
            f"engine='torch' does not support {name}: the rounding error of its tensor cores is "
            f"{share:.2f} of the error bound, at most {1 / MARGIN} is allowed. Use "
            f"engine='native'."
        )


# memory limits


def check_row_count(table: Table) -> None:
    """Raise an error if a table has too many rows for one device."""
    if table.n_rows > MAX_DEVICE_ROWS:
        raise ValueError(
            f"X has {table.n_rows:,} rows, but engine='torch' supports at most "
            f"{MAX_DEVICE_ROWS:,} on one device. Pass fewer rows."
        )


def max_rows_on(device: torch.device, d: int, memory_limit: int | None) -> int:
    """Return how many mapped rows with d columns may be on a device at the same time."""
    if memory_limit is None and device.type != "cuda":
        return MAX_DEVICE_ROWS
    if memory_limit is None:
        memory_limit = int(FREE_SHARE * torch.cuda.mem_get_info(device)[0])
    return min(MAX_DEVICE_ROWS, rows_that_fit(d, memory_limit))


def rows_that_fit(d: int, n_bytes: int) -> int:
    """Return how many mapped rows with d columns fit into this number of bytes."""
    return n_bytes // (CELL_BYTES * d + ROW_BYTES)


@contextmanager
def explain_lack_of_memory(table: Table, device: torch.device) -> Iterator[None]:
    """Convert an out-of-memory error of a device to a MemoryError that states what would fit."""
    try:
        yield
    except torch.OutOfMemoryError:
        free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else 0
        fit = rows_that_fit(table.n_columns, int(FREE_SHARE * free))
        raise MemoryError(
            f"The {table.n_rows:,} rows of X do not fit into the memory of {device}, which has "
            f"space for about {fit:,}. Pass X on the host, which is then copied in blocks, pass "
            f"fewer rows, or use engine='native'."
        ) from None


# whole tables, blocks and shards


def place_on_devices(
    kernel: Kernel, table: Table, memory_limit: int | None, place_rows: PlaceRows
) -> BaseRows:
    """Map the rows of a table on one device or in shards on several devices.

    If they do not fit on one device, each pass maps them again in blocks.
    """
    devices = devices_for(table)
    device = devices[0]

    def place(block: Table) -> BaseRows:
        return place_rows(kernel, block, device)

    with explain_lack_of_memory(table, device):
        if not table.is_in_memory:
            return BlockRows(kernel, cast(StreamTable, table), place)
        if not (table.is_on_host and kernel.formula == Euler.formula):
            return place(table)
        if len(devices) > 1:
            return ShardedRows(kernel, cast(MemoryTable, table), devices, place_rows)
        max_rows = max_rows_on(device, table.n_columns, memory_limit)
        if table.n_rows <= max_rows:
            return place(table)
        # two blocks must fit: one is copied while the device computes on the other
        blocks = BlockedTable(cast(MemoryTable, table), max(MIN_BLOCK_ROWS, max_rows // 2))
        return BlockRows(kernel, cast(StreamTable, blocks), place)


def place_few_rows(kernel: Kernel, table: Table, device: torch.device) -> BaseRows | None:
    """Map the rows of a small table in the compiled core, which gives the same bits.

    Return None if the device is faster.
    """
    if device.type != "cuda" or table.n_rows * table.n_columns > FEW_CELLS or Native().missing():
        return None
    from ..native.exact import NativeRows  # imports the core, which this engine does not require

    if not table.is_on_host:
        X = table.dense(slice(None))
        table = MemoryTable(X, table.weights, table.columns, table.largest_weight)
    return NativeRows(kernel, cast(MemoryTable, table))


@dataclass(frozen=True)
class BlockedTable:
    """A table in memory that is read in blocks, like a StreamTable."""

    table: MemoryTable
    block_rows: int
    memory_limit: int | None = None  # labels are always kept in memory
    is_in_memory: ClassVar[bool] = False

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @property
    def n_columns(self) -> int:
        return self.table.n_columns

    @property
    def largest_weight(self) -> float | None:
        return None if self.table.weights is None else float(self.table.weights.max())

    def in_memory(self) -> MemoryTable:
        return self.table

    def dense(self, rows: slice | Array) -> Array:
        return self.table.dense(rows)

    def sample(self, count: int, seed: int) -> MemoryTable:
        return self.table.sample(count, seed)

    def take(self, rows: Array, weights: Array) -> MemoryTable:
        return self.table.take(rows, weights)

    def count_labels(self, labels: Array, k: int) -> Array:
        return self.table.count_labels(labels, k)

    def blocks(self, size: int) -> Iterator[slice]:
        return self.table.blocks(size)

    def read_blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        w, columns = self.table.weights, self.table.columns
        return (
            Block(
                at.start,
                self.table.dense(at),
                None if w is None else w[at],
                columns,
                self.largest_weight,
            )
            for at in self.blocks(self.block_rows)
        )

    def rows_at(self, at: slice) -> MemoryTable:
        """Return these rows as a separate table, with their weights in the whole table."""
        weights = None if self.table.weights is None else self.table.weights[at]
        return MemoryTable(self.table.X[at], weights, self.table.columns, self.largest_weight)


class ShardedRows(BlockRows):
    """Rows in shards, one on each device. They are mapped once; the sums of shards are added."""

    def __init__(
        self,
        kernel: Kernel,
        table: MemoryTable,
        devices: Sequence[torch.device],
        place_rows: PlaceRows,
    ) -> None:
        size = -(-table.n_rows // len(devices))
        blocked = BlockedTable(table, size)

        def place_on_first(block: Table) -> BaseRows:
            return place_rows(kernel, block, devices[0])

        super().__init__(kernel, cast(StreamTable, blocked), place_on_first)
        # if there are fewer rows than devices, the last devices get no shard
        places = list(zip(blocked.blocks(size), devices, strict=False))

        def place_shard(place: tuple[slice, torch.device]) -> tuple[slice, BaseRows]:
            at, device = place
            return at, place_rows(kernel, blocked.rows_at(at), device)

        with ThreadPoolExecutor(len(places)) as pool:
            self.shards = list(pool.map(place_shard, places))

    def read_rows(self) -> Iterator[tuple[slice, BaseRows]]:
        yield from self.shards
        self.n_uninformative_rows = sum(rows.n_uninformative() for _, rows in self.shards)

    def start_run(self, model: Model) -> ShardedRun:
        return ShardedRun(self, model)


class ShardedRun(Run):
    """A run on each device. All devices make their passes in parallel."""

    def __init__(self, rows: ShardedRows, model: Model) -> None:
        self.model = model
        self.n_passes = 0
        self.runs = [shard.start_run(model) for _, shard in rows.shards]

    def assign(self, C: Centroids) -> Assignment:
        with ThreadPoolExecutor(len(self.runs)) as pool:
            assignments = list(pool.map(lambda run: run.assign(C), self.runs))
        self.n_passes += 1
        sums = reduce(add, (assignment.sums.fetch().widen() for assignment in assignments))
        return Assignment(sum(assignment.n_changed for assignment in assignments), sums)

    def labels(self) -> Array:
        return np.concatenate([run.labels() for run in self.runs])
