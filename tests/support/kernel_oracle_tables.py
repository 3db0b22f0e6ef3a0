"""Tables and widths for tests of the kernel oracles."""

import numpy as np

from support import kernel_oracle, multiple_kernel_oracle, oracle

WIDTHS = {"euler": 0.3, "rbf": 0.4, "laplace": 0.5, "laplace-l2": 0.6}
K = 3
# Several widths for the methods with multiple kernels.
ALPHAS = (0.05, 0.1, 0.2)
POWER = 2.5
# The neighbourhood function h of a map with K nodes in a row.
LINE = np.exp(-np.abs(np.subtract.outer(np.arange(K), np.arange(K))) / 0.8)


def blobs(seed=0, n=60, d=2, gaps=0.0):
    """Return rows around K centres with a share of missing cells, and the first K as a start."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, (K, d))[np.arange(n) % K] + 0.7 * rng.standard_normal((n, d))
    start = X[:K].copy()
    X[rng.uniform(size=(n, d)) < gaps] = np.nan
    return X, start


def weights_of(n, seed=9):
    return np.random.default_rng(seed).uniform(0.1, 3, n)


def rule_runs(kernel):
    """Return every rectified method of a kernel, as functions (X, start, passes, w) -> records."""
    width = WIDTHS[kernel]
    return {
        f"hard {kernel}": lambda *a: kernel_oracle.rectified_passes(
            a[0], a[1], kernel, width, kernel_oracle.hard_rule, a[2], a[3]
        ),
        f"fuzzy {kernel}": lambda X, start, t, w: kernel_oracle.fuzzy(
            X, start, kernel, width, 1.7, t, w
        ),
        f"som {kernel}": lambda X, start, t, w: kernel_oracle.som(
            X, start, LINE, kernel, width, t, w
        ),
        f"gas {kernel}": lambda X, start, t, w: kernel_oracle.gas(
            X, start, 0.7, kernel, width, t, w
        ),
    }


def mapped_rows(X, alpha):
    """Return [cos theta | sin theta], (n, 2d)."""
    T = oracle.phases(X, alpha)
    return np.concatenate([np.cos(T), np.sin(T)], axis=1)


RECTIFIED = {name: run for kernel in WIDTHS for name, run in rule_runs(kernel).items()}
RECTIFIED["multiple"] = lambda X, start, t, w: multiple_kernel_oracle.multiple_euler(
    X, start, ALPHAS, POWER, t, w
)
RECTIFIED["shared"] = lambda X, start, t, w: multiple_kernel_oracle.multiple_euler(
    X, start, ALPHAS, POWER, t, w, "shared"
)
