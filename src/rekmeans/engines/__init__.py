"""Engines: where mapped rows are and passes run. A new one is a file and an entry here; the last is tried first."""

from .base import Engine, Rows, Run, choose_engine
from .dask import Dask
from .native import Native
from .reference import Reference
from .torch import Torch

__all__ = ["ENGINES", "Engine", "Rows", "Run", "check_engine", "choose_engine"]

IN_ORDER: tuple[Engine, ...] = (Reference(), Native(), Dask(), Torch())  # tried from the last on
ENGINES: dict[str, Engine] = {engine.name: engine for engine in IN_ORDER}


def check_engine(name: object) -> None:
    """Refuse a name that no engine has, or an engine that is not here."""
    if not isinstance(name, str) or name not in ("auto", *ENGINES):
        names = ", ".join(repr(known) for known in ("auto", *reversed(ENGINES)))
        raise ValueError(f"engine must be one of {names}; got {name!r}.")
    if name != "auto" and (missing := ENGINES[name].missing()):
        raise ImportError(f"engine={name!r} needs {missing}")
