"""Devices without a proven error bound: AMD GPUs are not supported, and unknown NVIDIA GPUs get the
largest bound.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

torch = pytest.importorskip("torch")

from rekmeans import EulerKMeans  # noqa: E402
from rekmeans.engines.torch import placement  # noqa: E402
from rekmeans.engines.torch.engine import Torch  # noqa: E402
from rekmeans.engines.torch.error_bound import STEP_LOSS, step_loss  # noqa: E402
from rekmeans.engines.torch.table import TorchTable, is_amd_gpu, read_torch_table  # noqa: E402

GPU = torch.device("cuda", 0)


@pytest.fixture
def rocm(monkeypatch):
    """Simulate a build of torch for AMD GPUs, which it calls "cuda"."""
    monkeypatch.setattr(torch.version, "hip", "6.4.0")


@pytest.mark.parametrize("major", [1, 6, 10, 12, 99])
def test_an_unknown_architecture_has_the_largest_bound(major):
    assert step_loss(major) == max(STEP_LOSS.values())


def test_gpus_of_rocm_builds_are_amd_gpus(rocm):
    assert is_amd_gpu(GPU)
    assert not is_amd_gpu(torch.device("cpu"))


def test_gpus_of_cuda_builds_are_not_amd_gpus():
    assert not is_amd_gpu(GPU)


def test_a_host_table_is_not_placed_on_an_amd_gpu(rocm, monkeypatch):
    monkeypatch.setattr(placement, "best_device", lambda: GPU)
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(
        ValueError, match=r"engine='torch' does not support AMD GPUs: .* Set REKMEANS_DEVICES=cpu"
    ):
        EulerKMeans(2, engine="torch").fit(X)
    assert EulerKMeans(2).fit(X).engine_ == "native"
    monkeypatch.setenv(placement.DEVICES, "cpu")
    assert EulerKMeans(2, engine="torch").fit(X).engine_ == "torch"


def test_a_tensor_on_an_amd_gpu_raises_an_error(rocm):
    table = SimpleNamespace(is_on_host=False, is_partitioned=False, device=GPU)
    assert Torch().unsupported([], table) == f"{placement.NO_AMD_GPU} Pass X.cpu()."


@pytest.mark.parametrize(("engine", "is_copied"), [("auto", True), ("torch", False)])
def test_by_default_a_tensor_on_an_amd_gpu_is_copied_to_the_host(engine, is_copied, monkeypatch):
    """As for MPS, results are copied back to the device of X."""
    monkeypatch.setattr("rekmeans.engines.torch.table.is_amd_gpu", lambda device: True)
    X = torch.rand(20, 2)
    estimator = EulerKMeans(2, engine=engine)
    table = read_torch_table(estimator, X, None, fitting=True, k=2, k_parameter="", on_host=False)
    assert isinstance(table, TorchTable)
    assert (getattr(table.to_library, "args", ()) == (X.device,)) == is_copied
    assert_array_equal(table.cells, X)
