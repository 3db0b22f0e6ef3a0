"""Common recipes against gross errors with scikit-learn's k-means, each (X, k, seed) -> labels."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest
from sklearn.preprocessing import RobustScaler, StandardScaler

from rekmeans_paper.kernel_study_fits import N_STARTS

TRIMMED = 0.25  # share of the rows that trimmed k-means excludes from its means
TRIM_PASSES = 30


def kmeans(X: np.ndarray, k: int, seed: int) -> KMeans:
    return KMeans(k, n_init=N_STARTS, random_state=seed).fit(X)


def fences_and_medians(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Replace cells outside Tukey's fences by the median of their column, then compute z-scores."""
    low, median, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    reach = 1.5 * (high - low)
    filled = np.where((X < low - reach) | (X > high + reach), median, X)
    return kmeans(StandardScaler().fit_transform(filled), k, seed).labels_


def ranks(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Replace each column by the ranks of its cells."""
    return kmeans(np.argsort(np.argsort(X, axis=0), axis=0) / len(X), k, seed).labels_


def isolation_forest(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Exclude rows that an isolation forest marks as outliers from the fit, and assign all rows to
    the nearest mean.
    """
    inliers = IsolationForest(random_state=seed).fit_predict(X) > 0
    scaler = StandardScaler().fit(X[inliers])
    return kmeans(scaler.transform(X[inliers]), k, seed).predict(scaler.transform(X))


def trimmed(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Run trimmed k-means on robustly scaled columns: the farthest quarter of the rows does not
    affect the means.
    """
    Z = RobustScaler().fit_transform(X)
    centres = kmeans(Z, k, seed).cluster_centers_
    for _ in range(TRIM_PASSES):
        D = ((Z[:, None] - centres) ** 2).sum(axis=2)
        labels, nearest = D.argmin(axis=1), D.min(axis=1)
        inside = nearest <= np.quantile(nearest, 1 - TRIMMED)
        centres = np.stack(
            [
                Z[inside & (labels == c)].mean(axis=0)
                if (inside & (labels == c)).any()
                else centres[c]
                for c in range(k)
            ]
        )
    return ((Z[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)


def robust_scaler(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Subtract the median from each column and divide by its interquartile range."""
    return kmeans(RobustScaler().fit_transform(X), k, seed).labels_


RECIPES = {
    "fences + medians + k-means": fences_and_medians,
    "ranks + k-means": ranks,
    "isolation forest + k-means": isolation_forest,
    "trimmed k-means": trimmed,
    "RobustScaler + k-means": robust_scaler,
}
