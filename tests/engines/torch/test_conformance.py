"""The conformance suite for the torch engine: on the CPU, in Triton's interpreter, and on a GPU."""

import os
from importlib.util import find_spec

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from engines.conformance import RowsConformance, memory_rows  # noqa: E402
from rekmeans.engines import ENGINES  # noqa: E402
from rekmeans.engines.torch import mapped_rows  # noqa: E402
from rekmeans.engines.torch.table import TorchTable  # noqa: E402

has_interpreter = find_spec("triton") is not None and os.environ.get("TRITON_INTERPRET") == "1"


def tensor_rows(model, X, weights, device):
    """Map a tensor on its device."""
    cell_weights = None if weights is None else torch.from_numpy(weights).to(device)
    table = TorchTable(torch.from_numpy(X).to(device), cell_weights)
    return ENGINES["torch"].place([model], table, 1, None)


class TestHostTable(RowsConformance):
    float_kernels = ("linear", "rbf")

    def place(self, model, X, weights):
        return memory_rows(ENGINES["torch"], model, X, weights)


class TestTensor(RowsConformance):
    float_kernels = ("linear", "rbf")

    def place(self, model, X, weights):
        return tensor_rows(model, X, weights, "cpu")


@pytest.mark.skipif(not has_interpreter, reason="needs Triton and TRITON_INTERPRET=1")
class TestInterpreter(RowsConformance):
    float_kernels = ()

    @pytest.fixture(autouse=True)
    def pack_rows(self, monkeypatch):
        """Pack rows as on a GPU, so that runs use the Triton kernels."""
        monkeypatch.setattr(mapped_rows, "choose_store", lambda *_: mapped_rows.PackedRows)

    def place(self, model, X, weights):
        return memory_rows(ENGINES["torch"], model, X, weights)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
class TestGpu(RowsConformance):
    float_kernels = ("linear", "rbf")

    def place(self, model, X, weights):
        return tensor_rows(model, X, weights, "cuda")


def test_the_interpreter_runs_certified_passes(monkeypatch):
    if not has_interpreter:
        pytest.skip("needs Triton and TRITON_INTERPRET=1")
    from engines.conformance import euler_model
    from rekmeans.engines.torch.certified_run import CertifiedRun

    monkeypatch.setattr(mapped_rows, "choose_store", lambda *_: mapped_rows.PackedRows)
    model = euler_model("plain")
    rows = memory_rows(ENGINES["torch"], model, np.eye(3), None)
    assert isinstance(rows.start_run(model), CertifiedRun)
