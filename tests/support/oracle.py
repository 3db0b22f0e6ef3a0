"""Oracle of the paper's methods in plain float64, which does not import rekmeans.

D_jc = sum_l (1 - cos(theta_jl - u_cl)), theta = alpha pi x.
"""

import math
from typing import NamedTuple

import numpy as np

# Smaller resultants, relative to their mass, count as zero: antipodal rows cancel to 1e-16.
ZERO = 1e-12
TIE = 1e-12  # smaller relative differences count as ties: equal distances differ in their last bits


class Pass(NamedTuple):
    """One assignment pass: the labels, the centroids they come from, and the objective."""

    labels: np.ndarray  # (n,)
    centroids: np.ndarray  # (k, d) points, complex a+ib of modulus <= 1, or angles
    objective: float


def phases(X, alpha):
    """Return theta = alpha pi x."""
    return alpha * math.pi * np.asarray(X, dtype=np.float64)


def euler_kernel(x, q, alpha):
    """Return K(x, q) = 1/2 sum_l cos(theta_l - eta_l) - i/2 sum_l sin(theta_l - eta_l).

    theta and eta are the phases of x and q.
    """
    gap = phases(x, alpha) - phases(q, alpha)
    return complex(0.5 * np.nansum(np.cos(gap)), -0.5 * np.nansum(np.sin(gap)))


def mapped_distance(x, q, alpha):
    """Return |phi(x) - phi(q)|^2 = sum_l (1 - cos(theta_l - eta_l)) for phases theta and eta."""
    return float(np.nansum(1 - np.cos(phases(x, alpha) - phases(q, alpha))))


# distances (n, k) of rows V to centroids C; a missing cell is NaN and adds nothing


def squared_distances(V, C):
    """Return D_jc = sum_l |v_jl - c_cl|^2."""
    D = np.zeros((len(V), len(C)))
    for c in range(len(C)):
        D[:, c] = np.nansum(np.abs(V - C[c]) ** 2, axis=1)
    return D


def half_squared_distances(F, M):
    """Return D_jc = |phi_j - m_c|^2 = 1/2 sum_l |f_jl - (a+ib)_cl|^2, f = e^{i theta}."""
    return 0.5 * squared_distances(F, M)


def angle_distances(T, U):
    """Return D_jc = sum_l (1 - cos(theta_jl - u_cl))."""
    D = np.zeros((len(T), len(U)))
    for c in range(len(U)):
        D[:, c] = np.nansum(1 - np.cos(T - U[c]), axis=1)
    return D


def nearest(D):
    """Return argmin_c D_jc; the lowest index wins a tie."""
    least = D.min(axis=1, keepdims=True)  # (n, 1)
    return np.argmax(least * (1 + TIE) >= D, axis=1)


# centres of the observed cells v of one cluster and one coordinate, with weights w, sum w > 0


def mean(v, w, old):
    """Return sum w v / sum w."""
    return np.sum(w * v) / np.sum(w)


def rectified(f, w, old):
    """Return S / |S|, S = sum w f, or the old point if |S| = 0."""
    S = np.sum(w * f)
    return S / abs(S) if abs(S) > ZERO * np.sum(w) else old


def mean_angle(theta, w, old):
    """Return atan2(sum w sin theta, sum w cos theta), or the old angle for a zero resultant."""
    a, b = np.sum(w * np.cos(theta)), np.sum(w * np.sin(theta))
    return math.atan2(b, a) if math.hypot(a, b) > ZERO * np.sum(w) else old


def printed_angle(theta, w, old):
    """Return -arccos(sum w cos theta / A), A = sqrt((sum w cos)^2 + (sum w sin)^2).

    This is the printed update. It is wrong unless sum w sin <= 0.
    """
    a, b = np.sum(w * np.cos(theta)), np.sum(w * np.sin(theta))
    length = math.hypot(a, b)
    return -math.acos(max(-1.0, min(1.0, a / length))) if length > ZERO * np.sum(w) else old


def weighted_centres(V, W, C, centre):
    """Return C_cl = centre(observed v_jl, weights W_jc).

    A coordinate without observed cells keeps its old value.
    """
    new = C.copy()
    for c in range(C.shape[0]):
        for column in range(C.shape[1]):
            observed = ~np.isnan(V[:, column])
            if np.sum(W[observed, c]) > 0:
                new[c, column] = centre(V[observed, column], W[observed, c], C[c, column])
    return new


# the methods


def hard_passes(V, C, passes, weights, distances, centre):
    """Assign, record sum_j w_j D_j,label(j) and move, until labels repeat or after `passes`."""
    w = np.ones(len(V)) if weights is None else np.asarray(weights, dtype=np.float64)
    records = []
    for t in range(passes):
        D = distances(V, C)  # (n, k)
        labels = nearest(D)
        W = w[:, None] * (labels[:, None] == np.arange(len(C)))  # (n, k)
        records.append(Pass(labels, C, math.fsum((W * D).ravel())))
        if t > 0 and np.array_equal(labels, records[-2].labels):
            break
        C = weighted_centres(V, W, C, centre)
    return records


def kmeans(X, start, passes, weights=None):
    """Run plain k-means: min sum_j |x_j - c|^2, where c is the mean."""
    X = np.asarray(X, dtype=np.float64)
    C = np.array(start, dtype=np.float64)
    return hard_passes(X, C, passes, weights, squared_distances, mean)


def eulerk(X, start, alpha, passes, weights=None):
    """Run EulerK: min sum_j 1/2 |f_j - m|^2, m = a+ib = (1/n_c) sum f, inside the circle."""
    F = np.exp(1j * phases(X, alpha))
    M = np.exp(1j * phases(start, alpha))
    return hard_passes(F, M, passes, weights, half_squared_distances, mean)


def rek1(X, start, alpha, passes, weights=None):
    """Run REK1: min sum_j 1/2 |f_j - m|^2 with |m_cl| = 1, m_cl = S_cl / |S_cl|."""
    F = np.exp(1j * phases(X, alpha))
    M = np.exp(1j * phases(start, alpha))
    return hard_passes(F, M, passes, weights, half_squared_distances, rectified)


def rek2(X, start, alpha, passes, weights=None):
    """Run REK2: min sum_j sum_l (1 - cos(theta_jl - u_cl)), u_cl = atan2(sum sin, sum cos)."""
    return hard_passes(
        phases(X, alpha), phases(start, alpha), passes, weights, angle_distances, mean_angle
    )


def rek2_printed(X, start, alpha, passes, weights=None):
    """Run REK2 with the printed update u_cl = -arccos(sum cos / A).

    The objective can rise (erratum 1).
    """
    return hard_passes(
        phases(X, alpha), phases(start, alpha), passes, weights, angle_distances, printed_angle
    )


def memberships(D, fuzziness):
    """Return u_jc = D_jc^(-1/(m-1)) / sum_r D_jr^(-1/(m-1)).

    A row on prototypes belongs to them in equal parts.
    """
    U = np.zeros_like(D)
    for j in range(len(D)):
        least = D[j].min()
        # The smallest distance cancels. Without it, the powers overflow for m close to 1.
        U[j] = D[j] == 0 if least == 0 else (D[j] / least) ** (-1 / (fuzziness - 1))
        U[j] /= U[j].sum()
    return U


def fuzzy(X, start, alpha, fuzziness, passes):
    """Run Euler fuzzy c-means for all passes: min sum_jc u_jc^m D_jc.

    The angles are atan2(sum u^m sin, sum u^m cos).
    """
    T = phases(X, alpha)
    C = phases(start, alpha)
    records = []
    for _ in range(passes):
        D = angle_distances(T, C)  # (n, k)
        W = memberships(D, fuzziness) ** fuzziness  # (n, k)
        # The nearest centroid has the largest u.
        records.append(Pass(nearest(D), C, math.fsum((W * D).ravel())))
        C = weighted_centres(T, W, C, mean_angle)
    return records


def rbf(X, start, sigma, passes):
    """Run rectified RBF k-means: min 2 sum_j (1 - k(x_j, v)), v = sum w x / sum w.

    The weights are w = k = exp(-|x-v|^2 / (2 sigma^2)).
    """
    X = np.asarray(X, dtype=np.float64)
    C = np.array(start, dtype=np.float64)
    records = []
    for _ in range(passes):
        D = squared_distances(X, C)  # (n, k)
        labels = nearest(D)
        own = D[np.arange(len(X)), labels]  # (n,)
        records.append(Pass(labels, C, -2 * math.fsum(np.expm1(-own / (2 * sigma**2)))))
        W = np.zeros_like(D)
        for c in set(labels.tolist()):
            inside = labels == c
            # The smallest distance cancels in v. Subtracting it avoids underflow of all weights.
            W[inside, c] = np.exp(-(own[inside] - own[inside].min()) / (2 * sigma**2))
        C = weighted_centres(X, W, C, mean)
    return records


# scores of a result


def deviation(centroids):
    """Return kappa_c = 1 - sqrt(sum_l (a^2 + b^2) / d), which is 0 on the circle (erratum 2)."""
    return np.array([1 - math.sqrt(sum(abs(z) ** 2 for z in m) / len(m)) for m in centroids])


def deviation_printed(centroids):
    """Return the printed kappa_c = 1 - sum_l (a^2 + b^2) / sqrt(d), 1 - sqrt(d) on the circle."""
    return np.array([1 - sum(abs(z) ** 2 for z in m) / math.sqrt(len(m)) for m in centroids])


def surface_eulerk(p, q, z):
    """Return the side of z = a+ib by Lemma 1, which is positive if p is nearer.

    2(a_p-a_q).a + 2(b_p-b_q).b - (|a_p|^2-|a_q|^2+|b_p|^2-|b_q|^2).
    """
    total = 0.0
    for p_l, q_l, z_l in zip(p, q, z, strict=True):
        total += 2 * (p_l.real - q_l.real) * z_l.real - (p_l.real**2 - q_l.real**2)
        total += 2 * (p_l.imag - q_l.imag) * z_l.imag - (p_l.imag**2 - q_l.imag**2)
    return float(total)


def surface_rek(p, q, z):
    """Return the side of z = a+ib by Lemma 2, which is positive if p is nearer.

    (a_p-a_q).a + (b_p-b_q).b, for |p_l| = |q_l|.
    """
    total = 0.0
    for p_l, q_l, z_l in zip(p, q, z, strict=True):
        total += (p_l.real - q_l.real) * z_l.real + (p_l.imag - q_l.imag) * z_l.imag
    return float(total)


def contingency(truth, labels):
    """Return N_rs, the number of rows of class r and label s."""
    N = [[0] * len(set(labels)) for _ in set(truth)]
    rows, columns = sorted(set(truth)), sorted(set(labels))
    for r, s in zip(truth, labels, strict=True):
        N[rows.index(r)][columns.index(s)] += 1
    return N


def accuracy(truth, labels):
    """Return ACC = (1/n) max over one-to-one maps of sum_r N_r,map(r); try all maps (k <= 7)."""
    truth, labels = np.asarray(truth).tolist(), np.asarray(labels).tolist()
    N = contingency(truth, labels)
    for row in N:
        row.extend([0] * (len(N) - len(row)))  # classes without a label

    def best_match(r, free):
        if r == len(N):
            return 0
        return max((N[r][s] + best_match(r + 1, free - {s}) for s in free), default=0)

    return best_match(0, frozenset(range(len(N[0])))) / len(truth)


def nmi(truth, labels):
    """Return NMI = 2 I / (H + H'), or 1 if both have one class.

    I = sum p_rs log(p_rs / (p_r p_s)), H = -sum p log p.
    """
    truth, labels = np.asarray(truth).tolist(), np.asarray(labels).tolist()
    n = len(truth)
    P = [[count / n for count in row] for row in contingency(truth, labels)]
    p = [sum(row) for row in P]
    q = [sum(column) for column in zip(*P, strict=True)]
    information = 0.0
    for r in range(len(p)):
        for s in range(len(q)):
            if P[r][s] > 0:
                information += P[r][s] * math.log(P[r][s] / (p[r] * q[s]))
    entropies = -sum(x * math.log(x) for x in p) - sum(x * math.log(x) for x in q)
    return 2 * information / entropies if entropies > 0 else 1.0
