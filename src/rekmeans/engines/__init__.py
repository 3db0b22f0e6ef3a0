"""Engines store the mapped rows and run the passes.

To add an engine, add a folder or a file, and an entry in IN_ORDER.
"""

from sklearn.base import BaseEstimator

from ..kernels.base import Kernel
from ..table import Table
from ..table.stream_input import read_host_table
from .base import (
    BaseRows,
    Engine,
    Rows,
    Run,
    TableReader,
    check_installed,
    choose_engine,
    summarize_columns,
)
from .dask import Dask
from .native import Native
from .reference import Reference, ReferenceRows
from .torch import Torch, host_values

__all__ = [
    "ENGINES",
    "BaseRows",
    "Engine",
    "Rows",
    "Run",
    "TableReader",
    "check_installed",
    "choose_engine",
    "find_reader",
    "host_values",
    "place_by_definition",
    "read_input",
    "summarize_columns",
]

HOST_ENGINES: tuple[Engine, ...] = (Reference(), Native())
# engine="auto" tries the last entry first
IN_ORDER: tuple[Engine, ...] = (*HOST_ENGINES, Dask(HOST_ENGINES), Torch())
ENGINES: dict[str, Engine] = {engine.name: engine for engine in IN_ORDER}


def read_input(
    estimator: BaseEstimator,
    X: object,
    sample_weight: object = None,
    memory_limit: int | None = None,
    *,
    fitting: bool,
    k: int = 1,
    k_parameter: str = "",
) -> Table:
    """Read and check the input of an estimator, and return it as a table."""
    if (read := find_reader(X)) is not None:
        return read(estimator, X, sample_weight, fitting=fitting, k=k, k_parameter=k_parameter)
    return read_host_table(
        estimator, X, sample_weight, memory_limit, fitting=fitting, k=k, k_parameter=k_parameter
    )


def place_by_definition(kernel: Kernel, table: Table) -> BaseRows:
    """Map rows with the reference engine, which gives the same bits on every machine."""
    return ReferenceRows(kernel, table)


def find_reader(X: object) -> TableReader | None:
    """Return the reader of the engine that recognizes X, or None if no engine does."""
    readers = (engine.reader(X) for engine in ENGINES.values())
    return next((reader for reader in readers if reader is not None), None)
