"""Oracle of the kernel methods in plain float64, which does not import rekmeans.

J = sum_jc w_j W_jc |phi(x_j) - m_c|^2, where a rule determines W.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from support.oracle import (
    TIE,
    angle_distances,
    mean,
    mean_angle,
    memberships,
    nearest,
    phases,
    squared_distances,
)

# Rectified: m_c = phi(v_c), where v_c is a point in the units of X (Euler: modulo 2/alpha) and the
# update cannot raise J. Mean: m_c = sum_q A_cq phi(x_q), represented by its weights A (k, n). A
# missing cell is NaN and is ignored in distances and sums. X is not scaled. Every requested pass
# is run, and a record contains the values before the centroids move.

# Smaller distances to a prototype are replaced by this one, because 1/r is unbounded.
NEAR = 1e-9


class Pass(NamedTuple):
    """One assignment pass: its labels and memberships, the centroids, and the objective."""

    labels: np.ndarray  # (n,)
    memberships: np.ndarray  # (n, k) before any power: 0 or 1, u, h[winner], exp(-rank/reach)
    centroids: np.ndarray  # (k, d) pre-images v, or (k, n) weights A
    objective: float


# kernel matrices (n, n'); cells missing in either row are ignored


def rbf_matrix(X, Y, gamma):
    """Return k(x, y) = exp(-gamma sum_l (x_l - y_l)^2)."""
    return np.exp(-gamma * squared_distances(X, Y))


def laplace_matrix(X, Y, gamma):
    """Return k(x, y) = exp(-gamma sum_l |x_l - y_l|)."""
    return np.exp(-gamma * city_distances(X, Y))


def laplace_l2_matrix(X, Y, gamma):
    """Return k(x, y) = exp(-gamma sqrt(sum_l (x_l - y_l)^2))."""
    return np.exp(-gamma * straight_distances(X, Y))


def euler_matrix(X, Y, alpha):
    """Return Re K(x, y) = 1/2 sum_l cos(alpha pi (x_l - y_l)); K(x, x) = d/2."""
    K = np.zeros((len(X), len(Y)))
    for q in range(len(Y)):
        K[:, q] = 0.5 * np.nansum(np.cos(phases(X - Y[q], alpha)), axis=1)
    return K


MATRICES = {
    "euler": euler_matrix,
    "rbf": rbf_matrix,
    "laplace": laplace_matrix,
    "laplace-l2": laplace_l2_matrix,
}


def city_distances(X, V):
    """Return r_jc = sum_l |x_jl - v_cl|."""
    R = np.zeros((len(X), len(V)))
    for c in range(len(V)):
        R[:, c] = np.nansum(np.abs(X - V[c]), axis=1)
    return R


def straight_distances(X, V):
    """Return r_jc = sqrt(sum_l (x_jl - v_cl)^2)."""
    return np.sqrt(squared_distances(X, V))


# rectified centroids: radii R (n, k) that grow as k(x, v) falls, losses L = |phi(x) - phi(v)|^2,
# and the step


class Kernel(NamedTuple):
    """Functions of a kernel: radii R, loss L(R), log weight of a row, and centre of the cells."""

    radii: Callable
    loss: Callable
    log_pull: Callable
    centre: Callable


def welsch(R, gamma):
    """Return L = 2 (1 - exp(-gamma R))."""
    return -2 * np.expm1(-gamma * R)


def weighted_mean(v, w, old, width):
    """Return sum w v / sum w."""
    return mean(v, w, old)


def weighted_median(v, w, old, width):
    """Return the smallest value whose cumulative weight reaches half.

    It minimizes sum w |v - u|.
    """
    order = np.argsort(v, kind="stable")
    reached = np.cumsum(w[order])
    return v[order][np.argmax(reached >= 0.5 * reached[-1] * (1 - TIE))]


def circular_mean(v, w, old, alpha):
    """Return atan2(sum w sin, sum w cos) / (alpha pi) of alpha pi v; keep `old` if it is 0."""
    return mean_angle(phases(v, alpha), w, phases(old, alpha)) / (alpha * math.pi)


KERNELS = {
    "euler": Kernel(
        radii=lambda X, V, alpha: angle_distances(phases(X, alpha), phases(V, alpha)),
        loss=lambda R, alpha: R,  # sum_l (1 - cos(theta_l - u_l)) itself
        log_pull=lambda R, alpha: 0 * R,
        centre=circular_mean,
    ),
    "rbf": Kernel(
        radii=lambda X, V, gamma: squared_distances(X, V),
        loss=welsch,
        log_pull=lambda R, gamma: -gamma * R,  # mean shift: k(x, v)
        centre=weighted_mean,
    ),
    "laplace": Kernel(
        radii=lambda X, V, gamma: city_distances(X, V),
        loss=welsch,
        log_pull=lambda R, gamma: -gamma * R,  # k(x, v); the median handles |x - v|
        centre=weighted_median,
    ),
    "laplace-l2": Kernel(
        radii=lambda X, V, gamma: straight_distances(X, V),
        loss=welsch,
        # Weiszfeld: k(x, v) / |x - v|
        log_pull=lambda R, gamma: -gamma * R - np.log(np.maximum(R, NEAR)),
        centre=weighted_mean,
    ),
}


def rectified_step(X, V, W, kernel, width):
    """Return v_cl = centre(observed x_jl, weights W_jc pull_jc).

    A coordinate without observed cells keeps its old value.
    """
    radii, _, log_pull, centre = KERNELS[kernel]
    pulls = log_pull(radii(X, V, width), width)  # (n, k)
    new = V.copy()
    for c in range(V.shape[0]):
        for column in range(V.shape[1]):
            counted = ~np.isnan(X[:, column]) & (W[:, c] > 0)
            if counted.any():
                e = np.log(W[counted, c]) + pulls[counted, c]
                # The largest exponent cancels in the centre. Subtracting it avoids underflow of
                # all weights for distant rows.
                new[c, column] = centre(
                    X[counted, column], np.exp(e - e.max()), V[c, column], width
                )
    return new


def rectified_passes(X, start, kernel, width, rule, passes, w):
    """Alternate the rule, the record of sum_jc w_j W_jc L_jc, and the step."""
    X = np.asarray(X, dtype=np.float64)
    V = np.array(start, dtype=np.float64)
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    records = []
    for _ in range(passes):
        R = KERNELS[kernel].radii(X, V, width)  # (n, k)
        L = KERNELS[kernel].loss(R, width)  # (n, k)
        labels, P, W = rule(R, L)
        records.append(Pass(labels, P, V, math.fsum((w[:, None] * W * L).ravel())))
        V = rectified_step(X, V, w[:, None] * W, kernel, width)
    return records


# mean centroids by the kernel trick


def averages(W, old):
    """Return A_cq = W_qc / sum_r W_rc; a cluster without weight keeps its old row."""
    A = old.copy()  # (k, n)
    for c in range(len(A)):
        if np.sum(W[:, c]) > 0:
            A[c] = W[:, c] / np.sum(W[:, c])
    return A


def norms(K, A):
    """Return |m_c|^2 = sum_qr A_cq A_cr K_qr."""
    return np.array([a @ K @ a for a in A])


def mean_distances(K, A):
    """Return D_jc = K_jj - 2 sum_q A_cq K_jq + |m_c|^2, at least 0 in spite of rounding."""
    D = np.zeros((len(K), len(A)))
    squares = norms(K, A)
    for c in range(len(A)):
        D[:, c] = np.diag(K) - 2 * (K @ A[c]) + squares[c]
    return np.maximum(D, 0)


def mean_passes(K, start, rule, passes, w):
    """Alternate the rule, the record of sum_jc w_j W_jc D_jc, and the averages.

    `start` contains labels (n,) or weights A (k, n).
    """
    w = np.ones(len(K)) if w is None else np.asarray(w, dtype=np.float64)
    start = np.asarray(start)
    if start.ndim == 1:
        k = start.max() + 1
        A = averages(w[:, None] * (start[:, None] == np.arange(k)), np.zeros((k, len(K))))
    else:
        A = start.astype(np.float64)
    records = []
    for _ in range(passes):
        D = mean_distances(K, A)  # (n, k)
        labels, P, W = rule(D, D)
        records.append(Pass(labels, P, A, math.fsum((w[:, None] * W * D).ravel())))
        A = averages(w[:, None] * W, A)
    return records


# rules: radii R and losses L (n, k) -> labels (n,), memberships P (n, k), weights W (n, k) of the
# losses


def hard_rule(R, L):
    """Set W_jc = 1 for the nearest centroid by radius, because large losses all round to 2."""
    labels = nearest(R)
    P = (labels[:, None] == np.arange(L.shape[1])).astype(np.float64)
    return labels, P, P


def fuzzy_rule(R, L, fuzziness):
    """Set W_jc = u_jc^m, u_jc = L_jc^(-1/(m-1)) / sum_r L_jr^(-1/(m-1)).

    A row on prototypes belongs to them in equal parts.
    """
    P = memberships(L, fuzziness)
    return nearest(R), P, P**fuzziness


def som_rule(R, L, h):
    """Set W_jc = h_bc, b = argmin_a sum_r h_ar L_jr: the winner of Heskes, not the nearest node."""
    labels = nearest(L @ h.T)
    P = h[labels]
    return labels, P, P


def gas_rule(R, L, reach):
    """Set W_jc = exp(-rank_jc / reach), where rank_jc counts the nearer centroids.

    An equally near centroid with a lower index counts as nearer. With reach 0, only rank 0 counts.
    """
    ranks = np.zeros(R.shape)
    for c in range(R.shape[1]):
        for r in range(R.shape[1]):
            nearer = R[:, r] * (1 + TIE) < R[:, c]
            as_near = ~nearer & (R[:, c] * (1 + TIE) >= R[:, r]) & (r < c)
            ranks[:, c] += nearer | as_near
    P = np.exp(-ranks / reach) if reach > 0 else (ranks == 0).astype(np.float64)
    return ranks.argmin(axis=1), P, P


# the methods, rectified: start V0 (k, d) in the units of X


def rectified_rbf(X, start, gamma, passes, w=None):
    """Run rectified RBF k-means: min 2 sum_j w_j (1 - exp(-gamma |x_j - v|^2)), by mean shift."""
    return rectified_passes(X, start, "rbf", gamma, hard_rule, passes, w)


def rectified_laplace(X, start, gamma, passes, w=None):
    """Run rectified Laplace k-means: min 2 sum_j w_j (1 - exp(-gamma |x_j - v|_1)), by medians."""
    return rectified_passes(X, start, "laplace", gamma, hard_rule, passes, w)


def rectified_laplace_l2(X, start, gamma, passes, w=None):
    """Run rectified Laplace k-means in L2: min 2 sum_j w_j (1 - exp(-gamma |x_j - v|_2)).

    The update uses the weights of Weiszfeld.
    """
    return rectified_passes(X, start, "laplace-l2", gamma, hard_rule, passes, w)


def fuzzy(X, start, kernel, width, fuzziness, passes, w=None):
    """Run rectified kernel fuzzy c-means: min sum_jc w_j u_jc^m L_jc."""
    return rectified_passes(
        X, start, kernel, width, partial(fuzzy_rule, fuzziness=fuzziness), passes, w
    )


def som(X, start, h, kernel, width, passes, w=None):
    """Run a rectified kernel map with fixed h (k, k): min sum_jc w_j h_winner(j),c L_jc."""
    return rectified_passes(X, start, kernel, width, partial(som_rule, h=np.asarray(h)), passes, w)


def gas(X, start, reach, kernel, width, passes, w=None):
    """Run rectified kernel neural gas: min sum_jc w_j exp(-rank_jc / reach) L_jc, fixed reach."""
    return rectified_passes(X, start, kernel, width, partial(gas_rule, reach=reach), passes, w)


# the methods with mean centroids: start labels (n,) or A0 (k, n)


def kernel_kmeans(K, start, passes, w=None):
    """Run kernel k-means.

    min sum_j w_j (K_jj - (2/s_c) sum_q w_q K_jq + (1/s_c^2) sum_qr w_q w_r K_qr), s_c = sum w.
    """
    return mean_passes(K, start, hard_rule, passes, w)


def kernel_fuzzy(K, start, fuzziness, passes, w=None):
    """Run kernel fuzzy c-means with means, A_cq ~ w_q u_qc^m: min sum_jc w_j u_jc^m D_jc."""
    return mean_passes(K, start, partial(fuzzy_rule, fuzziness=fuzziness), passes, w)


def kernel_som(K, start, h, passes, w=None):
    """Run a kernel self-organizing map with means, A_cq ~ w_q h_winner(q),c.

    min sum_jc w_j h_winner(j),c D_jc.
    """
    return mean_passes(K, start, partial(som_rule, h=np.asarray(h)), passes, w)


def kernel_gas(K, start, reach, passes, w=None):
    """Run kernel neural gas with means, A_cq ~ w_q exp(-rank_qc / reach)."""
    return mean_passes(K, start, partial(gas_rule, reach=reach), passes, w)


def trace_objective(K, labels, w=None):
    """Return the objective of a partition at its means in trace form.

    tr(W K) - tr(Z' W^1/2 K W^1/2 Z), W = diag(w), Z_jc = sqrt(w_j / s_c) [label_j = c].
    """
    w = np.ones(len(K)) if w is None else np.asarray(w, dtype=np.float64)
    root = np.diag(np.sqrt(w))
    Z = np.zeros((len(K), max(labels) + 1))
    for c in np.unique(labels[w > 0]):
        inside = labels == c
        Z[inside, c] = np.sqrt(w[inside] / w[inside].sum())
    return float(np.trace(np.diag(w) @ K) - np.trace(Z.T @ root @ K @ root @ Z))


# how well points represent rows in the mapped space


class Representation(NamedTuple):
    """The loss of a partition at its means and at given points, and 2 - rectified / mean."""

    mean: float
    rectified: float
    score: float


def representation(X, V, labels, kernel, width, w=None):
    """Return the losses J_mean and J_rect of a partition, and its representation score.

    J_mean = sum_c [sum_j w_j K_jj - (1/s_c) sum_jq w_j w_q K_jq], and
    J_rect = sum_j w_j |phi_j - phi(v)|^2. X must not contain NaN.

    J_rect - J_mean = sum_c s_c |m_c - phi(v_c)|^2, so the score is 1 if every mean lies on the
    mapped data. It is at least 0 for the best points, because random rows of each cluster give
    J_rect = 2 J_mean on average.
    """
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    K = MATRICES[kernel](X, X, width)
    L = KERNELS[kernel].loss(KERNELS[kernel].radii(X, V, width), width)  # (n, k)
    at_means = at_points = 0.0
    for c in range(len(V)):
        s = w * (labels == c)  # (n,)
        at_points += np.sum(s * L[:, c])
        if s.sum() > 0:
            at_means += np.sum(s * np.diag(K)) - s @ K @ s / s.sum()
    return Representation(float(at_means), float(at_points), float(2 - at_points / at_means))
