"""Dense SIFT descriptors of the squares of a grid.

A descriptor has 4 x 4 soft bins with 8 gradient directions each. It is normalized, clipped and
normalized again. OpenCV's SIFT computes every keypoint from scratch, although neighbouring squares
share most of their pixels: a photograph of 300 x 200 pixels takes 130 ms there and 12 ms here. Here
the bins of all squares are rows of two sparse matrices, which are applied to all pixels at once.
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
SMOOTH = 1.0  # sigma of the Gaussian derivative that gives the gradient, in pixels
# Shorter descriptors are mostly noise, so they are divided by this value and not by their length.
FLAT_LENGTH = 0.1
CLIP = 0.2  # of the unit length, so that one strong edge does not dominate the descriptor
UNIT = 512  # steps per unit length in stored values, as in Lowe's code and OpenCV


class Squares(NamedTuple):
    """Descriptors of the squares of a picture in row order, and their centres in 0..1."""

    descriptors: Array  # (p, 128) uint8
    down: Array  # (p,)
    right: Array  # (p,)


def describe_squares(picture: Array, step: int, size: int) -> Squares:
    """Describe the squares of `size` pixels, `step` pixels apart, that fit into the picture.

    The margins on both sides are equal.
    """
    tops, lefts = (_square_starts(n, step, size) for n in picture.shape)
    gradient = _gradient_directions(picture)  # (h, w, 8)
    h, w, _ = gradient.shape
    # (4 tops, w, 8)
    rows = (_bin_weights(tops, h, size) @ gradient.reshape(h, -1)).reshape(-1, w, DIRECTIONS)
    cells = _bin_weights(lefts, w, size) @ rows.swapaxes(0, 1).reshape(w, -1)  # (4 lefts, 4 tops 8)
    split = cells.reshape(len(lefts), SIDE_BINS, len(tops), SIDE_BINS, DIRECTIONS)
    # One row per square, with bins in row order and then directions.
    V = split.transpose(2, 0, 3, 1, 4).reshape(-1, N_DESCRIPTOR_COLUMNS)
    down, right = ((starts + size / 2) / n for starts, n in ((tops, h), (lefts, w)))
    return Squares(_quantize(V), np.repeat(down, len(right)), np.tile(right, len(down)))


def _square_starts(n: int, step: int, size: int) -> Array:
    """Return the first pixel of each square along a side of n pixels."""
    return np.arange((n - size) % step // 2, n - size + 1, step)


def _gradient_directions(picture: Array) -> Array:
    """Return the gradient length of each pixel in 8 directions, (h, w, 8).

    The two nearest directions share the length.
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
    """Return the weights of n pixels in the 4 bins of each square, (4 squares, n) CSR.

    The weight falls from 1 at the centre of a bin to 0 at the centre of the next bin.
    """
    width = size / SIDE_BINS
    middles = (starts[:, None] + width * (np.arange(SIDE_BINS) + 0.5)).reshape(-1, 1)
    return sparse.csr_array(np.maximum(1 - np.abs(np.arange(n) + 0.5 - middles) / width, 0.0))


def _quantize(V: Array) -> Array:
    """Normalize, clip and renormalize descriptors, and round them to steps of 1/512.

    The result is (p, 128) uint8.
    """
    V = V / np.maximum(_lengths(V), FLAT_LENGTH)
    clipped = np.minimum(V, CLIP)
    V = clipped * (_lengths(V) / np.maximum(_lengths(clipped), np.finfo(float).tiny))
    return np.minimum(np.rint(UNIT * V), 255).astype(np.uint8)


def _lengths(V: Array) -> Array:
    return np.sqrt((V * V).sum(axis=1, keepdims=True))
