"""Rectified Euler k-means, and kernel clustering with other kernels and assignment rules."""

import importlib as _importlib
import typing as _typing

__version__ = "0.2.0"

__all__ = [
    "REK1",
    "REK2",
    "CircleDisplay",
    "EulerKMeans",
    "EulerMap",
    "FuzzyCMeans",
    "GraphDisplay",
    "HistoryDisplay",
    "KeptValuesDisplay",
    "KernelKMeans",
    "MahalanobisFuzzyCMeans",
    "MultipleKernelKMeans",
    "NeuralGas",
    "PassEvent",
    "ProfileDisplay",
    "RectifiedEulerKMeans",
    "SelfOrganizingMap",
    "Surface",
    "SurfaceDisplay",
    "UMatrixDisplay",
    "clustering_accuracy",
    "deviation_degree",
    "load",
    "mean_surface",
    "normalized_mutual_info",
    "read_table",
    "rectified_surface",
    "representation_score",
    "resultant_lengths",
    "save",
    "to_onnx",
    "watch_passes",
]

if _typing.TYPE_CHECKING:
    from .displays import (
        CircleDisplay,
        GraphDisplay,
        HistoryDisplay,
        KeptValuesDisplay,
        ProfileDisplay,
        SurfaceDisplay,
        UMatrixDisplay,
    )
    from .estimators import (
        REK1,
        REK2,
        EulerKMeans,
        EulerMap,
        FuzzyCMeans,
        KernelKMeans,
        MahalanobisFuzzyCMeans,
        MultipleKernelKMeans,
        NeuralGas,
        RectifiedEulerKMeans,
        SelfOrganizingMap,
    )
    from .export.model_file import load, save
    from .export.onnx import to_onnx
    from .metrics import (
        clustering_accuracy,
        deviation_degree,
        normalized_mutual_info,
        resultant_lengths,
    )
    from .representation import representation_score
    from .surfaces import Surface, mean_surface, rectified_surface
    from .table.file_table import read_table
    from .watching import PassEvent, watch_passes
else:
    # The same names by module. A module is imported when one of its names is first used, so
    # `import rekmeans` and `rekmeans --help` do not import scikit-learn.
    _MODULES = {
        ".displays": (
            *("CircleDisplay", "GraphDisplay", "HistoryDisplay", "KeptValuesDisplay"),
            *("ProfileDisplay", "SurfaceDisplay", "UMatrixDisplay"),
        ),
        ".estimators": (
            *("REK1", "REK2", "EulerKMeans", "EulerMap", "FuzzyCMeans", "KernelKMeans"),
            *("MahalanobisFuzzyCMeans", "MultipleKernelKMeans", "NeuralGas"),
            *("RectifiedEulerKMeans", "SelfOrganizingMap"),
        ),
        ".export.model_file": ("load", "save"),
        ".export.onnx": ("to_onnx",),
        ".metrics": (
            *("clustering_accuracy", "deviation_degree", "normalized_mutual_info"),
            "resultant_lengths",
        ),
        ".representation": ("representation_score",),
        ".table.file_table": ("read_table",),
        ".surfaces": ("Surface", "mean_surface", "rectified_surface"),
        ".watching": ("PassEvent", "watch_passes"),
    }
    _MODULE_OF_NAME = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name):
        """Return a public name or a submodule, importing it on first use."""
        if name in _MODULE_OF_NAME:
            value = getattr(_importlib.import_module(_MODULE_OF_NAME[name], __name__), name)
            globals()[name] = value
            return value
        module = f"{__name__}.{name}"
        try:
            return _importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names and the module's own attributes."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
