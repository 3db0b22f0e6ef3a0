"""Tables with few rows and very many columns: no step loops over the columns in Python."""

import sys
from functools import partial
from itertools import combinations
from time import perf_counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from rekmeans import EulerKMeans, EulerMap, MultipleKernelKMeans, RectifiedEulerKMeans
from rekmeans.kernels.euler import MAX_INT64_COLUMNS
from rekmeans.scales import robust_scale
from rekmeans.table import MemoryTable
from rekmeans.table.validation import as_rows
from support.clusterers import CLUSTERERS

WIDE = MAX_INT64_COLUMNS + 1000  # number of columns at which distances need more than 64 bits
TALL_AS_WIDE = {
    name: make
    for name, make in CLUSTERERS.items()
    if "precomputed" not in name and "Mahala" not in name
}


def count_calls(call):
    """Return the number of Python functions that `call` calls, a machine-independent cost."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


def two_groups(d, seed=0):
    """Return three rows; the last two are close to each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, d))
    X[2] = X[1] + 0.01 * rng.normal(size=d)
    return X


@pytest.mark.parametrize("name", TALL_AS_WIDE)
@pytest.mark.filterwarnings("ignore")
def test_the_number_of_calls_does_not_grow_with_the_columns(name):
    """A single thread is used, so that all calls are counted."""
    model = TALL_AS_WIDE[name](random_state=0, n_threads=1, max_iter=3, scale="robust")
    few, many = (count_calls(partial(model.fit, two_groups(d))) for d in (50, 5000))
    assert many < few + 3000


@pytest.mark.parametrize("method", [RectifiedEulerKMeans, EulerKMeans])
def test_three_rows_of_a_hundred_thousand_columns_are_fitted_fast(method):
    """This took 12 seconds. Now it takes 0.8, and four fifths of it are exact distances."""
    X = two_groups(100_000)
    started = perf_counter()
    model = method(2, random_state=0).fit(X)
    assert perf_counter() - started < 8
    assert model.labels_[0] != model.labels_[1] == model.labels_[2]


@pytest.mark.parametrize(
    "options", [{}, {"kernels": (0.4, ("rbf", 1.0))}, {"kernels": (0.4, 0.9), "shared": True}]
)
def test_multiple_kernels_support_distances_beyond_64_bits(options):
    model = MultipleKernelKMeans(2, random_state=0, max_iter=3, **options).fit(two_groups(WIDE))
    assert model.labels_[0] != model.labels_[1] == model.labels_[2]


def test_the_map_supports_distances_beyond_64_bits():
    X = two_groups(20_000)
    assert count_calls(lambda: EulerMap().fit(X).transform(X)) < 3000


@pytest.mark.parametrize("weights", [None, np.array([1.0, 3.0, 2.0, 1.0, 0.0, 4.0, 1.0])])
def test_the_scale_of_many_columns_is_that_of_each_column_alone(weights):
    rng = np.random.default_rng(1)
    X = rng.standard_cauchy((7, 400)) * 10.0 ** rng.integers(-9, 9, 400)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, :40] = np.rint(X[:, 40:80])  # ties
    X[:, 80] = np.nan
    X[:, 81] = 5.0
    together = robust_scale(MemoryTable(X, weights).column_summary())
    for j in range(400):
        alone = robust_scale(MemoryTable(X[:, [j]], weights).column_summary())
        m = alone.low.shape[1]
        assert_array_equal(
            [alone.shift[0], alone.low[0]], [together.shift[j, :m], together.low[j, :m]]
        )
        assert np.isnan(together.low[j, m:]).all()
        assert alone.unit[0] == together.unit[j]


# Data frames


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(
        {name: pa.array(values) for name, values in columns.items()}
    ),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_frame_of_many_columns_is_read_fast(make):
    """This took 60 to 100 microseconds per column."""
    X = two_groups(3000)
    frame = make({f"c{j}": x for j, x in enumerate(X.T)})
    calls = count_calls(lambda: as_rows(frame))
    # the frame itself makes a few calls per column; reading columns one by one took over a hundred
    assert calls < 20 * 3000
    assert_array_equal(as_rows(frame), X)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("text", [False, True])
def test_integers_that_float64_rounds_are_read_from_any_frame(make, text):
    """Arrow raises an error if such integers are cast to float64."""
    columns = {
        "a": np.array([2**62 + 1, 5, 2**53 + 1]),
        "b": np.array([2**64 - 1, 1, 2], np.uint64),
    }
    if text:  # text in a column: columns are then read one by one
        with pytest.raises(ValueError, match=r"column 'c' is not: found str_?\. Drop or encode it"):
            as_rows(make(columns | {"c": ["x", "y", "z"]}))
    else:
        assert_array_equal(
            as_rows(make(columns)), np.stack([x.astype(float) for x in columns.values()], axis=1)
        )


@pytest.mark.parametrize(
    "names", list(combinations(("float", "gaps", "int", "bool", "small", "unsigned"), 2))
)
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_read_together_equal_those_read_one_by_one(make, names):
    cells = {
        "float": [0.1, -2.0, 1e100],
        "gaps": [1.5, None, 2.0],
        "int": [2**60 + 1, -3, 4],
        "bool": [True, False, True],
        "small": np.array([1.1, 2.2, 3.3], np.float32),
        "unsigned": np.array([250, 3, 0], np.uint8),
    }
    together = as_rows(make({name: cells[name] for name in names}))
    alone = [as_rows(make({name: cells[name], "one": [1, 1, 1]}))[:, 0] for name in names]
    assert together.dtype == np.float64
    assert_array_equal(together, np.stack(alone, axis=1))
