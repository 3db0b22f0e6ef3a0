"""REK2 as a plain loop over angles, with the correct update and with the printed one.

The update is u = atan2(sum sin, sum cos), and a row goes to the cluster with the smallest
sum_l (1 - cos(theta_l - u_l)). The loop is independent of `lloyd`, so its agreement with REK1 to
the last digit is a result and not a consequence of shared code.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rekmeans.assignment import Hard
from rekmeans.centroids import rectified, relocate_empty_clusters
from rekmeans.engines import Rows
from rekmeans.kernels.euler import Euler, OnCircles
from rekmeans.model import Model
from rekmeans.scales import identity_scale
from rekmeans.table import dense

from .values import Array

# In grid steps. A float64 angle, whose error is below 2^-26 steps, cannot decide the rounding of a
# value this close to a tie.
TIE_WIDTH = 2.0**-24
# Grid steps per unit length: cos 0 on the grid.
GRID_STEPS = int(Euler(identity_scale(1)).embed(np.zeros((1, 1)))[0, 0])
LIMB_BITS = 24  # low bits that are summed separately
# A sparse table is smaller than a dense one up to this share of nonzero values.
SPARSE_SHARE = 0.5
MAX_ANGLE_PASSES = 300  # the default of the estimators
# The printed update need not return to an earlier partition, so the number of passes is limited.
MAX_PRINTED_PASSES = 100


class AngleFit(NamedTuple):
    """The result of the loop: labels, centroids as grid points, objective after each pass."""

    labels: Array
    centroids: Array  # (k, 2d)
    objectives: list[float]

    @property
    def complex_centroids(self) -> Array:
        """The centroids as complex numbers, (k, d)."""
        kernel = _half_turns(self.centroids.shape[1] // 2)
        return kernel.to_public(OnCircles(self.centroids))["centroids_"]


class PreparedRows(NamedTuple):
    """The mapped rows in the form the loop needs; sparse tables keep only their nonzeros."""

    rows: Rows
    zero: Array  # (2d,) the mapped zero, on the grid
    rest: Any  # (n, 2d) mapped rows minus `zero`
    missing: Any  # (n, d) 1 where a cell is missing
    counts: Array  # (n,) True for rows with positive weight
    squares: int  # sum |f|^2 over the rows with positive weight


def prepare_rows(rows: Rows) -> PreparedRows:
    """Return the rows with everything that stays the same in every pass."""
    F = rows.map_blocks(np.asarray)
    counts = rows.weights() > 0
    d = F.shape[1] // 2
    lengths = np.einsum("ij,ij->i", F, F, dtype=np.int64, casting="safe")
    zero = rows.kernel.from_points(np.zeros((1, d))).f[0]
    missing = _as_int64((F[:, :d] | F[:, d:]) == 0)
    F -= zero
    return PreparedRows(
        rows, zero.astype(np.int64), _as_int64(F), missing, counts, _exact_total(lengths[counts])
    )


def _as_int64(V: Array) -> Any:
    """Convert integers (n, p) to 64 bits, as a sparse array if most of them are zero."""
    at = np.flatnonzero(V)
    (n, p) = V.shape
    if len(at) > SPARSE_SHARE * V.size:
        return V.astype(np.int64)
    return sparse.csr_array(
        (V.ravel()[at].astype(np.int64), at % p, np.searchsorted(at, p * np.arange(n + 1))), (n, p)
    )


def fit_angles(rows: Rows, C: Array, max_iter: int = MAX_ANGLE_PASSES) -> AngleFit:
    """Iterate from the centroids C until the objective stops falling or no centroid moves.

    Empty clusters are relocated.
    """
    data = prepare_rows(rows)
    end = AngleFit(np.empty(0), C, [])
    least = math.inf
    objectives = list[float]()
    for t in range(max_iter + 1):
        labels, S, mass, loss = _assign_rows(data, C)
        if loss >= least:
            break
        least = loss
        objectives.append(float(loss) * rows.kernel.loss_unit)
        end = AngleFit(labels, C, objectives)
        if t < max_iter:
            C = relocate_empty_clusters(
                rows.kernel, rows.farthest, OnCircles(rectified_points(S, C)), mass
            )[0].f
        if np.array_equal(C, end.centroids):
            break
    return end


def fit_printed_angles(rows: Rows, C: Array) -> AngleFit:
    """Iterate with the printed u = -arccos(sum cos/A) until a partition repeats.

    Empty clusters are not relocated, and the objective may rise.
    """
    data = prepare_rows(rows)
    before = set[bytes]()
    objectives = list[float]()
    while True:
        labels, S, _, loss = _assign_rows(data, C)
        objectives.append(float(loss) * rows.kernel.loss_unit)
        if labels.tobytes() in before or len(objectives) == MAX_PRINTED_PASSES:
            return AngleFit(labels, C, objectives)
        before.add(labels.tobytes())
        C = _grid_points(_printed_angles(S), C)


def rectified_points(S: Array, C: Array) -> Array:
    """Return the grid points of the angles atan2(S_sin, S_cos), (k, 2d).

    A zero resultant keeps its old point. S/|S| replaces the cosine or sine of an angle that is too
    close to a rounding tie.
    """
    a, b = np.split(S.astype(np.float64), 2, axis=1)
    P = _grid_points(np.where((a != 0) | (b != 0), np.arctan2(b, a) / np.pi, np.nan), C)
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = S.astype(np.float64) / np.tile(np.sqrt(a * a + b * b), 2) * GRID_STEPS
        near_tie = np.abs(np.abs(exact - np.rint(exact)) - 0.5) < TIE_WIDTH
    return np.where(near_tie, np.rint(np.where(near_tie, exact, 0)), P).astype(np.int32)


def _printed_angles(S: Array) -> Array:
    """Return the printed angles in half-turns, (k, d); NaN for a zero resultant.

    All of them are in the lower half of the circle.
    """
    a, b = np.split(S.astype(np.float64), 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return -np.arccos(np.clip(a / np.sqrt(a * a + b * b), -1, 1)) / np.pi


def _grid_points(U: Array, C: Array) -> Array:
    """Return the grid points (k, 2d) of angles U (k, d) in half-turns; C where U is NaN."""
    P = _half_turns(U.shape[1]).embed(U)  # (k, 2d)
    return np.where(np.tile(np.isnan(U), 2), C, P).astype(np.int32)


def _half_turns(d: int) -> Euler:
    """Return the map t -> (cos pi t, sin pi t) of d columns to the grid."""
    return Euler(identity_scale(d), alpha=1.0)


def _assign_rows(data: PreparedRows, C: Array) -> tuple[Array, Array, Array, int]:
    """Return the labels, the sums of cos and sin (k, 2d), the cluster sizes (k,) and the loss.

    The loss is sum |f - m|^2 = sum |f|^2 - 2 sum_c S_c.m_c + sum_c n_c |m_c|^2 over the observed
    cells. It is exact up to 2^16 rows.
    """
    labels = data.rows.label(Model(data.rows.kernel, Hard(), rectified), OnCircles(C))
    weighted = np.flatnonzero(data.counts)
    W = sparse.csr_array(
        (np.ones(len(weighted), np.int64), (labels[weighted], weighted)), (len(C), len(labels))
    )
    mass = W.sum(axis=1)  # (k,)
    rest, missing = (dense(W @ V) for V in (data.rest, data.missing))
    S = mass[:, None] * data.zero + rest  # (k, 2d)
    squares = np.add(*np.split(C.astype(np.int64) ** 2, 2, axis=1))  # (k, d)
    return (
        labels,
        S,
        mass,
        data.squares - 2 * _exact_total(S * C) + _exact_total((mass[:, None] - missing) * squares),
    )


def _exact_total(V: Array) -> int:
    """Return the exact sum of 64-bit integers, even if it exceeds 64 bits."""
    return (int((V >> LIMB_BITS).sum()) << LIMB_BITS) + int((V & ((1 << LIMB_BITS) - 1)).sum())
