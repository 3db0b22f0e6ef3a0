"""|f - m|^2 of grid rows on a device, exact: two float64 products of 12-bit halves, as in the
reference.
"""

from __future__ import annotations

import torch

from ...kernels.euler import LOW_BITS

SQUARE_BITS = 24  # bits of |m|^2 of a cell added up at a time


def exact_distances(F: torch.Tensor, C: torch.Tensor, is_complete: bool) -> torch.Tensor:
    """|f - m|^2 over the coordinates each row observes, (m, k) int64, of grid rows (m, 2d) and
    centroids (k, 2d).
    """
    F64 = F.to(torch.float64)
    C64 = C.to(torch.int64)
    high = (C64 + (1 << (LOW_BITS - 1))) >> LOW_BITS
    low = C64 - (high << LOW_BITS)
    dots = (F64 @ high.T.to(torch.float64)).to(torch.int64) << LOW_BITS  # exact: below 2^53 in all
    dots += (F64 @ low.T.to(torch.float64)).to(torch.int64)
    return row_lengths(F)[:, None] - 2 * dots + observed_lengths(F, C64, is_complete)


def row_lengths(F: torch.Tensor) -> torch.Tensor:
    """|f|^2, (m,) int64."""
    F64 = F.to(torch.int64)
    return (F64 * F64).sum(1)


def observed_lengths(F: torch.Tensor, C: torch.Tensor, is_complete: bool) -> torch.Tensor:
    """|m|^2 over the coordinates each row observes: (k,), or (m, k) where cells are missing."""
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
    """Cells that are not missing, (m, d)."""
    d = F.shape[1] // 2
    return (F[:, :d] | F[:, d:]) != 0
