"""Shared fixtures: the hypothesis profile, wine with errors, and datasets from REKMEANS_DATA."""

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
    """Return wine with missing values and gross errors, and its classes."""
    random = np.random.default_rng(0)
    (X, y) = load_wine(return_X_y=True)
    X[random.random(X.shape) < 0.05] = np.nan
    X[random.random(X.shape) < 0.04] *= 40
    X[3] = 1e6
    return X, y


@pytest.fixture(scope="session")
def shared_set():
    """Return a function name -> X (n, d) float64, y (n,) that skips the test without the file."""
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
