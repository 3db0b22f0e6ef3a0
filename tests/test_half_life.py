"""Decaying weights: the clock against plain loops, block borders, weights, and halved sums."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans.half_life import FRACTION_BITS, TICK_WEIGHTS, Clock, halved_sums, weighed_sums
from rekmeans.kernels.euler import CircleSums
from support import plain_stream
from support.assertions import assert_message_states_fix


def count_rows(clock, weights, mass=0):
    """Return the clock and the mass after one block of rows with these weights."""
    units = clock.units(weights, len(weights))
    for number, piece in enumerate(clock.pieces(units)):
        mass = (mass >> 1 if number else mass) + (int(piece.weights.sum()) << FRACTION_BITS)
    return clock.advance(units), mass


def some_weights(seed, n=60):
    random = np.random.default_rng(seed)
    return random.integers(1, 9, n) * random.choice([0.0, 0.5, 1.0, 30.0], n)


def test_tick_weights_are_rounded_powers_of_two():
    assert_array_equal(TICK_WEIGHTS, [*plain_stream.TICK_WEIGHTS, 0])


@pytest.mark.parametrize("half_life", [None, 0.7, 3, 10, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_the_clock_agrees_with_a_plain_loop(half_life, seed):
    weights = some_weights(seed)
    clock = Clock.begin(half_life, weights)
    plain = plain_stream.PlainStream(1, 0, clock.half_life)
    units = clock.units(weights, len(weights))
    for unit in units:
        plain.add_row([], int(unit), 0)
    after, mass = count_rows(clock, weights)
    assert mass == plain.mass[0]
    if half_life is not None:
        assert after.position == plain.time
        assert after.n_halvings == int(units.sum()) // clock.half_life


@pytest.mark.parametrize("half_life", [None, 0.7, 3, 10, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_the_mass_does_not_depend_on_block_borders(half_life, seed):
    weights = some_weights(seed)
    cuts = np.unique([0, *np.random.default_rng(seed).integers(1, len(weights), 8), len(weights)])
    start = Clock.begin(half_life, weights)
    clock = start
    mass = 0
    for a, b in pairwise(cuts):
        clock, mass = count_rows(clock, weights[a:b], mass)
    assert (clock, mass) == count_rows(start, weights)


@pytest.mark.parametrize("half_life", [3, 10])
def test_a_weight_of_two_equals_a_repeated_row(half_life):
    weights = np.random.default_rng(0).integers(1, 5, 40)
    clock = Clock.begin(half_life, np.array([4.0]))
    assert count_rows(clock, weights * 1.0) == count_rows(clock, np.ones(weights.sum()))


def test_a_row_counts_half_after_a_half_life():
    clock = Clock.begin(100, None)
    clock, mass = count_rows(clock, np.ones(1))
    _, later = count_rows(clock, np.r_[np.zeros(1), np.ones(100)], mass)
    _, without_first = count_rows(copy_clock(clock), np.ones(100))
    assert later - without_first == pytest.approx(mass / 2, rel=1e-9)


def copy_clock(clock):
    return Clock(clock.weight_bits, clock.half_life, clock.position, clock.n_halvings)


def test_weights_decay_as_powers_of_two_within_a_tick():
    """Over 10 half-lives, the weight of a row is 2^(-age/half-life) within a tick (2.2 %)."""
    clock = Clock.begin(64, None)
    n = 640
    half_life = 64
    units = clock.units(None, n)
    found = np.zeros(n)
    for piece in clock.pieces(units):
        found /= 2
        found[piece.rows] += piece.weights
    ages = (n - np.arange(n)) / half_life
    ratio = found / found[-1] / 2.0 ** (ages[-1] - ages)
    assert 2 ** (-1.01 / 32) < ratio.min() <= ratio.max() < 2 ** (1.01 / 32)


def test_halved_sums_round_towards_zero_and_are_zero_for_a_cluster_without_mass():
    sums = CircleSums(
        mass=np.array([5, 1], object),
        loss=7,
        totals=np.array([[3, -3], [9, -9]], object),
        observed=np.array([[5], [1]], object),
    )
    half = halved_sums(sums)
    assert_array_equal(half.mass, [2, 0])
    assert_array_equal(half.totals, [[1, -1], [0, 0]])
    assert_array_equal(half.observed, [[2], [0]])
    assert half.loss == 3


def test_weighted_sums_are_integers_of_any_size():
    sums = CircleSums(
        mass=np.array([2**62]), loss=2**62, totals=np.array([[-(2**62)]]), observed=np.array([[1]])
    )
    found = weighed_sums(sums, 2**30)
    assert (found.mass[0], found.loss, found.totals[0, 0]) == (2**124, 2**124, -(2**124))


@pytest.mark.parametrize(
    ("half_life", "weights"),
    [(None, [65.0]), (None, [1e-7]), (1e15, [1.0])],
    ids=["heavy", "light", "long"],
)
def test_weights_and_half_lives_out_of_range_raise(half_life, weights):
    with pytest.raises(ValueError, match=r"in this stream|Use None") as caught:
        Clock.begin(half_life, np.ones(3)).units(np.array(weights), 1)
    assert_message_states_fix(caught.value)


def test_a_half_life_or_a_weight_that_overflows_is_an_error():
    light = Clock.begin(None, np.array([1e-200]))
    with pytest.raises(ValueError, match="half_life=1e\\+308 is too large"):
        Clock.begin(1e308, None)
    for weights in (None, np.array([1.0]), np.array([1e150])):
        with pytest.raises(ValueError, match=r"sample_weight must be at most .*e-199"):
            light.units(weights, 1)
