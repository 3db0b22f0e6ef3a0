"""The compiled pass over points gives the sums, shares and medians of its definition, which is
written in NumPy here.
"""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans.engines.native import _core as core
from support.native import SETS

MEASURES = ("square", "rbf", "laplace", "laplace-l2")
RULES = (
    ("hard", 0.0),
    ("fuzzy", 2.0),
    ("fuzzy", 1.5),
    ("fuzzy", 1.2),
    ("fuzzy", 3.3),
    ("neural_gas", 1.7),
    ("neural_gas", 0.0),
    ("som", 0.0),
)
GAMMA = 0.37
NEAREST = 1e-9
SUBNORMAL = 1e-300  # smaller float64 values have fewer digits than the tolerance requires


def distances(F, C, measure, gamma):
    """Return D (n, k) over observed cells, computed for one centroid at a time."""
    D = np.empty((len(F), len(C)))
    for c, centroid in enumerate(C):
        gap = np.where(np.isnan(F), 0.0, F.astype(np.float64) - centroid)  # (n, p)
        D[:, c] = np.abs(gap).sum(1) if measure == "laplace" else (gap**2).sum(1)
    if measure == "laplace-l2":
        D = np.sqrt(D)
    return D if measure == "square" else gamma * D


def shares(D, L, rule, amount, h):
    """Return labels (n,) and W (n, k) of rows with weight 1."""
    labels = D.argmin(1)
    if rule == "hard":
        return labels, np.eye(D.shape[1])[labels]
    if rule == "fuzzy":
        least = L.min(1, keepdims=True)
        same = least == L
        ratio = np.where(same, 1.0, least / np.where(same, 1.0, L))
        u = ratio ** (1 / (amount - 1))
        return labels, (u / u.sum(1, keepdims=True)) ** amount
    if rule == "neural_gas":
        rank = D.argsort(1, kind="stable").argsort(1)
        return labels, np.exp(-rank / amount) if amount else (rank == 0) * 1.0
    labels = (L @ h.T).argmin(1)
    return labels, h[labels]


def expected(F, w, C, measure, rule, amount, h, gamma=GAMMA):
    """Return the result of a soft pass, with V always (n, k), and the sum of |V f|, for the
    tolerance.
    """
    D = distances(F, C, measure, gamma)
    L = D if measure == "square" else -2 * np.expm1(-D)
    labels, W = shares(D, L, rule, amount, h)
    W = W * (np.ones(len(F)) if w is None else w)[:, None]
    s = np.ones_like(D) if measure == "square" else np.exp(-D)
    # rows at a centroid do not pull
    on = (D <= NEAREST * gamma) & (measure == "laplace-l2")
    if measure == "laplace-l2":
        s = np.where(on, 0.0, s / np.where(on, 1.0, D / gamma))
    V = W * s
    observed = ~np.isnan(F)
    filled = np.nan_to_num(F.astype(np.float64))
    totals = V.T @ filled
    strength = V.T @ observed
    size = V.T @ np.abs(filled)
    return (labels, totals, strength, W.sum(0), (W * L).sum(), V, (W * on).sum(0)), size


def drawn(seed, n, p, k, dtype=np.float64, gaps=False, weights=False):
    """Draw rows that are about as far from each other as from the centroids, weights with zeros,
    and a neighbourhood on a line.
    """
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
    got = core.soft_pass(F, w, C, measure, gamma, rule, amount, h, 2, isa, True)
    want, size = expected(F, w, C, measure, rule, amount, h, gamma)
    labels, totals, strength, mass, loss, V, held = want
    assert got[0].dtype == np.int32
    assert_array_equal(got[0], labels)
    assert (np.abs(got[1] - totals) <= rtol * size + SUBNORMAL).all()
    assert_allclose(got[2], strength, rtol=rtol, atol=SUBNORMAL)
    assert_allclose(got[3], mass, rtol=rtol, atol=SUBNORMAL)
    assert_allclose(got[4], loss, rtol=rtol, atol=SUBNORMAL)
    assert_allclose(
        got[5], V[np.arange(n), labels] if rule == "hard" else V, rtol=rtol, atol=SUBNORMAL
    )
    assert got[5].shape == ((n,) if rule == "hard" else (n, k))
    assert_allclose(got[6], held, rtol=rtol, atol=SUBNORMAL)


@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize(("rule", "amount"), RULES)
@pytest.mark.parametrize("measure", MEASURES)
def test_sums_and_shares_are_those_of_the_definition(measure, rule, amount, isa):
    sizes = (
        (1, 1, 1),
        (1, 3, 7),
        (15, 16, 2),
        (16, 3, 40),
        (17, 33, 7),
        (1000, 16, 7),
        (101, 1, 40),
        (160, 129, 9),
    )
    kinds = product((np.float64, np.float32), (False, True), (False, True))
    for (seed, kind), (i, (n, p, k)) in product(enumerate(kinds), enumerate(sizes)):
        # half of the pairs; the other half with the next instruction set
        if (seed + i) % 2 == SETS.index(isa) % 2:
            F, w, C, h = drawn(seed, n, p, k, *kind)
            check(F, w, C, h, measure, rule, amount, isa)


@pytest.mark.parametrize(("rule", "amount"), RULES)
@pytest.mark.parametrize("measure", ["rbf", "laplace-l2"])
def test_many_rows_in_many_parts(measure, rule, amount):
    F, w, C, h = drawn(1, 100_003, 3, 7, gaps=rule == "neural_gas", weights=True)
    if rule == "som":
        F = F[:20_003]
        w = w[:20_003]
    check(F, w, C, h, measure, rule, amount)


def test_ranks_of_many_centroids_agree():
    F, w, C, h = drawn(5, 50, 4, 300)
    C[7::3] = C[0]  # ties: the lower index counts as nearer
    check(F, w, C, h, "square", "neural_gas", 20.0)
    check(F, w, C[:255], h[:255, :255].copy(), "square", "neural_gas", 20.0)


@pytest.mark.parametrize(("rule", "amount"), RULES)
def test_threads_give_the_same_bits(rule, amount):
    F, w, C, h = drawn(2, 40_000, 5, 6, np.float32, gaps=True, weights=True)
    one, *others = (
        core.soft_pass(F, w, C, "laplace-l2", GAMMA, rule, amount, h, threads, "", True)
        for threads in (1, 2, 5)
    )
    for other in others:
        for a, b in zip(one, other, strict=True):
            assert_array_equal(a, b)
    for a, b in zip(
        one,
        core.soft_pass(F, w, C, "laplace-l2", GAMMA, rule, amount, h, 2, "", False),
        strict=True,
    ):
        assert b is None if a is one[5] else np.array_equal(a, b)


@pytest.mark.parametrize("isa", SETS)
def test_the_first_of_equally_near_centroids_wins(isa):
    F, w, C, _ = drawn(3, 37, 5, 6, weights=True)
    # 11 centroids, so that equal ones are in panels of different width
    C = C[[0, 1, 0, 1, 2, 2, 0, 3, 3, 1, 0]]
    for measure in MEASURES:
        labels = core.soft_pass(F, w, C, measure, GAMMA, "hard", 0, None, 2, isa, False)[0]
        assert set(labels) <= {0, 1, 4, 7}
        check(F, w, C, None, measure, "hard", 0.0, isa)
        check(F, w, C, None, measure, "neural_gas", 2.0, isa)
        one = np.ones((11, 11))
        assert not core.soft_pass(F, w, C, measure, GAMMA, "som", 0, one, 2, isa, False)[0].any()


@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize(("rule", "amount"), RULES)
@pytest.mark.parametrize("measure", MEASURES)
def test_rows_at_centroids(measure, rule, amount, isa):
    F, w, C, h = drawn(4, 40, 3, 5, weights=True)
    F[::3] = C[np.arange(14) % 5]
    C[4] = C[1]
    check(F, w, C, h, measure, rule, amount, isa)
    if rule == "fuzzy":
        V = core.soft_pass(F, None, C, "square", GAMMA, rule, amount, None, 1, isa, True)[5]
        assert_allclose(V[3], [0, 0.5**amount, 0, 0, 0.5**amount], rtol=1e-15)
        assert_array_equal(V[0], [1, 0, 0, 0, 0])


@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize(("rule", "amount"), RULES)
@pytest.mark.parametrize("measure", MEASURES)
def test_very_distant_rows_have_no_pull(measure, rule, amount, isa):
    F, w, C, h = drawn(6, 50, 4, 3)
    for far in (1e3, 1e5, 1e150, 1e200):  # squares of the last values overflow
        wide = F + far * (1 + np.arange(4))
        if far < 1e200:
            check(wide, w, C, h, measure, rule, amount, isa, gamma=50.0)
        _, totals, strength, mass, loss, V, _ = core.soft_pass(
            wide, w, C, measure, 50.0, rule, amount, h, 2, isa, True
        )
        assert np.isfinite(mass).all()
        assert not np.isnan(loss)
        assert (
            core.soft_pass(wide, np.zeros(50), C, measure, 50.0, rule, amount, h, 2, isa, False)[4]
            == 0
        )
        if measure == "square":
            continue
        assert not totals.any()
        assert not strength.any()
        assert not V.any()
        assert_allclose(loss, 2 * mass.sum(), rtol=1e-13)


@pytest.mark.parametrize("isa", SETS)
def test_pull_and_loss_of_one_row_to_the_last_digits(isa):
    C = np.zeros((1, 1))
    near = np.concatenate(
        [np.geomspace(1e-300, 1, 60), np.linspace(0.01, 40, 977), np.linspace(40, 708, 101), [0.0]]
    )
    V = core.soft_pass(near[:, None], None, C, "laplace", 1.0, "hard", 0, None, 1, isa, True)[5]
    assert_allclose(V, np.exp(-near), rtol=4e-16)
    loss = [
        core.soft_pass(np.array([[x]]), None, C, "laplace", 1.0, "hard", 0, None, 1, isa, False)[4]
        for x in near
    ]
    assert_allclose(loss, -2 * np.expm1(-near), rtol=6e-16)
    below = np.linspace(708, 800, 300)
    V = core.soft_pass(below[:, None], None, C, "laplace", 1.0, "hard", 0, None, 1, isa, True)[5]
    # twice the smallest positive number
    assert_allclose(V, np.exp(-below), rtol=1e-15, atol=1e-323)


def test_memberships_far_apart():
    """Test ratios down to the smallest numbers, and fuzziness from nearly hard to uniform."""
    C = np.array([[0.0], [1.0], [1e9]])
    F = np.concatenate([np.geomspace(1e-160, 0.4, 50), 1 + np.geomspace(1e-15, 0.4, 20)])[:, None]
    for fuzziness in (1.01, 1.2, 1.5, 2.0, 2.5, 30.0, 200.0):
        check(
            F, None, C, None, "square", "fuzzy", fuzziness, rtol=2e-11 if fuzziness < 1.1 else 1e-12
        )


def medians(F, V, C):
    """Return weighted medians by sorting the observed cells of each cluster, for V (n, k)."""
    out = C.copy()
    for c, column in np.ndindex(*C.shape):
        at = np.flatnonzero(~np.isnan(F[:, column]))
        at = at[np.argsort(F[at, column], kind="stable")]
        reached = V[at, c].cumsum()
        if len(at) and reached[-1] > 0:
            out[c, column] = F[at[np.searchsorted(2 * reached, reached[-1])], column]
    return out


def sorted_rows(F):
    return np.ascontiguousarray(np.argsort(F, axis=0, kind="stable").T.astype(np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gaps", [False, True])
def test_weighted_medians(dtype, gaps):
    random = np.random.default_rng(7)
    for n, p, k in ((1, 1, 1), (2, 3, 1), (9, 3, 4), (500, 16, 7), (3001, 2, 40)):
        for real, few in product((False, True), repeat=2):
            F, w, C, _ = drawn(n + few, n, p, k, dtype, gaps, True)
            F = np.round(2 * F) if few else F  # equal values, and weights that reach exactly half
            v = w if real else np.ceil(w)
            labels = random.integers(0, k, n).astype(np.int32)
            hard = np.zeros((n, k))
            hard[np.arange(n), labels] = v
            soft = (
                random.uniform(size=(n, k)) * v[:, None]
                if real
                else random.integers(0, 3, (n, k)) * 1.0
            )
            order = sorted_rows(F)
            for threads in (1, 3):
                assert_array_equal(
                    core.medians(F, v, labels, order, C, threads), medians(F, hard, C)
                )
                assert_array_equal(
                    core.medians(F, soft, None, order, C, threads), medians(F, soft, C)
                )


@pytest.mark.parametrize("n", [1, 2, 1023, 1024, 2047, 2048, 2049, 4096, 4097])
def test_the_median_of_integers(n):
    F = np.random.default_rng(9).permutation(n).astype(np.float64)[:, None]
    for V, labels in ((np.ones(n), np.zeros(n, np.int32)), (np.ones((n, 1)), None)):
        assert core.medians(F, V, labels, sorted_rows(F), np.zeros((1, 1)), 1) == (n - 1) // 2


def test_no_point_near_the_median_has_a_lower_cost():
    F, w, C, _ = drawn(8, 300, 3, 2, weights=True)
    labels, *_, V, _ = core.soft_pass(F, w, C, "laplace", GAMMA, "hard", 0, None, 2, "", True)
    middle = core.medians(F, V, labels, sorted_rows(F), C, 2)

    def cost(U):
        return (V[:, None] * np.abs(F - U[labels])).sum()

    for c, column in np.ndindex(2, 3):
        for step in (-1e-3, 1e-3):
            aside = middle.copy()
            aside[c, column] += step
            assert cost(aside) >= cost(middle)


def test_a_pass_without_rows():
    labels, totals, strength, mass, loss, V, _ = core.soft_pass(
        np.empty((0, 3)), None, np.ones((2, 3)), "rbf", 1, "fuzzy", 2, None, 2, "", True
    )
    assert labels.shape == (0,)
    assert V.shape == (0, 2)
    assert loss == 0
    assert not totals.any()
    assert not strength.any()
    assert not mass.any()


GOOD = {
    "F": np.ones((5, 3)),
    "w": np.ones(5),
    "C": np.ones((2, 3)),
    "measure": "rbf",
    "gamma": 1.0,
    "rule": "som",
    "amount": 0.0,
    "h": np.eye(2),
    "threads": 1,
    "isa": "",
    "with_V": False,
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"F": np.ones(5)}, r"F must have shape \(n, p\) with p > 0, got \(5,\)"),
        ({"F": np.ones((5, 3), np.int64)}, "float32 or float64"),
        ({"w": np.ones(4)}, r"w must have shape \(n,\) = \(5,\), got \(4,\)"),
        ({"C": np.ones((2, 4))}, r"C must have shape \(k, p\) = \(2, 3\), got \(2, 4\)"),
        ({"C": np.ones((0, 3))}, r"k must be 1 to \d+, got 0"),
        ({"h": np.eye(3)}, r"h must have shape \(k, k\) = \(2, 2\), got \(3, 3\)"),
        ({"h": None}, "rule 'som' requires h"),
        (
            {"measure": "cosine"},
            "measure must be one of 'square', 'rbf', 'laplace', 'laplace-l2', got 'cosine'",
        ),
        (
            {"rule": "softest"},
            "rule must be one of 'hard', 'fuzzy', 'neural_gas', 'som', got 'softest'",
        ),
        ({"gamma": 0.0}, "gamma must be positive and finite"),
        ({"gamma": np.nan}, "gamma must be positive and finite"),
        ({"rule": "fuzzy", "amount": 1.0}, "fuzziness above 1"),
        ({"rule": "neural_gas", "amount": -1.0}, "reach of at least 0"),
        ({"isa": "mmx"}, "'mmx' is not supported"),
    ],
)
def test_invalid_arguments_raise_an_error(wrong, message):
    core.soft_pass(**GOOD)
    with pytest.raises(ValueError, match=message):
        core.soft_pass(**{**GOOD, **wrong})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"V": np.ones(4)}, r"V must, with labels, have shape \(n,\) = \(5,\), got \(4,\)"),
        ({"labels": None}, r"V must, without labels, have shape \(n, k\) = \(5, 2\), got \(5,\)"),
        ({"labels": np.full(5, 2, np.int32)}, "labels must be 0 to 1, got 2"),
        ({"labels": np.full(5, -1, np.int32)}, "labels must be 0 to 1, got -1"),
        (
            {"order": np.zeros((5, 3), np.int32)},
            r"order must have shape \(p, n\) = \(3, 5\), got \(5, 3\)",
        ),
        ({"order": np.full((3, 5), 5, np.int32)}, "row numbers in order must be 0 to 4, got 5"),
    ],
)
def test_invalid_arguments_of_medians_raise_an_error(wrong, message):
    F = np.ones((5, 3))
    good = {
        "F": F,
        "V": np.ones(5),
        "labels": np.zeros(5, np.int32),
        "order": sorted_rows(F),
        "C": np.ones((2, 3)),
        "threads": 1,
    }
    core.medians(**good)
    with pytest.raises(ValueError, match=message):
        core.medians(**{**good, **wrong})
