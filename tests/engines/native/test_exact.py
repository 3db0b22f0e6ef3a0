"""The native engine gives the bits of the reference for any instruction set, threads, skipping,
memory limit and storage.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rekmeans import EulerKMeans, RectifiedEulerKMeans
from rekmeans.assignment import Fuzzy, Hard
from rekmeans.centroids import CENTROIDS
from rekmeans.engines.native import _core as core
from rekmeans.engines.native import exact
from rekmeans.engines.native.exact import NativeRows
from rekmeans.engines.reference import ReferenceRows
from rekmeans.kernels.euler import MAX_INT64_COLUMNS
from rekmeans.kernels.mahalanobis import Mahalanobis
from rekmeans.lloyd import fit_best_start, run
from rekmeans.model import Model, State, Stop
from rekmeans.seeding import STARTS, starts_of
from rekmeans.table import MemoryTable
from rekmeans.table.validation import as_rows
from support.assertions import assert_same_run
from support.models import euler, place_rows, scale_of, watch_passes
from support.native import SETS

ALPHAS = (1e-4, 0.01, 0.3, 0.9, 1.9, 50.0, 1e4)
SCALES = ("robust", "range", None, "global")
BEYOND = ("ignore", "clip", "wrap")


def drawn(seed, n, d):
    """Return (kernel, table) with heavy tails and, depending on the seed, missing cells, ties, zero
    weights, and all scales and rules for out-of-range values.
    """
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) * (random.uniform(size=(n, d)) < 0.9)
    X[random.uniform(size=X.shape) < 0.05] *= 30
    if seed % 3 == 0:
        X[random.uniform(size=X.shape) < 0.1] = np.nan
        X[np.isnan(X).all(axis=1)] = 1.0
    if seed % 5 == 4:
        X = np.round(X)
    weights = random.integers(0, 5, n) * random.uniform(0.5, 1, n) if seed % 4 == 0 else None
    if weights is not None:
        weights[0] = 1.0
    scale = SCALES[seed % 4]
    beyond = "wrap" if scale is None else BEYOND[seed % 3]
    return euler(ALPHAS[seed % 7], scale_of(scale, X, weights), beyond), MemoryTable(X, weights)


def fits(rows, k, seed):
    """Return a fit for each rule from the same drawn start, with single passes and in one call, and
    the start.
    """
    start = STARTS["k-means++"](rows, k, np.random.PCG64(seed))
    models = [Model(rows.kernel, Hard(), rule) for rule in CENTROIDS.values()]
    ways = product(models, (watch_passes, None))
    return start, [run(rows, model, start, Stop(50, 0.0), watch) for model, watch in ways]


def nearest_centroids(rows, C):
    """Return the label of each row."""
    return rows.label(Model(rows.kernel, Hard(), CENTROIDS["rectified"]), C)


def assert_same(rows, other, k, seed):
    (start, found), (other_start, other_found) = (fits(r, k, seed) for r in (rows, other))
    assert start == other_start
    for one, two in zip(found, other_found, strict=True):
        assert_same_run(one, two)
        assert_array_equal(rows.phase_sums(one.labels, k), other.phase_sums(two.labels, k))
        assert_array_equal(
            nearest_centroids(rows, one.centroids), nearest_centroids(other, two.centroids)
        )


@pytest.fixture(params=SETS)
def isa(request, monkeypatch):
    monkeypatch.setenv("REKMEANS_ISA", request.param)
    return request.param


@pytest.mark.parametrize("seed", range(20))
def test_every_instruction_set_gives_the_reference_bits(isa, seed):
    n, d, k = [(300, 3, 5), (700, 17, 33), (150, 65, 8), (97, 1, 3), (2100, 6, 40)][seed % 5]
    kernel, table = drawn(seed, n, d)
    assert_same(ReferenceRows(kernel, table), NativeRows(kernel, table, threads=2), k, seed)


@pytest.mark.parametrize("d", [1, 2, 15, 16, 17, 63, 64, 65, 1000])
@pytest.mark.parametrize("k", [1, 4, 5, 6, 255, 257])
def test_awkward_sizes_give_the_reference_bits(isa, d, k):
    n = 300 if d < 1000 else 260
    kernel, table = drawn(d + k, n, d)
    rows = ReferenceRows(kernel, table)
    other = NativeRows(kernel, table, threads=1)
    start = rows.rows_as_centroids(np.random.default_rng(k).choice(n, k, replace=False))
    for rule in CENTROIDS.values():
        one, two = (
            run(r, Model(kernel, Hard(), rule), start, Stop(2, 0.0), watch_passes)
            for r in (rows, other)
        )
        assert_array_equal(one.labels, two.labels)
        assert one.centroids == two.centroids
        assert one.loss == two.loss


@pytest.mark.parametrize("n", [1, 95, 96, 97, 2047, 2048, 2049])
def test_row_counts_near_a_block_size_give_the_reference_bits(n):
    kernel, table = drawn(1, n, 5)
    assert_same(ReferenceRows(kernel, table), NativeRows(kernel, table, threads=8), min(n, 7), n)


def test_missing_cells_in_only_one_part_give_the_reference_bits():
    kernel, table = drawn(3, 5000, 4)
    X = np.where(np.isnan(table.X), 0.0, table.X)
    X[2100:2110, 1] = X[4999, 0] = np.nan
    table = MemoryTable(X, table.weights)
    for form in (table, MemoryTable(sparse.csr_array(X), table.weights)):
        assert_same(ReferenceRows(kernel, table), NativeRows(kernel, form, threads=2), 9, 0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_large_phases_of_sparse_rows_are_added_over_all_parts(form):
    random = np.random.default_rng(0)
    X = random.choice([40000.0, 100000.0, 100000.5], (5000, 20)) * (
        random.uniform(size=(5000, 20)) < 0.2
    )
    kernel = euler(0.9, scale_of(None, X), "wrap")
    labels = np.arange(5000, dtype=np.int32) % 3
    rows = NativeRows(kernel, MemoryTable(as_rows(form(X))), threads=1)
    assert_array_equal(
        rows.phase_sums(labels, 3), ReferenceRows(kernel, MemoryTable(X)).phase_sums(labels, 3)
    )


TIES = {  # phases that 53 bits cannot distinguish from a rounding tie, with cos and sin on the grid
    "0x1.f31c2281d2bcbp-21": (8388608, 25),
    "0x1.40db3ac12d532p-20": (8388608, 31),
    "0x1.4b0ad2f81288ep-20": (8388608, 33),
    "0x1.9f137abd0b613p-19": (8388608, 81),
    "0x1.21faf55d284a5p-16": (8388608, 455),
    "0x1.ccf642c2503d0p-14": (8388607, 2896),
    "0x1.a37b589344dcfp-11": (8388581, 21085),
    "0x1.90f61f3f5ec06p-8": (8387059, 161226),
}


def test_the_low_word_decides_a_tie_of_the_high_word():
    X = np.array([[float.fromhex(phase)] for phase in TIES])
    kernel = euler(1.0, scale_of(None, X), "wrap")
    assert NativeRows(kernel, MemoryTable(X)).rows_as_centroids(np.arange(len(X))).f.tolist() == [
        list(f) for f in TIES.values()
    ]


def test_a_field_of_records_is_read():
    records = np.zeros(40, dtype=[("a", "f4"), ("b", "f8", 3)])
    records["b"] = np.random.default_rng(0).standard_normal((40, 3))
    model = RectifiedEulerKMeans(3, random_state=0, engine="native")
    assert_array_equal(model.fit_predict(records["b"]), model.fit_predict(records["b"].copy()))


def test_a_part_without_a_stored_cell_is_read():
    X = np.zeros((4100, 3))
    X[4099] = 1.0
    kernel = euler(0.9, scale_of("range", X), "wrap")
    rows = NativeRows(kernel, MemoryTable(as_rows(sparse.csr_array(X))))
    ends = np.array([0, 4099])
    assert rows.rows_as_centroids(ends) == ReferenceRows(kernel, MemoryTable(X)).rows_as_centroids(
        ends
    )


SETTINGS = {
    "1 thread": {"threads": 1},
    "2 threads": {"threads": 2},
    "8 threads": {"threads": 8},
    "no skipping": {"threads": 2, "skip": False},
    "not enough memory for a mapped copy": {"threads": 2, "memory_limit": 1},
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("seed", range(6))
def test_threads_skipping_and_memory_limit_change_no_bit(setting, seed):
    kernel, table = drawn(seed, 9000, 4)
    plainly = NativeRows(kernel, table, threads=1, skip=False)
    assert_same(plainly, NativeRows(kernel, table, **setting), 36, seed)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("seed", range(12))
def test_a_sparse_table_gives_the_bits_of_the_dense_one(isa, form, seed):
    random = np.random.default_rng(seed)
    n, d, k = [(200, 40, 5), (90, 300, 17), (400, 3, 40)][seed % 3]
    X = random.standard_normal((n, d)) * (random.uniform(size=(n, d)) < 0.2) + 50 * (
        random.uniform(size=d) < 0.1
    )
    if seed % 4 == 1:
        X[random.uniform(size=X.shape) < 0.05] = np.nan
        X[np.isnan(X).all(axis=1)] = 0.0
    weights = random.uniform(0, 3, n) if seed % 2 else None
    scale = SCALES[seed % 4]
    dense = scale_of(scale, X, weights)
    few_cells = scale_of(scale, as_rows(form(X)), weights)
    for name in ("low", "high", "shift", "unit", "period"):
        assert_array_equal(getattr(dense, name), getattr(few_cells, name))
    kernel = euler(0.9, dense, "wrap" if scale is None else BEYOND[seed % 3])
    table = MemoryTable(as_rows(form(X)), weights)
    assert_same(
        ReferenceRows(kernel, MemoryTable(X, weights)),
        NativeRows(kernel, table, threads=2),
        k,
        seed,
    )


def test_a_dense_table_of_zeros_is_stored_sparse_with_the_same_bits():
    random = np.random.default_rng(0)
    X = random.standard_normal((800, 90)) * (random.uniform(size=(800, 90)) < 0.1)
    kernel = euler(0.9, scale_of("range", X), "clip")
    assert exact._is_mostly_zero(X, None)
    assert not exact._is_mostly_zero(X + 1, None)
    assert not exact._is_mostly_zero(X, 100)
    assert_same(
        ReferenceRows(kernel, MemoryTable(X)), NativeRows(kernel, MemoryTable(X), threads=2), 9, 0
    )


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("clusterer", [EulerKMeans, RectifiedEulerKMeans])
def test_the_estimator_supports_sparse_tables(clusterer, index):
    random = np.random.default_rng(0)
    X = np.round(random.standard_normal((300, 20)) * (random.uniform(size=(300, 20)) < 0.3), 2)
    few_cells = sparse.csr_array(X)
    few_cells.indices, few_cells.indptr = (
        few_cells.indices.astype(index),
        few_cells.indptr.astype(index),
    )
    for engine in ("native", "reference"):
        dense, other = (
            clusterer(4, engine=engine, random_state=0).fit(table) for table in (X, few_cells)
        )
        for name in ("labels_", "centroids_", "cluster_centers_", "inertia_"):
            assert_array_equal(getattr(dense, name), getattr(other, name))
        assert_array_equal(dense.transform(X), other.transform(few_cells))
        assert_array_equal(dense.score_samples(X), other.score_samples(few_cells))


def test_bounds_reduce_the_number_of_scored_rows():
    random = np.random.default_rng(0)
    X = random.standard_normal((50, 8))[
        random.integers(50, size=5000)
    ] + 0.1 * random.standard_normal((5000, 8))
    rows = NativeRows(euler(0.9, scale_of("robust", X), "wrap"), MemoryTable(X), threads=1)
    run_ = core.Run(rows.core, 50, True)
    C = STARTS["k-means++"](rows, 50, np.random.PCG64(0))
    run_.assign(C.f)
    assert run_.n_scored == 5000
    run_.assign(run_.centroids(True, C.f))
    assert run_.n_scored < 1000


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_many_centroids_over_many_passes_give_the_reference_bits(isa, seed):
    kernel, table = drawn(seed, 2500, 40)
    rows = ReferenceRows(kernel, table)
    other = NativeRows(kernel, table, threads=2)
    start = rows.rows_as_centroids(np.random.default_rng(seed).choice(2500, 100, replace=False))
    one, two = (
        run(r, Model(kernel, Hard(), CENTROIDS["mean"]), start, Stop(30, 0.0), watch_passes)
        for r in (rows, other)
    )
    assert one.n_iter > 4
    assert_array_equal(one.labels, two.labels)
    assert_array_equal(one.history["inertia"], two.history["inertia"])


@pytest.mark.skipif("vnni" not in SETS, reason="this processor has no 8-bit dot product")
@pytest.mark.parametrize("may_quantize", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_8_bit_scores_change_nothing(may_quantize, seed):
    kernel, table = drawn(seed, 400, 700)
    rows = NativeRows(kernel, table, threads=2)
    C = rows.rows_as_centroids(np.arange(100))
    run_ = core.Run(rows.core, 100, False)
    run_.may_quantize = may_quantize
    run_.assign(C.f)
    assert run_.was_quantized == may_quantize
    assert_array_equal(run_.labels(), nearest_centroids(ReferenceRows(kernel, table), C))


@pytest.mark.skipif("vnni" not in SETS, reason="this processor has no 16-bit dot product")
@pytest.mark.parametrize("may_quantize", [True, False])
@pytest.mark.parametrize(("k", "seed"), [(5, 1), (20, 2), (40, 3), (100, 4)])
def test_16_bit_scores_of_sparse_rows_change_nothing(may_quantize, k, seed):
    random = np.random.default_rng(seed)
    mask = random.random((250, 600)) < 0.15
    levels = random.uniform(0.5, 1.5, (250, 1))
    # so close that 16 bits cannot distinguish them
    near = levels * (1 + 10 ** random.uniform(-5, -2, (250, 1)))
    # and the cells of a row are rounded in the same direction, so that errors add
    X = np.vstack([mask * levels, mask * near])
    kernel = euler(0.9, scale_of("range", X, None), "wrap")
    table = MemoryTable(sparse.csr_array(X))
    rows = NativeRows(kernel, table, threads=2)
    C = rows.rows_as_centroids(np.concatenate([np.arange(k // 2), 250 + np.arange(k - k // 2)]))
    run_ = core.Run(rows.core, k, False)
    run_.may_quantize = may_quantize
    run_.assign(C.f)
    assert run_.was_quantized == may_quantize
    assert (run_.n_refined > 0) == may_quantize
    assert_array_equal(run_.labels(), nearest_centroids(ReferenceRows(kernel, table), C))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limits", [(1, 0.0), (50, 0.0), (50, 0.01)])
def test_parallel_starts_give_the_best_of_single_runs(seed, limits):
    kernel, table = drawn(seed, 120, 3)
    rows = NativeRows(kernel, table, threads=2)
    k = 7
    starts = [starts_of(kernel)["circle"](rows, k, np.random.PCG64(i)) for i in range(5)]
    stop = Stop(*limits)
    for rule in CENTROIDS.values():
        model = Model(kernel, Hard(), rule)
        alone = min(
            (run(ReferenceRows(kernel, table), model, C, stop) for C in starts),
            key=lambda fit: fit.loss,
        )
        assert all(
            rows.start_run(model).advance(State(C, C), stop, stop.max_iter + 1) for C in starts
        )
        together = fit_best_start(rows, [model], starts, stop)
        assert_array_equal(alone.labels, together.labels)
        assert alone.centroids == together.centroids
        assert (alone.loss, alone.inertia, alone.n_iter) == (
            together.loss,
            together.inertia,
            together.n_iter,
        )
        for name in ("inertia", "n_changed", "n_relocated"):
            assert_array_equal(alone.history[name], together.history[name])


def both(X, **parameters):
    """Fit an estimator on each engine."""
    weights = parameters.pop("sample_weight", None)
    models = [
        RectifiedEulerKMeans(random_state=0, engine=e, **parameters)
        for e in ("reference", "native")
    ]
    return [model.fit(X, sample_weight=weights) for model in models]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("span", [20, 60, 200])
def test_the_bounds_hold_for_values_at_rounding_ties(span):
    """Use phases whose cosine is at a rounding tie, which is decided after the length of the row is
    computed.
    """
    grid = 2.0**23
    ties = np.arccos((int(0.7 * grid) + np.arange(span) + 0.5) / grid) / np.pi
    for seed in range(40):
        random = np.random.default_rng(seed)
        X = random.choice(ties, (int(random.choice([50, 300])), int(random.choice([1, 2, 8]))))
        one, two = both(
            X,
            n_clusters=int(random.choice([3, 8, 20])),
            alpha=1,
            scale=None,
            init="random",
            n_init=1,
        )
        assert_array_equal(one.labels_, two.labels_)
        assert_array_equal(one.history_["inertia"], two.history_["inertia"])


@pytest.mark.filterwarnings("ignore")
def test_uninformative_rows_infinite_phases_and_float32_rows_agree():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    X[0] = 1e6
    weights = np.r_[5.3, random.uniform(0.5, 1.5, 79)]
    one, two = both(X, n_clusters=3, sample_weight=weights)
    assert one.inertia_ == two.inertia_
    far = np.r_[random.normal(size=(40, 1)) * 1e-148, [[1e150]] * 3]
    one, two = both(far, n_clusters=2, alpha=1e12, beyond="wrap")
    assert_array_equal(one.labels_, two.labels_)
    one, two = both(X.astype(np.float32), n_clusters=3)
    beyond = (X * 1e5).astype(np.float32)
    assert_array_equal(one.transform(beyond), two.transform(beyond))
    assert_array_equal(one.transform(beyond), one.transform(beyond.astype(np.float64)))


@pytest.mark.parametrize("kind", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
@pytest.mark.parametrize("layout", ["C", "F", "every second"])
def test_any_dtype_and_memory_layout_is_supported(kind, layout):
    X = np.random.default_rng(0).integers(0, 2 if kind == "?" else 100, (50, 7)).astype(kind)
    kernel = euler(0.9, scale_of("range", X), "wrap")
    given = {"C": X, "F": np.asfortranarray(X), "every second": np.repeat(X, 2, axis=0)[::2]}[
        layout
    ]
    rows = NativeRows(kernel, MemoryTable(given))
    assert_array_equal(rows.core.grid(np.arange(50)), kernel.embed(X.astype(np.float64)))


def test_unsupported_fits_raise_an_error_on_the_native_engine():
    X = np.zeros((3, MAX_INT64_COLUMNS + 1), np.float32)
    X[1] = 1
    wide = Model(euler(0.9, scale_of(None, X)), Hard(), CENTROIDS["mean"])
    with pytest.raises(ValueError, match=f"{MAX_INT64_COLUMNS + 1}.*reference"):
        place_rows("native", wide, MemoryTable(X))
    base = euler(0.9, scale_of(None, X[:, :2]))
    shaped = Model(Mahalanobis(base.scale, base.beyond, base, 0.1), Fuzzy(), CENTROIDS["rectified"])
    with pytest.raises(ValueError, match=r"does not support the kernel.*reference"):
        place_rows("native", shaped, MemoryTable(X[:, :2]))
    assert isinstance(place_rows("auto", wide, MemoryTable(X)), ReferenceRows)


def test_an_unknown_instruction_set_raises_an_error(monkeypatch):
    monkeypatch.setenv("REKMEANS_ISA", "mmx")
    with pytest.raises(ValueError, match=r"REKMEANS_ISA.*mmx"):
        EulerKMeans(2, engine="native").fit([[0.0], [1.0]])


def test_a_forked_child_can_fit():
    X = np.random.default_rng(0).standard_normal((5000, 10))
    expected = RectifiedEulerKMeans(8, random_state=0, n_threads=2).fit(X)
    child = os.fork()
    if not child:
        same = (
            RectifiedEulerKMeans(8, random_state=0, n_threads=2).fit(X).inertia_
            == expected.inertia_
        )
        os._exit(0 if same else 1)
    end = time.monotonic() + 60
    while not (done := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.01)
    if not done[0]:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert done == (child, 0)


LONG_FIT = """
import signal
import numpy as np
from sklearn.exceptions import NotFittedError
from rekmeans import RectifiedEulerKMeans
# a shell makes its background jobs ignore SIGINT
signal.signal(signal.SIGINT, signal.default_int_handler)
X = np.random.default_rng(0).standard_normal((200_000, 20))
model = RectifiedEulerKMeans(
    200, max_iter=100_000, init="random", n_init=1000, random_state=0, verbose=1
)
try:
    model.fit(X)
except KeyboardInterrupt:
    try:
        model.predict(X)
    except NotFittedError:
        small = RectifiedEulerKMeans(3, random_state=0).fit(X[:1000])
        print("healthy", len(small.labels_))
"""


def test_an_interrupted_fit_leaves_the_estimator_unfitted():
    process = subprocess.Popen([sys.executable, "-c", LONG_FIT], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("start 1/1000  pass 1 ")
    process.send_signal(signal.SIGINT)
    killer = threading.Timer(60, process.kill)
    killer.start()
    rest = process.stdout.read()
    killer.cancel()
    assert process.wait() == 0
    assert rest.endswith("healthy 1000\n")
