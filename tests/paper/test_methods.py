"""The methods of the paper: REK1 equals REK2 bit for bit, and the printed update can rise."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine

from rekmeans.kernels.euler import CircleSums, OnCircles
from rekmeans_paper import angles
from rekmeans_paper import reproduction_plans as plans
from rekmeans_paper.methods import (
    PAPER_METHODS,
    Case,
    count_rises,
    rek1,
    rek2,
    rek2_printed,
    starting_state,
)
from rekmeans_paper.reproduction_plans import SCALINGS
from support.models import euler, scale_of


def wine_case(**changes):
    case = Case(load_wine().data, 3, 0.9, "range", "wrap", "random", 0)
    return replace(case, **changes)


def random_case(draw):
    """Return a small table with duplicate rows, too many clusters, and a random map and start."""
    random = np.random.default_rng(draw)
    n, d, k = random.integers(12, 150), random.integers(1, 12), random.integers(1, 9)
    X = random.choice(
        [random.random((n, d)), random.integers(0, 3, (n, d)), random.standard_t(1, (n, d))]
    )
    scaling = SCALINGS[random.choice(["none", "range", "robust"])]
    alpha = float(random.choice([1e-4, 0.1, 0.9, 1.7, 50, 1e4]))
    init = str(random.choice(["random", "k-means++", "circle"]))
    return Case(X, int(k), alpha, scaling.scale, scaling.beyond, init, draw)


@pytest.mark.parametrize("draw", range(60))
@pytest.mark.filterwarnings("ignore")
def test_rek2_with_angles_equals_rek1_to_the_last_digit(draw):
    case = random_case(draw)
    ours, plain = rek1(case), rek2(case)
    assert_array_equal(ours.labels, plain.labels)
    assert ours.course == plain.course
    assert (ours.objective, ours.passes, ours.kappa) == (plain.objective, plain.passes, plain.kappa)


@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.9, 300.0])
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_rek2_with_angles_equals_rek1_on_wine(alpha, init):
    for seed in range(5):
        case = wine_case(alpha=alpha, init=init, seed=seed)
        assert rek1(case).course == rek2(case).course


@pytest.mark.parametrize("scaling", ["none", "range", "robust"])
@pytest.mark.parametrize("seed", range(3))
def test_dense_and_sparse_counts_give_the_same_bits_in_both_loops(scaling, seed):
    X = np.random.default_rng(seed).poisson(0.14, (80, 400)) * 1.0
    X[0] = 0
    by = SCALINGS[scaling]
    case = Case(X, 4, 0.3, by.scale, by.beyond, "random", seed)
    assert sparse.issparse(angles.prepare_rows(starting_state(case)[0]).rest)
    first, *others = [
        method(replace(case, X=form))
        for method in (rek1, rek2)
        for form in (X, sparse.csr_array(X))
    ]
    assert len(first.course) > 1
    for other in others:
        assert_array_equal(other.labels, first.labels)
        assert other[1:] == first[1:]


def test_angles_and_quotients_round_to_the_same_grid_points_even_near_ties():
    random = np.random.default_rng(0)
    # Cosines halfway between two grid points.
    half = (random.integers(-(1 << 22), 1 << 22, 4000) + 0.5) / (1 << 23)
    turn = np.stack([half, np.sqrt(1 - half**2) * random.choice([-1, 1], 4000)], axis=1)
    near = np.rint(turn * 2.0**52).astype(np.int64)
    far = random.integers(-(1 << 40), 1 << 40, (4000, 2))
    S = np.concatenate([near, near[:, ::-1], far])
    C = np.zeros_like(S, dtype=np.int32)
    sums = CircleSums(
        mass=np.ones(len(S), np.int64), totals=S, observed=np.ones((len(S), 1), np.int64)
    )
    exact = euler(1.0, scale_of(None, S[:, :1])).rectify(sums, OnCircles(C)).f
    assert_array_equal(angles.rectified_points(S, C), exact)
    from_angles = angles._grid_points(np.arctan2(S[:, 1:], S[:, :1]) / np.pi, C)
    assert (from_angles != exact).any()  # angles alone cannot decide near ties
    assert_array_equal(from_angles[8000:], exact[8000:])


def test_a_pass_that_does_not_lower_the_objective_is_discarded():
    """The reflection of the rectified point m about the mapped row f has the same loss as m."""
    rows, f = starting_state(
        Case(np.linspace(0.1, 0.15, 5000)[None], 1, 1.0, None, "wrap", "random", 0)
    )
    m = angles.rectified_points(f.astype(np.int64), f)
    assert (m != f).any()
    course = angles.fit_angles(rows, 2 * f - m)
    assert len(course.objectives) == 1
    assert_array_equal(course.centroids, 2 * f - m)


@pytest.mark.parametrize("seed", range(5))
def test_the_printed_update_raises_the_objective(seed):
    case = wine_case(seed=seed)
    right, printed = rek2(case), rek2_printed(case)
    assert printed.course[0] == right.course[0]  # the same start
    assert count_rises(printed.course) > 0 == count_rises(right.course)


@pytest.mark.parametrize("seed", range(5))
def test_the_printed_update_is_correct_if_every_sine_is_negative(seed):
    X = np.random.default_rng(seed).random((60, 4)) - 1.0  # -1 to 0
    case = Case(X, 3, 0.9, None, "wrap", "random", seed)
    right, printed = rek2(case), rek2_printed(case)
    assert_array_equal(printed.labels, right.labels)
    assert printed.course[: len(right.course)] == pytest.approx(right.course, rel=1e-9)


@pytest.mark.parametrize("method", ["EulerK", "REK1", "REK2", "REK2 printed"])
def test_the_objective_follows_from_the_labels(method):
    """The formula is sum_c n_c sum_l (1 - R_cl), or half of 1 - R² for means."""
    case = wine_case(alpha=0.7)
    outcome = PAPER_METHODS[method](case)
    X = case.X
    Z = np.exp(1j * np.pi * 0.7 * (X - X.min(axis=0)) / np.ptp(X, axis=0))
    loss = 0.0
    for c in np.unique(outcome.labels):
        R = np.abs(Z[outcome.labels == c].mean(axis=0))
        loss += (outcome.labels == c).sum() * (
            ((1 - R**2) / 2) if method == "EulerK" else 1 - R
        ).sum()
    if method == "REK2 printed":
        assert outcome.objective > loss * 1.01  # its centroids do not minimize the loss
    else:
        assert outcome.objective == pytest.approx(loss, rel=1e-6)


def test_rows_are_scaled_to_sum_or_length_one_and_zero_rows_stay():
    X = np.array([[3.0, 4.0], [0.0, 0.0], [-2.0, 2.0]])
    assert plans.row_sums_one(X).tolist() == [[3 / 7, 4 / 7], [0, 0], [-0.5, 0.5]]
    assert plans.row_lengths_one(X).tolist() == [[0.6, 0.8], [0, 0], [-2 / 8**0.5, 2 / 8**0.5]]
