"""The torch engine: which input it reads, and which fits it serves.

It serves hard assignment by the Euler, linear and RBF kernels. torch is loaded only when rows are
placed or a tensor is read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np

from ..._grid import Array
from ...assignment import Hard
from ...centroids import mean, rectified
from ...kernels.euler import NARROW, Euler
from ...kernels.points import RBF, Linear
from ...model import Model
from ...table import CompiledFunctions, Table, TableFacts
from ...table.refusals import is_device_array
from ..base import BaseRows, Engine, TableReader
from ..native import Native

SERVED_FORMULAS = (Euler.formula, Linear.formula, RBF.formula)
SERVED_BEYOND = ("ignore", "clip", "wrap")  # rules for values out of range that PhaseMap has


class Torch(Engine):
    """Tensors on a CUDA device or another of torch's, on the processor if there is none."""

    name = "torch"

    def missing(self) -> str:
        return "" if find_spec("torch") else "torch: pip install 'rekmeans[gpu]'."

    def describe(self) -> str:
        from .placement import describe_device

        return describe_device()

    def is_home_of(self, table: TableFacts) -> bool:
        return not table.is_on_host

    def reader(self, X: object) -> TableReader | None:
        return read_device_array if is_tensor(X) or is_device_array(X) else None

    def unsupported(self, stages: Sequence[Model], table: TableFacts) -> str:
        if table.is_partitioned:
            return "takes no collection of Dask's: use engine='dask'."
        if not table.is_on_host:
            # torch is loaded, as the table is a tensor
            from .placement import explain_unsupported_device

            if reason := explain_unsupported_device(table):
                return reason
        other = "use engine='native'" if table.is_on_host else "pass X.cpu()"
        for model in stages:
            kernel = model.kernel
            if kernel.formula not in SERVED_FORMULAS:
                return (
                    f"does not know the kernel {kernel.name or type(kernel).__name__!r}: {other}."
                )
            if kernel.beyond not in SERVED_BEYOND:
                return f"does not know beyond={kernel.beyond!r}: {other}."
            if type(model.assignment) is not Hard:
                return (
                    f"knows hard assignment only, not {type(model.assignment).__name__}: {other}."
                )
            if model.centroids not in (mean, rectified):
                return "knows the centroid rules mean and rectified only: use engine='reference'."
            if kernel.formula == Euler.formula and table.n_columns > NARROW:
                return (
                    f"takes at most {NARROW} columns, got {table.n_columns}: use "
                    f"engine='reference'."
                )
            if not table.is_in_memory and kernel.formula != Euler.formula:
                return (
                    "takes an X that is not in memory for the Euler kernel only: pass a "
                    "table that is."
                )
        return ""

    def compiled_functions(self) -> CompiledFunctions:
        """Return those of the native engine: rows of summaries are brought to the host."""
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
    """Return whether X is a tensor of torch; nothing is one if torch is not imported."""
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
            f"X is a {type(X).__name__} on a GPU, which needs torch: pip install 'rekmeans[gpu]'."
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
    """Return values of rows, such as labels, as a NumPy array.

    Tensors and CuPy's arrays are copied to the host.
    """
    if is_tensor(values):
        return np.asarray(values.detach().cpu())  # type: ignore[attr-defined]
    if is_device_array(values) and hasattr(values, "get"):
        return np.asarray(values.get())
    return np.asarray(values)
