"""The pass of many centroids: groups of neighbours, each scored by the rows that cannot rule it
out.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from .device_pass import DevicePass
from .kernels import groups
from .launches import launch_kernel
from .packed_rows import PackedRows
from .tiles import choose_tiles, power_of_two

CENTROIDS_IN_GROUP = 256  # centroids of a group: one tile of the product
POWER_STEPS = 20  # of the power method that finds the widest direction


class GroupedPass(DevicePass):
    """Buffers and pass of centroids in groups."""

    def __init__(
        self,
        rows: PackedRows,
        w: Tensor | None,
        k: int,
        is_rectified: bool,
        group: int = CENTROIDS_IN_GROUP,
    ) -> None:
        self.group = group
        super().__init__(
            rows, w, k, is_rectified, False, choose_tiles(rows.P, k)._replace(centroids=group)
        )

    def _allocate_bounds(self) -> None:
        n = self.rows.n
        self.G = self.K // self.group
        self.own_score, self.own_upper = (torch.empty(n, device=self.device) for _ in range(2))
        self.LZ = torch.full((n, self.G), -1e30, device=self.device)
        self.T1, self.T2 = (torch.empty(n, self.G, device=self.device) for _ in range(2))
        self.lists, self.list_counts = self._zeros(self.G, n), self._zeros(self.G)
        self.group_cum = self._zeros(self.G, dtype=torch.float64)
        self.drift_low, self.drift_high = (
            self._zeros(self.G, dtype=torch.float32) for _ in range(2)
        )

    def _reset_bounds(self) -> None:
        self.LZ.fill_(-1e30)
        for drift in (self.group_cum, self.drift_low, self.drift_high, self.list_counts):
            drift.zero_()

    def _begin(self, f: Tensor) -> None:
        """The first centroids put neighbours side by side."""
        self.order[: self.k] = order_by_neighbourhood(f, self.group // 4).to(torch.int32)
        self.inverse[self.order.long()] = torch.arange(
            self.K, dtype=torch.int32, device=self.device
        )
        first = int(self.inverse[0])
        if first != self.first:  # it is written into the graphs
            self.first = first
            self.graphs = []

    def _score_rows(self) -> None:
        rows = self.rows
        G = self.G
        found = (self.own_score, self.own_upper, self.LZ)
        columns = min(64, power_of_two(rows.P, 16))
        launch_kernel(
            groups.list_groups_to_score, triton.cdiv(rows.n, 128),
            rows.hi, self.C, self.bias, rows.lengths, self.AB, self.labels, *found,
            self.drift_high, self.lists,
            self.list_counts, self.scored, self.counters, self.halt, rows.n, P=rows.P, G=G,
            BN=128, BP=columns,
        )  # fmt: skip
        many = self.n_processors
        launch_kernel(
            groups.score_groups, many,
            rows.hi, self.C, self.bias, self.lists, self.list_counts, self.T1, self.T2, self.halt,
            rows.n,
            P=rows.P, KG=self.group, G=G, BN=128, BP=min(columns,
                16 if rows.P % columns else columns), NPROG=many,
            num_warps=8, num_stages=3,
        )  # fmt: skip
        many = self.n_processors * 8
        launch_kernel(
            groups.merge_groups, many,
            rows.lengths, self.AB, self.labels, *found, self.drift_low, self.drift_high, self.T1,
            self.T2,
            self.scored, self.mover_row, self.mover_old, self.doubt_row, self.doubt_threshold,
            self.doubt_best,
            self.doubt_new, self.counters, self.halt, self.first,
            KG=self.group, G=G, GP=power_of_two(G), BN=64, NPROG=many,
        )  # fmt: skip

    def _follow_drift(self) -> None:
        launch_kernel(
            groups.sum_group_drift, self.G,
            self.stats, self.group_cum, self.drift_low, self.drift_high, self.list_counts,
            self.halt, self.k, self.K,
            KG=self.group,
        )  # fmt: skip


def order_by_neighbourhood(f: Tensor, leaf: int) -> Tensor:
    """Row numbers of f (k, p), near rows near: halved along the widest direction again and
    again.
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
