"""Engines recognize their input without importing its library."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rekmeans import RectifiedEulerKMeans
from rekmeans.engines import ENGINES, find_reader, host_values
from rekmeans.engines.torch import engine as torch_engine


class GpuArray:
    """An array that DLPack reports as GPU memory, with the `get` method of CuPy."""

    def __init__(self, values, memory=2):
        self.values = values
        self.memory = memory

    def __dlpack_device__(self):
        if self.memory is None:
            raise ValueError("Unknown device type")
        return self.memory, 0

    def get(self):
        return self.values


@pytest.mark.parametrize("memory", [2, 10, None])
def test_an_array_on_a_device_is_read_by_torch(memory):
    X = GpuArray(np.ones((4, 2)), memory)
    recognizing = [name for name, engine in ENGINES.items() if engine.reader(X) is not None]
    assert recognizing == ["torch"]
    assert find_reader(X) == ENGINES["torch"].reader(X)


PLAIN = {
    "array": np.ones((4, 2)),
    "list": [[1.0, 2.0]],
    "data frame": pd.DataFrame({"a": [1.0]}),
    "sparse table": sparse.eye(3, format="csr"),
    "path": "rows.npy",
    "function": lambda: iter(()),
    "array in pinned memory": GpuArray(np.ones((4, 2)), memory=3),
}


@pytest.mark.parametrize("name", PLAIN)
def test_no_engine_recognizes_rows_on_the_host(name):
    assert find_reader(PLAIN[name]) is None


def test_an_array_on_a_gpu_needs_torch(monkeypatch):
    monkeypatch.setattr(torch_engine, "find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=r"X is a GpuArray on a GPU, which needs torch\. Run: pip"
    ):
        RectifiedEulerKMeans(2).fit(GpuArray(np.ones((4, 2))))


def test_values_on_a_gpu_are_copied_to_the_host():
    values = np.arange(3)
    assert host_values(GpuArray(values)) is values
    assert host_values(values) is values
    assert host_values([1, 2]).tolist() == [1, 2]
