"""All engines and block borders give the same bits as a single block and as Python integers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from rekmeans import (
    EulerKMeans,
    RectifiedEulerKMeans,
)
from rekmeans._grid import GRID, integer_weights
from rekmeans.assignment import Hard
from rekmeans.centroids import mean, rectified
from rekmeans.engines.native.exact import NativeRows
from rekmeans.engines.reference import ReferenceRows
from rekmeans.kernels.euler import MAX_INT64_COLUMNS, OnCircles
from rekmeans.lloyd import run
from rekmeans.model import Model, Stop
from rekmeans.seeding import STARTS
from rekmeans.table import MemoryTable
from support.assertions import assert_same_run
from support.blocks import CUTS, borders, example
from support.models import euler, scale_of, watch_passes

PLACES = {  # (kernel, table, block borders) -> Rows; add new engines here
    "reference": ReferenceRows,
    # chooses its own block borders
    "native": lambda kernel, table, borders: NativeRows(kernel, table, threads=2),
}
engines = pytest.mark.parametrize("engine", PLACES)
rules = pytest.mark.parametrize("rule", [mean, rectified])


NAMES = [
    "plain",
    "weights",
    "gaps",
    "weights and gaps",
    "scaled weights and gaps",
    "small alpha",
    "many columns",
]
examples = pytest.mark.parametrize("name", NAMES)
cuts = pytest.mark.parametrize("kind", CUTS)


def one_block_and_blocks(engine, name, kind):
    """Return the rows of an example in one block of the reference, and in blocks on the engine."""
    kernel, table = example(name)
    n = len(table.X)
    return ReferenceRows(kernel, table, borders(n, "one block")), PLACES[engine](
        kernel, table, borders(n, kind)
    )


def fit_on(rows, rule, d):
    start = rows.kernel.from_points(np.tile(np.linspace(0, 2, 4)[:, None], d))
    return run(rows, Model(rows.kernel, Hard(), rule), start, Stop(8, 0.0), watch_passes)


@engines
@rules
@examples
@cuts
def test_any_blocks_give_the_same_fit(engine, rule, name, kind):
    d = example(name)[1].X.shape[1]
    one_block, cut = (fit_on(rows, rule, d) for rows in one_block_and_blocks(engine, name, kind))
    assert one_block.n_iter > 1
    assert_same_run(one_block, cut)


@engines
@examples
@cuts
@pytest.mark.parametrize("start", ["k-means++", "random"])
def test_any_blocks_give_the_same_starts(engine, name, kind, start):
    one_block, cut = (
        STARTS[start](rows, 6, np.random.PCG64(3))
        for rows in one_block_and_blocks(engine, name, kind)
    )
    assert one_block == cut


@engines
@examples
@cuts
def test_any_blocks_give_the_same_farthest_row_and_phase_sums(engine, name, kind):
    one_block, cut = one_block_and_blocks(engine, name, kind)
    labels = np.random.default_rng(0).integers(0, 3, len(one_block)).astype(np.int32)
    assert_array_equal(one_block.phase_sums(labels, 3), cut.phase_sums(labels, 3))
    one, two = (rows.farthest(OnCircles(one_block.F[:3])) for rows in (one_block, cut))
    assert (one.loss, one.number) == (two.loss, two.number)
    assert_array_equal(one.mapped, two.mapped)


@engines
@rules
@given(inner=st.sets(st.integers(1, 39)), name=st.sampled_from(NAMES[:-1]))
@settings(max_examples=25)
def test_any_block_borders_give_the_same_fit(engine, rule, inner, name):
    kernel, table = example(name, n=40)
    fits = []
    for rows in (
        ReferenceRows(kernel, table),
        PLACES[engine](kernel, table, np.array([0, *sorted(inner), 40])),
    ):
        start = STARTS["k-means++"](rows, 3, np.random.PCG64(len(inner)))
        fits.append(run(rows, Model(kernel, Hard(), rule), start, Stop(300, 0.0), watch_passes))
    assert_same_run(*fits)


@pytest.mark.parametrize("engine", ["auto", *PLACES])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", [EulerKMeans, RectifiedEulerKMeans])
def test_an_estimator_gives_the_same_bits_on_any_engine_and_any_threads(engine, threads, method):
    X = example("gaps")[1].X
    with threadpool_limits(1):
        one = method(4, random_state=0, engine="reference", n_threads=1).fit(X)
    two = method(4, random_state=0, engine=engine, n_threads=threads).fit(X)
    for name in ("labels_", "centroids_", "cluster_centers_", "inertia_", "n_iter_"):
        assert_array_equal(getattr(one, name), getattr(two, name))
    assert_array_equal(one.history_["inertia"], two.history_["inertia"])
    assert_array_equal(one.transform(X), two.transform(X))
    assert_array_equal(one.score_samples(X), two.score_samples(X))


# Python integers


def integer_pass(F, C, w):
    """Return labels, sum w |f - m|^2, totals and counts of one pass over lists of integers. (0, 0)
    is a missing cell.
    """
    d = len(F[0]) // 2
    labels = []
    loss = 0
    totals, counts = [[0] * (2 * d) for _ in C], [[0] * (2 * d) for _ in C]
    for f, weight in zip(F, w, strict=True):
        there = [i for i in range(2 * d) if f[i] or f[i - d]]
        D = [sum((f[i] - m[i]) ** 2 for i in there) for m in C]
        c = D.index(min(D))
        labels.append(c)
        loss += weight * D[c]
        for i in there:
            totals[c][i] += weight * f[i]
            counts[c][i] += weight
    return labels, loss, totals, counts


def on_circle(a, b):
    """Return a/sqrt(a^2 + b^2) rounded to the grid, computed from the integer square root of its
    doubled square.
    """
    size = (math.isqrt((2 * GRID * a) ** 2 // (a * a + b * b)) + 1) // 2
    return size if a > 0 else -size


NEXT = {mean: lambda a, b, count: round(a / count), rectified: lambda a, b, count: on_circle(a, b)}


def assert_integer_pass(rows, rule, F, C, w):
    """Check labels, loss, masses and the next centroids against Python integers."""
    one_pass = rows.start_run(Model(rows.kernel, Hard(), rule))
    d = C.shape[1] // 2
    sums = one_pass.assign(OnCircles(C)).sums
    (labels, loss, totals, counts) = integer_pass(F.tolist(), C.tolist(), w.tolist())
    assert one_pass.labels().tolist() == labels
    assert sums.loss == loss
    assert sums.mass.tolist() == [sum(w[one_pass.labels() == c].tolist()) for c in range(len(C))]
    following = [
        [NEXT[rule](S[i], S[i - d], count[i]) if count[i] else m[i] for i in range(2 * d)]
        for S, count, m in zip(totals, counts, C.tolist(), strict=True)
    ]
    assert one_pass.update(sums, OnCircles(C)).f.tolist() == following


@engines
@rules
@examples
@pytest.mark.parametrize("kind", ["one block", "hundred rows a block"])
def test_a_pass_equals_python_integers(engine, rule, name, kind):
    one_block, rows = one_block_and_blocks(engine, name, kind)
    in_square = np.random.default_rng(0).integers(-GRID, GRID + 1, (2, one_block.F.shape[1]))
    inside = (in_square / np.sqrt(2)).astype(np.int32)  # inside the circles
    on_rows = one_block.rows_as_centroids(np.array([0, 1])).f
    assert_integer_pass(rows, rule, one_block.F, np.concatenate([inside, on_rows]), one_block.w)


def wide(d, weighted=False):
    """Return six rows with d columns: two opposite rows, so that |f - m|^2 is 2^48 d, and random
    rows with missing cells.
    """
    rng = np.random.default_rng(d)
    X = np.concatenate([np.zeros((1, d)), np.ones((1, d)), rng.uniform(0, 2, (4, d))])
    X[3:, ::3] = np.nan
    return euler(1.0, scale_of(None, X)), MemoryTable(X, rng.uniform(1, 2, 6) if weighted else None)


@engines
@rules
@pytest.mark.parametrize("d", [MAX_INT64_COLUMNS, MAX_INT64_COLUMNS + 1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("borders", [[0, 6], [0, 2, 6]])
def test_a_pass_over_wide_rows_equals_python_integers(engine, rule, d, weighted, borders):
    kernel, table = wide(d, weighted)
    if engine == "native" and d > MAX_INT64_COLUMNS:
        with pytest.raises(ValueError, match=f"supports 1 to {MAX_INT64_COLUMNS} columns, got {d}"):
            PLACES[engine](kernel, table, np.array(borders))
        return
    rows = PLACES[engine](kernel, table, np.array(borders))
    F = kernel.embed(table.X)
    assert kernel.distance(F[:2], OnCircles(F[:2])).tolist() == [[0, d << 48], [d << 48, 0]]
    w = integer_weights(table.weights)[0] if weighted else np.ones(6, np.int64)
    assert_integer_pass(rows, rule, F, F[:2], w)


@engines
@pytest.mark.parametrize(("rule", "weighted"), [(mean, True), (rectified, False)])
def test_any_blocks_of_wide_rows_give_the_same_fit_from_the_same_starts(engine, rule, weighted):
    # more columns than the native engine supports
    kernel, table = wide(MAX_INT64_COLUMNS + (engine != "native"), weighted)
    fits = []
    for cut in ([0, 6], [0, 1, 4, 6]):
        rows = PLACES[engine](kernel, table, np.array(cut))
        start = STARTS["k-means++"](rows, 3, np.random.PCG64(3))
        fits.append(run(rows, Model(kernel, Hard(), rule), start, Stop(8, 0.0), watch_passes))
    assert len(set(fits[0].labels)) == 3
    assert_same_run(*fits)
