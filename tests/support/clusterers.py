"""Every clusterer in each of its forms, for tests over all estimators."""

from functools import partial

from rekmeans import (
    EulerKMeans,
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
)
from rekmeans.kernels import KERNELS

K = 3
RULES = ("rectified", "mean")
MIXED = (0.5, ("rbf", 2.0), ("laplace", 1.0), ("linear", 1.0))
CLUSTERERS = {
    "EulerKMeans": partial(EulerKMeans, K),
    "RectifiedEulerKMeans": partial(RectifiedEulerKMeans, K),
    **{
        f"KernelKMeans-{kernel}-{rule}": partial(KernelKMeans, K, kernel=kernel, centroids=rule)
        for kernel in KERNELS
        for rule in RULES
    },
    "FuzzyCMeans": partial(FuzzyCMeans, K),
    "FuzzyCMeans-rbf": partial(FuzzyCMeans, K, kernel="rbf"),
    "SelfOrganizingMap": partial(SelfOrganizingMap, (1, K), stages=3),
    "SelfOrganizingMap-rbf": partial(SelfOrganizingMap, (1, K), stages=3, kernel="rbf"),
    "SelfOrganizingMap-laplace-mean": partial(
        SelfOrganizingMap, (1, K), stages=3, kernel="laplace", centroids="mean"
    ),
    "NeuralGas": partial(NeuralGas, K, stages=3),
    "NeuralGas-laplace": partial(NeuralGas, K, stages=3, kernel="laplace", reach=0.4),
    "MultipleKernelKMeans": partial(MultipleKernelKMeans, K),
    "MultipleKernelKMeans-mixed": partial(MultipleKernelKMeans, K, kernels=MIXED),
    "MultipleKernelKMeans-shared": partial(
        MultipleKernelKMeans, K, kernels=(0.4, 0.9), shared=True
    ),
    "MultipleKernelKMeans-mean": partial(MultipleKernelKMeans, K, centroids="mean"),
    **{
        f"MahalanobisFuzzyCMeans-{kernel}-{rule}": partial(
            MahalanobisFuzzyCMeans, K, kernel=kernel, centroids=rule
        )
        for kernel in ("euler", "linear")
        for rule in RULES
    },
}
