"""What tests share: the hypothesis profile, dirty wine, and the data sets in the folder that
REKMEANS_DATA names.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_wine

settings.register_profile("rekmeans", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("rekmeans")


@pytest.fixture(scope="session")
def dirty_wine():
    """Wine with missing values and gross errors, and its classes."""
    random = np.random.default_rng(0)
    (X, y) = load_wine(return_X_y=True)
    X[random.random(X.shape) < 0.05] = np.nan
    X[random.random(X.shape) < 0.04] *= 40
    X[3] = 1e6
    return X, y


@pytest.fixture(scope="session")
def shared_set():
    """shared_set(name) -> X (n, d) float64, y (n,); skips the test where the set is not on this
    machine.
    """
    return load_shared_set


def load_shared_set(name):
    folder = os.environ.get("REKMEANS_DATA")
    if not folder:
        pytest.skip(f"{name}: REKMEANS_DATA is not set")
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"{name}: no {path}")
    with np.load(path) as arrays:
        return arrays["X"].astype(np.float64), arrays["y"]
