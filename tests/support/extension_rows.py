"""Example rows for the tests of extensions."""

import numpy as np

K = 3
RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(0.5, 4, (K, 2))[RANDOM.integers(0, K, 90)] + 0.3 * RANDOM.normal(size=(90, 2))
