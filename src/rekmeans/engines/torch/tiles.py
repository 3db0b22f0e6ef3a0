"""Tile sizes of the assignment kernel, measured on an H200; any others give the same bits."""

from __future__ import annotations

from typing import NamedTuple

from .packed_rows import NARROW_COLUMNS


class Tiles(NamedTuple):
    rows: int
    centroids: int
    columns: int
    n_warps: int
    n_stages: int
    programs: int  # a multiprocessor


def power_of_two(count: int, least: int = 1) -> int:
    """The least power of two that is not below either."""
    return max(least, 1 << (count - 1).bit_length())


def choose_tiles(P: int, k: int) -> Tiles:
    """Tiles for P stored columns and k centroids."""
    if P <= NARROW_COLUMNS:
        columns = power_of_two(P, 16)
        if k <= 16:
            return Tiles(64, 16, columns, 2 if columns <= 32 else 4, 1, 32 if columns <= 32 else 8)
        return Tiles(128, min(128, power_of_two(k)), columns, 4, 1, 2)
    if k <= 64:
        return Tiles(128, power_of_two(k, 16), 64, 4, 4, 3)
    return Tiles(
        128, min(256, power_of_two(k)), 64, 8, 4 if 1024 < P < 4096 else 3, 1 if P < 4096 else 2
    )


def choose_candidate_tiles(P: int, centroids: int) -> Tiles:
    """Tiles of the kernel that scores doubtful rows again, of which there are few."""
    if centroids < 128:
        return Tiles(64, centroids, min(64, power_of_two(P, 16)), 4, 3, 2)
    if P >= 4096:
        return Tiles(64, 64, 128, 4, 4, 2)
    return Tiles(128, centroids, min(64, power_of_two(P, 16)), 8, 3, 2)
