"""Metrics: clustering accuracy, NMI, deviation degree and mean resultant lengths."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from ._grid import Array
from ._parameters import check_one_of
from .kernels.euler import deviation_from_circle


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Return the share of rows that agree under the best matching of clusters to classes.

    Each class is matched with at most one cluster.

    Parameters
    ----------
    labels_true : array of shape (n_samples,)
        The known classes.
    labels_pred : array of shape (n_samples,)
        The clusters.

    Returns
    -------
    float
        Between 0 and 1; 1 if clusters and classes are the same.

    Examples
    --------
    >>> from rekmeans import clustering_accuracy
    >>> clustering_accuracy([0, 0, 1, 1], [5, 5, 3, 5])
    0.75
    """
    from sklearn.metrics.cluster import contingency_matrix  # slow to import

    table = contingency_matrix(labels_true, labels_pred)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


def normalized_mutual_info(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Return the normalized mutual information 2 I / (H1 + H2), with the arithmetic mean.

    Parameters
    ----------
    labels_true : array of shape (n_samples,)
        The known classes.
    labels_pred : array of shape (n_samples,)
        The clusters.

    Returns
    -------
    float
        Between 0 and 1; 1 if clusters and classes are the same.

    Examples
    --------
    >>> from rekmeans import normalized_mutual_info
    >>> normalized_mutual_info([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import normalized_mutual_info_score  # slow to import

    return float(
        normalized_mutual_info_score(labels_true, labels_pred, average_method="arithmetic")
    )


def deviation_degree(centroids: ArrayLike, form: Literal["root", "printed"] = "root") -> Array:
    """Return the deviation of complex centroids a + ib from the circle of modulus 1.

    Parameters
    ----------
    centroids : complex array of shape (k, d)
        The `centroids_` of an estimator.
    form : {"root", "printed"}, default="root"
        "root" is 1 - sqrt(sum(a^2 + b^2)/d), which is 0 on the circle and 1 at its centre.
        "printed" is the formula in the paper, 1 - sum(a^2 + b^2)/sqrt(d). It is 1 - sqrt(d) on the
        circle, so its values are not between 0 and 1.

    Returns
    -------
    array of shape (k,)
        The deviation degree of each centroid.

    Examples
    --------
    >>> from rekmeans import deviation_degree
    >>> deviation_degree([[1j, 1.0], [0.0, 0.0]])
    array([0., 1.])
    """
    check_one_of("form", form, ("root", "printed"))
    m = np.atleast_2d(np.asarray(centroids))
    return (
        deviation_from_circle(m)
        if form == "root"
        else 1 - (np.abs(m) ** 2).sum(axis=1) / np.sqrt(m.shape[1])
    )


def resultant_lengths(mapped: ArrayLike, labels: ArrayLike) -> Array:
    """Return the mean resultant length R of each cluster and feature.

    R is 1 if all rows of a cluster have the same angle, and 0 if they cancel. Missing cells, which
    are mapped to (0, 0), are ignored.

    Parameters
    ----------
    mapped : array of shape (n_samples, 2 * n_features)
        Mapped rows [cos | sin], as :class:`EulerMap` returns them.
    labels : array of shape (n_samples,)
        The cluster of each row.

    Returns
    -------
    array of shape (n_clusters, n_features)
        The mean resultant lengths.

    Examples
    --------
    >>> from rekmeans import resultant_lengths
    >>> resultant_lengths([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [0, 0, 1])
    array([[0.],
           [1.]])
    """
    F = np.asarray(mapped, dtype=np.float64)
    y = np.asarray(labels)
    d = F.shape[1] // 2
    Z = F[:, :d] + 1j * F[:, d:]
    parts = [Z[y == c] for c in range(int(y.max()) + 1)]
    with np.errstate(invalid="ignore"):
        return np.stack([np.abs(part.sum(axis=0)) / (part != 0).sum(axis=0) for part in parts])
