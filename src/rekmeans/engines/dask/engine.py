"""The Dask engine: the collections and models that it supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, cast

from ...model import Model
from ...table import CompiledFunctions, Table, TableFacts
from ..base import BaseRows, Engine, TableReader, choose_engine, explain_unsupported_blocks

if TYPE_CHECKING:
    from .table import DaskTable


@dataclass(frozen=True)
class PartitionFacts:
    """The facts about one partition that its inner engine needs."""

    n_columns: int
    n_rows: int = 1  # unknown before it is read
    is_in_memory: ClassVar[bool] = True
    is_partitioned: ClassVar[bool] = False
    is_on_host: ClassVar[bool] = True


class Dask(Engine):
    """The engine that runs tasks on the cluster of the current client, or on local threads.

    Each task runs one of the inner engines on the rows of a partition.
    """

    name = "dask"
    supports_only_partitions = True

    def __init__(self, inner_engines: Sequence[Engine]) -> None:
        self.inner_engines = {engine.name: engine for engine in inner_engines}

    def missing(self) -> str:
        return "" if find_spec("dask") else "Dask: pip install 'rekmeans[dask]'."

    def describe(self) -> str:
        return (
            "the partitions of Dask collections, on the cluster of the current client or "
            "on local threads"
        )

    def reported_name(self) -> str:
        from .compute import current_client

        return self.name if current_client() is not None else f"{self.name} (local threads)"

    def reader(self, X: object) -> TableReader | None:
        if not hasattr(X, "__dask_graph__"):
            return None
        from .table import read_dask_table

        return read_dask_table

    def is_default_for(self, table: TableFacts) -> bool:
        return table.is_partitioned

    def unsupported(self, stages: Sequence[Model], table: TableFacts) -> str:
        if not table.is_partitioned:
            return "supports only a dask.array or a dask.dataframe. Use another engine."
        if reason := explain_unsupported_blocks(stages):
            return reason
        if not all(model.assignment.is_hard for model in stages):
            return (
                "supports only hard assignment for Dask collections. Pass a table in memory or "
                "on disk."
            )
        return ""

    def compiled_functions(self) -> CompiledFunctions:
        """Return the functions of the inner engines. Scales are computed in this process."""
        installed = (engine for engine in self.inner_engines.values() if not engine.missing())
        return {
            function: compiled
            for engine in installed
            for function, compiled in engine.compiled_functions().items()
        }

    def place(
        self, stages: Sequence[Model], table: Table, n_threads: int | None, memory_limit: int | None
    ) -> BaseRows:
        from .rows import DaskRows  # imports Dask

        inner = choose_engine("auto", self.inner_engines, stages, PartitionFacts(table.n_columns))
        return DaskRows(stages, cast("DaskTable", table), inner, n_threads)
