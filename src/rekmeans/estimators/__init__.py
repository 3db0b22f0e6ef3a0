"""The scikit-learn face: one file for each family of clusterers."""

from .euler import REK1, REK2, EulerKMeans, RectifiedEulerKMeans
from .euler_map import EulerMap
from .fuzzy import FuzzyCMeans
from .kernel_kmeans import KernelKMeans
from .mahalanobis import MahalanobisFuzzyCMeans
from .multiple_kernel import MultipleKernelKMeans
from .neural_gas import NeuralGas
from .som import SelfOrganizingMap

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
    "RectifiedEulerKMeans",
    "SelfOrganizingMap",
]
