"""The torch engine: the input that it reads and the fits that it supports.

It supports hard assignment with the Euler, linear and RBF kernels. torch is imported only when a
tensor is read or rows are placed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np

from ..._grid import Array
from ...assignment import Hard
from ...centroids import mean, rectified
from ...kernels.euler import MAX_INT64_COLUMNS, Euler
from ...kernels.points import RBF, Linear
from ...model import Model
from ...table import CompiledFunctions, Table, TableFacts
from ...table.validation import is_device_array
from ..base import BaseRows, Engine, TableReader
from ..native import Native

SUPPORTED_FORMULAS = (Euler.formula, Linear.formula, RBF.formula)
SUPPORTED_BEYOND = ("ignore", "clip", "wrap")  # rules for out-of-range values in PhaseMap


class Torch(Engine):
    """The engine for CUDA and other torch devices. Without any, it uses the CPU."""

    name = "torch"

    def missing(self) -> str:
        return "" if find_spec("torch") else "torch: pip install 'rekmeans[gpu]'."

    def describe(self) -> str:
        from .placement import describe_device

        return describe_device()

    def is_default_for(self, table: TableFacts) -> bool:
        return not table.is_on_host

    def reader(self, X: object) -> TableReader | None:
        return read_device_array if is_tensor(X) or is_device_array(X) else None

    def unsupported(self, stages: Sequence[Model], table: TableFacts) -> str:
        if table.is_partitioned:
            return "does not support Dask collections. Use engine='dask'."
        if not table.is_on_host:
            # The table is a tensor, so torch is already imported.
            from .placement import explain_unsupported_device

            if reason := explain_unsupported_device(table):
                return reason
        fix = "Use engine='native'" if table.is_on_host else "Pass X.cpu()"
        for model in stages:
            kernel = model.kernel
            if kernel.formula not in SUPPORTED_FORMULAS:
                name = kernel.name or type(kernel).__name__
                return f"does not support the kernel {name!r}. {fix}."
            if kernel.beyond not in SUPPORTED_BEYOND:
                return f"does not support beyond={kernel.beyond!r}. {fix}."
            if type(model.assignment) is not Hard:
                name = type(model.assignment).__name__
                return f"supports only hard assignment, got {name}. {fix}."
            if model.centroids not in (mean, rectified):
                return (
                    "supports only the centroid rules mean and rectified. Use engine='reference'."
                )
            if kernel.formula == Euler.formula and table.n_columns > MAX_INT64_COLUMNS:
                return (
                    f"supports at most {MAX_INT64_COLUMNS} columns, got {table.n_columns}. Use "
                    f"engine='reference'."
                )
            if not table.is_in_memory and kernel.formula != Euler.formula:
                return (
                    "supports out-of-core tables only for the Euler kernel. Pass a table that "
                    "is in memory."
                )
        return ""

    def compiled_functions(self) -> CompiledFunctions:
        """Return the functions of the native engine. Summaries are computed on the host."""
        native = Native()
        return {} if native.missing() else native.compiled_functions()

    def place(
        self, stages: Sequence[Model], table: Table, n_threads: int | None, memory_limit: int | None
    ) -> BaseRows:
        from .placement import place_on_devices
        from .points import TorchPoints
        from .rows import TorchRows

        kernel = stages[-1].kernel
        place_rows = TorchRows if kernel.formula == Euler.formula else TorchPoints
        return place_on_devices(kernel, table, memory_limit, place_rows)


def is_tensor(X: object) -> bool:
    """Return whether X is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def read_device_array(
    estimator: object,
    X: object,
    sample_weight: object,
    *,
    fitting: bool,
    k: int,
    k_parameter: str,
) -> Table:
    """Return the table of a tensor or an array on a GPU.

    A tensor on the host is read as a NumPy array, unless the estimator's engine is torch.
    """
    if not find_spec("torch"):
        raise ImportError(
            f"X is a {type(X).__name__} on a GPU, which needs torch. Run: pip install "
            f"'rekmeans[gpu]'."
        )
    from .table import read_torch_table

    on_host = not is_device_array(X) and getattr(estimator, "engine", "auto") != "torch"
    return read_torch_table(
        estimator,
        X,
        sample_weight,
        fitting=fitting,
        k=k,
        k_parameter=k_parameter,
        on_host=on_host,
    )


def host_values(values: object) -> Array:
    """Return an array with one value for each row, such as labels, as a NumPy array.

    Tensors and CuPy arrays are copied to the host.
    """
    if is_tensor(values):
        return np.asarray(values.detach().cpu())  # type: ignore[attr-defined]
    if is_device_array(values) and hasattr(values, "get"):
        return np.asarray(values.get())
    return np.asarray(values)
