"""Every engine, every way to cut the rows: the same bits as one block of the reference and as Python's integers.

Where rows pull by real numbers, the same to the rounding of sums, and the same bits for any number of threads.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from rekmeans import (
    EulerKMeans,
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
)
from rekmeans._grid import GRID, integer_weights
from rekmeans.assignment import Fuzzy, Hard, SomNeighbourhood
from rekmeans.assignment import NeuralGas as Gas
from rekmeans.centroids import mean, rectified
from rekmeans.engines.native import exact
from rekmeans.engines.native.exact import NativeRows
from rekmeans.engines.reference import ReferenceRows
from rekmeans.kernels import KERNELS
from rekmeans.kernels.euler import NARROW, OnCircles
from rekmeans.lloyd import run
from rekmeans.model import Model, Stop
from rekmeans.seeding import STARTS
from rekmeans.table import MemoryTable
from support.assertions import assert_same_run
from support.models import euler, place_rows, scale_of, watch_passes
from support.native import SETS

PLACES = {  # (kernel, table, block borders) -> Rows; one more engine is one more entry
    "reference": ReferenceRows,
    "native": lambda kernel, table, borders: NativeRows(kernel, table, threads=2),  # cuts its rows by itself
}
engines = pytest.mark.parametrize("engine", PLACES)
rules = pytest.mark.parametrize("rule", [mean, rectified])


def example(name, n=900):
    """(kernel, table) of a name; most rows lie together, so that their weighted sums need more than 64 bits."""
    rng = np.random.default_rng(5)
    n, d = (300, 400) if name == "many columns" else (n, 3)
    X = rng.uniform(0, 2, (5, d))[np.minimum(rng.geometric(0.8, n) - 1, 4)] + 0.3 * rng.standard_t(3, (n, d))
    if "gaps" in name:
        X[rng.uniform(size=X.shape) < 0.2] = np.nan
        X[np.isnan(X).all(axis=1)] = 1.0
    weights = rng.uniform(0.9, 1, n) if "weights" in name else None
    if "scaled" in name:
        return euler(0.75, scale_of("robust", X, weights), "ignore"), MemoryTable(X, weights)
    return euler({"small alpha": 1e-3, "many columns": 1.0}.get(name, 0.3), scale_of(None, X)), MemoryTable(X, weights)


NAMES = ["plain", "weights", "gaps", "weights and gaps", "scaled weights and gaps", "small alpha", "many columns"]
examples = pytest.mark.parametrize("name", NAMES)


def borders(n, kind):
    """Block borders of a table of n rows."""
    inner = {
        "one block": [],
        "seven rows a block": range(7, n, 7),
        "hundred rows a block": range(100, n, 100),
        "uneven": np.unique(np.random.default_rng(1).integers(1, n, 6)),
    }[kind]
    return np.array([0, *inner, n])


CUTS = ["seven rows a block", "hundred rows a block", "uneven"]
cuts = pytest.mark.parametrize("kind", CUTS)


def whole_and_cut(engine, name, kind):
    """The rows of an example in one block of the reference, and cut on the engine."""
    kernel, table = example(name)
    n = len(table.X)
    return ReferenceRows(kernel, table, borders(n, "one block")), PLACES[engine](kernel, table, borders(n, kind))


def fit_on(rows, rule, d):
    start = rows.kernel.from_points(np.tile(np.linspace(0, 2, 4)[:, None], d))
    return run(rows, Model(rows.kernel, Hard(), rule), start, Stop(8, 0.0), watch_passes)


@engines
@rules
@examples
@cuts
def test_any_cut_of_the_rows_gives_the_same_fit(engine, rule, name, kind):
    d = example(name)[1].X.shape[1]
    whole, cut = (fit_on(rows, rule, d) for rows in whole_and_cut(engine, name, kind))
    assert whole.n_iter > 1
    assert_same_run(whole, cut)


@engines
@examples
@cuts
@pytest.mark.parametrize("start", ["k-means++", "random"])
def test_any_cut_of_the_rows_gives_the_same_seeds(engine, name, kind, start):
    whole, cut = (STARTS[start](rows, 6, np.random.PCG64(3)) for rows in whole_and_cut(engine, name, kind))
    assert whole == cut


@engines
@examples
@cuts
def test_any_cut_of_the_rows_gives_the_same_farthest_row_and_middles(engine, name, kind):
    whole, cut = whole_and_cut(engine, name, kind)
    labels = np.random.default_rng(0).integers(0, 3, len(whole)).astype(np.int32)
    assert_array_equal(whole.mean_phases(labels, 3), cut.mean_phases(labels, 3))
    one, two = (rows.farthest(OnCircles(whole.F[:3])) for rows in (whole, cut))
    assert (one.loss, one.number) == (two.loss, two.number)
    assert_array_equal(one.mapped, two.mapped)


@engines
@rules
@given(inner=st.sets(st.integers(1, 39)), name=st.sampled_from(NAMES[:-1]))
@settings(max_examples=25)
def test_any_set_of_borders_will_do(engine, rule, inner, name):
    kernel, table = example(name, n=40)
    fits = []
    for rows in (ReferenceRows(kernel, table), PLACES[engine](kernel, table, np.array([0, *sorted(inner), 40]))):
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


# Python's integers


def integer_pass(F, C, w):
    """Labels, sum w |f - m|^2, totals and counts of one pass over lists of integers; (0, 0) is missing."""
    d, labels, loss = len(F[0]) // 2, [], 0
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
    """a/sqrt(a^2 + b^2) rounded to the grid, from the integer square root of its doubled square."""
    size = (math.isqrt((2 * GRID * a) ** 2 // (a * a + b * b)) + 1) // 2
    return size if a > 0 else -size


NEXT = {mean: lambda a, b, count: round(a / count), rectified: lambda a, b, count: on_circle(a, b)}


def assert_integer_pass(rows, rule, F, C, w):
    """Labels, loss, masses and the next centroids are those of Python's integers."""
    one_pass, d = rows.start_run(Model(rows.kernel, Hard(), rule)), C.shape[1] // 2
    sums, (labels, loss, totals, counts) = (
        one_pass.assign(OnCircles(C)).sums,
        integer_pass(F.tolist(), C.tolist(), w.tolist()),
    )
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
    whole, rows = whole_and_cut(engine, name, kind)
    inside = np.random.default_rng(0).integers(-GRID, GRID + 1, (2, whole.F.shape[1]), dtype=np.int32)
    on_rows = whole.rows_as_centroids(np.array([0, 1])).f
    assert_integer_pass(rows, rule, whole.F, np.concatenate([inside, on_rows]), whole.w)


def wide(d, weighted=False):
    """Six rows of d columns: two opposite ones, so that |f - m|^2 is 2^48 d, and random ones with gaps."""
    rng = np.random.default_rng(d)
    X = np.concatenate([np.zeros((1, d)), np.ones((1, d)), rng.uniform(0, 2, (4, d))])
    X[3:, ::3] = np.nan
    return euler(1.0, scale_of(None, X)), MemoryTable(X, rng.uniform(1, 2, 6) if weighted else None)


@engines
@rules
@pytest.mark.parametrize("d", [NARROW, NARROW + 1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("borders", [[0, 6], [0, 2, 6]])
def test_a_pass_over_wide_rows_equals_python_integers(engine, rule, d, weighted, borders):
    kernel, table = wide(d, weighted)
    rows = PLACES[engine](kernel, table, np.array(borders))
    F = kernel.embed(table.X)
    assert kernel.distance(F[:2], OnCircles(F[:2])).tolist() == [[0, d << 48], [d << 48, 0]]
    w = integer_weights(table.weights)[0] if weighted else np.ones(6, np.int64)
    assert_integer_pass(rows, rule, F, F[:2], w)


@engines
@pytest.mark.parametrize(("rule", "weighted"), [(mean, True), (rectified, False)])
def test_any_cut_of_wide_rows_gives_the_same_fit_from_the_same_seeds(engine, rule, weighted):
    kernel, table = wide(NARROW + 1, weighted)
    fits = []
    for borders in ([0, 6], [0, 1, 4, 6]):
        rows = PLACES[engine](kernel, table, np.array(borders))
        start = STARTS["k-means++"](rows, 3, np.random.PCG64(3))
        fits.append(run(rows, Model(kernel, Hard(), rule), start, Stop(8, 0.0), watch_passes))
    assert len(set(fits[0].labels)) == 3
    assert_same_run(*fits)


# rows that pull by real numbers

ASSIGN = {
    "hard": Hard(),
    "fuzzy": Fuzzy(1.7),
    "gas": Gas(0.8),
    "gas without reach": Gas(0.0),
    "map": SomNeighbourhood((2, 2), 0.7),
    "map without reach": SomNeighbourhood((2, 2), 0.0),
}
POINTS = ("linear", "rbf", "laplace", "laplace-l2")
TRIPLES = [(kernel, assign, rectified) for kernel in POINTS for assign in ASSIGN]
TRIPLES += [("euler", assign, rule) for assign in ASSIGN if assign != "hard" for rule in (mean, rectified)]
triples = pytest.mark.parametrize(("kernel", "assign", "rule"), TRIPLES)
circles = pytest.mark.parametrize(("kernel", "assign", "rule"), [triple for triple in TRIPLES if triple[0] == "euler"])
ON_TABLES = [name for name, kernel in KERNELS.items() if not kernel.is_pairwise]
ROUNDING = {"euler": 1e-6}  # a sum that rounds the other way moves a centroid by one step of the grid
GAPS = ["plain", "weights and gaps", "scaled weights and gaps"]


def tripled(kernel, assign, rule, name, n=900):
    """(model, table) of an example."""
    euler, table = example(name, n)
    made = euler if kernel == "euler" else KERNELS[kernel](euler.scale, euler.beyond)
    if hasattr(made, "gamma"):
        made = type(made)(made.scale, made.beyond, 0.2)  # wider than the farthest row: no loss saturates
    return Model(made, ASSIGN[assign], rule), table


def passes(rows, model, count=6):
    start = np.random.default_rng(3).uniform(0, 2, (4, 3))  # of one line, and rows would lie as far from two
    return run(rows, model, model.kernel.from_points(start), Stop(count, 0.0))


def assert_alike(one, two, kernel):
    rtol = ROUNDING.get(kernel, 1e-9)
    assert_array_equal(one.labels, two.labels)
    if kernel == "euler":
        assert_allclose(one.centroids.f, two.centroids.f, rtol=rtol, atol=4)  # grid steps
    else:
        assert_allclose(one.centroids.x, two.centroids.x, rtol=rtol, atol=rtol)
    assert_allclose(one.history["inertia"], two.history["inertia"], rtol=rtol)
    assert_array_equal(one.history["n_changed"], two.history["n_changed"])


@pytest.mark.parametrize("name", GAPS)
@triples
def test_real_weights_agree_on_every_engine_and_cut(kernel, assign, rule, name):
    model, table = tripled(kernel, assign, rule, name)
    whole = passes(ReferenceRows(model.kernel, table, borders(900, "one block")), model)
    assert len(whole.history["n_changed"]) > 2
    for kind in CUTS:
        assert_alike(passes(ReferenceRows(model.kernel, table, borders(900, kind)), model), whole, kernel)
    assert_alike(passes(place_rows("native", model, table, 2), model), whole, kernel)


@pytest.mark.parametrize("isa", SETS)
@triples
def test_real_weights_agree_on_every_instruction_set(kernel, assign, rule, isa, monkeypatch):
    model, table = tripled(kernel, assign, rule, "weights and gaps", 300)
    whole = passes(place_rows("reference", model, table), model)
    monkeypatch.setenv("REKMEANS_ISA", isa)
    assert_alike(passes(place_rows("native", model, table, 2), model), whole, kernel)


@triples
def test_real_weights_give_the_same_bits_for_any_number_of_threads(kernel, assign, rule):
    model, table = tripled(kernel, assign, rule, "weights and gaps", 9000)
    one, *others = (passes(place_rows("native", model, table, threads), model, 2) for threads in (1, 2, 5))
    for other in others:
        assert_same_run(one, other)


@pytest.mark.parametrize("name", GAPS)
@circles
def test_rows_that_are_not_kept_are_mapped_anew_in_parts(kernel, assign, rule, name, monkeypatch):
    model, table = tripled(kernel, assign, rule, name)
    kept = passes(place_rows("native", model, table, 2), model)
    monkeypatch.setattr(exact, "PART_ROWS", 97)
    rows = place_rows("native", model, table, 2, memory_limit=1000)
    assert len(list(rows.float_parts())) == 10
    assert_alike(passes(rows, model), kept, kernel)


ESTIMATORS = [
    *(KernelKMeans(4, kernel=kernel, random_state=0) for kernel in ON_TABLES),
    *(FuzzyCMeans(4, kernel=kernel, random_state=0) for kernel in ON_TABLES),
    NeuralGas(4, random_state=0),
    SelfOrganizingMap((2, 2), kernel="rbf"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_an_estimator_beyond_agrees_on_every_engine(estimator):
    X = example("gaps", 300)[1].X
    one, two, auto = (
        type(estimator)(**estimator.get_params() | {"engine": engine, "tol": 0.0, "max_iter": 5}).fit(X)
        for engine in ("reference", "native", "auto")
    )
    assert_array_equal(one.labels_, two.labels_)
    assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-5, atol=1e-5)
    assert_allclose(one.inertia_, two.inertia_, rtol=1e-6)
    assert_array_equal(two.cluster_centers_, auto.cluster_centers_)
    assert_array_equal(two.transform(X), auto.transform(X))


@pytest.mark.parametrize(
    "estimator", [MultipleKernelKMeans(2), MahalanobisFuzzyCMeans(2), KernelKMeans(2, centroids="mean")], ids=str
)
def test_the_native_engine_refuses_what_it_does_not_serve(estimator):
    X = example("plain", 40)[1].X
    with pytest.raises(ValueError, match=r"engine='native' does not know the kernel.*engine='reference'"):
        type(estimator)(**estimator.get_params() | {"engine": "native"}).fit(X)
    one, two = (
        type(estimator)(**estimator.get_params() | {"engine": engine, "random_state": 0}).fit(X)
        for engine in ("auto", "reference")
    )
    assert_array_equal(one.cluster_centers_, two.cluster_centers_)
