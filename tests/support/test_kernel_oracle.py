"""The kernel oracles against other oracles, closed forms and a public package."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support import kernel_oracle, multiple_kernel_oracle, oracle
from support.kernel_oracle_tables import LINE, RECTIFIED, WIDTHS, K, blobs, mapped_rows, weights_of
from support.paths import DATA


def kernel_runs(kernel):
    """Return every method with mean centroids, starting from the first K rows."""

    def square(X):
        return kernel_oracle.MATRICES[kernel](X, X, WIDTHS[kernel])

    return {
        f"mean hard {kernel}": lambda X, _, t, w: kernel_oracle.kernel_kmeans(
            square(X), np.eye(K, len(X)), t, w
        ),
        f"mean fuzzy {kernel}": lambda X, _, t, w: kernel_oracle.kernel_fuzzy(
            square(X), np.eye(K, len(X)), 1.7, t, w
        ),
        f"mean som {kernel}": lambda X, _, t, w: kernel_oracle.kernel_som(
            square(X), np.eye(K, len(X)), LINE, t, w
        ),
        f"mean gas {kernel}": lambda X, _, t, w: kernel_oracle.kernel_gas(
            square(X), np.eye(K, len(X)), 0.7, t, w
        ),
    }


def mahalanobis(nu):
    return lambda X, start, t, w: multiple_kernel_oracle.mahalanobis_fuzzy(
        mapped_rows(X, 0.3), mapped_rows(start, 0.3), 1.7, nu, t, w
    )


MEAN = {name: run for kernel in WIDTHS for name, run in kernel_runs(kernel).items()}
MEAN |= {f"mahalanobis {nu}": mahalanobis(nu) for nu in (0.01, 1.0)}


# no pass raises the objective


def rises(records, slack=0.0):
    """Return the largest rise of the objective in a pass, beyond rounding."""
    J = np.array([record.objective for record in records])
    return np.max(np.diff(J) - 1e-12 * J[0]) - slack


@pytest.mark.parametrize("kind", ["plain", "weights", "gaps"])
@pytest.mark.parametrize("name", RECTIFIED)
def test_no_rectified_objective_rises(name, kind):
    for seed in range(2):
        X, start = blobs(seed, gaps=0.15 if kind == "gaps" else 0.0)
        w = weights_of(len(X)) if kind == "weights" else None
        # |x - v| is smoothed within NEAR, which matters for the row on which a prototype of
        # laplace-l2 starts.
        slack = 3 * K * WIDTHS["laplace-l2"] * kernel_oracle.NEAR if name.endswith("l2") else 0.0
        assert rises(RECTIFIED[name](X, start, 15, w), slack) <= 0


@pytest.mark.parametrize("kind", ["plain", "weights"])
@pytest.mark.parametrize("name", MEAN)
def test_no_mean_objective_rises(name, kind):
    for seed in range(2):
        X, start = blobs(seed)
        assert (
            rises(MEAN[name](X, start, 8, weights_of(len(X)) if kind == "weights" else None)) <= 0
        )


@pytest.mark.parametrize("name", [*RECTIFIED, *MEAN])
def test_an_integer_weight_equals_repeated_rows(name):
    X, start = blobs(3, n=24)
    w = np.random.default_rng(1).integers(1, 4, len(X))
    # The rows of the start stay the first K rows of the long table.
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
    if name == "laplace-l2":
        return math.exp(-width * math.sqrt(sum(gap**2 for gap in gaps)))
    raise ValueError(f"no formula for the kernel {name!r}. Add it to plain_kernel.")


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("kernel", WIDTHS)
def test_matrices_and_losses_follow_the_formulas(kernel, gaps):
    X, start = blobs(n=20, d=3, gaps=gaps)
    width = WIDTHS[kernel]
    M = kernel_oracle.MATRICES[kernel](X, start, width)
    L = kernel_oracle.KERNELS[kernel].loss(
        kernel_oracle.KERNELS[kernel].radii(X, start, width), width
    )
    for j, x in enumerate(X):
        for c, v in enumerate(start):
            near = plain_kernel(kernel, x, v, width)
            partial_v = np.where(np.isnan(x), np.nan, v)  # v where x is observed
            own = plain_kernel(kernel, x, x, width) + plain_kernel(
                kernel, partial_v, partial_v, width
            )
            assert M[j, c] == pytest.approx(near, abs=1e-14)
            assert L[j, c] == pytest.approx(own - 2 * near, abs=1e-14)
            if kernel == "euler":
                assert M[j, c] == pytest.approx(oracle.euler_kernel(x, v, width).real, abs=1e-14)


@pytest.mark.parametrize("kernel", WIDTHS)
def test_matrices_are_symmetric_and_positive_semidefinite(kernel):
    X, _ = blobs(d=4)
    M = kernel_oracle.MATRICES[kernel](X, X, WIDTHS[kernel])
    assert_allclose(np.diag(M), 4 / 2 if kernel == "euler" else 1)
    assert_allclose(M, M.T, atol=1e-15)
    assert np.linalg.eigvalsh(M).min() > -1e-12


# hand-computed steps of one column


def test_one_step_of_every_kernel_equals_hand_computed_values():
    x = [0.0, 1.0, 3.0]
    v = 0.5
    g = 0.7
    X = np.array(x)[:, None]
    pulls = [math.exp(-g * (a - v) ** 2) for a in x]
    shifted = sum(p * a for p, a in zip(pulls, x, strict=True)) / sum(pulls)
    assert kernel_oracle.rectified_rbf(X, [[v]], g, 2)[1].centroids[0, 0] == pytest.approx(
        shifted, rel=1e-14
    )
    pulls = [math.exp(-g * abs(a - v)) / abs(a - v) for a in x]
    weiszfeld = sum(p * a for p, a in zip(pulls, x, strict=True)) / sum(pulls)
    assert kernel_oracle.rectified_laplace_l2(X, [[v]], g, 2)[1].centroids[0, 0] == pytest.approx(
        weiszfeld, rel=1e-14
    )
    # The pulls are 0.70, 0.70 and 0.17, and their half, 0.79, is reached at 1.
    assert kernel_oracle.rectified_laplace(X, [[v]], g, 2)[1].centroids[0, 0] == 1.0
    # With two equal pulls, the smaller row reaches half.
    assert kernel_oracle.rectified_laplace(X[:2], [[v]], g, 2)[1].centroids[0, 0] == 0.0


def test_distant_rows_have_a_nearest_prototype_and_move_it():
    X = np.array([[100.0], [101.0], [-100.0]])
    first, second = kernel_oracle.rectified_rbf(X, [[-3.0], [3.0]], 1.0, 2)
    assert_array_equal(first.labels, [1, 1, 0])  # although every loss is 2.0
    assert first.objective == 6.0
    # The weight of 101 is e^-195 times that of 100.
    assert_allclose(second.centroids, [[-100.0], [100.0]], atol=1e-9)


def test_the_winner_of_a_map_is_that_of_heskes_and_not_the_nearest_node():
    h = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    # The node at 1.9 is nearest to 0.9, but its neighbour at -4 adds to its loss:
    # 1 + 0.9 * 24.0 > 2.6^2. Therefore, the node at 3.5 wins.
    record = kernel_oracle.som([[0.9]], [[-4.0], [1.9], [3.5]], h, "rbf", 1e-9, 1)[0]
    assert_array_equal(record.labels, [2])
    assert_allclose(record.memberships, [[0.0, 0.0, 1.0]])


def test_ranks_of_a_gas_equal_hand_computed_values():
    record = kernel_oracle.gas([[0.0], [5.0]], [[4.0], [1.0], [-1.0]], 2.0, "rbf", 0.1, 1)[0]
    # The lower index wins a tie.
    assert_allclose(record.memberships, np.exp([[-1.0, 0.0, -0.5], [0.0, -0.5, -1.0]]))
    assert_array_equal(record.labels, [1, 0])


def test_a_row_on_prototypes_belongs_to_them_in_equal_parts():
    record = kernel_oracle.fuzzy(
        [[1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]], "rbf", 0.3, 2.0, 1
    )[0]
    assert_array_equal(record.memberships, [[0.5, 0.0, 0.5]])
    assert record.objective == 0


def test_a_prototype_of_laplace_l2_leaves_its_starting_row_slowly():
    X, _ = blobs(5)
    records = kernel_oracle.rectified_laplace_l2(X, X[:1], 0.2, 60)
    moved = np.array([np.abs(record.centroids[0] - X[0]).max() for record in records])
    assert moved[1] < 1e-6  # the pull of the starting row is 1 / NEAR
    assert moved[-1] > 0.1


# kernel fuzzy c-means by the package fuzzy-c-means


@pytest.fixture(scope="module")
def reference():
    return json.loads((DATA / "kfcm_reference.json").read_text())


def test_fuzzy_rbf_agrees_with_the_kfcm_of_fuzzy_c_means(reference):
    X = np.array(reference["X"])
    for run in reference["runs"]:
        record = kernel_oracle.fuzzy(
            X, reference["start"], "rbf", run["gamma"], run["m"], run["passes"] + 1
        )[-1]
        assert_allclose(record.centroids, run["centres"], rtol=1e-10)
        assert_allclose(record.memberships, run["memberships"], rtol=1e-10, atol=1e-14)


def test_fuzzy_rbf_agrees_with_kfcm_after_a_start_from_fcm(reference):
    X = np.array(reference["X"])
    whole = reference["whole"]
    m, gamma, passes = (whole["settings"][name] for name in ("m", "gamma", "max_iter"))
    V, U = (np.array(whole["start"][name]) for name in ("centres", "memberships"))
    # The first step of KFCM uses the u of plain distances.
    moved = kernel_oracle.rectified_step(X, V, U**m, "rbf", gamma)
    record = kernel_oracle.fuzzy(X, moved, "rbf", gamma, m, passes)[-1]
    assert_allclose(record.centroids, whole["centres"], rtol=1e-10)
    assert_allclose(record.memberships, whole["memberships"], rtol=1e-10)
