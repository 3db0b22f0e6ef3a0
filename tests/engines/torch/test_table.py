"""A tensor as a table gives the same results and errors as the same cells in memory."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

torch = pytest.importorskip("torch")

from rekmeans import RectifiedEulerKMeans  # noqa: E402
from rekmeans.engines import find_reader  # noqa: E402
from rekmeans.engines.torch.engine import is_tensor  # noqa: E402
from rekmeans.engines.torch.table import TensorMemoryTable, TorchTable  # noqa: E402
from rekmeans.scales import SCALES  # noqa: E402
from rekmeans.table import MemoryTable  # noqa: E402
from rekmeans.table.validation import is_device_array  # noqa: E402

WEIGHTS = {
    "equal": lambda n: None,
    "real": lambda n: np.random.default_rng(1).uniform(0.1, 3, n),
    "counts": lambda n: np.random.default_rng(2).integers(0, 4, n).astype(np.float64),
}
each_weight = pytest.mark.parametrize("weight", WEIGHTS)


def drawn_cells(n=300, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, d)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[np.isnan(X).all(axis=1)] = 1.0
    return X


def both_tables(X, weights):
    return MemoryTable(X, weights), TorchTable(
        torch.from_numpy(X), None if weights is None else torch.tensor(weights)
    )


@each_weight
@pytest.mark.parametrize("n", [300, 130_000])
@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_has_the_same_bits(weight, n, scale):
    one, two = (
        SCALES[scale](table.column_summary())
        for table in both_tables(drawn_cells(n, 2), WEIGHTS[weight](n))
    )
    for name in ("low", "high", "shift", "unit", "period"):
        assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@each_weight
@pytest.mark.parametrize("count", [20, 5000])
def test_a_sample_has_the_same_rows(weight, count):
    one, two = (
        table.sample(count, 7) for table in both_tables(drawn_cells(), WEIGHTS[weight](300))
    )
    assert_array_equal(one.dense(), two.dense())
    assert_array_equal(one.weights, two.weights)


@each_weight
def test_the_extent_ignores_rows_without_weight(weight, monkeypatch):
    monkeypatch.setattr("rekmeans.engines.torch.table.MAX_BLOCK_CELLS", 28)
    X = drawn_cells()
    X[:, 2] = np.nan
    one, two = (table.column_summary().extent for table in both_tables(X, WEIGHTS[weight](300)))
    assert_array_equal(one, two)


def test_methods_do_not_change_a_table():
    X = drawn_cells()
    before = X.copy()
    table = both_tables(X, None)[1]
    SCALES["robust"](table.column_summary())
    assert table.has_missing()
    assert_array_equal(X, before)


TYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.int64,
    torch.uint8,
    torch.bool,
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("engine", ["torch", "reference"])
def test_every_dtype_is_fitted_like_float64(dtype, engine):
    X = (torch.arange(120).reshape(60, 2) % 37).to(dtype)
    one = RectifiedEulerKMeans(3, random_state=0, engine="reference").fit(
        X.to(torch.float64).numpy()
    )
    two = RectifiedEulerKMeans(3, random_state=0, engine=engine).fit(X)
    assert isinstance(two.labels_, torch.Tensor)
    assert_array_equal(one.labels_, two.labels_.numpy())
    assert_array_equal(one.centroids_, two.centroids_)
    assert one.inertia_ == two.inertia_


@pytest.mark.parametrize("engine", ["torch", "auto"])
@pytest.mark.filterwarnings("ignore:.*no observed value")
def test_rows_without_an_observed_value_get_the_label_of_an_array(engine):
    X = drawn_cells()
    X[[0, 50, -1]] = np.nan
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    one = RectifiedEulerKMeans(3, random_state=0, engine=engine).fit(torch.from_numpy(X))
    assert isinstance(one.labels_, torch.Tensor)
    assert_array_equal(one.labels_.numpy(), model.labels_)
    assert one.labels_[[0, 50, -1]].tolist() == [-1, -1, -1]
    assert_array_equal(one.centroids_, model.centroids_)
    assert one.inertia_ == model.inertia_
    assert_array_equal(one.predict(torch.from_numpy(X)).numpy(), model.labels_)
    assert_array_equal(one.transform(torch.from_numpy(X)).numpy(), model.transform(X))


def bad_value(value):
    X = drawn_cells()
    X[17, 3] = value
    return X


BAD = {
    "infinity": bad_value(-np.inf),
    "too large": bad_value(1e160),
    "no observed value": np.full((9, 3), np.nan),
    "no rows": np.empty((0, 3)),
    "no columns": np.empty((3, 0)),
    "one dimension": np.arange(5.0),
    "three dimensions": np.zeros((4, 2, 2)),
    "complex numbers": np.ones((4, 2), complex),
    "few rows": np.zeros((2, 2)),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("engine", ["torch", "auto"])
def test_an_invalid_tensor_raises_the_same_error_as_an_array(name, engine, monkeypatch):
    monkeypatch.setattr("rekmeans.engines.torch.table.MAX_BLOCK_CELLS", 28)
    with pytest.raises(ValueError) as array:  # noqa: PT011
        RectifiedEulerKMeans(3).fit(BAD[name])
    with pytest.raises(ValueError) as tensor:  # noqa: PT011
        RectifiedEulerKMeans(3, engine=engine).fit(torch.from_numpy(BAD[name]))
    assert str(tensor.value) == str(array.value)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_infinity_raises_an_error_for_every_dtype(dtype):
    X = torch.arange(20.0).reshape(10, 2).to(dtype)
    X[3, 1] = torch.inf
    for engine in ("torch", "auto"):
        with pytest.raises(
            ValueError, match="X must be finite, but contains infinity in row 3, column 1"
        ):
            RectifiedEulerKMeans(2, engine=engine).fit(X)
    X[3, 1] = torch.finfo(dtype).max
    RectifiedEulerKMeans(2, engine="torch").fit(X)


BAD_WEIGHTS = {
    "negative": np.array([1.0, -1, 2, 1]),
    "all zero": np.zeros(4),
    "not a number": np.array([1.0, np.nan, 1, 1]),
    "wrong length": np.ones(3),
    "far apart": np.array([1e-20, 1, 1, 1]),
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
@pytest.mark.parametrize("kind", [torch.from_numpy, np.asarray])
def test_invalid_weights_raise_the_same_error_as_arrays(name, kind):
    X = np.arange(8.0).reshape(4, 2)
    weights = BAD_WEIGHTS[name]
    with pytest.raises(ValueError) as array:  # noqa: PT011
        RectifiedEulerKMeans(2).fit(X, sample_weight=weights)
    with pytest.raises(ValueError) as tensor:  # noqa: PT011
        RectifiedEulerKMeans(2, engine="torch").fit(
            torch.from_numpy(X), sample_weight=kind(weights)
        )
    assert str(tensor.value) == str(array.value)


def test_weights_on_another_device_raise_an_error():
    weights = torch.ones(4, device="meta")
    for engine in ("torch", "auto"):
        with pytest.raises(
            ValueError, match=r"must be on the same device, got cpu and meta. Pass sample_weight.to"
        ):
            RectifiedEulerKMeans(2, engine=engine).fit(torch.ones(4, 2), sample_weight=weights)


def test_a_sparse_tensor_raises_an_error():
    with pytest.raises(ValueError, match=r"must be a dense tensor.*Pass X.to_dense\(\)"):
        RectifiedEulerKMeans(2, engine="torch").fit(torch.eye(4).to_sparse())


class OtherLibrary:
    """An array of another library, which supports DLPack and reports GPU memory."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **_):
        return self.array.__dlpack__()


def test_arrays_on_a_gpu_are_recognized_by_their_device():
    array = OtherLibrary(torch.ones(4, 2))
    assert (is_device_array(array), is_tensor(array)) == (True, False)
    assert (is_device_array(array.array), is_tensor(array.array)) == (False, True)
    assert not is_device_array(np.ones(3))
    assert not is_tensor([1.0])


def read(estimator, X):
    return find_reader(X)(estimator, X, None, fitting=True, k=2, k_parameter="")


def test_a_tensor_on_the_host_becomes_a_numpy_view():
    X = torch.rand(5, 2, dtype=torch.float64, requires_grad=True)
    table = read(RectifiedEulerKMeans(2), X)
    assert isinstance(table, TensorMemoryTable)
    assert table.X.ctypes.data == X.data_ptr()
    table = read(RectifiedEulerKMeans(2, engine="torch"), X)
    assert isinstance(table, TorchTable)
    assert table.cells.data_ptr() == X.data_ptr()


def test_importing_rekmeans_does_not_import_torch():
    code = (
        "import sys, rekmeans.engines, rekmeans.cli; print({'torch', 'triton'} & "
        "sys.modules.keys())"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout == "set()\n"
