"""The compiled robust scale and counts of ignored cells have the bits of the Python code."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rekmeans.scales import robust_scale
from rekmeans.scales.left_out import cells_left_out_by_row
from rekmeans.scales.robust import place_columns
from rekmeans.table import MemoryTable
from rekmeans.table.base import EXACT_ROWS

pytest.importorskip("rekmeans.engines.native._core")

from rekmeans.engines import ENGINES

COMPILED = ENGINES["native"].compiled_functions()
# on both sides of the size at which a radix sort is used
N_ROWS = (1, 2, 3, 4, 5, 17, 178, 700, 3000)


def normal(random, n):
    return random.normal(random.normal(0, 100), random.lognormal(0, 3), n)


def heavy_tails(random, n):
    return random.standard_t(random.uniform(0.5, 4), n)


def skew(random, n):
    return random.choice([-1, 1]) * random.lognormal(0, random.uniform(0.3, 3), n)


def groups(random, n):
    k = int(random.integers(2, 7))
    places = random.normal(0, 10 ** random.uniform(0.5, 4), k)
    spreads = random.lognormal(0, 1, k)
    group = random.choice(k, n, p=random.dirichlet(np.full(k, 0.7)))
    return places[group] + spreads[group] * random.normal(size=n)


def many_groups(random, n):
    """Return more groups than a scale keeps, evenly spaced."""
    return np.where(random.random(n) < 0.6, 0, 14 * random.integers(-9, 10, n)) + random.normal(
        size=n
    )


def far_errors(random, n):
    scatter = 10 ** random.uniform(1, 7)
    return np.where(random.random(n) < 0.2, random.normal(0, scatter, n), random.normal(size=n))


def steps(random, n):
    """Return a few distinct values, some of them distant, and codes."""
    values = np.append(
        random.integers(-6, 7, int(random.integers(2, 9))), random.choice([-999, 9, 25, 99])
    )
    return random.choice(values, n, p=random.dirichlet(np.ones(len(values)))).astype(float)


def counts(random, n):
    return random.poisson(random.gamma(0.5, 3, n)).astype(float)


def rare_counts(random, n):
    return random.poisson(random.uniform(0.02, 0.3), n) * random.choice([-1.0, 1.0, 1.0, 1.0], n)


def mostly_one_value(random, n):
    tie = random.choice([0.0, -3.5, 1e16])
    return np.where(
        random.random(n) < random.uniform(0.4, 0.9), tie, tie + random.normal(0, 5, n).round(1)
    )


def codes(random, n):
    code = random.choice([-999.0, 9999.0, 1e6])
    return np.where(
        random.random(n) < random.uniform(0, 0.3), code, random.poisson(random.uniform(0.2, 3), n)
    )


def gaps(random, n):
    return np.where(
        random.random(n) < random.uniform(0, 1), np.nan, random.normal(-4, 3, n).round(2)
    )


def constants(random, n):
    return np.full(n, random.choice([0.0, -0.0, 7.25, np.nan, 1e149]))


def denormal(random, n):
    return random.integers(-5, 9, n) * random.choice([5e-324, 1e-310, 1e-151, 1e-149])


def huge(random, n):
    return random.standard_t(2, n) * 1e144 + random.choice([0, 1e149])


def skew_with_errors(random, n):
    x = random.choice([-1, 1]) * random.lognormal(0, random.uniform(0.3, 1.5), n)
    errors = 15 * random.choice([np.abs, np.negative])(random.normal(size=n))
    return np.where(random.random(n) < random.choice([0.02, 0.1]), errors, x)


def fees(random, n):
    price = random.choice([-1, 1]) * random.lognormal(0, random.uniform(0.5, 2), n)
    return np.where(random.random(n) < random.uniform(0.5, 0.9), 0.0, price)


def few_with_errors(random, n):
    x = random.integers(0, int(random.integers(3, 12)), n) * 1.0
    return np.where(random.random(n) < 0.15, 20 * random.normal(size=n), x)


def signed_zeros(random, n):
    return random.choice([-0.0, 0.0, 1.0, -2.0], n)


SHAPES = (
    *(
        normal,
        heavy_tails,
        skew,
        groups,
        many_groups,
        far_errors,
        steps,
        counts,
        rare_counts,
        mostly_one_value,
    ),
    *(
        codes,
        gaps,
        constants,
        denormal,
        huge,
        signed_zeros,
        skew_with_errors,
        fees,
        few_with_errors,
    ),
)
WEIGHTS = {
    "none": lambda random, n: None,
    "counts": lambda random, n: random.integers(0, 4, n).astype(float) + (np.arange(n) == 0),
    "fractional": lambda random, n: random.lognormal(0, 2, n),
}


def table_of(n, weights, seed=0):
    """Return a table with several columns of every shape."""
    random = np.random.default_rng((seed, n))
    columns = [shape(random, n) for shape in SHAPES for _ in range(3 if n > 1000 else 8)]
    return MemoryTable(np.stack(columns, axis=1), WEIGHTS[weights](random, n))


def assert_same_bits(table):
    theirs = table.column_summary(n_threads=2)
    ours = replace(theirs, compiled_functions=COMPILED)
    found, expected = (summary.find_compiled(place_columns)(summary) for summary in (ours, theirs))
    different = np.flatnonzero((found.view(np.int64) != expected.view(np.int64)).any(axis=0))
    assert different.tolist() == [], (
        f"{found[:, different[:1]]} is not {expected[:, different[:1]]}"
    )
    scale = robust_scale(ours)
    assert_array_equal(
        *(
            summary.find_compiled(cells_left_out_by_row)(summary, scale)
            for summary in (ours, theirs)
        )
    )


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n", N_ROWS)
def test_columns_of_every_shape_have_the_same_bits(n, weights):
    assert_same_bits(table_of(n, weights))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n", [5, 300, 2000])
def test_sparse_columns_have_the_same_bits(n, weights):
    table = table_of(n, weights, seed=1)
    keep = np.random.default_rng(n).random(table.X.shape) < np.random.default_rng(0).random(
        table.n_columns
    )
    X = sparse.csr_array(np.where(keep, table.X, 0.0))
    X.data[::7] = 0.0  # explicit zeros
    assert_same_bits(MemoryTable(X, table.weights))


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "int64", "uint64", "bool"])
def test_cells_of_every_type_have_the_same_bits(dtype):
    random = np.random.default_rng(3)
    assert_same_bits(MemoryTable((30 * random.gamma(0.5, 1, (900, 40))).astype(dtype)))


@pytest.mark.parametrize(
    "view",
    [
        np.asfortranarray,
        lambda X: X[::-2, ::3],
        lambda X: np.broadcast_to(X[:, :1], X.shape),
        lambda X: X[:, 1:2],
    ],
    ids=["columns first", "every third column backwards", "one column repeated", "one column"],
)
def test_cells_at_any_strides_have_the_same_bits(view):
    assert_same_bits(MemoryTable(view(table_of(700, "none", seed=2).X)))


def test_a_field_of_records_has_the_same_bits():
    records = np.zeros(400, dtype=[("flag", "i1"), ("cells", "f8", (3,))])
    records["cells"] = np.random.default_rng(0).standard_t(2, (400, 3))
    assert_same_bits(MemoryTable(records["cells"]))


@pytest.mark.parametrize(
    "weights", [None, 1 + np.arange(EXACT_ROWS + 5) % 7.0], ids=["equal", "weighted"]
)
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_the_sample_of_a_large_table_has_the_same_bits(weights, as_table):
    random = np.random.default_rng(5)
    X = np.stack([groups(random, EXACT_ROWS + 5), counts(random, EXACT_ROWS + 5)], axis=1)
    assert_same_bits(MemoryTable(as_table(X), weights))


def test_the_reference_engine_has_no_compiled_functions():
    assert ENGINES["reference"].compiled_functions() == {}
