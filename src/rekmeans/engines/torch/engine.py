"""The torch engine says what it serves: hard assignment of rows on a device, by the Euler, linear
and RBF kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ...assignment import Hard
from ...centroids import mean, rectified
from ...kernels.euler import NARROW, Euler
from ...kernels.linear import Linear
from ...kernels.rbf import RBF
from ...model import Model
from ...table import CompiledFunctions, Table, TableFacts
from ...table.device_arrays import is_on_card, is_tensor
from ..base import BaseRows, Engine, TableReader
from ..native import Native

SERVED_FORMULAS = (Euler.formula, Linear.formula, RBF.formula)
SERVED_BEYOND = ("ignore", "clip", "wrap")  # rules for values out of range that phases.py has


class Torch(Engine):
    """Tensors on a CUDA device or another of torch's, on the processor where there is none."""

    name = "torch"

    def missing(self) -> str:
        return "" if find_spec("torch") else "torch: pip install 'rekmeans[gpu]'."

    def describe(self) -> str:
        from .devices import describe_device

        return describe_device()

    def reader(self, X: object) -> TableReader | None:
        if not (is_tensor(X) or is_on_card(X)):
            return None
        if not find_spec("torch"):
            raise ImportError(
                f"X is a {type(X).__name__} on a GPU, which needs torch: pip install "
                "'rekmeans[gpu]'."
            )
        from ...table.torch import read_torch_table

        return read_torch_table

    def is_home_of(self, table: TableFacts) -> bool:
        return not table.is_on_host

    def unsupported(self, stages: Sequence[Model], table: Table) -> str:
        if table.is_partitioned:
            return "takes no collection of Dask's: use engine='dask'."
        if not table.is_on_host:
            # torch is loaded, as the table is a tensor
            from .devices import explain_unsupported_device

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
        """Those of the compiled core: the rows that scales are made of are brought to the host."""
        native = Native()
        return {} if native.missing() else native.compiled_functions()

    def place(
        self, stages: Sequence[Model], table: Any, n_threads: int | None, memory_limit: int | None
    ) -> BaseRows:
        from .placement import place_on_devices  # torch is loaded only where rows are placed

        return place_on_devices(stages, table, memory_limit)
