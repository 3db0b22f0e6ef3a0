"""The Dask engine says what it serves: hard labels of rows in the partitions of a collection, where
they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ..model import Model
from ..table import CompiledFunctions, MemoryTable, Table
from .base import Engine, TableReader, choose_engine
from .blocks import refuse_blocks
from .native import Native
from .reference import Reference


class Dask:
    """Tasks on the cluster of the current client, or on Dask's local threads; each runs another
    engine on its rows.
    """

    name = "dask"

    def missing(self) -> str:
        return "" if find_spec("dask") else "Dask: pip install 'rekmeans[dask]'."

    def describe(self) -> str:
        return (
            "the partitions of Dask's collections, on the cluster of the current client or "
            "on local threads"
        )

    def reported_name(self) -> str:
        from ..table.dask_compute import current_client

        return self.name if current_client() is not None else f"{self.name} (local threads)"

    def is_home_of(self, table: Table) -> bool:
        return table.is_partitioned

    def reader(self, X: object) -> TableReader | None:
        return None

    def unsupported(self, stages: Sequence[Model], table: Table) -> str:
        if not table.is_partitioned:
            return "takes a dask.array or a dask.dataframe only: use another engine."
        if reason := refuse_blocks(stages):
            return reason
        if not all(model.assignment.is_hard for model in stages):
            return "takes collections for hard labels only: pass a table in memory or on disk."
        return ""

    def compiled_functions(self) -> CompiledFunctions:
        """Those of the engine that runs here: the rows that scales are made of are brought here."""
        native = Native()
        return {} if native.missing() else native.compiled_functions()

    def place(
        self, stages: Sequence[Model], table: Any, n_threads: int | None, memory_limit: int | None
    ) -> Any:
        from .dask_rows import DaskRows  # Dask is loaded only where its rows are placed

        inner: dict[str, Engine] = {engine.name: engine for engine in (Reference(), Native())}
        empty = MemoryTable(table.first_rows())
        return DaskRows(stages, table, choose_engine("auto", inner, stages, empty), n_threads)
