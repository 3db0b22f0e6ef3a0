"""The paper's experiments: the features of its image sets."""

from .images import folder
from .pyramid import SpatialPyramid

__all__ = ["SpatialPyramid", "folder"]
