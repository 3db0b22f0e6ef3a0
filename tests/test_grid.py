"""The grid against mpmath, exact sums against Python integers, and weights against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from numpy.testing import assert_array_equal

from rekmeans import _grid
from rekmeans._grid import GRID, cospi_sinpi, inner, integer_weights, product
from rekmeans.assignment import one_hot
from support.models import euler, scale_of

DIGITS = mp.workdps(80)
RNG = np.random.default_rng(2021)
QUARTERS = np.arange(-3, 4) / 2


@DIGITS
def round_by_mpmath(function, t):
    """Round 2^23 function(t) to the nearest integer; dyadic t never gives a tie."""
    return np.array(
        [int(mp.nint(GRID * function(mp.mpf(float(x))))) for x in np.asarray(t).ravel()]
    )


@DIGITS
def near_ties(inverse, count):
    """Return doubles t in (0, 1/4) whose 2^23 cos(pi t) or sin(pi t) is within 1e-9 of a tie."""
    low, high = (GRID * 3 // 4, GRID) if inverse is mp.acos else (0, GRID * 7 // 10)
    ties = (mp.mpf(2 * int(m) + 1) / (2 * GRID) for m in RNG.integers(low, high, count))
    return np.array([float(inverse(tie) / mp.pi) for tie in ties])


PHASES = {
    "random": RNG.uniform(-2, 2, 1000),
    "tiny": RNG.choice([-1, 1], 200) * 2.0 ** RNG.uniform(-1074, -20, 200),
    "next to a quarter turn": np.concatenate(
        [np.nextafter(QUARTERS, side) for side in (-2, QUARTERS, 2)]
    ),
    "near a quarter turn": np.add.outer(QUARTERS, RNG.uniform(-1e-6, 1e-6, 30)).ravel(),
    "next to two half-turns": np.array([np.nextafter(2, 0), -np.nextafter(2, 0)]),
    "one step round the edge of a quarter": np.concatenate(
        [np.nextafter(QUARTERS + 0.25, s) for s in (-2, 2)]
    ),
    "cosine near a tie": near_ties(mp.acos, 300),
    "sine near a tie": near_ties(mp.asin, 300),
}


@pytest.mark.parametrize("name", PHASES)
def test_cosine_and_sine_are_correctly_rounded(name):
    t = PHASES[name]
    cos, sin = cospi_sinpi(t)
    assert_array_equal(cos, round_by_mpmath(mp.cospi, t))
    assert_array_equal(sin, round_by_mpmath(mp.sinpi, t))


@pytest.mark.parametrize(
    ("name", "function", "part"), [("cosine", mp.cospi, 0), ("sine", mp.sinpi, 1)]
)
def test_near_ties_are_rounded_exactly(name, function, part, monkeypatch):
    t = PHASES[f"{name} near a tie"]
    correct = round_by_mpmath(function, t)
    with monkeypatch.context() as patch:
        patch.setattr(_grid, "DOUBT", 0.0)
        wrong = cospi_sinpi(t)[part] != correct
    assert wrong.sum() >= 5
    assert_array_equal(cospi_sinpi(t)[part][wrong], correct[wrong])


@pytest.mark.parametrize("cosine", [True, False])
def test_exact_rounding_agrees_with_mpmath(cosine):
    r = np.concatenate([PHASES["random"] / 8, PHASES["tiny"], [0.0, 0.25, -0.25, 5e-324, -5e-324]])
    rounded_correctly = [_grid.round_correctly(float(x), cosine=cosine) for x in r]
    assert_array_equal(rounded_correctly, round_by_mpmath(mp.cospi if cosine else mp.sinpi, r))


def test_the_shape_of_the_phases_is_kept_and_the_dtype_is_int32():
    cos, sin = cospi_sinpi(np.zeros((3, 5)))
    assert cos.shape == sin.shape == (3, 5)
    assert cos.dtype == sin.dtype == np.int32


@pytest.mark.parametrize("alpha", [1e-4, 1.0, 1e4])
def test_a_phase_of_any_magnitude_is_mapped_exactly(alpha):
    rng = np.random.default_rng(1)
    X = (rng.choice([-1, 1], 300) * 10.0 ** rng.uniform(-10, 30, 300))[:, None]
    F = euler(alpha, scale_of(None, X)).embed(X)
    assert_array_equal(F[:, 0], round_by_mpmath(mp.cospi, X * alpha))
    assert_array_equal(F[:, 1], round_by_mpmath(mp.sinpi, X * alpha))


def wide(rng, size, bits):
    """Return random Python integers of both signs, up to 2^bits."""
    return np.array(
        [int(x) << (bits - 62) for x in rng.integers(-(2**62), 2**62, size).ravel()], object
    ).reshape(size)


VALUES = {
    "grid": lambda rng, size: rng.integers(-GRID, GRID + 1, size).astype(np.int32),
    "distances": lambda rng, size: rng.integers(0, 2**58, size),
    "negative": lambda rng, size: rng.integers(-(2**62), -(2**61), size),
    "both ends of 64 bits": lambda rng, size: rng.choice(np.array([-(2**63) + 1, 2**63 - 1]), size),
    "wide": lambda rng, size: wide(rng, size, 90),
    "wide but small": lambda rng, size: rng.integers(-5, 6, size).astype(object),
    "zero": lambda rng, size: np.zeros(size, np.int64),
}
WEIGHTS = {
    "ones": lambda rng, n: np.ones(n, np.int64),
    "31 bits": lambda rng, n: rng.integers(2**30, 2**31, n) + 1,
    "some zero": lambda rng, n: rng.integers(0, 2, n) << 31,
    "too many for one limb": lambda rng, n: rng.integers(2**44, 2**45, n),
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n", [1, 40])
def test_products_and_inner_products_equal_sums_of_python_integers(values, weights, n):
    rng = np.random.default_rng(n)
    k = 3
    m = 4
    V = VALUES[values](rng, (n, m))
    w = WEIGHTS[weights](rng, n)
    labels = rng.integers(0, k, n)
    sums = [[0] * m for _ in range(k)]
    for j in range(n):
        for column in range(m):
            sums[labels[j]][column] += int(w[j]) * int(V[j, column])
    W = one_hot(labels, w, k)
    assert product(W, V).tolist() == sums
    assert product(W.toarray(), V).tolist() == sums
    assert inner(W, V) == sum(int(w[j]) * int(V[j, labels[j]]) for j in range(n))


def test_a_product_with_floats_is_the_matrix_product():
    rng = np.random.default_rng(0)
    W = rng.uniform(size=(20, 3))
    V = rng.normal(size=(20, 4))
    np.testing.assert_allclose(product(W, V), np.einsum("jc,jl->cl", W, V), rtol=1e-13)
    np.testing.assert_allclose(inner(W, W), np.einsum("jc,jc->", W, W), rtol=1e-13)


@given(st.lists(st.floats(min_value=5e-324, max_value=1e308), min_size=1))
def test_integer_weights_are_the_weights_rounded_to_31_bits(weights):
    w, b = integer_weights(np.array(weights))
    assert 2**30 < w.max() <= 2**31
    for integer, weight in zip(w.tolist(), weights, strict=True):
        assert abs(integer - Fraction(weight) * Fraction(2) ** b) <= Fraction(1, 2)


@given(st.lists(st.integers(0, 2**31), min_size=1).filter(any))
def test_integer_weights_of_integers_are_exact_multiples(weights):
    w, b = integer_weights(np.array(weights, dtype=np.float64))
    assert w.tolist() == [weight << b for weight in weights]
