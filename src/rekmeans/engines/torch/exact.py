"""Exact arithmetic on a device: distances of grid rows, weighted sums of integers, running sums.

|f - m|^2 takes two float64 products of 12-bit halves, as in the reference engine. Integers are
split into limbs whose sums stay inside 64 bits, and joined on the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ..._grid import Array
from ...kernels.euler import LOW_BITS

# bits of a grid value, of |f - m|^2, of an observed cell
GRID_BITS = 24
LOSS_BITS = 63
COUNT_BITS = 1
SQUARE_BITS = 24  # bits of |m|^2 of a cell added up at a time
WORD = 62  # bits of a sum, without its sign
MIN_LIMB = 11  # bits of a weight multiplied at a time, at least
# limbs of running sums
HALF = 32
HALF_MASK = (1 << 32) - 1
FAN = 128  # entries of a running sum compared at once in a search

ShiftedSums = list[tuple[int, torch.Tensor]]  # their sum, each times 2 to the power of its shift


def exact_distances(F: torch.Tensor, C: torch.Tensor, is_complete: bool) -> torch.Tensor:
    """Return |f - m|^2 over the coordinates each row observes, (m, k) int64.

    F are grid rows (m, 2d), C centroids (k, 2d).
    """
    F64 = F.to(torch.float64)
    C64 = C.to(torch.int64)
    high = (C64 + (1 << (LOW_BITS - 1))) >> LOW_BITS
    low = C64 - (high << LOW_BITS)
    dots = (F64 @ high.T.to(torch.float64)).to(torch.int64) << LOW_BITS  # exact: below 2^53 in all
    dots += (F64 @ low.T.to(torch.float64)).to(torch.int64)
    return row_lengths(F)[:, None] - 2 * dots + observed_lengths(F, C64, is_complete)


def row_lengths(F: torch.Tensor) -> torch.Tensor:
    """Return |f|^2, (m,) int64."""
    F64 = F.to(torch.int64)
    return (F64 * F64).sum(1)


def observed_lengths(F: torch.Tensor, C: torch.Tensor, is_complete: bool) -> torch.Tensor:
    """Return |m|^2 over the coordinates each row observes: (k,), or (m, k) if cells are missing."""
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
    """Return which cells are not missing, (m, d)."""
    d = F.shape[1] // 2
    return (F[:, :d] | F[:, d:]) != 0


class Limbs(NamedTuple):
    """Bits of a value and of a weight multiplied at a time, so that n products add up inside 64
    bits.
    """

    value: int
    weight: int

    @classmethod
    def of_rows(cls, n: int, value_bits: int, weight_bits: int) -> Limbs:
        room = WORD - n.bit_length()
        weight = min(weight_bits, max(MIN_LIMB, room - value_bits))
        return cls(room - weight, weight)


def split_integers(
    values: torch.Tensor, bits: int, size: int
) -> Iterator[tuple[int, torch.Tensor]]:
    """Yield (shift, limb) of values below 2^bits: limbs of `size` bits, the last with the sign."""
    if bits <= size:
        yield 0, values
        return
    for shift in range(0, bits, size):
        limb = values >> shift
        yield shift, limb if shift + size >= bits else limb & ((1 << size) - 1)


class ExactSummation(NamedTuple):
    """Weighted sums over n rows whose weights are below 2^weight_bits."""

    n: int
    weight_bits: int

    def products(
        self, values: torch.Tensor, w: torch.Tensor | None, value_bits: int
    ) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield (shift, limb) of values (m, ...) below 2^value_bits times weights (m,)."""
        limbs = Limbs.of_rows(self.n, value_bits, 0 if w is None else self.weight_bits)
        for shift, part in split_integers(values, value_bits, limbs.value):
            if w is None:
                yield shift, part
                continue
            for weight_shift, weights in split_integers(w, self.weight_bits, limbs.weight):
                yield shift + weight_shift, part * weights.reshape(-1, *[1] * (values.ndim - 1))

    def total(self, values: torch.Tensor, w: torch.Tensor | None, value_bits: int) -> ShiftedSums:
        """Return the sums over all rows of values (m, ...) times weights."""
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


def add_shifted(one: ShiftedSums, two: ShiftedSums) -> ShiftedSums:
    """Return the sum of both, which have the same shifts; an empty list counts as 0."""
    return [(s, a + b) for (s, a), (_, b) in zip(one, two, strict=True)] if one else two


def add_sums(one: Sequence[ShiftedSums], two: Sequence[ShiftedSums]) -> list[ShiftedSums]:
    """Return the sums of several pairs."""
    return [add_shifted(*pair) for pair in zip(one, two, strict=True)]


def fetch_integers(*sums: ShiftedSums) -> list[Array]:
    """Return each of these sums as one array on the host, brought there in one transfer.

    The array is int64 if that is wide enough, else it has Python's integers.
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
    """Return how many labels changed since the last pass: all of them if there was none."""
    if last is None:
        return torch.tensor(len(labels), device=labels.device)
    return (labels != last).sum()


def join_integers(parts: Sequence[tuple[int, Array]]) -> Array:
    """Return the exact sum of values times 2^shift."""
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
    """Exact running sums of products of two columns of integers.

    They have limbs of 32 bits, from the highest to the lowest.

    A running sum of limbs stays inside 64 bits for fewer than 2^31 entries (MAX_DEVICE_ROWS).
    """

    def __init__(self, values: torch.Tensor, w: torch.Tensor | None) -> None:
        low = values & HALF_MASK
        high = values >> HALF
        if w is None:
            limbs = [low, high]
        else:
            low = low * w  # below 2^63: a weight is at most 2^31
            middle = (low >> HALF) + high * w
            limbs = [low & HALF_MASK, middle & HALF_MASK, middle >> HALF]
        sums = [limb.cumsum(0) for limb in limbs]
        for i in range(len(sums) - 1):
            sums[i + 1] = sums[i + 1] + (sums[i] >> HALF)
            sums[i] = sums[i] & HALF_MASK
        self.sums = torch.stack(sums[::-1])  # (limbs, n)

    def first_above(self, goals: Sequence[int]) -> torch.Tensor:
        """Return the number of the first entry above each goal, (m,); the last entry if none is."""
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
        """Return whether the entries of these numbers are at most the goals."""
        values = self.sums[:, numbers]  # (limbs, m, FAN - 1)
        below = values[-1] <= goals[-1]
        for i in range(len(values) - 2, -1, -1):
            below = (values[i] < goals[i]) | ((values[i] == goals[i]) & below)
        return below
