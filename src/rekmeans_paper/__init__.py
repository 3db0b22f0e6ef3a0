"""The paper again: its data sets, features, tables and figures beside what was printed."""

from .images import folder
from .pyramid import SpatialPyramid

__all__ = ["SpatialPyramid", "folder"]
