"""Fits of out-of-core tables have the same bits as fits in memory, on both engines and for any
blocks.
"""

import mmap
import os
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import (
    EulerKMeans,
    FuzzyCMeans,
    KernelKMeans,
    MultipleKernelKMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
)
from rekmeans._grid import widen
from rekmeans.engines.blocks import MAX_SEEDING_ROWS, BlockRows, BlockRun
from rekmeans.engines.native.blocks import NativeBlockRun
from rekmeans.estimators.placement import place_for_fit
from rekmeans.seeding import plus_plus
from rekmeans.short_fits import SMALL
from rekmeans.table import MemoryTable
from rekmeans.table.array_blocks import ArrayBlocks
from support.assertions import assert_same_fit, raises_mentioning
from support.streams import (
    CUTS,
    FORMS,
    called_arrays,
    memmap,
    stream_rows,
    stream_weights,
    weights_of,
)

K = 4
X = stream_rows()
W = stream_weights()
LIMIT = "15KB"  # less than the size of the table: blocks of 256 rows, labels in a file
POINTS = np.random.default_rng(5).uniform(-2, 14, (K, 3))

each_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
each_estimator = pytest.mark.parametrize("estimator", [EulerKMeans, RectifiedEulerKMeans])
weighted = pytest.mark.parametrize("w", [None, W], ids=["equal", "weighted"])
each_engine = pytest.mark.parametrize("engine", ["native", "reference"])

pytestmark = pytest.mark.filterwarnings("ignore::rekmeans.scales.left_out.IgnoredValuesWarning")


def is_in_a_file(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return (isinstance(array, memoryview) and isinstance(array.obj, mmap.mmap)) or isinstance(
        array, mmap.mmap
    )


def fit(estimator, X, w=None, **parameters):
    return estimator(K, **{"random_state": 0, "memory_limit": LIMIT} | parameters).fit(
        X, sample_weight=w
    )


def assert_same_scale(one, two):
    for name in ("low", "high", "shift", "unit", "period", "left_out"):
        assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@each_form
@weighted
def test_all_input_types_give_the_same_fit_as_in_memory(form, w, tmp_path):
    stream = fit(RectifiedEulerKMeans, form(tmp_path, X, w), weights_of(form, w))
    memory = fit(RectifiedEulerKMeans, X, w)
    assert_same_fit(stream, memory)
    assert_same_scale(stream.scale_, memory.scale_)
    assert stream.engine_ == "native"
    assert is_in_a_file(stream.labels_)


@each_form
@weighted
def test_kept_bounds_give_the_same_fit_as_in_memory(form, w, tmp_path):
    parameters = {
        "memory_limit": "1GB",
        "n_clusters": 9,
        "init": np.linspace(-2, 14, 27).reshape(9, 3),
    }
    stream = RectifiedEulerKMeans(**parameters).fit(
        form(tmp_path, X, w), sample_weight=weights_of(form, w)
    )
    memory = RectifiedEulerKMeans(**parameters).fit(X, sample_weight=w)
    reference = RectifiedEulerKMeans(**parameters, engine="reference").fit(X, sample_weight=w)
    assert memory.n_iter_ > 4
    assert_same_fit(stream, memory)
    assert_same_fit(stream, reference)
    assert_array_equal(stream.history_["n_changed"], memory.history_["n_changed"])


def test_a_pass_maps_only_rows_whose_labels_are_not_proven():
    placed = place_for_fit(RectifiedEulerKMeans(K, random_state=0), lambda: iter(np.split(X, CUTS)))
    run = placed.rows.start_run(placed.model)
    plain = BlockRun(placed.rows, placed.model)
    assert isinstance(run, NativeBlockRun)
    C = placed.model.kernel.from_points(POINTS)
    for _ in range(6):
        one, other = run.assign(C), plain.assign(C)
        assert one.n_changed == other.n_changed
        assert one.sums.loss == other.sums.loss
        for name in ("mass", "totals", "observed"):
            assert_array_equal(getattr(one.sums, name), getattr(other.sums, name))
        assert_array_equal(run.labels(), plain.labels())
        C = run.update(one.sums, C)
    assert run.assign(C).n_changed == plain.assign(C).n_changed
    # these bounds prove a wrong label, so that no row is mapped
    run.last[:] = 0
    run.upper[:] = 0
    run.lower[:] = 1e6
    assert run.assign(C).n_changed == 0


@each_estimator
@each_engine
@weighted
@pytest.mark.parametrize(
    "init",
    ["k-means++", "k-means||", "random", "circle", POINTS],
    ids=["plus", "parallel", "random", "circle", "points"],
)
def test_every_start_gives_the_same_fit_as_in_memory(estimator, engine, w, init, tmp_path):
    parameters = {"engine": engine, "init": init, "n_init": 2}
    stream = fit(estimator, called_arrays(tmp_path, X, w), w, **parameters)
    assert_same_fit(stream, fit(estimator, X, w, **parameters))
    assert stream.engine_ == engine


@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
@pytest.mark.parametrize("beyond", ["ignore", "clip", "wrap"])
def test_every_scale_gives_the_same_fit_as_in_memory(scale, beyond, tmp_path):
    far = np.where(np.random.default_rng(1).random(X.shape) < 0.02, 1e4, X)
    parameters = {"scale": scale, "beyond": beyond}
    stream = fit(RectifiedEulerKMeans, called_arrays(tmp_path, far, None), **parameters)
    assert_same_fit(stream, fit(RectifiedEulerKMeans, far, **parameters))


def test_seeding_on_a_sample_gives_the_same_fit_as_in_memory():
    n = SMALL // 6 + 1000
    large = stream_rows(n, 3)
    cuts = [0, 1, 1, 20_000, 20_003]
    for init in ("k-means++", "k-means||", "random"):
        stream = fit(
            RectifiedEulerKMeans,
            lambda: iter(np.split(large, cuts)),
            init=init,
            n_init=1,
            memory_limit="2MB",
        )
        assert_same_fit(
            stream, fit(RectifiedEulerKMeans, large, init=init, n_init=1, memory_limit=None)
        )


@each_engine
def test_empty_clusters_move_to_the_farthest_row_of_all_blocks(engine, tmp_path):
    points = np.concatenate([POINTS[:1], POINTS[:1], POINTS[:1], POINTS[:1] + 500])
    parameters = {"init": points, "scale": "range", "engine": engine}
    stream = fit(RectifiedEulerKMeans, called_arrays(tmp_path, X, W), W, **parameters)
    memory = fit(RectifiedEulerKMeans, X, W, **parameters)
    assert stream.history_["n_relocated"].sum() > 0
    assert_same_fit(stream, memory)


def test_results_on_streams_equal_those_in_memory(tmp_path):
    model = fit(RectifiedEulerKMeans, X)
    stream = called_arrays(tmp_path, X, None)
    for result in (model.predict, model.transform, model.score_samples, model.score):
        assert_array_equal(result(stream), result(X))
    assert model.score(stream, sample_weight=W) == model.score(X, sample_weight=W)


def test_weights_of_blocks_share_one_exponent_over_many_orders_of_magnitude(tmp_path):
    w = 2.0 ** -np.random.default_rng(2).integers(0, 28, len(X))
    w[137:512] = 2.0**-28  # a block that has only small weights
    stream = fit(EulerKMeans, called_arrays(tmp_path, X, w), w, init=POINTS)
    assert_same_fit(stream, fit(EulerKMeans, X, w, init=POINTS))


def test_sums_of_many_blocks_do_not_overflow():
    large = np.array([2**62, -5])
    assert (widen(large) + widen(large)).tolist() == [2**63, -10]
    assert widen(np.array([2**43 - 1])).dtype == np.int64


def test_a_pass_reads_every_row_once(tmp_path):
    n_reads = []

    def function():
        n_reads.append(1)
        return iter(np.array_split(X, 5))

    placed = place_for_fit(RectifiedEulerKMeans(K, memory_limit=LIMIT), function)
    assert isinstance(placed.rows, BlockRows)
    before = len(n_reads)
    run = placed.rows.start_run(placed.model)
    run.assign(placed.model.kernel.from_points(POINTS))
    assert len(n_reads) == before + 1
    assert placed.rows.n_uninformative() == 0  # the pass has counted them
    assert len(n_reads) == before + 1


def test_the_docs_state_the_number_of_reads_before_the_first_pass(tmp_path):
    """Count one read for the first rows, one for the survey, one for the column statistics and one
    for a sample.
    """
    n_reads = []

    def function():
        n_reads.append(1)
        return iter(np.array_split(X, 5))

    fit(RectifiedEulerKMeans, function, max_iter=1, init=POINTS)
    with_points = len(n_reads)
    # first rows, survey, statistics, check for a row in range; passes; phases
    assert with_points == 1 + 1 + 1 + 1 + 2 + 1


GAPS = np.where(
    (np.arange(len(X)) % 2 == 0)[:, None] & (np.arange(3) == 0), np.nan, np.nan_to_num(X)
)


@pytest.mark.parametrize("rows", [np.nan_to_num(X), GAPS], ids=["whole", "with gaps"])
@pytest.mark.parametrize("has_numbers", [False, True])
def test_the_docs_state_the_number_of_reads_of_oversampled_starts(rows, has_numbers):
    class CountedBlocks(ArrayBlocks):
        def blocks(self, size):
            n_reads.append(1)
            return super().blocks(size)

        def take(self, numbers):
            return super().take(numbers) if has_numbers else None

    counts = []
    for init in (POINTS, "k-means||"):
        n_reads = []
        fit(RectifiedEulerKMeans, CountedBlocks(rows), max_iter=1, init=init)
        counts.append(len(n_reads))
    assert counts[1] - counts[0] == (8 if has_numbers else 15) + np.isnan(rows).any()


def test_labels_are_kept_in_memory_if_they_fit(tmp_path):
    stream = fit(RectifiedEulerKMeans, called_arrays(tmp_path, X, None), memory_limit=None)
    assert not is_in_a_file(stream.labels_)


def test_a_full_disk_raises_an_error(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        fit(RectifiedEulerKMeans, called_arrays(tmp_path, X, None))


# float sums

REAL = {
    "linear": partial(KernelKMeans, kernel="linear"),
    "rbf": partial(KernelKMeans, kernel="rbf"),
    "laplace-l2": partial(KernelKMeans, kernel="laplace-l2"),
    "fuzzy": FuzzyCMeans,
    "fuzzy-mean": partial(FuzzyCMeans, centroids="mean"),
    "fuzzy-linear": partial(FuzzyCMeans, kernel="linear", fuzziness=2.0),
    "fuzzy-rbf": partial(FuzzyCMeans, kernel="rbf"),
    "map": lambda k, **parameters: SelfOrganizingMap((2, k // 2), stages=3, **parameters),
    "map-linear": lambda k, **parameters: SelfOrganizingMap(
        (2, k // 2), kernel="linear", stages=3, **parameters
    ),
    "gas": partial(NeuralGas, stages=3),
    "gas-rbf": partial(NeuralGas, kernel="rbf", stages=3),
}
# overlapping groups, so that shares matter
CLOSE = np.random.default_rng(7).normal(size=(len(X), 1)) + X


@pytest.mark.parametrize("name", REAL)
@each_engine
@weighted
@pytest.mark.parametrize("init", ["k-means++", "k-means||", "random"])
def test_float_sums_agree_with_the_fit_in_memory(name, engine, w, init, tmp_path):
    # otherwise rounding would choose one of its mirror images
    init = "plane" if "map" in name and init == "k-means++" else init
    parameters = {"engine": engine, "init": init, "n_init": 1, "max_iter": 20}
    stream = fit(REAL[name], called_arrays(tmp_path, CLOSE, w), w, **parameters)
    memory = fit(REAL[name], CLOSE, w, **parameters)
    assert_allclose(stream.cluster_centers_, memory.cluster_centers_, rtol=1e-7, atol=1e-7)
    assert stream.inertia_ == pytest.approx(memory.inertia_, rel=1e-9)
    assert np.mean(stream.labels_ != memory.labels_) <= 0.001
    for result in ("memberships_", "graph_", "u_matrix_", "topographic_error_"):
        if hasattr(memory, result):
            one, two = (getattr(model, result) for model in (stream, memory))
            assert_allclose(
                *(each.toarray() if result == "graph_" else each for each in (one, two)), atol=1e-6
            )
    assert_allclose(
        stream.transform(called_arrays(tmp_path, CLOSE, w)), memory.transform(CLOSE), atol=1e-7
    )


def test_a_model_whose_labels_are_in_a_file_can_be_pickled(tmp_path):
    stream = fit(RectifiedEulerKMeans, called_arrays(tmp_path, X, None))
    assert is_in_a_file(stream.labels_)
    assert_array_equal(pickle.loads(pickle.dumps(stream)).labels_, stream.labels_)
    (found,) = Parallel(n_jobs=2, max_nbytes=100)(delayed(labels_of)(model) for model in [stream])
    assert_array_equal(found, stream.labels_)


def labels_of(model):
    return np.array(model.labels_)


def test_large_results_are_kept_in_a_file(tmp_path):
    stream = fit(FuzzyCMeans, called_arrays(tmp_path, X, None))
    assert is_in_a_file(stream.memberships_)
    assert_allclose(stream.memberships_.sum(axis=1), 1)


def test_soft_euler_fits_of_many_rows_start_from_a_sample():
    """Check the sample size: fits in memory start from all rows, other tables are too large to
    load.
    """
    large = stream_rows(MAX_SEEDING_ROWS + 5000, 3)
    model = FuzzyCMeans(K, random_state=0, max_iter=5)
    placed = place_for_fit(model, lambda: iter(np.array_split(large, 7)))
    start = next(model._make_starts(placed.rows, placed.table, model._start_draws()))
    seed = np.random.SeedSequence(model._start_draws().entropy).spawn(1)[0]
    bits = np.random.PCG64(seed)
    rows = place_for_fit(model, large).rows
    sample = rows.table.sample(MAX_SEEDING_ROWS, bits.random_raw(1).item())
    assert start == plus_plus(rows.place(sample), K, bits)


# errors


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KernelKMeans(K, kernel="laplace"), ["all rows at once", "'laplace'"]),
        (KernelKMeans(K, kernel="rbf", centroids="mean"), ["all rows at once"]),
        (
            KernelKMeans(K, kernel="precomputed", centroids="mean"),
            ["kernel='precomputed' requires all rows at once"],
        ),
        (MultipleKernelKMeans(K), ["all rows at once", "'Stack'"]),
        (SelfOrganizingMap((1, K), kernel="laplace"), ["all rows at once", "'laplace'"]),
        (
            RectifiedEulerKMeans(K, init=lambda X, k, random_state: X[:k]),
            ["a callable init requires all rows at once"],
        ),
    ],
    ids=["medians", "kernel means", "precomputed", "stack", "map", "callable"],
)
def test_fits_that_need_all_rows_raise_an_error(model, words, tmp_path):
    with raises_mentioning(ValueError, *words, "Pass a table", "in memory."):
        model.fit(called_arrays(tmp_path, X, None))


@each_engine
def test_a_table_without_a_value_in_range_raises_an_error(engine):
    model = fit(RectifiedEulerKMeans, X, engine=engine)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not place_rows_beyond(model).has_weight()


def place_rows_beyond(model):
    """Return rows that are all outside the kept intervals of a fitted model."""
    from rekmeans.estimators.placement import place_fitted

    return place_fitted(model, lambda: iter([np.full((300, 3), 1e9)] * 2)).rows


def test_a_small_memmap_stays_in_memory(tmp_path):
    model = RectifiedEulerKMeans(K, random_state=0, memory_limit="1MB")
    placed = place_for_fit(model, memmap(tmp_path, X, None))
    assert isinstance(placed.table, MemoryTable)
