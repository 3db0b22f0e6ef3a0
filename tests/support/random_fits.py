"""200 random fits of all estimators with given starts and scales, stored in data/random_fits.npz.

`python tests/support/random_fits.py` stored the numbers, and a test compares the current numbers
with them. A change that alters them on purpose increases the answer version and stores them again.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

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

STORED = Path(__file__).parents[1] / "data" / "random_fits.npz"
COUNT = 200
HARD_EULER = (EulerKMeans, RectifiedEulerKMeans)
KINDS = (
    *HARD_EULER * 2,
    KernelKMeans,
    FuzzyCMeans,
    NeuralGas,
    SelfOrganizingMap,
    MultipleKernelKMeans,
    MahalanobisFuzzyCMeans,
)
# Another order or number of kernels would change every stored fit.
KERNELS = ("euler", "linear", "rbf", "laplace", "laplace-l2")


def drawn_case(number):
    """Return the estimator, X and the weights of a fit."""
    rng = np.random.default_rng([11, number])
    kind = KINDS[number % len(KINDS)]
    n, d, k = int(rng.integers(30, 90)), int(rng.integers(1, 6)), int(rng.integers(2, 6))
    X = rng.uniform(-2, 3, (k, d))[rng.integers(0, k, n)] + 0.5 * rng.standard_t(4, (n, d))
    start = X[rng.choice(n, k, replace=False)] + 0.1
    if kind is not MahalanobisFuzzyCMeans and rng.uniform() < 0.3:
        X[rng.uniform(size=X.shape) < 0.15] = np.nan
        X[np.isnan(X).all(axis=1)] = 0.5
    weights = rng.uniform(0.2, 3, n) if rng.uniform() < 0.4 else None
    beyond = str(
        rng.choice(
            ["clip", "wrap"] if kind is MahalanobisFuzzyCMeans else ["ignore", "clip", "wrap"]
        )
    )
    own = {
        "scale": (None, "range", "global")[int(rng.integers(3))],
        "beyond": beyond,
        "init": start,
    }
    own |= {"max_iter": int(rng.integers(1, 25)), "n_threads": 1}
    alpha, gamma = float(rng.uniform(0.2, 1.1)), float(rng.uniform(0.2, 3))
    if kind is MultipleKernelKMeans:
        mixed = rng.uniform() < 0.5
        kernels = [
            alpha,
            2 * alpha,
            *([("rbf", gamma), ("laplace", 1.0), ("linear", 1.0)] if mixed else []),
        ]
        own |= {
            "kernels": kernels,
            "power": float(rng.uniform(1.5, 3)),
            "shared": bool(not mixed and rng.uniform() < 0.4),
        }
    else:
        own |= {"alpha": alpha}
    if kind in (KernelKMeans, FuzzyCMeans, NeuralGas, SelfOrganizingMap):
        own |= {"kernel": str(rng.choice(KERNELS)), "gamma": gamma}
        own |= {"centroids": str(rng.choice(["rectified", "rectified", "mean"]))}
    if kind is MahalanobisFuzzyCMeans:
        own |= {
            "kernel": str(rng.choice(["euler", "linear"])),
            "centroids": str(rng.choice(["rectified", "mean"])),
        }
    if kind in (FuzzyCMeans, MahalanobisFuzzyCMeans):
        own |= {"fuzziness": float(rng.uniform(1.1, 2.2))}
    if kind in (NeuralGas, SelfOrganizingMap):
        own |= {"reach": float(rng.choice([0.0, 0.4])), "stages": int(rng.integers(1, 5))}
    return (
        kind(**({"grid": (1, k)} if kind is SelfOrganizingMap else {"n_clusters": k}), **own),
        X,
        weights,
    )


def fitted_numbers(number):
    """Return the numbers of one fit by name."""
    model, X, weights = drawn_case(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, sample_weight=weights)
    found = {
        "labels": model.labels_,
        "centers": model.cluster_centers_,
        "deviation": model.deviation_,
    }
    found |= {"inertia": np.array(model.inertia_), "n_iter": np.array(model.n_iter_)}
    found |= {
        "score": np.array(model.score(X, sample_weight=weights)),
        "distances": model.transform(X[:5]),
    }
    return found | ({"centroids": model.centroids_} if isinstance(model, HARD_EULER) else {})


if __name__ == "__main__":
    arrays = {
        f"{i}.{name}": values for i in range(COUNT) for name, values in fitted_numbers(i).items()
    }
    np.savez_compressed(STORED if len(sys.argv) < 2 else sys.argv[1], **arrays)
