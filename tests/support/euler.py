"""The two Euler clusterers and their oracles, and a table of integers."""

import numpy as np
import pytest

from rekmeans import EulerKMeans, RectifiedEulerKMeans
from support import oracle

CLUSTERERS = {EulerKMeans: oracle.eulerk, RectifiedEulerKMeans: oracle.rek1}  # clusterer: oracle

each_clusterer = pytest.mark.parametrize("clusterer", CLUSTERERS)


def blobs(seed=0, n=60, d=3, k=3):
    """Return integers in 0..255 in k loose groups, (n, d)."""
    random = np.random.default_rng(seed)
    groups = random.integers(40, 210, (k, d))
    return np.clip(groups[np.arange(n) % k] + random.integers(-30, 31, (n, d)), 0, 255).astype(
        np.float64
    )
