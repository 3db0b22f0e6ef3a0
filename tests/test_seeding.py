"""Seeding: draws proportional to weight times loss, and swaps against brute force in integers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare, kstest

from rekmeans import RectifiedEulerKMeans
from rekmeans._grid import GRID
from rekmeans.engines.reference import ReferenceRows
from rekmeans.scales import identity_scale
from rekmeans.seeding import (
    SeedingPlan,
    greedy_rows,
    oversampled_rows,
    plus_plus,
    random_rows,
    starts_of,
)
from rekmeans.table import MemoryTable
from support.models import euler, scale_of

START_NAMES = list(starts_of(euler(0.75, identity_scale(1))))


def rows_of(X, weights=None, alpha=0.75, cuts=None):
    """Return mapped rows on the reference engine."""
    w = None if weights is None else np.asarray(weights, dtype=np.float64)
    return ReferenceRows(euler(alpha, scale_of("range", X)), MemoryTable(X, w), cuts)


def seeding_of(rows, numbers):
    """Return a seeding with these rows as centroids, in this order."""
    seeding = rows.start_seeding()
    for number in numbers:
        seeding.add_best(np.array([number]))
    return seeding


def distance(f, m):
    """Return |f - m|^2 in Python integers."""
    return sum((int(a) - int(b)) ** 2 for a, b in zip(f, m, strict=True))


def distances(rows, C):
    return [[distance(f, m) for m in C] for f in rows.F]


def total(rows, C):
    """Sum weight times distance to the nearest centroid in Python integers."""
    return sum(int(w) * min(D) for w, D in zip(rows.w, distances(rows, C), strict=True))


def even_words(count):
    """Return evenly spaced 64-bit words: a share p of them selects a row of probability p."""
    return np.array([(2 * i + 1) * 2**63 // count for i in range(count)], np.uint64)


# draws


def small_case():
    X = np.array(
        [[0.0, 0.1], [0.2, 0.9], [0.55, 0.3], [0.6, 0.8], [1.0, 0.0], [0.3, 0.35], [0.9, 1.0]]
    )
    return rows_of(X, [3, 1, 0, 5, 2, 1, 4], cuts=np.array([0, 2, 3, 7]))


@pytest.mark.parametrize("chosen", [[], [0], [3, 4], [2, 5, 6]])
def test_draws_follow_weight_times_loss(chosen):
    rows = small_case()
    C = [rows.F[i] for i in chosen]
    mass = [
        int(w) * (min(distance(f, m) for m in C) if C else 1)
        for f, w in zip(rows.F, rows.w, strict=True)
    ]
    share = np.array([part / sum(mass) for part in mass])
    count = 20_000
    even = np.bincount(seeding_of(rows, chosen).sample(even_words(count)), minlength=7)
    assert (np.abs(even - count * share) <= 1).all()
    drawn = np.bincount(
        seeding_of(rows, chosen).sample(np.random.PCG64(1).random_raw(count)), minlength=7
    )
    assert (drawn[share == 0] == 0).all()
    assert chisquare(drawn[share > 0], count * share[share > 0]).pvalue > 1e-3


def test_draws_follow_the_weight_if_all_losses_are_zero():
    rows = rows_of(np.repeat([[0.0], [1.0]], [3, 2], axis=0), [1, 0, 4, 2, 3])
    drawn = seeding_of(rows, [0, 3]).sample(even_words(1000))
    assert_array_equal(np.bincount(drawn, minlength=5), [100, 0, 400, 200, 300])


@given(data=st.data())
def test_draws_do_not_depend_on_the_blocks(data):
    X = np.random.default_rng(data.draw(st.integers(0, 99))).random((20, 2))
    cuts = sorted(data.draw(st.sets(st.integers(1, 19))))
    one_block = rows_of(X, cuts=np.array([0, 20]))
    cut = rows_of(X, cuts=np.array([0, *cuts, 20]))
    for name in START_NAMES:
        one, other = (
            starts_of(rows.kernel)[name](rows, 4, np.random.PCG64(7)) for rows in (one_block, cut)
        )
        assert one == other


@pytest.mark.parametrize("cuts", [[0, 700, 701], [0, 1, 701], [0, 350, 351, 701]])
def test_sums_of_losses_beyond_64_bits_do_not_depend_on_the_blocks(cuts):
    X = np.random.default_rng(0).random((701, 400))
    one_block = rows_of(X, cuts=np.array([0, 701]))
    cut = rows_of(X, cuts=np.array(cuts))
    assert total(one_block, one_block.F[:1]) > 2**63
    assert plus_plus(one_block, 3, np.random.PCG64(0)) == plus_plus(cut, 3, np.random.PCG64(0))


def plain_candidates(rows, k, bits):
    """Draw k candidates in each of five rounds, and return the weight nearest to each of them.

    Draws are proportional to weight times loss. All sums are Python integers.
    """

    def draw(mass, word):
        goal = word * sum(mass) >> 64
        running = 0
        for number, part in enumerate(mass):
            running += part
            if running > goal:
                return number
        raise AssertionError("no row has weight")

    w = [int(weight) for weight in rows.w]
    numbers = [draw(w, bits.random_raw(1).item())]
    for _ in range(5):
        losses = [min(distance(f, rows.F[c]) for c in numbers) for f in rows.F]
        mass = [a * b for a, b in zip(w, losses, strict=True)]
        numbers += sorted({draw(mass, word) for word in bits.random_raw(k).tolist()})
    nearest = [
        min(range(len(numbers)), key=lambda i: distance(f, rows.F[numbers[i]])) for f in rows.F
    ]
    masses = [
        sum(weight for weight, i in zip(w, nearest, strict=True) if i == c)
        for c in range(len(numbers))
    ]
    return np.array(numbers), np.array(masses)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [2, 5])
def test_k_means_parallel_agrees_with_its_definition(k, seed):
    random = np.random.default_rng(seed)
    rows = rows_of(random.random((60, 3)), random.integers(0, 5, 60))
    bits = np.random.PCG64(seed)
    numbers, masses = plain_candidates(rows, k, bits)
    expected = greedy_rows(rows.place(rows.table.take(numbers, masses)), SeedingPlan(k, 25), bits)
    assert oversampled_rows(rows, k, np.random.PCG64(seed)) == expected


def weighted_case(seed, zeros):
    """Return thirty distinct rows; those in `zeros` have no weight."""
    random = np.random.default_rng(seed)
    w = random.integers(1, 9, 30).astype(np.float64)
    w[zeros] = 0
    return rows_of(random.random((30, 3)), w)


def numbers_of(rows, C):
    """Return the row number of each centroid."""
    found = [np.flatnonzero((rows.F == m).all(axis=1)) for m in C.f]
    assert all(len(numbers) == 1 for numbers in found)
    return [int(numbers[0]) for numbers in found]


@pytest.mark.parametrize("start", [plus_plus, oversampled_rows, random_rows])
@pytest.mark.parametrize("k", [1, 2, 7, 15])
@pytest.mark.parametrize("seed", range(4))
def test_starts_are_distinct_rows_with_positive_weight(start, k, seed):
    zeros = np.arange(0, 30, 2)
    chosen = numbers_of(rows := weighted_case(seed, zeros), start(rows, k, np.random.PCG64(seed)))
    assert len(set(chosen)) == k
    assert not set(chosen) & set(zeros.tolist())


@pytest.mark.parametrize("start", [plus_plus, random_rows])
def test_rows_without_weight_are_not_drawn_even_if_one_row_has_nearly_all_weight(start):
    w = np.ones(30)
    w[:10] = 0
    w[10] = 2.0**30
    rows = rows_of(np.random.default_rng(0).random((30, 3)), w)
    chosen = numbers_of(rows, start(rows, 5, np.random.PCG64(0)))
    assert len(set(chosen)) == 5
    assert min(chosen) >= 10


@pytest.mark.parametrize("k", [1, 5, 30])
def test_random_rows_select_every_row_with_equal_probability(k):
    rows = rows_of(np.random.default_rng(0).random((30, 3)))
    count = 400
    chosen = [
        numbers_of(rows, random_rows(rows, k, np.random.PCG64(seed))) for seed in range(count)
    ]
    assert all(len(set(numbers)) == k for numbers in chosen)
    times = np.bincount(np.concatenate(chosen), minlength=30)
    assert chisquare(times).pvalue > 1e-3


@pytest.mark.parametrize("factor", [2.0, 3.0, 1024.0, 0.125])
@pytest.mark.parametrize("start", START_NAMES)
def test_starts_do_not_depend_on_a_common_factor_of_the_weights(start, factor):
    random = np.random.default_rng(0)
    X = random.random((60, 3))
    w = random.integers(1, 6, 60).astype(np.float64)
    both = (rows_of(X, v) for v in (w, factor * w))
    one, other = (starts_of(rows.kernel)[start](rows, 6, np.random.PCG64(3)) for rows in both)
    assert one == other


def test_points_of_the_circle_lie_on_it_at_every_angle():
    rows = rows_of(np.random.default_rng(0).random((5, 40)))
    C = starts_of(rows.kernel)["circle"](rows, 25, np.random.PCG64(0)).f
    a = C[:, :40].astype(np.int64)
    b = C[:, 40:].astype(np.int64)
    assert C.shape == (25, 80)
    # Both coordinates are rounded by at most one half.
    assert (np.abs(a * a + b * b - GRID**2) <= 1.5 * GRID).all()
    assert kstest((np.arctan2(b, a) / (2 * np.pi) % 1).ravel(), "uniform").pvalue > 1e-3


# the two nearest centroids and the swaps


def assert_two_nearest(seeding):
    """Compare near, next, owner and second with brute force; ties may be resolved either way."""
    D = distances(seeding.rows, seeding.centroids.f)
    for j, row in enumerate(D):
        ordered = sorted(row)
        owner, second = int(seeding.owner[j]), int(seeding.second[j])
        assert int(seeding.near[j]) == ordered[0] == row[owner]
        if len(row) > 1:
            assert int(seeding.next[j]) == ordered[1] == row[second]
            assert owner != second


def best_total_after_swap(rows, C, candidates):
    """Return the smallest total loss over all swaps of a candidate and a centroid."""
    swaps = product(candidates, range(len(C)))
    return min(total(rows, [*C[:q], rows.F[p], *C[q + 1 :]]) for p, q in swaps)


@given(
    seed=st.integers(0, 9),
    coarse=st.booleans(),
    weighted=st.booleans(),
    steps=st.lists(
        st.tuples(st.booleans(), st.lists(st.integers(0, 15), min_size=1, max_size=4)), max_size=8
    ),
)
def test_every_step_chooses_the_best_candidate_and_updates_the_nearest_centroids(
    seed, coarse, weighted, steps
):
    random = np.random.default_rng(seed)
    # Coarse values give ties and equal rows.
    X = random.integers(0, 3, (16, 2)).astype(float) if coarse else random.random((16, 2))
    w = random.integers(0, 4, 16).astype(float) + (np.arange(16) == 5) if weighted else None
    rows = rows_of(X, w, cuts=np.array([0, 6, 7, 16]))
    seeding = seeding_of(rows, [0])
    for grows, candidates in steps:
        before = total(rows, seeding.centroids.f)
        C = list(seeding.centroids.f)
        if grows:
            seeding.add_best(np.array(candidates))
            assert total(rows, seeding.centroids.f) == min(
                total(rows, [*C, rows.F[p]]) for p in candidates
            )
            assert_array_equal(seeding.centroids.f[:-1], C)
        else:
            best = best_total_after_swap(rows, C, candidates)
            swapped = seeding.swap_best(np.array(candidates))
            assert swapped == (best < before)
            assert total(rows, seeding.centroids.f) == min(best, before)
            assert (
                sum((a != b).any() for a, b in zip(C, seeding.centroids.f, strict=True)) == swapped
            )
        assert_two_nearest(seeding)


def test_no_single_swap_improves_the_loss_once_swapping_stops():
    rows = rows_of(np.random.default_rng(4).random((25, 2)))
    seeding = seeding_of(rows, [0, 1, 2, 3])
    before = total(rows, seeding.centroids.f)
    while seeding.swap_best(np.arange(25)):
        after = total(rows, seeding.centroids.f)
        assert after < before
        before = after
    assert best_total_after_swap(rows, list(seeding.centroids.f), range(25)) >= before


# quality


def test_greedy_seeding_starts_and_ends_with_a_lower_objective_than_random_rows(shared_set):
    X, y = shared_set("pendigits")

    def first_and_last(init):
        """Return the mean objective of the first and of the last pass."""
        fits = [
            RectifiedEulerKMeans(len(set(y)), init=init, n_init=1, random_state=seed).fit(X)
            for seed in range(6)
        ]
        return np.mean([fit.history_["inertia"][[0, -1]] for fit in fits], axis=0)

    greedy, random = first_and_last("k-means++"), first_and_last("random")
    assert (greedy < random).all()
    assert greedy[0] < 0.8 * random[0]
