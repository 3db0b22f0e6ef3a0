"""REK2 in angles, a plain loop: u = atan2(sum sin, sum cos), labels by sum_l (1 - cos(theta_l - u_l)); and as printed.

The loop knows nothing of `lloyd`: that it ends where REK1 ends, to the last digit, is a result.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._grid import GRID, Array, cospi_sinpi
from ..assignment import Hard
from ..centroids import rectified, relocate_empty_clusters
from ..engines import Rows
from ..kernels.euler import OnCircles
from ..model import Model
from ..table import dense

TIE = 2.0**-24  # of a grid step: so near to a rounding tie a float64 angle (off by less than 2^-26 of one) cannot tell
LIMB = 24  # bits summed apart
THIN = 0.5  # share of numbers that are not zero up to which a sparse table is the smaller one
MOST = 300  # passes, as of the estimators
PATIENCE = 100  # passes after which the printed update is stopped; it need not come back to a partition


class Course(NamedTuple):
    """Where the loop ended: labels, centroids as grid points, and the objective after each pass."""

    labels: Array
    centroids: Array  # (k, 2d)
    objectives: list[float]


class Laid(NamedTuple):
    """Mapped rows as the loop needs them; of a sparse table what is not zero."""

    rows: Rows
    zero: Array  # (2d,) the mapped zero, on the grid
    rest: Any  # (n, 2d) mapped rows less zero
    silent: Any  # (n, d) 1 where a cell says nothing
    heard: Array  # (n,) rows that count
    squares: int  # sum |f|^2 of the rows that count


def laid(rows: Rows) -> Laid:
    """The rows with what stays the same in every pass."""
    F, heard = rows.map_blocks(np.asarray), rows.weights() > 0
    d = F.shape[1] // 2
    lengths = np.einsum("ij,ij->i", F, F, dtype=np.int64, casting="safe")
    zero = rows.kernel.from_points(np.zeros((1, d))).f[0]
    silent = _kept((F[:, :d] | F[:, d:]) == 0)
    F -= zero
    return Laid(rows, zero.astype(np.int64), _kept(F), silent, heard, _total(lengths[heard]))


def _kept(V: Array) -> Any:
    """Whole numbers (n, p) to be summed in 64 bits, the zeros left out where most are."""
    at, (n, p) = np.flatnonzero(V), V.shape
    if len(at) > THIN * V.size:
        return V.astype(np.int64)
    return sparse.csr_array((V.ravel()[at].astype(np.int64), at % p, np.searchsorted(at, p * np.arange(n + 1))), (n, p))


def rek2(rows: Rows, C: Array, max_iter: int = MOST) -> Course:
    """From the start C until the objective no longer falls or nothing moves; empty clusters are relocated."""
    data, end, least, objectives = laid(rows), Course(np.empty(0), C, []), math.inf, list[float]()
    for t in range(max_iter + 1):
        labels, S, mass, loss = _assigned(data, C)
        if loss >= least:
            break
        least = loss
        objectives.append(float(loss) * rows.kernel.loss_unit)
        end = Course(labels, C, objectives)
        if t < max_iter:
            C = relocate_empty_clusters(rows.kernel, rows.farthest, OnCircles(on_circle(S, C)), mass)[0].f
        if np.array_equal(C, end.centroids):
            break
    return end


def rek2_printed(rows: Rows, C: Array) -> Course:
    """With the printed u = -arccos(sum cos/A), until a partition comes back; nothing is relocated or made to fall."""
    data, before, objectives = laid(rows), set[bytes](), list[float]()
    while True:
        labels, S, _, loss = _assigned(data, C)
        objectives.append(float(loss) * rows.kernel.loss_unit)
        if labels.tobytes() in before or len(objectives) == PATIENCE:
            return Course(labels, C, objectives)
        before.add(labels.tobytes())
        C = _placed(_arccos(S), C)


def on_circle(S: Array, C: Array) -> Array:
    """Grid points of the angles atan2(S_sin, S_cos), (k, 2d); a zero resultant keeps its old point.

    Where cos or sin of the angle lies so near to a rounding tie that the angle cannot tell, S/|S| decides.
    """
    a, b = np.split(S.astype(np.float64), 2, axis=1)
    P = _placed(np.where((a != 0) | (b != 0), np.arctan2(b, a) / np.pi, np.nan), C)
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = S.astype(np.float64) / np.tile(np.sqrt(a * a + b * b), 2) * GRID
        doubtful = np.abs(np.abs(exact - np.rint(exact)) - 0.5) < TIE
    return np.where(doubtful, np.rint(np.where(doubtful, exact, 0)), P).astype(np.int32)


def _arccos(S: Array) -> Array:
    """The printed angles in half-turns, (k, d): always the lower half of the circle; NaN without a resultant."""
    a, b = np.split(S.astype(np.float64), 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return -np.arccos(np.clip(a / np.sqrt(a * a + b * b), -1, 1)) / np.pi


def _placed(U: Array, C: Array) -> Array:
    """Grid points of angles U (k, d) in half-turns, (k, 2d); those of C where an angle is NaN."""
    known = ~np.isnan(U)
    P = np.concatenate(cospi_sinpi(np.where(known, U, 0.0)), axis=1)
    return np.where(np.tile(known, 2), P, C).astype(np.int32)


def _assigned(data: Laid, C: Array) -> tuple[Array, Array, Array, int]:
    """Nearest angle of each row; of each cluster the sums of cos and sin (k, 2d) and its rows (k,); and the loss.

    sum |f - m|^2 = sum |f|^2 - 2 sum_c S_c.m_c + sum_c n_c |m_c|^2 over cells that say something; exact for 2^16 rows.
    """
    labels = data.rows.label(Model(data.rows.kernel, Hard(), rectified), OnCircles(C))
    own = np.flatnonzero(data.heard)
    W = sparse.csr_array((np.ones(len(own), np.int64), (labels[own], own)), (len(C), len(labels)))
    mass = W.sum(axis=1)  # (k,)
    rest, silent = (dense(W @ V) for V in (data.rest, data.silent))
    S = mass[:, None] * data.zero + rest  # (k, 2d)
    squares = np.add(*np.split(C.astype(np.int64) ** 2, 2, axis=1))  # (k, d)
    return labels, S, mass, data.squares - 2 * _total(S * C) + _total((mass[:, None] - silent) * squares)


def _total(V: Array) -> int:
    """The sum of 64-bit integers, which may need more bits."""
    return (int((V >> LIMB).sum()) << LIMB) + int((V & ((1 << LIMB) - 1)).sum())
