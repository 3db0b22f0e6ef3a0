"""Displays in the style of scikit-learn: `from_estimator` computes numbers, `plot` draws them."""

from importlib.util import find_spec

if find_spec("matplotlib") is None:
    raise ImportError(
        "the displays and the report need matplotlib: pip install 'rekmeans[report]'."
    )

from .circle import CircleDisplay
from .graph import GraphDisplay
from .history import HistoryDisplay
from .kept_values import KeptValuesDisplay
from .profile import ProfileDisplay
from .surface import SurfaceDisplay
from .u_matrix import UMatrixDisplay

__all__ = [
    "CircleDisplay",
    "GraphDisplay",
    "HistoryDisplay",
    "KeptValuesDisplay",
    "ProfileDisplay",
    "SurfaceDisplay",
    "UMatrixDisplay",
]
