"""Reproduction of the paper: its datasets, features, tables and figures."""

import importlib as _importlib
import typing as _typing

__all__ = ["SpatialPyramid", "folder"]

if _typing.TYPE_CHECKING:
    from .images import folder
    from .pyramid import SpatialPyramid
else:
    # Imported on first use, so that `rekmeans --help` does not load scikit-learn.
    _MODULE_OF_NAME = {"SpatialPyramid": ".pyramid", "folder": ".images"}

    def __getattr__(name):
        """Import a public name from its module."""
        if name not in _MODULE_OF_NAME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(_importlib.import_module(_MODULE_OF_NAME[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names and the module's own attributes."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
