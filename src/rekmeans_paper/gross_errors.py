"""Gross errors in a table, and the two k-means that others are compared with: x = mean + 15 sd N(0,
1) where dirty.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from rekmeans.scales import robust_scale
from rekmeans.table import MemoryTable

from ._arrays import Array

ERROR_WIDTH = 15  # standard deviations of a gross error
N_STARTS = 3  # greedy k-means++ with swaps: more change the means by less than 0.002


def add_gross_errors(X: Array, kind: str, share: float, seed: int) -> tuple[Array, Array]:
    """X with gross errors in a share of its cells or rows, and which rows stay countable."""
    random = np.random.default_rng(seed)
    noise = X.mean(axis=0) + ERROR_WIDTH * X.std(axis=0) * random.standard_normal(X.shape)
    bad = (
        random.random(X.shape) < share
        if kind == "cells"
        else (random.random(len(X)) < share)[:, None]
    )
    return np.where(bad, noise, X), np.logical_not(np.broadcast_to(bad, X.shape).all(axis=1))


def kmeans_z(X: Array, k: int, seed: int) -> Array:
    """scikit-learn's k-means on z-scores."""
    return KMeans(k, n_init=N_STARTS, random_state=seed).fit_predict(
        StandardScaler().fit_transform(X)
    )


def kmeans_clipped(X: Array, k: int, seed: int) -> Array:
    """scikit-learn's k-means on rows clipped to the robust range: the best simple recipe."""
    return KMeans(k, n_init=N_STARTS, random_state=seed).fit_predict(clip_to_robust_range(X))


def clip_to_robust_range(X: Array) -> Array:
    """The rows in robust units, values outside the bounds moved to them."""
    return robust_scale(MemoryTable(X).column_summary()).to_units(X, "clip")
