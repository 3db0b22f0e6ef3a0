"""Tests on a GPU: whole fits with the bits of the reference engine, tensors as input and output,
and the error of tensor cores.
"""

import gc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("torch sees no CUDA device", allow_module_level=True)

from rekmeans import EulerKMeans, KernelKMeans, RectifiedEulerKMeans, lloyd  # noqa: E402
from rekmeans.assignment import Hard  # noqa: E402
from rekmeans.centroids import mean  # noqa: E402
from rekmeans.engines.torch.error_bound import MARGIN  # noqa: E402
from rekmeans.engines.torch.kernels.assignment import list_candidates  # noqa: E402
from rekmeans.engines.torch.launches import launch_kernel  # noqa: E402
from rekmeans.engines.torch.placement import largest_share_of_bound  # noqa: E402
from rekmeans.engines.torch.rows import TorchRows  # noqa: E402
from rekmeans.model import Model, Stop  # noqa: E402
from support.blocks import example  # noqa: E402
from support.torch_kernels import assert_last_centroid_is_found  # noqa: E402

warnings.filterwarnings("ignore")


def drawn_table(n, d, k, seed, missing=0.0, errors=0.0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(k, d))[random.integers(0, k, n)] * 2 + random.normal(size=(n, d))
    X[random.random(X.shape) < errors] *= 30
    X[random.random(X.shape) < missing] = np.nan
    return X


def assert_same_fit(one, two):
    """Compare the bits of the scale, labels, centroids, objective and the record of every pass."""
    assert_array_equal(np.asarray(one.labels_), np.asarray(torch.as_tensor(two.labels_).cpu()))
    for name in ("low", "high", "shift", "unit"):
        assert_array_equal(getattr(one.scale_, name), getattr(two.scale_, name))
    assert_array_equal(one.centroids_, two.centroids_)
    assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    assert (one.inertia_, one.n_iter_) == (two.inertia_, two.n_iter_)
    for name in ("inertia", "n_changed", "n_relocated"):
        assert_array_equal(one.history_[name], two.history_[name])


CASES = [
    {"n": 178, "d": 13, "k": 3},
    {"n": 1000, "d": 5, "k": 8, "errors": 0.1},
    {"n": 5000, "d": 16, "k": 26, "missing": 0.05},
    {"n": 40_000, "d": 16, "k": 10},
    {"n": 40_000, "d": 9, "k": 100, "missing": 0.1, "errors": 0.05},
    {"n": 3000, "d": 300, "k": 20},
    {"n": 3000, "d": 300, "k": 5, "missing": 0.02},
    {"n": 6000, "d": 70, "k": 1100},
    {"n": 500, "d": 3000, "k": 4},
    {"n": 50, "d": 1, "k": 40},
    {"n": 7, "d": 2, "k": 1},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("estimator", [RectifiedEulerKMeans, EulerKMeans])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_at_the_defaults(case, estimator, weighted):
    X = drawn_table(**case, seed=1)
    w = np.random.default_rng(2).random(len(X)) if weighted else None
    init = "random" if case["k"] > 1000 else "k-means++"
    one, two = (
        estimator(case["k"], init=init, n_init=1, random_state=0, max_iter=30, engine=engine).fit(
            X, sample_weight=w
        )
        for engine in ("reference", "torch")
    )
    assert two.engine_.startswith("torch")
    assert_same_fit(one, two)


@pytest.mark.parametrize("init", ["random", "circle", "k-means++"])
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
def test_starts_and_scales(init, scale):
    X = np.round(drawn_table(2000, 4, 6, 3, errors=0.02), 1)
    fits = [
        EulerKMeans(12, init=init, scale=scale, n_init=2, random_state=1, engine=engine).fit(X)
        for engine in ("reference", "torch")
    ]
    assert_same_fit(*fits)


def test_equal_rows_and_empty_clusters():
    X = np.repeat(np.arange(6.0), 50)[:, None] * np.ones(3)
    fits = [
        RectifiedEulerKMeans(9, init=X[:9], scale="range", engine=engine).fit(X)
        for engine in ("reference", "torch")
    ]
    assert_same_fit(*fits)


def test_many_equal_rows_and_centroids():
    """Use more pairs of a doubtful row and a candidate than the list can hold."""
    n, k = 60_000, 512
    X = np.random.default_rng(0).uniform(0, 1, (n, 2))
    X[::2] = 0.5
    fits = [
        EulerKMeans(k, init=X[:k], scale="range", max_iter=3, engine=engine).fit(X)
        for engine in ("reference", "torch")
    ]
    assert_same_fit(*fits)


def test_the_counter_of_candidates_does_not_wrap():
    """Use 2^32 pairs of a doubtful row and a candidate, while the counter has 32 bits."""
    n = 1 << 20
    K = 4096
    P = 16
    max_pairs = 1 << 14
    n_programs = 264
    X, C = (torch.ones(rows, P, dtype=torch.float16, device="cuda") for rows in (n, K))
    doubt_row, slot, centroid = (
        torch.arange(n, dtype=torch.int32, device="cuda") for _ in range(3)
    )
    overflow = torch.zeros(n, dtype=torch.int8, device="cuda")
    bias = torch.zeros(K, device="cuda")
    counters = torch.tensor([0, n, *[0] * 6], dtype=torch.int32, device="cuda")
    halt = torch.zeros_like(doubt_row[:1])
    launch_kernel(
        list_candidates, n_programs,
        X, C, bias, doubt_row, torch.ones(n, device="cuda"), slot, centroid, overflow, counters,
        halt, max_pairs,
        K=K, P=P, BN=128, BK=128, BP=16, NPROG=n_programs, num_warps=8, num_stages=3,
    )  # fmt: skip
    assert max_pairs < int(counters[2]) <= max_pairs + 128 * n_programs
    assert bool(overflow.all())
    # nothing is written beyond the end of the list
    assert_array_equal(slot[max_pairs:].cpu().numpy(), np.arange(max_pairs, n))


@pytest.mark.long
def test_centroids_with_more_cells_than_32_bits_count():
    # 4.3 GB
    K = (1 << 17) + 256
    P = 1 << 14
    assert_last_centroid_is_found(K, P, torch.device("cuda"))


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 0.9])
def test_small_widths(alpha):
    X = drawn_table(20_000, 40, 30, 5)
    fits = [
        EulerKMeans(
            30, alpha=alpha, init="random", n_init=1, random_state=0, max_iter=12, engine=engine
        ).fit(X)
        for engine in ("reference", "torch")
    ]
    assert_same_fit(*fits)


def test_tensors_as_input_give_tensors_as_output():
    X = drawn_table(3000, 6, 4, 0, missing=0.01)
    host = RectifiedEulerKMeans(4, random_state=0, engine="reference").fit(X)
    on_device = RectifiedEulerKMeans(4, random_state=0).fit(torch.from_numpy(X).cuda())
    assert on_device.labels_.device.type == "cuda"
    assert_same_fit(host, on_device)
    assert on_device.predict(torch.from_numpy(X).cuda()).device.type == "cuda"
    assert_array_equal(host.predict(X), on_device.predict(torch.from_numpy(X).cuda()).cpu().numpy())
    assert_array_equal(
        host.transform(X), on_device.transform(torch.from_numpy(X).cuda()).cpu().numpy()
    )
    assert_array_equal(on_device.predict(X), host.labels_)


def test_cupy_arrays():
    cupy = pytest.importorskip("cupy")
    X = drawn_table(3000, 6, 4, 0)
    host = RectifiedEulerKMeans(4, random_state=0, engine="reference").fit(X)
    on_device = RectifiedEulerKMeans(4, random_state=0).fit(cupy.asarray(X))
    assert_same_fit(host, on_device)
    assert_array_equal(
        host.predict(X), np.asarray(torch.as_tensor(on_device.predict(cupy.asarray(X))).cpu())
    )


def test_a_table_in_blocks():
    X = drawn_table(30_000, 8, 5, 0, missing=0.01)
    fits = [
        RectifiedEulerKMeans(5, random_state=0, engine="reference").fit(X),
        RectifiedEulerKMeans(5, random_state=0, engine="torch", memory_limit="1MB").fit(X),
    ]
    assert_same_fit(*fits)


@pytest.mark.parametrize("devices", ["cuda,cuda:0", "cuda:0,cuda:1"])
def test_rows_on_several_devices(devices, monkeypatch):
    if devices.endswith("1") and torch.cuda.device_count() < 2:
        pytest.skip("torch sees only one CUDA device")
    X = drawn_table(20_000, 8, 5, 0, missing=0.01)
    one = RectifiedEulerKMeans(5, random_state=0, engine="reference").fit(X)
    monkeypatch.setenv("REKMEANS_DEVICES", devices)
    assert_same_fit(one, RectifiedEulerKMeans(5, random_state=0, engine="torch").fit(X))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="torch sees only one CUDA device")
@pytest.mark.parametrize("current", [0, 1])
def test_a_tensor_on_a_device_that_is_not_the_current_one(current):
    X = drawn_table(20_000, 16, 10, 0)
    one = RectifiedEulerKMeans(10, random_state=0, engine="reference").fit(X)
    with torch.cuda.device(current):
        two = RectifiedEulerKMeans(10, random_state=0).fit(
            torch.from_numpy(X).to(f"cuda:{1 - current}")
        )
        assert torch.cuda.current_device() == current
    assert two.labels_.device.index == 1 - current
    assert_same_fit(one, two)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_points(kernel):
    X = drawn_table(3000, 6, 4, 0)
    one, two = (
        KernelKMeans(4, kernel=kernel, centroids="rectified", random_state=0, engine=engine).fit(X)
        for engine in ("reference", "torch")
    )
    assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-9, atol=1e-9)


def test_a_run_frees_its_memory_without_the_garbage_collector():
    kernel, table = example("weights and gaps", n=40_000)

    def memory_after_a_run():
        place = TorchRows(kernel, table, torch.device("cuda"))
        model = Model(kernel, Hard(), mean)
        C = place.rows_as_centroids(np.arange(20))
        n_passes = len(lloyd.run_to_end(place, model, C, Stop(30, 0.0)).state.passes)
        assert n_passes > 10  # so that some of them use graphs
        assert place.mapped.spare_passes
        del place
        return torch.cuda.memory_allocated()

    gc.collect()
    gc.disable()
    try:
        # libraries keep the memory that the first run needed
        assert memory_after_a_run() == memory_after_a_run()
    finally:
        gc.enable()


def test_the_accumulator_stays_below_half_of_the_bound():
    device = torch.device("cuda", 0)
    share = largest_share_of_bound(device, torch.cuda.get_device_properties(device).major)
    assert 0.05 < share <= 1 / MARGIN  # adversarial inputs come close to the limit of the model
