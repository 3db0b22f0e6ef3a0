"""Rectified Euler k-means, and kernel clustering with other kernels and assignment rules."""

from importlib import import_module
from typing import Any

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
from .io.model_file import load, save
from .io.onnx import to_onnx
from .metrics import (
    clustering_accuracy,
    deviation_degree,
    normalized_mutual_info,
    resultant_lengths,
)
from .representation import representation_score
from .surfaces import Surface, mean_surface, rectified_surface
from .watching import PassEvent, watch_passes

__version__ = "0.1.0"

__all__ = [
    "REK1",
    "REK2",
    "EulerKMeans",
    "EulerMap",
    "FuzzyCMeans",
    "KernelKMeans",
    "MahalanobisFuzzyCMeans",
    "MultipleKernelKMeans",
    "NeuralGas",
    "PassEvent",
    "RectifiedEulerKMeans",
    "SelfOrganizingMap",
    "Surface",
    "clustering_accuracy",
    "deviation_degree",
    "load",
    "mean_surface",
    "normalized_mutual_info",
    "rectified_surface",
    "representation_score",
    "resultant_lengths",
    "save",
    "to_onnx",
    "watch_passes",
]

DISPLAYS = (
    *("CircleDisplay", "GraphDisplay", "HistoryDisplay", "KeptValuesDisplay"),
    *("ProfileDisplay", "SurfaceDisplay", "UMatrixDisplay"),
)
LAZY = dict.fromkeys(DISPLAYS, ".displays")


def __getattr__(name: str) -> Any:
    """What needs optional libraries, imported at first use."""
    if name not in LAZY:
        raise AttributeError(f"module 'rekmeans' has no attribute {name!r}")
    return getattr(import_module(LAZY[name], __name__), name)
