"""The oracles beyond against other oracles, closed forms, a public package and the law that no objective rises."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support import kernel_oracle, oracle
from support.paths import DATA

WIDTHS = {"euler": 0.3, "rbf": 0.4, "laplace": 0.5, "laplace-l2": 0.6}
K = 3
ALPHAS, POWER = (0.05, 0.1, 0.2), 2.5  # of several widths
LINE = np.exp(-np.abs(np.subtract.outer(np.arange(K), np.arange(K))) / 0.8)  # h of a map of K nodes in a row


def blobs(seed=0, n=60, d=2, gaps=0.0):
    """Rows round K centres, the first K of them as a start, and a share of missing cells."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, (K, d))[np.arange(n) % K] + 0.7 * rng.standard_normal((n, d))
    start = X[:K].copy()
    X[rng.uniform(size=(n, d)) < gaps] = np.nan
    return X, start


def weights_of(n, seed=9):
    return np.random.default_rng(seed).uniform(0.1, 3, n)


def rule_runs(kernel):
    """Every rectified method of a kernel: (X, start, passes, w) -> records."""
    width = WIDTHS[kernel]
    return {
        f"hard {kernel}": lambda *a: kernel_oracle.rectified_passes(
            a[0], a[1], kernel, width, kernel_oracle.hard_rule, a[2], a[3]
        ),
        f"fuzzy {kernel}": lambda X, start, t, w: kernel_oracle.fuzzy(X, start, kernel, width, 1.7, t, w),
        f"som {kernel}": lambda X, start, t, w: kernel_oracle.som(X, start, LINE, kernel, width, t, w),
        f"gas {kernel}": lambda X, start, t, w: kernel_oracle.gas(X, start, 0.7, kernel, width, t, w),
    }


def kernel_runs(kernel):
    """Every method with mean centroids; the start rows are the first K."""

    def square(X):
        return kernel_oracle.MATRICES[kernel](X, X, WIDTHS[kernel])

    return {
        f"mean hard {kernel}": lambda X, _, t, w: kernel_oracle.kernel_kmeans(square(X), np.eye(K, len(X)), t, w),
        f"mean fuzzy {kernel}": lambda X, _, t, w: kernel_oracle.kernel_fuzzy(square(X), np.eye(K, len(X)), 1.7, t, w),
        f"mean som {kernel}": lambda X, _, t, w: kernel_oracle.kernel_som(square(X), np.eye(K, len(X)), LINE, t, w),
        f"mean gas {kernel}": lambda X, _, t, w: kernel_oracle.kernel_gas(square(X), np.eye(K, len(X)), 0.7, t, w),
    }


def mapped(X, alpha):
    """[cos theta | sin theta], (n, 2d)."""
    T = oracle.phases(X, alpha)
    return np.concatenate([np.cos(T), np.sin(T)], axis=1)


def mahalanobis(nu):
    return lambda X, start, t, w: kernel_oracle.mahalanobis_fuzzy(mapped(X, 0.3), mapped(start, 0.3), 1.7, nu, t, w)


RECTIFIED = {name: run for kernel in WIDTHS for name, run in rule_runs(kernel).items()}
RECTIFIED["multiple"] = lambda X, start, t, w: kernel_oracle.multiple_euler(X, start, ALPHAS, POWER, t, w)
RECTIFIED["shared"] = lambda X, start, t, w: kernel_oracle.multiple_euler(X, start, ALPHAS, POWER, t, w, "shared")
MEAN = {name: run for kernel in WIDTHS for name, run in kernel_runs(kernel).items()}
MEAN |= {f"mahalanobis {nu}": mahalanobis(nu) for nu in (0.01, 1.0)}


# the law of all: no pass raises the objective


def rises(records, slack=0.0):
    """By how much a pass raised the objective, beyond rounding, at the most."""
    J = np.array([record.objective for record in records])
    return np.max(np.diff(J) - 1e-12 * J[0]) - slack


@pytest.mark.parametrize("kind", ["plain", "weights", "gaps"])
@pytest.mark.parametrize("name", RECTIFIED)
def test_no_rectified_objective_rises(name, kind):
    for seed in range(2):
        X, start = blobs(seed, gaps=0.15 if kind == "gaps" else 0.0)
        w = weights_of(len(X)) if kind == "weights" else None
        # the kink of |x - v| is rounded within NEAR, for the one row a prototype of laplace-l2 starts on
        slack = 3 * K * WIDTHS["laplace-l2"] * kernel_oracle.NEAR if name.endswith("l2") else 0.0
        assert rises(RECTIFIED[name](X, start, 15, w), slack) <= 0


@pytest.mark.parametrize("kind", ["plain", "weights"])
@pytest.mark.parametrize("name", MEAN)
def test_no_mean_objective_rises(name, kind):
    for seed in range(2):
        X, start = blobs(seed)
        assert rises(MEAN[name](X, start, 8, weights_of(len(X)) if kind == "weights" else None)) <= 0


@pytest.mark.parametrize("name", [*RECTIFIED, *MEAN])
def test_a_whole_weight_is_the_row_repeated(name):
    X, start = blobs(3, n=24)
    w = np.random.default_rng(1).integers(1, 4, len(X))
    # the rows a start names stay the first K of the long table
    order = np.concatenate([np.arange(len(X)), np.repeat(np.arange(len(X)), w - 1)])
    run = (RECTIFIED | MEAN)[name]
    for short, long in zip(run(X, start, 4, w), run(X[order], start, 4, None), strict=True):
        assert short.objective == pytest.approx(long.objective, rel=1e-10)
    if "mean" not in name:
        assert_allclose(short.centroids, long.centroids, atol=1e-7)


# kernels and losses against the formulas in plain Python


def plain_kernel(name, x, y, width):
    gaps = [a - b for a, b in zip(x, y, strict=True) if not math.isnan(a - b)]
    if name == "euler":
        return sum(math.cos(width * math.pi * gap) for gap in gaps) / 2
    if name == "rbf":
        return math.exp(-width * sum(gap**2 for gap in gaps))
    if name == "laplace":
        return math.exp(-width * sum(abs(gap) for gap in gaps))
    return math.exp(-width * math.sqrt(sum(gap**2 for gap in gaps)))


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("kernel", WIDTHS)
def test_matrices_and_losses_are_the_formulas(kernel, gaps):
    X, start = blobs(n=20, d=3, gaps=gaps)
    width = WIDTHS[kernel]
    M = kernel_oracle.MATRICES[kernel](X, start, width)
    L = kernel_oracle.KERNELS[kernel].loss(kernel_oracle.KERNELS[kernel].radii(X, start, width), width)
    for j, x in enumerate(X):
        for c, v in enumerate(start):
            near = plain_kernel(kernel, x, v, width)
            seen = np.where(np.isnan(x), np.nan, v)  # v where x speaks
            own = plain_kernel(kernel, x, x, width) + plain_kernel(kernel, seen, seen, width)
            assert M[j, c] == pytest.approx(near, abs=1e-14)
            assert L[j, c] == pytest.approx(own - 2 * near, abs=1e-14)
            if kernel == "euler":
                assert M[j, c] == pytest.approx(oracle.euler_kernel(x, v, width).real, abs=1e-14)


@pytest.mark.parametrize("kernel", WIDTHS)
def test_matrices_are_kernels(kernel):
    X, _ = blobs(d=4)
    M = kernel_oracle.MATRICES[kernel](X, X, WIDTHS[kernel])
    assert_allclose(np.diag(M), 4 / 2 if kernel == "euler" else 1)
    assert_allclose(M, M.T, atol=1e-15)
    assert np.linalg.eigvalsh(M).min() > -1e-12


# one step by hand, on a line


def test_one_step_of_every_kernel_by_hand():
    x, v, g = [0.0, 1.0, 3.0], 0.5, 0.7
    X = np.array(x)[:, None]
    pulls = [math.exp(-g * (a - v) ** 2) for a in x]
    shifted = sum(p * a for p, a in zip(pulls, x, strict=True)) / sum(pulls)
    assert kernel_oracle.rectified_rbf(X, [[v]], g, 2)[1].centroids[0, 0] == pytest.approx(shifted, rel=1e-14)
    pulls = [math.exp(-g * abs(a - v)) / abs(a - v) for a in x]
    weiszfeld = sum(p * a for p, a in zip(pulls, x, strict=True)) / sum(pulls)
    assert kernel_oracle.rectified_laplace_l2(X, [[v]], g, 2)[1].centroids[0, 0] == pytest.approx(weiszfeld, rel=1e-14)
    # pulls 0.70, 0.70, 0.17: the half, 0.79, is reached at 1
    assert kernel_oracle.rectified_laplace(X, [[v]], g, 2)[1].centroids[0, 0] == 1.0
    # of two rows that pull alike the smaller reaches half
    assert kernel_oracle.rectified_laplace(X[:2], [[v]], g, 2)[1].centroids[0, 0] == 0.0


def test_far_rows_have_a_nearest_prototype_and_move_the_only_one_they_have():
    X = np.array([[100.0], [101.0], [-100.0]])
    first, second = kernel_oracle.rectified_rbf(X, [[-3.0], [3.0]], 1.0, 2)
    assert_array_equal(first.labels, [1, 1, 0])  # though every loss is 2.0
    assert first.objective == 6.0
    assert_allclose(second.centroids, [[-100.0], [100.0]], atol=1e-9)  # 101 weighs e^-195 of 100


def test_the_winner_of_a_map_is_heskes_not_the_nearest():
    h = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    # 1 is nearest to 0.9 but shares its pull with the node at -4: 1 + 0.9 * 24.0 > 2.6^2, so the node at 3.5 wins
    record = kernel_oracle.som([[0.9]], [[-4.0], [1.9], [3.5]], h, "rbf", 1e-9, 1)[0]
    assert_array_equal(record.labels, [2])
    assert_allclose(record.memberships, [[0.0, 0.0, 1.0]])


def test_ranks_of_a_gas_by_hand():
    record = kernel_oracle.gas([[0.0], [5.0]], [[4.0], [1.0], [-1.0]], 2.0, "rbf", 0.1, 1)[0]
    assert_allclose(record.memberships, np.exp([[-1.0, 0.0, -0.5], [0.0, -0.5, -1.0]]))  # a tie goes to the lower index
    assert_array_equal(record.labels, [1, 0])


def test_a_row_on_prototypes_shares_itself_among_them():
    record = kernel_oracle.fuzzy([[1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]], "rbf", 0.3, 2.0, 1)[0]
    assert_array_equal(record.memberships, [[0.5, 0.0, 0.5]])
    assert record.objective == 0


def test_a_prototype_of_laplace_l2_leaves_the_row_it_starts_on_but_not_at_once():
    X, _ = blobs(5)
    records = kernel_oracle.rectified_laplace_l2(X, X[:1], 0.2, 60)
    gone = np.array([np.abs(record.centroids[0] - X[0]).max() for record in records])
    assert gone[1] < 1e-6  # its own row pulls with 1 / NEAR
    assert gone[-1] > 0.1


# limits that are other methods


@pytest.mark.parametrize("kind", ["plain", "weights", "gaps"])
def test_wide_rbf_is_k_means(kind):
    X, start = blobs(1, gaps=0.15 if kind == "gaps" else 0.0)
    w = weights_of(len(X)) if kind == "weights" else None
    gamma = 1e-9
    runs = (
        kernel_oracle.rectified_rbf(X, start, gamma, 20, w),
        kernel_oracle.gas(X, start, 0, "rbf", gamma, 20, w),
        kernel_oracle.som(X, start, np.eye(K), "rbf", gamma, 20, w),
        kernel_oracle.fuzzy(X, start, "rbf", gamma, 1.0001, 20, w),
    )
    for records in runs:
        for record, plain in zip(records, oracle.kmeans(X, start, 20, w), strict=False):
            assert_array_equal(record.labels, plain.labels)
            assert_allclose(record.centroids, plain.centroids, atol=1e-6)
            assert record.objective / (2 * gamma) == pytest.approx(plain.objective, rel=1e-4)


def test_wide_laplace_is_k_medians():
    X, start = blobs(1, n=63)
    for before, after in pairwise(kernel_oracle.rectified_laplace(X, start, 1e-9, 10)):
        for c in range(K):
            inside = np.sort(X[before.labels == c], axis=0)
            low, high = inside[(len(inside) - 1) // 2], inside[len(inside) // 2]  # one row, or two of an even number
            assert ((after.centroids[c] == low) | (after.centroids[c] == high)).all()


@pytest.mark.parametrize("kind", ["plain", "weights", "gaps"])
def test_gas_without_reach_a_map_without_neighbours_and_hard_euler_are_rek(kind):
    alpha, (X, start) = WIDTHS["euler"], blobs(2, gaps=0.15 if kind == "gaps" else 0.0)
    w = weights_of(len(X)) if kind == "weights" else None
    runs = (
        kernel_oracle.gas(X, start, 0, "euler", alpha, 20, w),
        kernel_oracle.gas(X, start, 1e-3, "euler", alpha, 20, w),
        kernel_oracle.som(X, start, np.eye(K), "euler", alpha, 20, w),
        kernel_oracle.rectified_passes(X, start, "euler", alpha, kernel_oracle.hard_rule, 20, w),
    )
    paper = oracle.rek2(X, start, alpha, 20, w)
    assert len(paper) > 2
    for records in runs:
        for record, rek in zip(records, paper, strict=False):
            assert_array_equal(record.labels, rek.labels)
            assert_allclose(np.exp(1j * oracle.phases(record.centroids, alpha)), np.exp(1j * rek.centroids), atol=1e-12)
            assert record.objective == pytest.approx(rek.objective, rel=1e-12)


def test_fuzzy_near_one_is_rek():
    alpha, (X, start) = WIDTHS["euler"], blobs(2)
    for record, rek in zip(
        kernel_oracle.fuzzy(X, start, "euler", alpha, 1.01, 20), oracle.rek2(X, start, alpha, 20), strict=False
    ):
        clear = np.sort(record.memberships, axis=1)[:, -1] > 1 - 1e-6
        assert clear.mean() > 0.8
        assert_array_equal(record.labels, rek.labels)
        assert record.objective == pytest.approx(rek.objective, rel=0.01)
    assert_allclose(np.exp(1j * oracle.phases(record.centroids, alpha)), np.exp(1j * rek.centroids), atol=0.02)


def test_what_both_oracles_hold_is_the_same():
    X, start = blobs(4)
    for ours, theirs in (
        (kernel_oracle.fuzzy(X, start, "euler", 0.3, 1.7, 10), oracle.fuzzy(X, start, 0.3, 1.7, 10)),
        (kernel_oracle.rectified_rbf(X, start, 1 / (2 * 0.8**2), 10), oracle.rbf(X, start, 0.8, 10)),
    ):
        for one, two in zip(ours, theirs, strict=True):
            assert_array_equal(one.labels, two.labels)
            assert one.objective == pytest.approx(two.objective, rel=1e-12)


def test_a_map_of_one_node_is_the_resultant():
    alpha, (X, start) = WIDTHS["euler"], blobs(6)
    node = kernel_oracle.som(X, start[:1], [[1.0]], "euler", alpha, 2)[1].centroids[0]
    S = np.exp(1j * oracle.phases(X, alpha)).sum(axis=0)
    assert_allclose(node, np.angle(S) / (alpha * math.pi), rtol=1e-12)


# mean centroids


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_k_means_of_the_linear_kernel_is_k_means(weighted):
    X, start = blobs(1, d=3)
    w = weights_of(len(X)) if weighted else None
    records = kernel_oracle.kernel_kmeans(X @ X.T, np.eye(K, len(X)), 20, w)
    for record, plain in zip(records, oracle.kmeans(X, start, 20, w), strict=False):
        assert_array_equal(record.labels, plain.labels)
        assert_allclose(record.centroids @ X, plain.centroids, rtol=1e-10)
        assert record.objective == pytest.approx(plain.objective, rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_k_means_of_the_euler_kernel_is_eulerk(weighted):
    alpha, (X, start) = 0.3, blobs(1, d=3)
    w = weights_of(len(X)) if weighted else None
    E = kernel_oracle.euler_matrix(X, X, alpha)
    records = kernel_oracle.kernel_kmeans(E, np.eye(K, len(X)), 20, w)
    for record, paper in zip(records, oracle.eulerk(X, start, alpha, 20, w), strict=False):
        assert_array_equal(record.labels, paper.labels)
        assert record.objective == pytest.approx(paper.objective, rel=1e-10)
        deviation = 1 - np.sqrt(kernel_oracle.norms(E, record.centroids) / (3 / 2))
        assert_allclose(deviation, oracle.deviation(paper.centroids), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", WIDTHS)
def test_the_trace_form_lies_between_two_passes_and_meets_the_last(kernel, weighted):
    X, _ = blobs(7)
    w = weights_of(len(X)) if weighted else None
    M = kernel_oracle.MATRICES[kernel](X, X, WIDTHS[kernel])
    records = kernel_oracle.kernel_kmeans(M, np.random.default_rng(0).integers(0, K, len(X)), 20, w)
    for now, after in pairwise(records):
        trace = kernel_oracle.trace_objective(M, now.labels, w)
        assert after.objective - 1e-12 <= trace <= now.objective + 1e-12
    assert_array_equal(records[-1].labels, records[-2].labels)
    assert kernel_oracle.trace_objective(M, records[-1].labels, w) == pytest.approx(records[-1].objective, rel=1e-12)
    for c, a in enumerate(records[-1].centroids):  # |m_c|^2 as a double sum
        square = sum(a[q] * a[r] * M[q, r] for q in range(len(X)) for r in range(len(X)))
        assert kernel_oracle.norms(M, records[-1].centroids)[c] == pytest.approx(square, rel=1e-12)


def test_mean_distances_are_those_of_explicit_rows():
    X, _ = blobs(8, d=3)
    F = mapped(X, 0.3) / math.sqrt(2)
    records = kernel_oracle.kernel_fuzzy(F @ F.T, np.eye(K, len(X)), 1.7, 6)
    for record in records:
        means = record.centroids @ F  # (k, 2d)
        D = ((F[:, None] - means) ** 2).sum(axis=2)
        U = D ** (-1 / 0.7) if record is not records[0] else record.memberships  # the first sits on rows: 1/0
        U = U / U.sum(axis=1, keepdims=True)
        assert_allclose(record.memberships, U, atol=1e-9)
        assert record.objective == pytest.approx((U**1.7 * D).sum(), rel=1e-9)


def test_mean_gas_without_reach_and_mean_map_without_neighbours_are_kernel_k_means():
    X, _ = blobs(8)
    M, A = kernel_oracle.rbf_matrix(X, X, 0.4), np.eye(K, len(X))
    hard = kernel_oracle.kernel_kmeans(M, A, 8)
    for records in (kernel_oracle.kernel_gas(M, A, 0, 8), kernel_oracle.kernel_som(M, A, np.eye(K), 8)):
        for one, two in zip(records, hard, strict=True):
            assert_array_equal(one.labels, two.labels)
            assert one.objective == pytest.approx(two.objective, rel=1e-12)


# nothing nearby is better


def settled(run, X, start, w):
    """The last record of a run whose objective no longer falls."""
    records = run(X, start, 150, w)
    while records[0].objective > records[-1].objective:
        records = run(X, records[-1].centroids, 150, w)
    return records[-1]


@pytest.mark.parametrize("kernel", WIDTHS)
@pytest.mark.parametrize("rule", ["hard", "fuzzy", "som", "gas"])
def test_no_nearby_point_is_better_at_the_end(rule, kernel):
    X, start = blobs(11, gaps=0.05)
    w, width = weights_of(len(X)), WIDTHS[kernel]
    last = settled(RECTIFIED[f"{rule} {kernel}"], X, start, w)
    W = w[:, None] * (last.memberships**1.7 if rule == "fuzzy" else last.memberships)

    def objective(V):  # rows held where they are: with them free, the row nearest a border may make a nearby gain
        return (W * kernel_oracle.KERNELS[kernel].loss(kernel_oracle.KERNELS[kernel].radii(X, V, width), width)).sum()

    assert objective(last.centroids) == pytest.approx(last.objective, rel=1e-12)
    rng = np.random.default_rng(0)
    for step in (1e-5, 1e-4, 1e-3, 1e-2):
        for _ in range(20):
            nearby = last.centroids + step * rng.standard_normal(last.centroids.shape)
            assert objective(nearby) >= last.objective * (1 - 1e-12)


@pytest.mark.parametrize("points", ["multiple", "shared"])
def test_no_nearby_points_or_shares_are_better_at_the_end(points):
    X, start = blobs(11, gaps=0.05)
    w, rng = weights_of(len(X)), np.random.default_rng(0)
    last = RECTIFIED[points](X, start, 12, w)[-1]
    single = [oracle.rek2(X, [[0.0] * X.shape[1]], alpha, 2, w)[-1].objective for alpha in ALPHAS]

    def objective(V, shares):
        own = []
        for b, alpha in enumerate(ALPHAS):
            D = oracle.angle_distances(oracle.phases(X, alpha), oracle.phases(V[b], alpha))
            own.append((w * D[np.arange(len(X)), last.labels]).sum() / single[b])
        return (shares**POWER * own).sum()

    assert objective(last.centroids, last.shares) == pytest.approx(last.objective, rel=1e-12)
    assert last.shares.sum() == pytest.approx(1)
    for step in (1e-4, 1e-3, 1e-2, 0.05):
        for _ in range(10):
            shape = (1 if points == "shared" else len(ALPHAS), *start.shape)
            other = last.shares * np.exp(step * rng.standard_normal(len(ALPHAS)))
            assert objective(last.centroids + step * rng.standard_normal(shape), last.shares) >= last.objective
            assert objective(last.centroids, other / other.sum()) >= last.objective


# several widths


@pytest.mark.parametrize("points", kernel_oracle.STEPS)
def test_one_width_is_rek_and_equal_widths_share_equally(points):
    X, start = blobs(2)
    alpha = 0.1  # the table spans less than one half-turn, so that the circular mean lies among the cells
    assert alpha * np.ptp(X, axis=0).max() < 1
    whole = oracle.rek2(X, start[:1], alpha, 2)[-1].objective  # all rows round one point
    paper = oracle.rek2(X, start, alpha, 15)
    for widths in ([alpha], [alpha, alpha]):
        records = kernel_oracle.multiple_euler(X, start, widths, 3, len(paper), None, points)
        for record, rek in zip(records, paper, strict=True):
            assert_array_equal(record.labels, rek.labels)
            assert_allclose(record.centroids[-1], rek.centroids / (alpha * math.pi), atol=1e-6)
            assert_allclose(record.shares, 1 / len(widths))
            share = len(widths) * (1 / len(widths)) ** 3
            assert record.objective == pytest.approx(share * rek.objective / whole, rel=1e-12)


def test_shares_follow_the_losses_and_rows_the_shares():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (200, 2))
    alphas = (0.02, 0.3, 0.9)
    records = kernel_oracle.multiple_euler(X, X[:K], alphas, 2, 6)
    assert_allclose(records[0].shares, 1 / 3)
    single = [oracle.rek2(X, X[:1], alpha, 2)[-1].objective for alpha in alphas]
    for now, after in pairwise(records):
        inverse = 1 / now.losses  # p = 2
        assert_allclose(after.shares, inverse / inverse.sum(), rtol=1e-12)
        assert now.objective == pytest.approx((now.shares**2 * now.losses).sum())
        for j, x in enumerate(X):
            sums = [
                sum(
                    s**2 * oracle.mapped_distance(x, v, alpha) / one
                    for s, v, alpha, one in zip(after.shares, after.centroids[:, c], alphas, single, strict=True)
                )
                for c in range(K)
            ]
            assert after.labels[j] == np.argmin(sums)


# a shape for every cluster


def test_one_shape_is_the_covariance_with_its_prior():
    F = np.random.default_rng(0).standard_normal((40, 3)) @ np.diag([3.0, 1.0, 0.2])
    w, nu = weights_of(40), 0.05
    first, second = kernel_oracle.mahalanobis_fuzzy(F, F[:1], 2.0, nu, 2, w)
    S = np.cov(F.T, aweights=w, ddof=0)
    s2 = np.trace(S) / 3
    assert first.objective == pytest.approx((w * (((F - F[0]) ** 2).sum(axis=1) + 3 * nu * s2)).sum())
    S += nu * s2 * np.eye(3)
    assert_allclose(second.shapes[0] @ S, np.linalg.det(S) ** (1 / 3) * np.eye(3), atol=1e-12)
    assert second.objective == pytest.approx(w.sum() * 3 * np.linalg.det(S) ** (1 / 3))


@pytest.mark.parametrize("nu", [0.001, 0.1])
def test_shapes_have_determinant_one_and_none_nearby_is_better(nu):
    X, start = blobs(11)
    F, w, m = mapped(X, 0.3), weights_of(len(X)), 1.7
    last = kernel_oracle.mahalanobis_fuzzy(F, mapped(start, 0.3), m, nu, 150, w)[-1]
    assert_allclose(np.linalg.det(last.shapes), 1, rtol=1e-9)
    s2 = np.trace(np.cov(F.T, aweights=w, ddof=0)) / F.shape[1]

    def objective(M, A):
        D = np.zeros(last.memberships.shape)
        for c in range(K):
            D[:, c] = np.sum((F - M[c]) @ A[c] * (F - M[c]), axis=1) + nu * s2 * np.trace(A[c])
        U = D ** (-1 / (m - 1))
        return (w[:, None] * (U / U.sum(axis=1, keepdims=True)) ** m * D).sum()

    assert objective(last.centroids, last.shapes) == pytest.approx(last.objective, rel=1e-10)
    rng = np.random.default_rng(0)
    for step in (1e-4, 1e-3, 1e-2):
        for _ in range(10):
            A = np.zeros_like(last.shapes)
            for c in range(K):
                turn = np.eye(F.shape[1]) + step * rng.standard_normal((F.shape[1], F.shape[1]))
                A[c] = turn @ last.shapes[c] @ turn.T
                A[c] /= np.linalg.det(A[c]) ** (1 / F.shape[1])
            M = last.centroids + step * rng.standard_normal(last.centroids.shape)
            assert objective(last.centroids, A) >= last.objective * (1 - 1e-10)
            assert objective(M, last.shapes) >= last.objective * (1 - 1e-10)


def test_shapes_part_two_sticks_that_round_clusters_cut_across():
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 2
    F = np.stack([rng.uniform(-5, 5, 120), 1.5 * truth + 0.1 * rng.standard_normal(120)], axis=1)
    start = [[-0.5, 0.2], [0.5, 1.3]]
    shaped = kernel_oracle.mahalanobis_fuzzy(F, start, 2.0, 1e-3, 60)[-1].memberships.argmax(axis=1)
    round_ = kernel_oracle.fuzzy(F, start, "rbf", 1e-9, 2.0, 60)[-1].labels
    assert oracle.accuracy(truth, shaped) == 1
    assert oracle.accuracy(truth, round_) < 0.7


# how well points stand for rows


@pytest.mark.parametrize("kernel", WIDTHS)
def test_points_lose_what_they_lie_off_the_means(kernel):
    X, start = blobs(12)
    w, width = weights_of(len(X)), WIDTHS[kernel]
    last = kernel_oracle.rectified_passes(X, start, kernel, width, kernel_oracle.hard_rule, 100, w)[-1]
    told = kernel_oracle.representation(X, last.centroids, last.labels, kernel, width, w)
    M = kernel_oracle.MATRICES[kernel](X, X, width)
    assert told.rectified == pytest.approx(last.objective, rel=1e-12)
    assert told.mean == pytest.approx(kernel_oracle.trace_objective(M, last.labels, w), rel=1e-10)
    off = 0.0  # sum_c s_c |m_c - phi(v_c)|^2
    for c, v in enumerate(last.centroids):
        s = w * (last.labels == c)
        a = s / s.sum()
        own = kernel_oracle.MATRICES[kernel](v[None], v[None], width)[0, 0]
        off += s.sum() * (a @ M @ a - 2 * a @ kernel_oracle.MATRICES[kernel](X, v[None], width)[:, 0] + own)
    assert told.rectified - told.mean == pytest.approx(off, rel=1e-9)
    assert 0 < told.score < 1


@pytest.mark.parametrize("kernel", WIDTHS)
def test_rows_as_points_score_zero_on_average_and_narrow_kernels_score_low(kernel):
    X, _ = blobs(12, n=30)
    labels, w = np.zeros(30, dtype=int), weights_of(30)
    rows = [kernel_oracle.representation(X, x[None], labels, kernel, WIDTHS[kernel], w).score for x in X]
    assert np.average(rows, weights=w) == pytest.approx(0, abs=1e-12)
    scores = []
    for factor in (0.01, 1, 100):
        width = factor * WIDTHS[kernel]
        last = kernel_oracle.rectified_passes(
            X, X[np.argmax(rows)][None], kernel, width, kernel_oracle.hard_rule, 60, w
        )[-1]
        scores.append(kernel_oracle.representation(X, last.centroids, last.labels, kernel, width, w).score)
    assert scores[0] > scores[1] > scores[2]


def test_the_euler_score_is_one_of_resultant_lengths():
    alpha, (X, start) = 0.3, blobs(12)
    last = oracle.rek2(X, start, alpha, 50)[-1]
    at_means = at_points = 0.0
    for c in range(K):
        inside = X[last.labels == c]
        R = np.abs(np.exp(1j * oracle.phases(inside, alpha)).mean(axis=0))
        at_means += len(inside) * (1 - R**2).sum() / 2
        at_points += len(inside) * (1 - R).sum()
    told = kernel_oracle.representation(X, last.centroids / (alpha * math.pi), last.labels, "euler", alpha)
    assert_allclose(told, (at_means, at_points, 2 - at_points / at_means), rtol=1e-9)


# kernel fuzzy c-means by fuzzy-c-means


@pytest.fixture(scope="module")
def peer():
    return json.loads((DATA / "kfcm_reference.json").read_text())


def test_fuzzy_rbf_is_the_kfcm_of_fuzzy_c_means(peer):
    X = np.array(peer["X"])
    for run in peer["runs"]:
        record = kernel_oracle.fuzzy(X, peer["start"], "rbf", run["gamma"], run["m"], run["passes"] + 1)[-1]
        assert_allclose(record.centroids, run["centres"], rtol=1e-10)
        assert_allclose(record.memberships, run["memberships"], rtol=1e-10, atol=1e-14)


def test_fuzzy_rbf_goes_on_from_fcm_as_kfcm_does(peer):
    X, whole = np.array(peer["X"]), peer["whole"]
    m, gamma, passes = (whole["settings"][name] for name in ("m", "gamma", "max_iter"))
    V, U = (np.array(whole["start"][name]) for name in ("centres", "memberships"))
    moved = kernel_oracle.rectified_step(X, V, U**m, "rbf", gamma)  # its first step weighs by the u of plain distances
    record = kernel_oracle.fuzzy(X, moved, "rbf", gamma, m, passes)[-1]
    assert_allclose(record.centroids, whole["centres"], rtol=1e-10)
    assert_allclose(record.memberships, whole["memberships"], rtol=1e-10)
