"""The scikit-learn face: one file for each family of clusterers."""

from .euler import REK1, REK2, EulerKMeans, RectifiedEulerKMeans
from .fuzzy import FuzzyCMeans
from .gas import NeuralGas
from .kernel import KernelKMeans
from .mahalanobis import MahalanobisFuzzyCMeans
from .maps import SelfOrganizingMap
from .multiple import MultipleKernelKMeans

__all__ = [
    "REK1",
    "REK2",
    "EulerKMeans",
    "FuzzyCMeans",
    "KernelKMeans",
    "MahalanobisFuzzyCMeans",
    "MultipleKernelKMeans",
    "NeuralGas",
    "RectifiedEulerKMeans",
    "SelfOrganizingMap",
]
