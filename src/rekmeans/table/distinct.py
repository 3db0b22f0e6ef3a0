"""A mergeable sketch of bounded size that tests whether all values of a column are distinct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from .._grid import Array

# maximum number of hashes; the test is exact for up to this many distinct values
MAX_HASHES = 1 << 16


def _no_hashes() -> Array:
    return np.empty(0, np.uint64)


def _no_flags() -> Array:
    return np.empty(0, bool)


@dataclass(frozen=True)
class SmallestHashes:
    """The smallest 64-bit hashes of the values of a column, and which values are repeated.

    The hash is a bijection, so different values have different hashes. The records of two parts of
    a column can be merged in any order.
    """

    hashes: Array = field(default_factory=_no_hashes)  # (m,) ascending
    is_repeated: Array = field(default_factory=_no_flags)  # (m,)

    @classmethod
    def of_values(cls, values: Array, times: Array | None = None) -> Self:
        """Return the record of float64 values with frequencies `times`."""
        hashes = _hash_values(values)
        if times is None and len(hashes) > 4 * MAX_HASHES:
            hashes = _smallest(hashes)
        if times is None:
            distinct, counts = np.unique(hashes, return_counts=True)
            return cls(distinct[:MAX_HASHES], counts[:MAX_HASHES] > 1)
        order = np.argsort(hashes)[:MAX_HASHES]
        return cls(hashes[order], times[order] > 1)

    @classmethod
    def merge(cls, records: Sequence[SmallestHashes]) -> Self:
        """Merge these records into one."""
        hashes = np.concatenate([record.hashes for record in records])
        is_repeated = np.concatenate([record.is_repeated for record in records])
        distinct, places, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        flags = counts > 1
        flags[places[is_repeated]] = True
        return cls(distinct[:MAX_HASHES], flags[:MAX_HASHES])

    def __add__(self, other: SmallestHashes) -> SmallestHashes:
        return SmallestHashes.merge([self, other])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SmallestHashes)
            and np.array_equal(self.hashes, other.hashes)
            and np.array_equal(self.is_repeated, other.is_repeated)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def are_different(self) -> bool:
        """Whether no kept value occurs twice."""
        return not self.is_repeated.any()


def _hash_values(values: Array) -> Array:
    """Return the 64-bit hash of each value: the finalizer of SplitMix64, a bijection."""
    bits: Array = (np.asarray(values, np.float64) + 0.0).view(np.uint64).copy()  # turns -0 into 0
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def _smallest(hashes: Array) -> Array:
    """Drop large hashes, keeping at least the MAX_HASHES smallest distinct ones."""
    share = 2.0 * MAX_HASHES / len(hashes)
    while share < 1:
        found = hashes[hashes <= np.uint64(share * (2.0**64 - 2**12))]
        if len(np.unique(found)) >= MAX_HASHES:
            return found
        share *= 4
    return hashes
