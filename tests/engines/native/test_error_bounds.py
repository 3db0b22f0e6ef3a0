"""Every bound of core/exact/error_bounds.hpp against exact arithmetic, on adversarial input."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

core = pytest.importorskip("rekmeans.engines.native._core")

from support.native import SETS  # noqa: E402

BOUNDS = core.ErrorBounds
GRID = 1 << 23
HALF_ULP = Fraction(1, 1 << 24)
NORM2_ERROR = Fraction(1001, 1000) * HALF_ULP  # of |g|^2 as a float32
WAYS = ("float", "dot", "few", "bytes", "sparse", "sparse dot", "pairs")
ONE = GRID  # coordinates in grid units
TINY = (1 << 11) + 1  # its square is just above half a unit in the last place of 1
MAX_COLUMNS = core.MAX_COLUMNS


def exact_scores(G, missing, H):
    """Twice the scores T (n, k) in units of 2^-46, as integers."""
    G, H = G.astype(object), H.astype(object)
    squares = H * H
    d = missing.shape[1]
    gains = missing.astype(object) @ (squares[:, :d] + squares[:, d:]).T
    return 2 * (G @ H.T) - squares.sum(1) + gains


def score_rows(G, missing, H, way, isa):
    """What the core finds, or None where it has no such way."""
    arrays = [np.ascontiguousarray(a, dtype=np.int32) for a in (G, missing, H)]
    if not BOUNDS.has_way(way, isa, len(H)):
        return None
    return BOUNDS.score_rows(*arrays, way, isa)


def worst_share(G, H, way, isa, missing=None):
    """The largest share of its bound that the error of a score takes, 0 where there is no such way.

    What the scores prove, winners and bounds of distances, is compared with exact distances.
    """
    G, H = np.asarray(G), np.asarray(H)
    missing = np.zeros((len(G), G.shape[1] // 2), bool) if missing is None else missing
    assert not (G * np.tile(missing, 2)).any()
    found = score_rows(G, missing, H, way, isa)
    if found is None:
        return 0.0
    scores, errors, winners, _, _, upper, lower, certain = found
    doubled = exact_scores(G, missing, H)
    worst = 0.0
    for j in range(len(G)):
        for c in range(len(H)):
            difference = abs(Fraction(float(scores[j, c])) - Fraction(doubled[j, c], 2 * GRID**2))
            assert difference <= Fraction(float(errors[j]))
            if difference:
                worst = max(worst, float(difference / Fraction(float(errors[j]))))
        distances = (G[j].astype(object) ** 2).sum() - doubled[j]
        own = distances[winners[j]]
        others = np.delete(distances, winners[j])
        assert own <= (Fraction(float(upper[j])) * GRID) ** 2
        assert all((Fraction(float(lower[j])) * GRID) ** 2 <= D for D in others)
        if certain[j]:
            assert all(own < D for D in others)
    return worst


def chains(n_products, length, step=1):
    """A row of 1 and then values whose products round up as long as the sum is below 2.

    Each of the sums of `length` products after the first is one such product.
    """
    row = np.zeros(n_products, dtype=np.int64)
    row[: length * step : step] = TINY
    row[length * step :: length * step] = TINY
    row[0] = ONE
    return row


def interleaved(cells):
    """The row whose cells hold these cosines and sines by turns."""
    return np.concatenate([cells[::2], cells[1::2]])


@pytest.mark.parametrize("p", [2, 128, 130, 1024, 2 * MAX_COLUMNS])
@pytest.mark.parametrize("isa", SETS)
def test_sums_that_always_round_up_take_most_of_the_bound(isa, p):
    row = chains(p, 128)
    least = 0.8 if p >= 128 else 0.0
    for k in (1, 2):
        assert least < worst_share([row], [row] * k, "float", isa) <= 1
    share = worst_share([row], [row] * 12, "few", isa)
    assert least < share <= 1 or (share == 0 and isa in ("baseline", "avx2"))
    assert worst_share([row], [row], "dot", isa) <= 1


@pytest.mark.parametrize("p", [128, 1024, 2 * MAX_COLUMNS])
@pytest.mark.parametrize("isa", SETS)
def test_sums_of_stored_cells_that_always_round_up_take_most_of_the_bound(isa, p):
    row = interleaved(chains(p, 128))
    shares = [worst_share([row], [row] * k, "sparse", isa) for k in (1, 8, 16, 40)]
    assert max(shares) <= 1
    assert isa not in ("avx512", "vnni") or max(shares) > 0.8


@pytest.mark.parametrize("isa", SETS)
def test_a_distance_of_stored_cells_that_always_rounds_up_stays_inside_the_bound(isa):
    shares = []
    for width in (4, 8, 16):
        for n_cells in (63 * width, 64 * width - 1, 64 * width, 65 * width - 1):
            cells = np.full((n_cells, 2), TINY)
            cells[0] = ONE, TINY
            row = cells.T.ravel()
            shares.append(worst_share([row], [row], "sparse dot", isa))
    assert 0.6 < max(shares) <= 1


@pytest.mark.parametrize("way", ["float", "sparse"])
def test_missing_cells_whose_gains_always_round_up_take_a_third_of_the_bound(way):
    """The derivation in error_bounds.hpp says that MISSING_ROUNDINGS is twice what is needed."""
    d = MAX_COLUMNS
    row = np.zeros(2 * d, dtype=np.int64)
    row[0] = ONE
    missing = np.arange(d) > 0
    h = np.where(np.tile(missing, 2), TINY, row)  # each gain is TINY^2
    assert 0.3 < worst_share([row], [h], way, "", missing[None]) <= 0.5


@pytest.mark.parametrize("p", [256, 4096, 1 << 15])
def test_rests_of_8_bits_take_most_of_the_bound(p):
    """Rows and centroids are parallel to what rounding them to 8 bits leaves."""
    step = 1 << 16
    row = np.full(p, 100 * step + step // 2 - 8)  # nearly half of a step above an integer
    row[0] = 127 * step
    share = worst_share([row], [row] * 3, "bytes", "")
    if share:
        assert 0.95 < share <= 1


@pytest.mark.parametrize("d", [400, 3000, 1 << 14])
def test_rests_of_16_bits_take_most_of_the_bound(d):
    def rest(d):
        return 46000 / 1.001 / np.sqrt(2 * d) % 1

    d = max(range(d, d + 60), key=lambda d: (0.3 < rest(d) < 0.495) * rest(d))
    row = np.full(2 * d, GRID - 1)
    share = worst_share([row], [row] * 3, "pairs", "")
    if share:
        assert 0.85 < share <= 1


def hard_rows(random, n, d, kind):
    """Centred rows or centroids, (n, 2d) grid integers."""
    shape = (n, 2 * d)
    if kind == "ends":  # of the grid: opposite points of the circle are 2 apart
        rows = random.choice([-2 * GRID, 2 * GRID], shape)
        rows[:, d:] = random.integers(-3, 4, (n, d))
        return rows
    if kind == "units":  # the smallest deviations there are
        return random.integers(-1, 2, shape)
    if kind == "cancelling":  # large products of both signs
        rows = random.integers(GRID, 11 * GRID // 8, shape)
        rows[:, ::2] *= -1
        return rows
    exponents = random.integers(0, 24, shape)
    return random.choice([-1, 1], shape) << exponents  # "all sizes"


@pytest.mark.parametrize("kind", ["ends", "units", "cancelling", "all sizes"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("isa", SETS)
def test_scores_and_what_they_prove_hold_in_exact_arithmetic(isa, way, kind):
    """Sizes at the ends of tiles; near-ties: centroids that differ in one unit of the grid."""
    random = np.random.default_rng([WAYS.index(way), len(kind)])
    for d, k in [(1, 1), (1, 12), (15, 2), (17, 17), (64, 8), (65, 33), (130, 12), (9, 65)]:
        G = hard_rows(random, 5, d, kind)
        H = hard_rows(random, k, d, kind)
        H[k // 2 :] = H[: k - k // 2]
        H[k // 2 :, 0] += random.integers(-1, 2, k - k // 2)
        H = np.clip(H, -2 * GRID, 2 * GRID)
        G[0] = H[0]
        assert worst_share(G, H, way, isa) <= 1
        missing = random.uniform(size=(5, d)) < [[0], [0.1], [0.5], [0.9], [1]]
        assert worst_share(np.where(np.tile(missing, 2), 0, G), H, way, isa, missing) <= 1


@pytest.mark.parametrize("way", WAYS)
def test_the_widest_rows_hold_in_exact_arithmetic(way):
    random = np.random.default_rng(WAYS.index(way))
    d = 1 << 14 if way == "bytes" else MAX_COLUMNS
    G = np.concatenate([hard_rows(random, 1, d, kind) for kind in ("ends", "cancelling")])
    H = np.concatenate([G, hard_rows(random, 1, d, "ends"), np.zeros((1, 2 * d), dtype=int)])
    assert worst_share(G, H, way, "") <= 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("isa", SETS)
def test_centroids_on_the_base_tie_and_none_is_certain(isa, way):
    """All deviations have length 0, and so have the steps of 8 and 16 bits."""
    G = np.zeros((3, 6), dtype=int)
    G[1] = 5
    for k in (2, 12, 17):
        found = score_rows(G, np.zeros((3, 3)), np.zeros((k, 6)), way, isa)
        if found is not None:
            for numbers in found:
                assert np.isfinite(numbers).all()
            assert not found[-1].any()
    assert worst_share(G, np.zeros((2, 6), dtype=int), way, isa) == 0


def random_floats(random, n, low, high):
    return np.exp2(random.uniform(low, high, n)).astype(np.float32)


def hard_certificates(random, n):
    """norm2, error, best and second: terms that cancel, and errors of all sizes beside them."""
    norm2 = random_floats(random, n, -60, 17)
    best = (norm2 * random.choice([0, 0.5, 0.5, 0.499, -1, 1e-3], n)).astype(np.float32)
    best += (norm2 * random.normal(size=n) * 2.0**-20).astype(np.float32)
    error = (norm2 * np.exp2(random.uniform(-30, 40, n))).astype(np.float32)
    gap = error * random.choice([0, 0.5, 1, 1.5, 2, 2.000001, 2.1, 100], n)
    return norm2, error, best, (best - gap).astype(np.float32)


@pytest.mark.parametrize("isa", SETS)
def test_certificates_hold_in_exact_arithmetic(isa):
    random = np.random.default_rng(0)
    norm2, error, best, second = hard_certificates(random, 20_000)
    second[:100] = -3e38  # no other centroid
    upper, lower, certain = BOUNDS.certify(norm2, error, best, second, isa)
    assert 0.1 < certain.mean() < 0.9
    arrays = (norm2, error, best, second, upper, lower)
    for j, floats in enumerate(zip(*arrays, strict=True)):
        n2, e, s, other, above, below = (Fraction(float(x)) for x in floats)
        if certain[j]:
            assert s - other > 2 * e
        assert n2 * (1 + NORM2_ERROR) - 2 * s + 2 * e <= above**2
        assert below**2 <= max(0, n2 * (1 - NORM2_ERROR) - 2 * other - 2 * e)


def test_a_label_is_certified_only_beyond_twice_the_error():
    """Ties that either label may win: both scores err by `error` towards each other."""
    for second, is_certain in [(0.75, 0), (0.5 + 2.0**-24, 0), (0.5, 0), (0.5 - 2.0**-24, 1)]:
        norm2, error, best, other = (np.array([x], np.float32) for x in (4.0, 0.25, 1.0, second))
        assert BOUNDS.certify(norm2, error, best, other, "")[2][0] == is_certain


@pytest.mark.parametrize("isa", SETS)
def test_loosened_bounds_hold_in_exact_arithmetic(isa):
    random = np.random.default_rng(1)
    n = 5000
    for k in (1, 2, 9):
        drift = random_floats(random, k, -30, 4)
        drift[k // 2 :] = drift[0] if random.uniform() < 0.5 else drift[k // 2 :]
        labels = random.integers(0, k, n).astype(np.int32)
        upper = random_floats(random, n, -30, 9)
        lower = (upper * random.choice([-1, 0, 0.9, 1, 1.00001, 2, 1e3], n)).astype(np.float32)
        above, below, is_open = BOUNDS.loosen_bounds(labels, drift, upper, lower, isa)
        moved = [Fraction(float(x)) for x in drift]
        for j in range(n):
            own = labels[j]
            farthest = max(moved[:own] + moved[own + 1 :], default=Fraction(0))
            assert Fraction(float(upper[j])) + moved[own] <= Fraction(float(above[j]))
            assert Fraction(float(below[j])) <= Fraction(float(lower[j])) - farthest
            assert is_open[j] == (above[j] >= below[j])


def test_bars_of_seeding_hold_in_exact_arithmetic():
    random = np.random.default_rng(2)
    n = 20_000
    norm2 = random_floats(random, n, -46, 17)
    near = np.minimum(norm2 * 2.0**46 * random.choice([1, 0.9999999, 1.0000001, 2, 0.1], n), 2**62)
    limit = near.astype(np.int64)
    limit[:50] = (1 << 63) - 1  # no centroid yet
    error = (norm2 * random.choice([0, 1e-9, 1e-6, 1, 1e3], n)).astype(np.float32)
    bars = BOUNDS.near_bars(norm2, limit, error)
    for n2, most, e, bar in zip(norm2, limit, error, bars, strict=True):
        length2 = Fraction(float(n2)) * (1 - NORM2_ERROR)
        needed = (length2 - Fraction(int(most), GRID**2)) / 2 - Fraction(float(e))
        assert Fraction(float(bar)) <= needed


def test_lengths_and_their_sums_hold_in_exact_arithmetic():
    random = np.random.default_rng(4)
    for size in np.exp2(random.uniform(0, 63, 2000)):
        D = min(int(size), (1 << 63) - 1)
        assert Fraction(BOUNDS.length_above(D)) ** 2 >= D
        assert Fraction(BOUNDS.length_below(float(D))) ** 2 <= D
        x = float(size) / 3
        assert x <= Fraction(BOUNDS.float_above(x)) <= x * (1 + 8 * HALF_ULP)
    for _ in range(20_000):
        size = int(np.exp2(random.uniform(8, 60)))
        own, limit = (int(x) for x in random.integers(size // 16, size, 2))
        # a candidate on the line through both, as far as the triangle inequality allows
        lengths = [BOUNDS.length_above(own), BOUNDS.length_above(limit)]
        reach = own + limit + isqrt(4 * own * limit)
        assert not BOUNDS.is_beyond(*lengths, BOUNDS.length_below(float(reach) * (1 - 2**-52)))
        assert BOUNDS.is_beyond(*lengths, BOUNDS.length_below(1.00001 * reach + 4))


def test_candidates_are_never_below_their_bar():
    random = np.random.default_rng(5)
    for best, error in zip(
        random.normal(size=2000), random_floats(random, 2000, -30, 2), strict=True
    ):
        best = np.float32(best)
        least = Fraction(float(best)) - 2 * Fraction(float(error))  # what the winner may score
        candidate = np.float32(float(least))
        if Fraction(float(candidate)) < least:
            candidate = np.nextafter(candidate, np.float32(np.inf))
        bar = BOUNDS.candidate_bar(best, error)
        assert candidate >= bar
        # a centroid below the bar scores less than this in float32, up to an error of 142 roundings
        excluded = Fraction(float(np.nextafter(np.float32(bar), np.float32(-np.inf))))
        size = abs(Fraction(float(best))) + Fraction(float(error))
        allowed = Fraction(BOUNDS.ruled_out_score(bar, error)) + 2 * HALF_ULP * size
        assert excluded + Fraction(float(error)) <= allowed


def test_errors_of_few_bits_hold_in_exact_arithmetic():
    random = np.random.default_rng(6)
    length, largest = (random_floats(random, 5000, -20, 8) for _ in range(2))
    rest, centroid_rest = (
        (x * random.choice([0, 1e-4, 0.7], 5000)).astype(np.float32) for x in (length, largest)
    )
    errors = BOUNDS.quantized_errors(length, rest, largest, centroid_rest)
    for floats in zip(length, rest, largest, centroid_rest, errors, strict=True):
        g, r, h, s, error = (Fraction(float(x)) for x in floats)
        rests = r * h + (g + r) * s
        roundings = 5 * HALF_ULP * (g + r) * (h + s)
        missing = Fraction(1, 1024) * rests  # 2^14 missing cells
        assert rests + roundings + missing <= error


def test_panels_add_up_as_many_columns_as_float64_holds_exactly():
    """A column has at most (2 + 2^-22)^2: two points of radius 1 + 2^-22 and 1 + 2^-23."""
    largest = (2 * GRID + 3) ** 2
    assert BOUNDS.EXACT_COLUMNS * largest < 1 << 53 < (BOUNDS.EXACT_COLUMNS + 1) * largest
