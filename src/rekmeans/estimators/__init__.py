"""The estimators: scikit-learn classes, one file for each family."""

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
