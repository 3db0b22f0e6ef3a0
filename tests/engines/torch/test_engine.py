"""Estimators with engine="torch" give the bits of the reference engine, and tensors for tensors."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

torch = pytest.importorskip("torch")

from rekmeans import (  # noqa: E402
    CircleDisplay,
    EulerKMeans,
    FuzzyCMeans,
    KernelKMeans,
    RectifiedEulerKMeans,
    load,
    representation_score,
    save,
)
from rekmeans.engines import ENGINES, choose_engine  # noqa: E402
from rekmeans.engines.blocks import BlockRows  # noqa: E402
from rekmeans.engines.torch.placement import (  # noqa: E402
    DEVICES,
    ShardedRows,
    devices_for,
    explain_lack_of_memory,
)
from rekmeans.kernels.euler import MAX_INT64_COLUMNS  # noqa: E402
from rekmeans.scales import BEYOND, Scale  # noqa: E402
from rekmeans.table import MemoryTable  # noqa: E402
from support.assertions import (  # noqa: E402
    FITTED,
    assert_message_states_fix,
    assert_same_histories,
)

RULES = [EulerKMeans, RectifiedEulerKMeans]
SETTINGS = {
    "default": {},
    "clipped": {"scale": "range", "beyond": "clip"},
    "no scale": {"scale": None, "alpha": 0.1},
    "random rows": {"init": "random", "n_init": 2},
    "random angles": {"init": "circle", "n_init": 2},
    "one cluster": {"n_clusters": 1},
    "many clusters": {"n_clusters": 130, "max_iter": 3},
    "most clusters": {"n_clusters": 1000, "max_iter": 1},
}
each_rule = pytest.mark.parametrize("clusterer", RULES)
# warnings about ignored cells and empty clusters
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def drawn_table(n=1200, d=5):
    """Return groups with missing cells and gross errors, and weights that include 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 4 * rng.integers(0, 4, (n, 1))
    X[rng.random(X.shape) < 0.03] = np.nan
    X[rng.random(X.shape) < 0.02] *= 40
    X[np.isnan(X).all(axis=1)] = 0.0
    X[5] = 1e6
    return X, np.where(rng.random(n) < 0.1, 0.0, rng.uniform(0.1, 2, n))


def on_host(values):
    return values.numpy() if isinstance(values, torch.Tensor) else values


def assert_same_estimator(one, two, X, Y):
    """Check that all attributes and results of two estimators have equal bits, and that those of
    the second have the type of Y.
    """
    for name in FITTED:
        assert_array_equal(getattr(one, name), on_host(getattr(two, name)), err_msg=name)
    assert_same_histories(one.history_, two.history_)
    for method in ("predict", "transform", "score_samples"):
        answer = getattr(two, method)(Y)
        assert type(answer) is type(Y), method
        assert_array_equal(getattr(one, method)(X), on_host(answer), err_msg=method)
    assert type(two.labels_) is type(Y)
    assert one.score(X) == two.score(Y)


@each_rule
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_has_the_bits_of_the_reference(clusterer, name, weighted):
    X, weights = drawn_table()
    w = weights if weighted else None
    settings = {"n_clusters": 4, "random_state": 0, "max_iter": 20} | SETTINGS[name]
    one = clusterer(engine="reference", **settings).fit(X, sample_weight=w)
    two = clusterer(engine="torch", **settings).fit(X, sample_weight=w)
    three = clusterer(engine="torch", **settings).fit(torch.from_numpy(X), sample_weight=w)
    assert (two.engine_, three.engine_) == ("torch", "torch")
    assert_same_estimator(one, two, X, X)
    assert_same_estimator(one, three, X, torch.from_numpy(X))


def test_a_tensor_on_the_host_runs_on_the_native_engine_by_default():
    X, w = drawn_table()
    one = EulerKMeans(4, random_state=0, engine="reference").fit(X, sample_weight=w)
    two = EulerKMeans(4, random_state=0).fit(torch.from_numpy(X), sample_weight=torch.from_numpy(w))
    assert two.engine_ == "native"
    assert_same_estimator(one, two, X, torch.from_numpy(X))


def test_a_model_fitted_on_one_kind_predicts_the_other():
    X, _ = drawn_table()
    one = EulerKMeans(4, random_state=0).fit(X)
    two = EulerKMeans(4, random_state=0, engine="torch").fit(torch.from_numpy(X))
    assert_array_equal(one.predict(torch.from_numpy(X)).numpy(), two.predict(X))
    assert isinstance(two.set_params(engine="auto").predict(X), np.ndarray)


def test_sparse_and_integer_tables():
    X = sparse.random(300, 6, 0.3, random_state=0, format="csr")
    for rows in (X, np.rint(10 * X.toarray()).astype(np.int16)):
        one, two = (
            EulerKMeans(3, random_state=0, engine=engine).fit(rows)
            for engine in ("reference", "torch")
        )
        assert_same_estimator(one, two, rows, rows) if rows is not X else assert_array_equal(
            one.labels_, two.labels_
        )


def test_periodic_columns_and_several_intervals(monkeypatch):
    from rekmeans.scales import SCALES

    def folded_scale(summary):
        nan = np.nan
        low = np.array([[0.0, 10.0, nan], [0.0, nan, nan], [-1.0, 4.0, 20.0]])
        high = np.array([[1.0, 11.0, nan], [24.0, nan, nan], [1.0, 5.0, 21.0]])
        shift = np.array([[0.0, 9.5, nan], [3.0, nan, nan], [0.0, 3.5, 18.0]])
        return Scale(low, high, shift, np.array([2.0, 24.0, 3.0]), np.array([0.0, 24.0, 0.0]))

    monkeypatch.setitem(SCALES, "folded", folded_scale)
    rng = np.random.default_rng(1)
    X = np.stack(
        [rng.uniform(-2, 13, 500), rng.uniform(-100, 100, 500), rng.uniform(-3, 23, 500)], axis=1
    )
    X[::7, 0] = np.nan
    X[::11] = [5.5, np.nan, 12.5]  # equally near to two intervals, and in none
    for beyond in ("ignore", "clip", "wrap"):
        settings = {"scale": "folded", "beyond": beyond, "random_state": 0}
        one, two = (
            EulerKMeans(5, engine=engine, **settings).fit(X) for engine in ("reference", "torch")
        )
        assert_same_estimator(one, two, X, X)


@each_rule
def test_empty_clusters_are_relocated(clusterer):
    X, w = drawn_table(60)
    start = np.full((6, X.shape[1]), 1.0)
    settings = {"init": start, "scale": None, "alpha": 0.05}
    one, two = (
        clusterer(6, engine=engine, **settings).fit(X, sample_weight=w)
        for engine in ("reference", "torch")
    )
    assert one.history_["n_relocated"].sum() >= 5
    assert_same_estimator(one, two, X, X)


def place(model, table, memory_limit=None):
    stages = model._make_stages(model.kernel_)
    return choose_engine("torch", ENGINES, stages, table).place(stages, table, None, memory_limit)


@each_rule
@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_larger_than_the_limit_is_processed_in_blocks(clusterer, weighted):
    X, weights = drawn_table(3000)
    w = weights if weighted else None
    one = clusterer(4, random_state=0, engine="reference").fit(X, sample_weight=w)
    two = clusterer(4, random_state=0, engine="torch", memory_limit=60_000).fit(X, sample_weight=w)
    assert isinstance(place(two, MemoryTable(X, w), 60_000), BlockRows)
    assert not isinstance(place(two, MemoryTable(X, w), 60_000_000), BlockRows)
    assert_same_estimator(one, two, X, X)


def test_more_rows_than_a_device_supports(monkeypatch):
    """Tables on the host are copied in blocks. Tensors raise an error before any work."""
    X, w = drawn_table()
    monkeypatch.setattr("rekmeans.engines.torch.placement.MAX_DEVICE_ROWS", 1000)
    # other starts use a sample, here of all rows
    settings = {"init": "random", "n_init": 1, "random_state": 0}
    one, two = (
        EulerKMeans(4, engine=engine, **settings).fit(X, sample_weight=w)
        for engine in ("native", "torch")
    )
    assert isinstance(place(two, MemoryTable(X, w)), BlockRows)
    assert_same_estimator(one, two, X, X)
    with pytest.raises(
        ValueError,
        match=r"X has 1,200 rows, but engine='torch' supports at most 1,000 on one device",
    ):
        two.fit(torch.from_numpy(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_file_is_processed_in_blocks(weighted, tmp_path):
    X, weights = drawn_table(3000)
    w = weights if weighted else None
    np.save(tmp_path / "rows.npy", X)
    one = EulerKMeans(4, random_state=0, engine="reference").fit(X, sample_weight=w)
    two = EulerKMeans(4, random_state=0, engine="torch").fit(
        str(tmp_path / "rows.npy"), sample_weight=w
    )
    assert two.engine_ == "torch"
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.centroids_, two.centroids_)


@each_rule
@pytest.mark.parametrize("names", ["cpu,cpu", "cpu, cpu, cpu"])
def test_shards_on_several_devices_add_up(clusterer, names, monkeypatch):
    X, w = drawn_table()
    one = clusterer(5, random_state=0, engine="reference").fit(X, sample_weight=w)
    monkeypatch.setenv(DEVICES, names)
    two = clusterer(5, random_state=0, engine="torch").fit(X, sample_weight=w)
    assert isinstance(place(two, MemoryTable(X, w)), ShardedRows)
    assert_same_estimator(one, two, X, X)


def test_a_model_fitted_on_tensors_is_saved_and_scored(tmp_path):
    X, _ = drawn_table(200)
    X = torch.from_numpy(np.nan_to_num(X))
    for engine in ("torch", "auto"):
        model = RectifiedEulerKMeans(3, random_state=0, engine=engine).fit(X)
        save(model, tmp_path / "model.safetensors", labels=True)
        assert_array_equal(load(tmp_path / "model.safetensors").labels_, model.labels_.numpy())
        assert representation_score(model, X) == representation_score(model, X.numpy())


def test_a_fit_resumed_from_a_checkpoint_has_the_same_bits(tmp_path):
    X, w = drawn_table()
    settings = {
        "n_clusters": 6,
        "random_state": 0,
        "init": "random",
        "n_init": 1,
        "engine": "torch",
    }
    one = EulerKMeans(**settings).fit(torch.from_numpy(X), sample_weight=w)
    two = EulerKMeans(checkpoint=tmp_path / "fit", verbose=0, **settings).fit(
        torch.from_numpy(X), sample_weight=w
    )
    assert_array_equal(one.labels_, two.labels_)
    assert_same_histories(one.history_, two.history_)


# error messages state the fix


def error_message(model, X):
    with pytest.raises((ValueError, TypeError)) as error:
        model.fit(X)
    assert_message_states_fix(error.value)
    return str(error.value)


def test_the_error_for_unsupported_models_names_another_engine():
    X = torch.rand(20, 2)
    assert "Use engine=" in error_message(FuzzyCMeans(2, engine="torch"), X.numpy())
    assert "Pass X.cpu()" in error_message(FuzzyCMeans(2, engine="torch"), X)
    assert "'laplace'" in error_message(
        KernelKMeans(2, kernel="laplace", engine="torch"), X.numpy()
    )
    assert "Use engine=" in error_message(
        KernelKMeans(2, kernel="rbf", centroids="mean", engine="torch"), X.numpy()
    )
    assert f"at most {MAX_INT64_COLUMNS} columns" in error_message(
        EulerKMeans(2, engine="torch"), np.zeros((3, MAX_INT64_COLUMNS + 1))
    )


def test_an_unknown_rule_for_out_of_range_values_raises_an_error(monkeypatch):
    """Rules that the map on a device does not support must not be replaced silently."""
    monkeypatch.setitem(BEYOND, "mirror", BEYOND["clip"])
    assert "beyond='mirror'" in error_message(
        EulerKMeans(2, beyond="mirror", engine="torch"), torch.rand(20, 2).numpy()
    )


def test_methods_that_need_rows_on_the_host_raise_an_error():
    X = torch.rand(20, 2)
    callable_init = EulerKMeans(2, engine="torch", init=lambda X, k, random_state: X[:k])
    assert "Pass a NumPy array" in error_message(callable_init, X)
    with pytest.raises(ValueError, match="an analysis requires rows on the host"):
        CircleDisplay.from_estimator(EulerKMeans(2, engine="torch").fit(X), X)


def test_a_missing_device_raises_an_error(monkeypatch):
    if torch.cuda.is_available():
        pytest.skip("a CUDA device is available")
    monkeypatch.setenv(DEVICES, "cuda:0")
    assert "sees no CUDA device" in error_message(EulerKMeans(2, engine="torch"), np.zeros((3, 2)))
    monkeypatch.setenv(DEVICES, "nowhere")
    assert DEVICES in error_message(EulerKMeans(2, engine="torch"), np.zeros((3, 2)))


def test_the_out_of_memory_error_states_how_many_rows_fit():
    table = MemoryTable(np.zeros((1234, 7)))
    expected = r"The 1,234 rows of X do not fit .* about 0\. Pass"
    with (
        pytest.raises(MemoryError, match=expected) as error,
        explain_lack_of_memory(table, torch.device("cpu")),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory.")
    assert_message_states_fix(error.value)


def test_the_engine_describes_its_device():
    engine = ENGINES["torch"]
    assert engine.missing() == ""
    assert devices_for(MemoryTable(np.zeros((2, 2))))[0].type in engine.describe() + " cuda"
    assert torch.__version__ in engine.describe()
