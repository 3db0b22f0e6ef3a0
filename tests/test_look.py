"""The compiled pass over points gives the sums, shares and medians of its definition, written out in NumPy here."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans.engines import native

core = native._core


def here(isa):
    try:
        return core.isa(isa) == isa
    except ValueError:
        return False


SETS = [isa for isa in ("baseline", "avx2", "avx512", "vnni") if here(isa)]
MEASURES = ("square", "rbf", "laplace", "laplace-l2")
RULES = (("hard", 0.0), ("fuzzy", 2.0), ("fuzzy", 1.5), ("fuzzy", 1.2), ("fuzzy", 3.3), ("gas", 1.7), ("gas", 0.0), ("map", 0.0))
GAMMA = 0.37
NEAREST = 1e-9
SUBNORMAL = 1e-300  # below it a float64 has fewer digits than the tolerance asks for


def distances(F, C, measure, gamma):
    """D (n, k) over observed cells, one centroid after the other."""
    D = np.empty((len(F), len(C)))
    for c, centroid in enumerate(C):
        gap = np.where(np.isnan(F), 0.0, F.astype(np.float64) - centroid)  # (n, p)
        D[:, c] = np.abs(gap).sum(1) if measure == "laplace" else (gap**2).sum(1)
    if measure == "laplace-l2":
        D = np.sqrt(D)
    return D if measure == "square" else gamma * D


def shares(D, L, rule, amount, h):
    """Labels (n,) and W (n, k) of rows that all weigh 1."""
    n, k = D.shape
    labels = D.argmin(1)
    if rule == "hard":
        return labels, np.eye(k)[labels]
    if rule == "fuzzy":
        least = L.min(1, keepdims=True)
        same = least == L
        ratio = np.where(same, 1.0, least / np.where(same, 1.0, L))
        u = ratio ** (1 / (amount - 1))
        return labels, (u / u.sum(1, keepdims=True)) ** amount
    if rule == "gas":
        rank = D.argsort(1, kind="stable").argsort(1)
        return labels, np.exp(-rank / amount) if amount else (rank == 0) * 1.0
    labels = np.array([[h[c] @ row for c in range(k)] for row in L]).reshape(n, k).argmin(1)
    return labels, h[labels]


def expected(F, w, C, measure, rule, amount, h, gamma=GAMMA):
    """What `look` answers, with V always (n, k); and the sum of |V f|, which its rounding is measured by."""
    D = distances(F, C, measure, gamma)
    L = D if measure == "square" else -2 * np.expm1(-D)
    labels, W = shares(D, L, rule, amount, h)
    W = W * (np.ones(len(F)) if w is None else w)[:, None]
    s = np.ones_like(D) if measure == "square" else np.exp(-D)
    if measure == "laplace-l2":
        s = s / np.maximum(D / gamma, NEAREST)
    V = W * s
    observed, filled = ~np.isnan(F), np.nan_to_num(F.astype(np.float64))
    totals, strength, size = V.T @ filled, V.T @ observed, V.T @ np.abs(filled)
    return (labels, totals, strength, W.sum(0), (W * L).sum(), V), size


def drawn(seed, n, p, k, dtype=np.float64, gaps=False, weights=False):
    """Rows about as far from each other as from the centroids, weights with zeros, a neighbourhood on a line."""
    random = np.random.default_rng(seed)
    F = random.standard_normal((n, p)) / np.sqrt(p)
    C = random.standard_normal((k, p)) / np.sqrt(p)
    if gaps:
        F[random.uniform(size=F.shape) < 0.15] = np.nan
    w = random.integers(0, 4, n) * random.uniform(0.5, 1, n) if weights else None
    apart = np.subtract.outer(np.arange(k), np.arange(k))
    return F.astype(dtype), w, C, np.exp(-(apart**2) / 2.3)


def check(F, w, C, h, measure, rule, amount, isa="", gamma=GAMMA, rtol=1e-12):
    n, k = len(F), len(C)
    got = core.look(F, w, C, measure, gamma, rule, amount, h, 2, isa, True)
    want, size = expected(F, w, C, measure, rule, amount, h, gamma)
    labels, totals, strength, mass, loss, V = want
    assert got[0].dtype == np.int32
    assert_array_equal(got[0], labels)
    assert_allclose(got[1], totals, rtol=0, atol=(rtol * size).max(initial=0) + SUBNORMAL)
    assert (np.abs(got[1] - totals) <= rtol * size + SUBNORMAL).all()
    assert_allclose(got[2], strength, rtol=rtol, atol=SUBNORMAL)
    assert_allclose(got[3], mass, rtol=rtol, atol=SUBNORMAL)
    assert_allclose(got[4], loss, rtol=rtol, atol=SUBNORMAL)
    assert_allclose(got[5], V[np.arange(n), labels] if rule == "hard" else V, rtol=rtol, atol=SUBNORMAL)
    assert got[5].shape == ((n,) if rule == "hard" else (n, k))


@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize(("rule", "amount"), RULES)
@pytest.mark.parametrize("measure", MEASURES)
def test_sums_and_shares_are_those_of_the_definition(measure, rule, amount, isa):
    sizes = ((1, 1, 1), (1, 3, 7), (15, 16, 2), (16, 3, 40), (17, 33, 7), (1000, 16, 7), (101, 1, 40), (160, 129, 9))
    kinds = product((np.float64, np.float32), (False, True), (False, True))
    for seed, (dtype, gaps, weights) in enumerate(kinds):
        for n, p, k in sizes:
            F, w, C, h = drawn(seed, n, p, k, dtype, gaps, weights)
            check(F, w, C, h, measure, rule, amount, isa)


@pytest.mark.parametrize(("rule", "amount"), RULES)
@pytest.mark.parametrize("measure", ["rbf", "laplace-l2"])
def test_many_rows_in_many_parts(measure, rule, amount):
    F, w, C, h = drawn(1, 100_003, 3, 7, gaps=rule == "gas", weights=True)
    if rule == "map":
        F, w = F[:20_003], w[:20_003]
    check(F, w, C, h, measure, rule, amount)


def test_ranks_of_many_centroids_are_sorted_alike():
    F, w, C, h = drawn(5, 50, 4, 300)
    C[7::3] = C[0]  # ties: the lower index is nearer
    check(F, w, C, h, "square", "gas", 20.0)
    check(F, w, C[:255], h[:255, :255], "square", "gas", 20.0)


@pytest.mark.parametrize(("rule", "amount"), RULES)
def test_threads_give_the_same_bits(rule, amount):
    F, w, C, h = drawn(2, 40_000, 5, 6, np.float32, gaps=True, weights=True)
    one, *others = (core.look(F, w, C, "laplace-l2", GAMMA, rule, amount, h, threads, "", True) for threads in (1, 2, 5))
    for other, (a, b) in product(others, zip(one, others[0], strict=True)):
        assert_array_equal(a, b)
        assert len(other) == len(one)
    for other in others:
        for a, b in zip(one, other, strict=True):
            assert_array_equal(a, b)
