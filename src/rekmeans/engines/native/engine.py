"""The native engine: the models and tables that it supports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from ...centroids import mean, rectified
from ...kernels.euler import MAX_INT64_COLUMNS
from ...model import Model
from ...table import CompiledFunctions, Table, TableFacts
from ...threads import count_threads
from ..base import HOST_ONLY, BaseRows, Engine, explain_unsupported_blocks
from .formulas import FORMULAS, MAX_ROWS, RULES

if TYPE_CHECKING:
    from ...table import StreamTable

CORE = f"{__package__}._core"  # the compiled module


class Native(Engine):
    """The compiled engine, for kernels whose centroids are points or on circles."""

    name = "native"

    def missing(self) -> str:
        return (
            ""
            if find_spec(CORE)
            else "the compiled core: install a C++ compiler, then reinstall rekmeans."
        )

    def describe(self) -> str:
        from .core_module import _core, instruction_set

        return (
            f"compiled, {_core.instruction_set(instruction_set())} instructions, "
            f"{count_threads()} threads"
        )

    def unsupported(self, stages: Sequence[Model], table: TableFacts) -> str:
        if not table.is_on_host:
            return HOST_ONLY
        if table.is_partitioned:
            return "does not support Dask collections. Use engine='dask'."
        if table.is_in_memory and table.n_rows > MAX_ROWS:
            return (
                f"supports at most {MAX_ROWS} rows in memory, got {table.n_rows}. Fit a sample "
                f"of the rows, or read them from a file."
            )
        if not table.is_in_memory and (reason := explain_unsupported_blocks(stages)):
            return reason
        for model in stages:
            if model.kernel.formula not in FORMULAS:
                name = model.kernel.name or type(model.kernel).__name__
                return f"does not support the kernel {name!r}. Use engine='reference'."
            if type(model.assignment) not in RULES:
                name = type(model.assignment).__name__
                return f"does not support the assignment rule {name}. Use engine='reference'."
            if model.centroids not in (mean, rectified):
                return (
                    "supports only the centroid rules mean and rectified. Use engine='reference'."
                )
            if FORMULAS[model.kernel.formula].is_on_grid and table.n_columns > MAX_INT64_COLUMNS:
                return (
                    f"supports at most {MAX_INT64_COLUMNS} columns, got {table.n_columns}. Use "
                    f"engine='reference'."
                )
        return ""

    def compiled_functions(self) -> CompiledFunctions:
        from .core_module import COMPILED_FUNCTIONS

        return COMPILED_FUNCTIONS

    def place(
        self, stages: Sequence[Model], table: Table, n_threads: int | None, memory_limit: int | None
    ) -> BaseRows:
        from .blocks import NativeBlockRows
        from .exact import NativeRows  # loads the compiled module
        from .float import NativePoints

        kernel = stages[-1].kernel
        if not table.is_in_memory:
            place = partial(self.place, stages, n_threads=n_threads, memory_limit=None)
            return NativeBlockRows(kernel, cast("StreamTable", table), place, n_threads)
        if FORMULAS[kernel.formula].is_on_grid:
            return NativeRows(kernel, table, n_threads, memory_limit)
        return NativePoints(kernel, table, n_threads=n_threads)
