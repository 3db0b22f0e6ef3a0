"""The robust scale matches plain loops, keeps groups, and ignores errors and codes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from rekmeans import RectifiedEulerKMeans
from rekmeans.scales import MAX_INTERVALS
from support.models import scale_of
from support.plain_scale import plain_robust

N_COLUMNS = 40  # random columns of each shape


def normal(random, n):
    return random.normal(3, 2, n)


def mixed_groups(random, n):
    """Return up to five groups of different size, location and spread."""
    k = int(random.integers(2, 6))
    places, spreads = random.normal(0, 30, k), random.lognormal(0, 1, k)
    group = random.choice(k, n, p=random.dirichlet(np.ones(k)))
    return places[group] + spreads[group] * random.normal(size=n)


def far_group(random, n):
    return np.where(random.random(n) < 0.08, random.normal(40, 1.5, n), random.normal(size=n))


def with_normal_errors(random, n):
    return np.where(random.random(n) < 0.2, random.normal(0, 15, n), random.normal(size=n))


def with_code(random, n):
    """Return a normal column in which -999 means unknown."""
    return np.where(random.random(n) < 0.1, -999.0, random.normal(50, 4, n))


def ordinal(random, n):
    return np.where(random.random(n) < 0.05, 99.0, random.integers(1, 6, n))


def counts(random, n):
    return random.poisson(random.gamma(0.5, 3, n)).astype(float)


def yes_no(random, n):
    return (random.random(n) < random.uniform(0.01, 0.6)).astype(float)


def mostly_zero(random, n):
    return np.where(random.random(n) < 0.7, 0.0, random.lognormal(1, 1, n))


def counts_with_code(random, n):
    return np.where(random.random(n) < 0.05, 9999.0, random.poisson(0.4, n))


def skewed(random, n):
    """Return a lognormal column, half of them reversed, a third with errors."""
    x = random.lognormal(0, random.uniform(0.5, 1.5), n) * random.choice([-1, 1])
    is_error = random.random(n) < random.choice([0, 0, 0.1])
    return np.where(is_error, 15 * random.normal(size=n), x)


def fees(random, n):
    """Return a column that is mostly zero, and else a skewed price."""
    price = random.lognormal(1, 1.2, n) * random.choice([-1, 1])
    return np.where(random.random(n) < 0.6, 0.0, price)


def few_values(random, n):
    x = random.integers(0, int(random.integers(3, 12)), n) * 1.0
    return np.where(random.random(n) < random.choice([0, 0.15]), 20 * random.normal(size=n), x)


def gaps(random, n):
    return np.where(random.random(n) < 0.3, np.nan, random.normal(-4, 3, n))


SHAPES = (
    *(
        normal,
        mixed_groups,
        far_group,
        with_normal_errors,
        with_code,
        ordinal,
        counts,
        yes_no,
        mostly_zero,
    ),
    *(counts_with_code, gaps, skewed, fees, few_values),
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [30, 400])
def test_records_match_plain_loops(shape, n):
    random = np.random.default_rng(n)
    X = np.stack([shape(random, n) for _ in range(N_COLUMNS)], axis=1)
    scale = scale_of("robust", X)
    for j, column in enumerate(X.T):
        ends, shifts, units = plain_robust(column)
        m = len(ends)
        assert np.isnan(scale.low[j, m:]).all()
        within = {"rtol": 1e-6, "atol": 1e-5 * units[0], "err_msg": f"column {j}"}
        assert_allclose(scale.unit[j, :m], units, **within)
        assert_allclose(np.stack([scale.low[j, :m], scale.high[j, :m]], axis=1), ends, **within)
        assert_allclose(scale.shift[j, :m], shifts, **within)
        observed = column[~np.isnan(column)]
        kept = [
            any(low <= x <= high for low, high in zip(scale.low[j], scale.high[j], strict=True))
            for x in observed
        ]
        assert_allclose(scale.left_out[j], 1 - np.mean(kept), atol=1e-12)


def test_intervals_are_ordered_disjoint_and_folded():
    random = np.random.default_rng(3)
    scale = scale_of("robust", np.stack([mixed_groups(random, 500) for _ in range(200)], axis=1))
    assert scale.low.shape[1] > 2
    images = (
        (scale.low - scale.shift) / scale.unit,
        (scale.high - scale.shift) / scale.unit,
    )
    for low, high, start, end in zip(scale.low, scale.high, *images, strict=True):
        m = np.count_nonzero(~np.isnan(low))
        assert 1 <= m <= MAX_INTERVALS
        assert (low[1:m] >= high[: m - 1]).all()
        assert (start[1:m] >= end[: m - 1] - 1e-9).all()
        # the kept intervals span at most one turn
        assert end[m - 1] - start[0] <= 2 + 1e-9 or m == 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda random, n: random.normal(size=n),
        lambda random, n: random.standard_t(3, n),
        lambda random, n: random.standard_cauchy(n),
        lambda random, n: random.lognormal(0, 1, n),
        lambda random, n: random.exponential(size=n),
        lambda random, n: random.poisson(0.7, n).astype(float),
        lambda random, n: random.poisson(3, n).astype(float),
        *(
            lambda random, n, w=w: with_errors(random, n, w * random.normal(size=n))
            for w in (5, 15, 100)
        ),
        lambda random, n: with_errors(random, n, random.uniform(-30, 30, n)),
        lambda random, n: with_errors(random, n, 20 * np.abs(random.normal(size=n))),
    ],
)
@pytest.mark.parametrize("n", [150, 1000])
def test_errors_and_tails_are_not_groups(draw, n):
    random = np.random.default_rng(n)
    scale = scale_of("robust", np.stack([draw(random, n) for _ in range(400)], axis=1))
    # a false group in at most 3 of 400 columns
    assert np.count_nonzero(scale.low[:, 1:] > scale.high[:, :-1]) <= 3


@pytest.mark.parametrize(
    ("draw", "most"),
    [
        (lambda random, n: random.normal(size=n), 0),
        (lambda random, n: random.standard_t(3, n), 4),
        (lambda random, n: random.standard_cauchy(n), 4),
        (lambda random, n: with_errors(random, n, 15 * random.normal(size=n)), 4),
        (lambda random, n: with_errors(random, n, 15 * np.abs(random.normal(size=n))), 4),
    ],
)
def test_errors_on_both_sides_and_far_errors_are_not_tails(draw, most):
    random = np.random.default_rng(5)
    scale = scale_of("robust", np.stack([draw(random, 1000) for _ in range(400)], axis=1))
    n_tails = np.count_nonzero((scale.low[:, 1:] == scale.high[:, :-1]).any(axis=1))
    assert n_tails <= most  # of 400 columns


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "draw",
    [
        lambda random, n: random.lognormal(0, 1, n),
        lambda random, n: random.exponential(size=n),
        lambda random, n: random.pareto(2.5, n),
        lambda random, n: np.where(random.random(n) < 0.7, 0, random.lognormal(2, 0.8, n)),
    ],
)
def test_long_tails_are_kept_and_pre_images_invert_the_map(draw, sign):
    random = np.random.default_rng(6)
    X = sign * np.stack([draw(random, 2000) for _ in range(50)], axis=1)
    scale = scale_of("robust", X)
    assert scale.left_out.mean() < 0.01
    inside = scale.inside(X)
    Z = scale.to_units(X, "ignore")
    assert_allclose(scale.from_units(Z)[inside], X[inside], rtol=1e-9, atol=1e-9)
    # the map is monotone
    order = np.argsort(X, axis=0)
    steps = np.diff(np.take_along_axis(np.where(inside, Z, np.inf), order, axis=0), axis=0)
    assert (steps[np.isfinite(steps)] >= -1e-9).all()


def with_errors(random, n, errors):
    return np.where(
        random.random(n) < random.choice([0.05, 0.1, 0.2, 0.3]), errors, random.normal(size=n)
    )


@pytest.mark.parametrize(("share", "away"), [(0.2, 6), (0.1, 8), (0.05, 12), (0.05, 100)])
@pytest.mark.parametrize("errors", [0, 0.1])
def test_a_distant_group_is_kept_and_found(share, away, errors):
    random = np.random.default_rng(7)
    y = (random.random(1000) < share).astype(int)
    X = random.normal(size=(1000, 5)) + away * y[:, None] * random.choice([-1, 1], 5)
    X = np.where(random.random(X.shape) < errors, 15 * random.normal(size=X.shape), X)
    labels = RectifiedEulerKMeans(2, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, labels) > (0.75 if errors else 0.95)


def test_groups_on_both_sides_do_not_meet_on_the_circle():
    random = np.random.default_rng(1)
    x = np.concatenate(
        [random.normal(-9, 1, 150), random.normal(0, 1, 700), random.normal(9, 1, 150)]
    )
    scale = scale_of("robust", x[:, None])
    # half-turns at the default alpha
    turns = 0.9 * scale.to_units(np.array([[-9.0], [0.0], [9.0]]), "ignore")[:, 0]
    closeness = np.cos(np.pi * (turns[:, None] - turns))
    assert closeness[0, 2] < 0
    assert closeness[0, 1] < 0.2
    assert closeness[1, 2] < 0.2


@pytest.mark.parametrize("code", [-999.0, 9999.0])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("shape", [normal, counts, yes_no, mostly_zero, ordinal])
def test_a_code_for_unknown_is_ignored_and_changes_the_scale_little(shape, share, code):
    random = np.random.default_rng(int(100 * share))
    clean = np.stack([shape(random, 1000) for _ in range(20)], axis=1)
    coded = np.where(random.random(clean.shape) < share, code, clean)
    before, after = scale_of("robust", clean), scale_of("robust", coded)
    assert not after.inside(np.full((1, 20), code)).any()
    informative = np.array(
        [np.mean(column != np.median(column)) > 0.25 * share for column in clean.T]
    )
    ratio = (after.unit[:, 0] / before.unit[:, 0])[informative]
    assert ratio.max() < 3
    assert ratio.min() > 1 / 3


def test_fractional_weights_count_in_units_of_their_mean():
    random = np.random.default_rng(5)
    X = far_group(random, 500)[:, None]
    w = random.uniform(0.2, 3, 500)
    one = scale_of("robust", X, w)
    other = scale_of("robust", X, 8 * w)
    assert (one.low.tolist(), one.unit.tolist()) == (other.low.tolist(), other.unit.tolist())
