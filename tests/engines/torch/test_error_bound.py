"""The error bound of fp16 scores (error_bound.py) holds in exact arithmetic on adversarial input,
in Triton's interpreter.
"""

import math
import os
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("TRITON_INTERPRET=1 is not set: run make test-gpu-logic", allow_module_level=True)

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from rekmeans.engines.torch.error_bound import (  # noqa: E402
    ACCUMULATORS,
    MARGIN,
    SMALLEST_ERROR,
    relative_error,
    step_loss,
)
from rekmeans.engines.torch.kernels.assignment import distance_bounds, score_groups  # noqa: E402
from rekmeans.engines.torch.launches import launch_kernel  # noqa: E402
from rekmeans.engines.torch.mapped_rows import PackedRows  # noqa: E402
from rekmeans.engines.torch.passes import make_grouped_pass, make_plain_pass  # noqa: E402

GRID = 1 << 23
WIDEST = 49_152  # stored columns for 16 383 columns with missing cells
PLACES = 80  # binary places of the exact sums below


def truncated(value, places):
    """Round an integer towards 0 by removing its last places."""
    size = abs(value) >> places << places if places > 0 else abs(value)
    return size if value >= 0 else -size


def accumulate(products, accumulator):
    """Return the sum of integers, in units of 2^-PLACES, with the model of a tensor core."""
    total = 0
    for start in range(0, len(products), accumulator.terms):
        terms = [total, *products[start : start + accumulator.terms]]
        unit = max(map(abs, terms)).bit_length() - 1 - accumulator.places
        total = sum(truncated(term, unit) for term in terms)
        total = truncated(total, abs(total).bit_length() - 24)
    return total


def lost_products(columns, places):
    """Return a product of 1, then products just below the last place that alignment keeps."""
    lost = Fraction(1, 1 << places) * Fraction(2047, 2048)  # a product of two fp16 numbers
    return [1 << PLACES] + [int(lost * (1 << PLACES))] * (columns - 1)


@pytest.mark.parametrize("columns", [16, 2048, WIDEST])
@pytest.mark.parametrize("major", ACCUMULATORS)
def test_the_accumulator_error_is_most_of_its_bound_and_not_more(major, columns):
    accumulator = ACCUMULATORS[major]
    random = np.random.default_rng(columns)
    exponents = random.integers(PLACES - 28, PLACES, columns)
    signs = random.choice([-1, 1], columns)
    mixed = [int(s) << int(e) for s, e in zip(signs, exponents, strict=True)]
    lost = lost_products(columns, accumulator.places)
    shares = []
    for products in (lost, [-x for x in lost], mixed, sorted(mixed), sorted(mixed, key=abs)):
        error = abs(accumulate(products, accumulator) - sum(products))
        shares.append(error / (columns * step_loss(major) * sum(map(abs, products))))
    assert 0.5 < max(shares) <= 1


@pytest.mark.parametrize("major", ACCUMULATORS)
def test_the_second_order_term_is_below_a_128th(major):
    accumulator = ACCUMULATORS[major]
    linear = WIDEST * step_loss(major)
    error_of_step = Fraction(step_loss(major)) * accumulator.terms
    steps = WIDEST // accumulator.terms
    share = math.expm1(steps * math.log1p(float(error_of_step))) / linear - 1
    assert 2.0**-12 < share < 2.0**-7
    assert (1 + share) < MARGIN


def stored(F):
    """Pack rows (n, 2d) of grid integers as on a GPU. A cell (0, 0) is missing."""
    F = torch.tensor(F, dtype=torch.int32)
    blocks = [(slice(0, len(F)), F)]
    d = F.shape[1] // 2
    return PackedRows(len(F), d, torch.device("cpu"), lambda: iter(blocks), lambda _: F)


def best_scores(rows, C, group):
    """Return the two best computed scores of each row, and A and B of E."""
    passes = make_grouped_pass(rows, None, len(C), False, group)
    passes.set_centroids(torch.tensor(C, dtype=torch.int32))
    buffers = passes.buffers
    assert passes.scoring.G == 1
    T1, T2 = torch.empty(rows.n, 1), torch.empty(rows.n, 1)
    lists = torch.arange(rows.n, dtype=torch.int32)[None]
    counts = torch.tensor([rows.n], dtype=torch.int32)
    halt = torch.zeros(1, dtype=torch.int32)
    launch_kernel(
        score_groups, 1,
        rows.hi, buffers.C, buffers.bias, lists, counts, T1, T2, halt, rows.n,
        P=rows.P, KG=group, G=1, BN=16, BP=16 if rows.P <= 128 else 64, NPROG=1,
    )  # fmt: skip
    return T1[:, 0].tolist(), T2[:, 0].tolist(), *buffers.AB.tolist()


def exact_scores(F, mean, C):
    """Return the exact scores (n, k) over the observed cells, as fractions."""
    d = F.shape[1] // 2
    H = (np.asarray(C) - mean).astype(object)
    scores = []
    for f in F:
        seen = np.tile((f[:d] != 0) | (f[d:] != 0), 2)
        g = np.where(seen, f - mean, 0).astype(object)
        scores.append([Fraction(2 * (g @ h) - (h * h)[seen].sum(), 2 * GRID**2) for h in H])
    return scores


def worst_share(F, C, group=16):
    """Return the largest error of the two best scores of any row, relative to E."""
    F, C = np.asarray(F), np.asarray(C)
    rows = stored(F)
    first, second, A, B = best_scores(rows, C, group)
    worst = 0.0
    for j, exact in enumerate(exact_scores(F, rows.mean.numpy(), C)):
        E = Fraction(float(rows.lengths[j])) * Fraction(A) + Fraction(B)
        order = sorted(exact, reverse=True)
        found = [Fraction(first[j]), Fraction(second[j])][: len(order)]
        for computed, true in zip(found, order, strict=False):
            worst = max(worst, float(abs(computed - true) / E))
    return worst


def opposite(rows):
    """Return these rows and their opposites, so that their mean is 0."""
    return np.concatenate([rows, -np.asarray(rows)])


def test_rounded_operands_take_most_of_the_bound():
    """Use rounding ties of fp16 in all coordinates, so that both rounding errors are parallel to
    the rows.
    """
    x = GRID // 2 + (GRID >> 12)
    C = [[x] * 4, [-x] * 4, [x] * 4]
    assert 0.95 < worst_share(opposite([[x] * 4] * 8), C) <= 1


@pytest.mark.parametrize(("group", "least"), [(16, 0.4), (256, 0.9)])
def test_the_column_number_in_the_low_bits_takes_most_of_the_bound(group, least):
    """Use a score of -a and b that, in units of its last place, is just above a power of two and
    ends in ones.

    Operands of 11 bits are exact in fp16. Column 0 clears all of these bits.
    """
    pairs = [(a, b) for b in range(1025, 2048, 2) for a in range(1024, 2048)]
    score = {(a, b): 2 * a * b + b * b for a, b in pairs}
    a, b = min(
        (pair for pair in pairs if score[pair] > GRID and score[pair] % group == group - 1),
        key=score.get,
    )
    row = [-(a << 12), 0]
    assert least < worst_share(opposite([row] * 2), [[b << 12, 0]] * group, group) <= 1


@pytest.mark.parametrize("k", [1, 2, 15, 16])
@pytest.mark.parametrize("d", [1, 8, 21, 64, 65])
def test_scores_of_rows_at_the_ends_of_the_grid_stay_inside_the_bound(d, k):
    random = np.random.default_rng(100 * d + k)
    angles = random.choice([0.0, 0.5, 1.0, 1.5, 2.0**-12, 0.25], (12, d)) * np.pi
    F = np.rint(np.concatenate([np.cos(angles), np.sin(angles)], 1) * GRID).astype(np.int64)
    C = F[random.integers(0, 12, k)] + random.integers(-1, 2, (k, 2 * d))  # ties and near-ties
    assert 0 < worst_share(F, C) <= 1
    F[random.uniform(size=(12, d)).argmax(0), np.arange(d)] = 0  # the cosine of a missing cell
    F[:, d:][F[:, :d] == 0] = 0
    F[0] = np.where(F[0] == 0, GRID, F[0])
    assert 0 < worst_share(F, C) <= 1


def test_scores_of_the_widest_rows_stay_inside_the_bound():
    random = np.random.default_rng(0)
    d = 16_383
    angles = random.uniform(-1, 1, (3, d)) * np.pi
    F = np.rint(np.concatenate([np.cos(angles), np.sin(angles)], 1) * GRID).astype(np.int64)
    F = np.concatenate([opposite(F[:1]), F])
    F[-1, 5] = F[-1, d + 5] = 0  # a missing cell, so that each column is stored three times
    C = np.concatenate([F[:2], F[:1] + 1, np.rint(F[1:2] * 0.5).astype(np.int64)])
    assert stored(F).P == WIDEST
    assert 0 < worst_share(F, C) <= 1


SPREADS = {"equal rows": [[GRID, 0]] * 40, "opposite rows": [[GRID, 0], [-GRID, 0]] * 20}


@pytest.mark.parametrize("passes", ["bounds", "plain", "groups"])
@pytest.mark.parametrize("k", [2, 3, 16, 17])
@pytest.mark.parametrize("spread", SPREADS)
def test_centroids_at_the_mean_tie_and_the_first_one_wins(spread, k, passes):
    """Use deviations of length 0, so that all measured errors and all scores are 0."""
    rows = stored(SPREADS[spread])
    one = {
        "bounds": lambda: make_plain_pass(rows, None, k, False),
        "plain": lambda: make_plain_pass(rows, None, k, False, use_bounds=False),
        "groups": lambda: make_grouped_pass(rows, None, k, False, group=16),
    }[passes]()
    one.set_centroids(rows.mean.repeat(k, 1))
    one.expect_loss_below(None)
    A, B = one.buffers.AB.tolist()
    assert rows.rho == 0
    assert A == 0
    assert B == SMALLEST_ERROR
    one.run(1)
    assert one.labels_of_rows().tolist() == [0] * rows.n
    assert one.mass().tolist()[0] == rows.n


def test_the_smallest_error_covers_only_the_column_numbers_of_a_tile():
    assert 256 * 2.0**-149 < SMALLEST_ERROR
    shortest = 0.5 * 2.0**-46  # |h|^2/2 of the shortest centroid that is not at the mean
    smallest = relative_error(16, 16, 9) * shortest
    assert np.float32(smallest) + np.float32(SMALLEST_ERROR) == np.float32(smallest)


@triton.jit
def bound_distances(q, t1, t2, e2, upper, lower, N: tl.constexpr):
    at = tl.arange(0, N)
    above, below = distance_bounds(
        tl.load(q + at), tl.load(t1 + at), tl.load(t2 + at), tl.load(e2 + at)
    )
    tl.store(upper + at, above)
    tl.store(lower + at, below)


def test_distance_bounds_hold_in_exact_arithmetic():
    random = np.random.default_rng(3)
    N = 4096
    q = np.exp2(random.uniform(-23, 8, N)).astype(np.float32)
    # distances of all sizes; those much smaller than q are differences of large terms
    distance2 = q.astype(float) ** 2 * np.exp2(random.uniform(-24, 3, N))
    t = ((q.astype(float) ** 2 - distance2) / 2).astype(np.float32)
    e2 = (q.astype(float) ** 2 * np.exp2(random.uniform(-40, -8, N))).astype(np.float32)
    e2[::4] = 0
    arrays = [torch.tensor(x) for x in (q, t, t, e2)]
    upper, lower = torch.empty(N), torch.empty(N)
    launch_kernel(bound_distances, 1, *arrays, upper, lower, N=N)
    for j in range(N):
        longest = Fraction(float(q[j]))
        shortest = longest / (1 + Fraction(5, 1 << 24))  # |g| was rounded up by at most this factor
        most = longest**2 - 2 * Fraction(float(t[j])) + Fraction(float(e2[j]))
        least = shortest**2 - 2 * Fraction(float(t[j])) - Fraction(float(e2[j]))
        above, below = Fraction(float(upper[j])) ** 2, Fraction(float(lower[j])) ** 2
        assert most <= above
        assert below <= max(least, 0)
        size = longest**2 + 2 * abs(Fraction(float(t[j]))) + Fraction(float(e2[j]))
        # and the bounds are not wider than the roundings require
        assert above - most <= 64 * size / (1 << 24)
