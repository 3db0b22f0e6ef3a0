"""Exact arithmetic on a device: distances of grid rows, weighted sums of integers, running sums.

|f - m|^2 uses two float64 products of 12-bit halves, as in the reference engine. Integers are split
into limbs whose sums fit into 64 bits. The host joins the limbs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ..._grid import Array
from ...kernels.euler import LOW_BITS

GRID_BITS = 24  # bits of a grid value
LOSS_BITS = 63  # bits of |f - m|^2
COUNT_BITS = 1  # bits of the mask of an observed cell
SQUARE_BITS = 24  # bits of |m|^2 of a column that are added at a time
WORD = 62  # bits of a sum, without its sign
MIN_LIMB = 11  # smallest number of bits of a weight that are multiplied at a time
HALF = 32  # bits of a limb of a running sum
HALF_MASK = (1 << 32) - 1
FAN = 128  # number of entries of a running sum that a search compares at once

ShiftedSums = list[tuple[int, torch.Tensor]]  # the sum of values * 2^shift over all (shift, values)


def exact_distances(F: torch.Tensor, C: torch.Tensor, is_complete: bool) -> torch.Tensor:
    """Return |f - m|^2 over the observed coordinates of each row, (m, k) int64.

    F are grid rows (m, 2d), C centroids (k, 2d).
    """
    F64 = F.to(torch.float64)
    C64 = C.to(torch.int64)
    high = (C64 + (1 << (LOW_BITS - 1))) >> LOW_BITS
    low = C64 - (high << LOW_BITS)
    dots = (F64 @ high.T.to(torch.float64)).to(torch.int64) << LOW_BITS  # exact: sums below 2^53
    dots += (F64 @ low.T.to(torch.float64)).to(torch.int64)
    return row_lengths(F)[:, None] - 2 * dots + observed_lengths(F, C64, is_complete)


def row_lengths(F: torch.Tensor) -> torch.Tensor:
    """Return |f|^2, (m,) int64."""
    F64 = F.to(torch.int64)
    return (F64 * F64).sum(1)


def observed_lengths(F: torch.Tensor, C: torch.Tensor, is_complete: bool) -> torch.Tensor:
    """Return |m|^2 over the observed coordinates: (k,), or (m, k) if cells are missing."""
    d = C.shape[1] // 2
    squares = C[:, :d] ** 2 + C[:, d:] ** 2  # (k, d)
    if is_complete:
        return squares.sum(1)
    O64 = observed_mask(F).to(torch.float64)
    high = squares >> SQUARE_BITS
    low = squares & ((1 << SQUARE_BITS) - 1)
    dots = [(O64 @ half.T.to(torch.float64)).to(torch.int64) for half in (high, low)]
    return (dots[0] << SQUARE_BITS) + dots[1]


def observed_mask(F: torch.Tensor) -> torch.Tensor:
    """Return a mask of the cells that are not missing, (m, d)."""
    d = F.shape[1] // 2
    return (F[:, :d] | F[:, d:]) != 0


class Limbs(NamedTuple):
    """The number of bits of a value and of a weight whose n products have a sum within 64 bits."""

    value: int
    weight: int

    @classmethod
    def of_rows(cls, n: int, value_bits: int, weight_bits: int) -> Limbs:
        product_bits = WORD - n.bit_length()
        weight = min(weight_bits, max(MIN_LIMB, product_bits - value_bits))
        return cls(product_bits - weight, weight)


def split_integers(
    values: torch.Tensor, bits: int, size: int
) -> Iterator[tuple[int, torch.Tensor]]:
    """Split values below 2^bits into limbs of `size` bits; yield (shift, limb).

    The last limb has the sign.
    """
    if bits <= size:
        yield 0, values
        return
    for shift in range(0, bits, size):
        limb = values >> shift
        yield shift, limb if shift + size >= bits else limb & ((1 << size) - 1)


class ExactSummation(NamedTuple):
    """Exact weighted sums over n rows with weights below 2^weight_bits."""

    n: int
    weight_bits: int

    def products(
        self, values: torch.Tensor, w: torch.Tensor | None, value_bits: int
    ) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield values (m, ...) below 2^value_bits times weights (m,), as (shift, limb)."""
        limbs = Limbs.of_rows(self.n, value_bits, 0 if w is None else self.weight_bits)
        for shift, part in split_integers(values, value_bits, limbs.value):
            if w is None:
                yield shift, part
                continue
            for weight_shift, weights in split_integers(w, self.weight_bits, limbs.weight):
                yield shift + weight_shift, part * weights.reshape(-1, *[1] * (values.ndim - 1))

    def total(self, values: torch.Tensor, w: torch.Tensor | None, value_bits: int) -> ShiftedSums:
        """Return the sums of values (m, ...) times weights over all rows."""
        return [(shift, limb.sum(0)) for shift, limb in self.products(values, w, value_bits)]

    def by_label(
        self,
        values: torch.Tensor,
        w: torch.Tensor | None,
        labels: torch.Tensor,
        k: int,
        value_bits: int,
    ) -> ShiftedSums:
        """Return the sums of values (m, ...) times weights over the rows of each label."""
        products = self.products(values, w, value_bits)
        return [(shift, _sums_by_label(limb, labels, k)) for shift, limb in products]


def _sums_by_label(values: torch.Tensor, labels: torch.Tensor, k: int) -> torch.Tensor:
    out = torch.zeros((k, *values.shape[1:]), dtype=torch.int64, device=values.device)
    return out.index_add_(0, labels, values)


def add_shifted(a: ShiftedSums, b: ShiftedSums) -> ShiftedSums:
    """Add two sums with the same shifts. An empty list counts as 0."""
    return [(shift, x + y) for (shift, x), (_, y) in zip(a, b, strict=True)] if a else b


def add_sums(a: Sequence[ShiftedSums], b: Sequence[ShiftedSums]) -> list[ShiftedSums]:
    """Add two sequences of sums element by element."""
    return [add_shifted(*pair) for pair in zip(a, b, strict=True)]


def fetch_integers(*sums: ShiftedSums) -> list[Array]:
    """Copy sums to the host in one transfer, and return one array for each.

    An array is int64 if all its values fit, otherwise it has Python integers.
    """
    flat = (
        torch.cat([values.reshape(-1) for shifted in sums for _, values in shifted]).cpu().numpy()
    )
    fetched = []
    at = 0
    for shifted in sums:
        parts = []
        for shift, values in shifted:
            parts.append((shift, flat[at : at + values.numel()].reshape(values.shape)))
            at += values.numel()
        fetched.append(join_integers(parts))
    return fetched


def count_changed(labels: torch.Tensor, last: torch.Tensor | None) -> torch.Tensor:
    """Return how many labels changed since the last pass. In the first pass all labels count."""
    if last is None:
        return torch.tensor(len(labels), device=labels.device)
    return (labels != last).sum()


def join_integers(parts: Sequence[tuple[int, Array]]) -> Array:
    """Return the exact sum of values * 2^shift over all parts."""
    largest = sum(
        max(int(values.max(initial=0)), -int(values.min(initial=0))) << shift
        for shift, values in parts
    )
    kind: Any = np.int64 if largest < 1 << 63 else object
    total: Any = 0
    for shift, values in parts:
        total = total + (values.astype(kind) << shift)
    return np.asarray(total)


class RunningSums:
    """Exact running sums of the products of two columns of integers.

    A sum is stored as limbs of 32 bits, the highest first. A running sum of limbs fits into 64 bits
    for fewer than 2^31 entries (MAX_DEVICE_ROWS).
    """

    def __init__(self, values: torch.Tensor, w: torch.Tensor | None) -> None:
        low = values & HALF_MASK
        high = values >> HALF
        if w is None:
            limbs = [low, high]
        else:
            low = low * w  # below 2^63, because a weight is at most 2^31
            middle = (low >> HALF) + high * w
            limbs = [low & HALF_MASK, middle & HALF_MASK, middle >> HALF]
        sums = [limb.cumsum(0) for limb in limbs]
        for i in range(len(sums) - 1):
            sums[i + 1] = sums[i + 1] + (sums[i] >> HALF)
            sums[i] = sums[i] & HALF_MASK
        self.sums = torch.stack(sums[::-1])  # (limbs, n)

    def first_above(self, goals: Sequence[int]) -> torch.Tensor:
        """Return the index of the first entry above each goal, (m,), or the last index."""
        count = len(self.sums)
        parts = [
            [goal >> HALF * i & (HALF_MASK if i < count - 1 else -1) for i in range(count)[::-1]]
            for goal in goals
        ]
        # (limbs, m, 1)
        at = torch.tensor(parts, dtype=torch.int64).to(self.sums.device).T[..., None]
        n = self.sums.shape[1]
        found = torch.zeros(len(goals), dtype=torch.int64, device=self.sums.device)
        stride = FAN ** max(0, (n.bit_length() - 1) // (FAN.bit_length() - 1))
        steps = torch.arange(1, FAN, device=self.sums.device)
        while stride:
            numbers = found[:, None] + stride * steps - 1  # (m, FAN - 1)
            below = self._at_most(numbers.clamp(max=n - 1), at) & (numbers < n)
            found = found + stride * below.sum(1)
            stride //= FAN
        return found.clamp(max=n - 1)

    def _at_most(self, numbers: torch.Tensor, goals: torch.Tensor) -> torch.Tensor:
        """Return whether the entries at these indices are at most the goals."""
        values = self.sums[:, numbers]  # (limbs, m, FAN - 1)
        below = values[-1] <= goals[-1]
        for i in range(len(values) - 2, -1, -1):
            below = (values[i] < goals[i]) | ((values[i] == goals[i]) & below)
        return below
