"""Engines: where mapped rows are and passes run.

A new one is a file and an entry here; the last is tried first.
"""

from ..table import Table
from .base import (
    BaseRows,
    Engine,
    Rows,
    Run,
    TableReader,
    choose_engine,
    refuse_missing_engine,
    summarize_columns,
)
from .dask import Dask
from .native import Native
from .reference import Reference
from .torch import Torch, host_values

__all__ = [
    "ENGINES",
    "BaseRows",
    "Engine",
    "Rows",
    "Run",
    "TableReader",
    "check_engine",
    "check_engine_name",
    "choose_engine",
    "engine_for_prediction",
    "find_reader",
    "host_values",
    "summarize_columns",
]

IN_ORDER: tuple[Engine, ...] = (Reference(), Native(), Dask(), Torch())  # tried from the last on
ENGINES: dict[str, Engine] = {engine.name: engine for engine in IN_ORDER}


OF_PARTITIONS = frozenset({Dask.name})  # engines that take partitioned tables only


def engine_for_prediction(name: str, table: Table) -> str:
    """Return the name of the engine that predicts rows of this table for a model that was fitted
    with this engine.

    If an engine takes only Dask collections, the engine that "auto" chooses predicts rows of any
    other table. Any other engine that does not take a table raises an error, as in `fit`.
    """
    return "auto" if name in OF_PARTITIONS and not table.is_partitioned else name


def find_reader(X: object) -> TableReader | None:
    """Return the reader of the engine that recognizes X; None for any other input."""
    readers = (engine.reader(X) for engine in ENGINES.values())
    return next((reader for reader in readers if reader is not None), None)


def check_engine(name: str) -> None:
    """Raise an error for a name that no engine has, or an engine that is not installed."""
    check_engine_name(name)
    if name != "auto":
        refuse_missing_engine(ENGINES[name])


def check_engine_name(name: object) -> None:
    """Raise an error for a name that no engine has."""
    if not isinstance(name, str) or name not in ("auto", *ENGINES):
        names = ", ".join(repr(known) for known in ("auto", *reversed(ENGINES)))
        raise ValueError(f"engine must be one of {names}; got {name!r}.")
