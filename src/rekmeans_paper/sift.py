"""Dense SIFT: in squares on a grid, 4 x 4 soft bins of 8 directions of the gradient; unit length,
clipped, unit length.

Why not OpenCV's: it computes each keypoint anew (130 ms for a photograph of 300 x 200 pixels, here
12), though squares share most of their pixels. Here the bins of all squares are rows of two sparse
matrices, applied to all pixels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.ndimage import gaussian_filter

from .values import Array

SIDE_BINS = 4  # along each side of a square
DIRECTIONS = 8
N_DESCRIPTOR_COLUMNS = SIDE_BINS * SIDE_BINS * DIRECTIONS
SMOOTH = 1.0  # pixels; sigma of the Gaussian whose derivative gives the gradient
# length under which a square shows little but noise: it is divided by this, not by its length
FLAT_LENGTH = 0.1
CLIP = 0.2  # of the unit length; so that one strong edge does not outshine all
UNIT = 512  # steps of the unit length in a stored value, as Lowe and OpenCV store it


class Squares(NamedTuple):
    """Descriptors of the squares of a picture in row order, and where their middles lie in it,
    0..1.
    """

    descriptors: Array  # (p, 128) uint8
    down: Array  # (p,)
    right: Array  # (p,)


def describe_squares(picture: Array, step: int, size: int) -> Squares:
    """The squares of `size` pixels every `step` pixels that fit into the picture, the margins even
    on both sides.
    """
    tops, lefts = (_square_starts(n, step, size) for n in picture.shape)
    gradient = _gradient_directions(picture)  # (h, w, 8)
    h, w, _ = gradient.shape
    # (4 tops, w, 8)
    rows = (_bin_weights(tops, h, size) @ gradient.reshape(h, -1)).reshape(-1, w, DIRECTIONS)
    cells = _bin_weights(lefts, w, size) @ rows.swapaxes(0, 1).reshape(w, -1)  # (4 lefts, 4 tops 8)
    split = cells.reshape(len(lefts), SIDE_BINS, len(tops), SIDE_BINS, DIRECTIONS)
    V = split.transpose(2, 0, 3, 1, 4).reshape(
        -1, N_DESCRIPTOR_COLUMNS
    )  # square by square; bins in row order, then directions
    down, right = ((starts + size / 2) / n for starts, n in ((tops, h), (lefts, w)))
    return Squares(_quantize(V), np.repeat(down, len(right)), np.tile(right, len(down)))


def _square_starts(n: int, step: int, size: int) -> Array:
    """First pixels of the squares along a side of n pixels."""
    return np.arange((n - size) % step // 2, n - size + 1, step)


def _gradient_directions(picture: Array) -> Array:
    """The length of the gradient at each pixel, shared by the two of 8 directions next to its own,
    (h, w, 8).
    """
    dy, dx = (
        gaussian_filter(picture, SMOOTH, order=order, mode="nearest") for order in ((1, 0), (0, 1))
    )
    turn = np.arctan2(dy, dx) * (DIRECTIONS / (2 * np.pi))  # -4..4
    below = np.floor(turn)
    length = np.hypot(dy, dx)
    share = turn - below
    first = below.astype(np.int64)[..., None]
    parts = np.zeros((*picture.shape, DIRECTIONS))
    np.put_along_axis(parts, first % DIRECTIONS, (length * (1 - share))[..., None], axis=2)
    np.put_along_axis(parts, (first + 1) % DIRECTIONS, (length * share)[..., None], axis=2)
    return parts


def _bin_weights(starts: Array, n: int, size: int) -> Any:
    """Weight of n pixels in the 4 bins of each square, (4 squares, n) CSR: 1 in its middle, 0 in
    the next one's.
    """
    width = size / SIDE_BINS
    middles = (starts[:, None] + width * (np.arange(SIDE_BINS) + 0.5)).reshape(-1, 1)
    return sparse.csr_array(np.maximum(1 - np.abs(np.arange(n) + 0.5 - middles) / width, 0.0))


def _quantize(V: Array) -> Array:
    """Descriptors of unit length, clipped and stretched to the length they had, in steps of 1/512,
    (p, 128) uint8.
    """
    V = V / np.maximum(_lengths(V), FLAT_LENGTH)
    clipped = np.minimum(V, CLIP)
    V = clipped * (_lengths(V) / np.maximum(_lengths(clipped), np.finfo(float).tiny))
    return np.minimum(np.rint(UNIT * V), 255).astype(np.uint8)


def _lengths(V: Array) -> Array:
    return np.sqrt((V * V).sum(axis=1, keepdims=True))
