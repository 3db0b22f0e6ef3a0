"""The representation score of a partition, 2 - J_rect/J_mean, between 0 and 1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ._grid import Array, weighted_total
from .engines import host_values
from .estimators.placement import place_fitted
from .kernels import KERNELS
from .kernels.base import rectified_update, with_statistics
from .table import MemoryTable

EXACT_PAIRS = 4000  # rows of a cluster up to which all pairs are used
PAIR_SAMPLE = 2000  # sampled rows of a larger cluster: the error of the score is about 0.01
PAIR_CELLS = 1 << 22  # kernel values in memory at a time
POINT_STEPS = 1000  # limit of the search for a best point; no fit has needed as many
PAIR_SEED = 0  # seed of the sample of rows
MIN_FALL = 1e-12  # relative fall of the loss below which the search ends


class Spread(NamedTuple):
    """Sums of squared distances of the rows of a cluster to its mean and to its best point."""

    to_mean: float
    to_point: float


def representation_score(model: Any, X: Any, sample_weight: ArrayLike | None = None) -> float:
    """Return how well one point per cluster represents the rows of the cluster.

    The score is 2 - J_rect/J_mean for the labels that the model predicts for X. It needs no true
    labels, and higher is better. J_mean is the sum of squared distances of the rows to the means of
    their clusters in the mapped space, the smallest possible value. J_rect is the same sum for the
    images of the best points. These points are searched for again and do not depend on the
    centroids of the model.

    - 1: the means are images of points. A point in the space of the table represents the rows as
      well as their mean.
    - 0: the best points are no better than random rows. For a row drawn from a cluster of n_c rows,
      the expected sum of squared distances to the cluster is `sum_j sum_q |phi_j - phi_q|^2/n_c`,
      exactly 2 J_mean. The best point is at least as good as the best row, so the score is never
      negative.

    The Euler kernel has a closed form. With the mean resultant length R of each cluster c and
    column l, J_mean = 1/2 sum n_c (1 - R^2) and J_rect = sum n_c (1 - R). RBF and Laplace kernels
    need the kernel values of pairs for J_mean: all pairs of a cluster of up to 4000 rows, otherwise
    the pairs of 2000 rows spread over the cluster, with the unbiased correction for pairs of a row
    with itself. The score of the linear kernel is 1, because the mean of points is a point.

    Parameters
    ----------
    model : fitted clusterer of rekmeans
        A model with a single kernel, and rectified or mean centroids.
    X : table of shape (n_samples, n_features)
        Rows with the columns of the fit.
    sample_weight : array of shape (n_samples,) or None
        Weights of the rows. A weight of 2 counts a row twice.

    Returns
    -------
    float
        The score, which is also 1 if each cluster is a single repeated row.

    Notes
    -----
    The score does not tell whether the clusters are correct or well separated: splitting a cluster
    usually increases it. It also increases as the kernel gets wider. It tends to 1 for Euler and
    RBF kernels, which are flat at small distances. Laplace kernels are rough at every scale, and
    their score tends to `2 - 2 E|x - median|/E|x - x'|`, which is 0.586 for normal columns. Compare
    partitions with the same kernel, width and number of clusters, or compare kernels to see how
    much their means gain by leaving the mapped data. RBF and Laplace losses have several local
    minima, so the search starts at the average and at the best row of each cluster. With missing
    cells, pairs are compared over the columns that both rows have, and the bounds hold for the
    Euler kernel only.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans, representation_score
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = RectifiedEulerKMeans(2, random_state=0).fit(X)
    >>> round(representation_score(model, X), 3)
    0.999
    >>> one = RectifiedEulerKMeans(1, random_state=0).fit(X)
    >>> round(representation_score(one, X), 3)
    0.929
    """
    check_is_fitted(model)
    kernel = model.kernel_.point_kernel
    if kernel is None:
        names = ", ".join(name for name, known in KERNELS.items() if not known.is_pairwise)
        got = "precomputed values" if model.kernel_.is_pairwise else type(model.kernel_).__name__
        raise ValueError(
            f"representation_score needs a model with a single kernel that has points ({names}); "
            f"got {type(model).__name__} with {got}."
        )
    table = place_fitted(model, X, sample_weight).table
    labels = host_values(model.predict(X))
    cells = table.dense(slice(None))
    F = kernel.embed(cells)
    w = np.ones(len(cells)) if table.weights is None else table.weights
    counts = (w > 0) & ~kernel.uninformative_rows(cells)
    clusters = [np.flatnonzero(counts & (labels == c)) for c in np.unique(labels[counts])]
    spread = spread_about_mean if "mean" in kernel.centroid_rules else spread_of_pairs
    spreads = [spread(kernel, F[rows], w[rows]) for rows in clusters]
    to_mean, to_point = (
        (sum(parts) for parts in zip(*spreads, strict=True)) if spreads else (0.0, 0.0)
    )
    return float(2 - to_point / to_mean) if to_mean > 0 else 1.0


def spread_about_mean(kernel: Any, F: Array, w: Array) -> Spread:
    """Return the spread for a kernel with an explicit mean, which takes a single update."""
    start = kernel.from_points(kernel.scale.middle[None])
    sums = kernel.accumulate(F, start, kernel.distance(F, start), w[:, None])
    mean = kernel.mean(sums, start)
    point = rectified_update(kernel, sums, start)
    losses = [
        weighted_total(w, kernel.loss(kernel.distance(F, C))[:, 0].astype(np.float64))
        for C in (mean, point)
    ]
    return Spread(*(float(loss) * kernel.loss_unit for loss in losses))


def spread_of_pairs(kernel: Any, F: Array, w: Array) -> Spread:
    """Return the spread for a kernel without an explicit mean.

    The distance to the mean is sum_j sum_q w_j w_q |phi_j - phi_q|^2/(2 s) with s = sum w. The
    search for the best point starts from the average and from the row with the smallest
    loss.
    """
    few = MemoryTable(np.arange(len(F))[:, None]).sample(
        len(F) if len(F) <= EXACT_PAIRS else PAIR_SAMPLE, PAIR_SEED
    )
    some = few.dense()[:, 0]
    f = F[some]
    v = w[some]
    s = float(w.sum())
    at = kernel.from_rows(f)
    blocks = np.array_split(np.arange(len(f)), -(-len(f) * len(f) // PAIR_CELLS))
    # loss of all rows at each row, (m,)
    losses = np.concatenate([kernel.loss(kernel.distance(f[rows], at)) @ v for rows in blocks])
    pairs, all_pairs = (float(u.sum() ** 2 - u @ u) for u in (v, w))
    to_mean = float(v @ losses) / 2 / s * (all_pairs / pairs if pairs > 0 else 0.0)
    average = kernel.from_rows(_average(F, w)[None])
    starts = average, kernel.from_rows(f[[losses.argmin()]], average)
    return Spread(to_mean, min(_least_loss(kernel, F, w, start) for start in starts))


def _average(F: Array, w: Array) -> Array:
    """Return the weighted mean of the observed cells of each column, 0 without any, (d,)."""
    observed = ~np.isnan(F)
    n = w @ observed
    return (w @ np.where(observed, F, 0.0)) / np.where(n > 0, n, 1.0)


def _least_loss(kernel: Any, F: Array, w: Array, point: Any) -> float:
    """Return the loss of the rows at the point, after moving it until the loss no longer falls."""
    least = np.inf
    for _ in range(POINT_STEPS):
        D = kernel.distance(F, point)
        loss = weighted_total(w, kernel.loss(D)[:, 0])
        if not loss < least * (1 - MIN_FALL):
            return min(least, loss)
        least = loss
        W = w[:, None]
        sums = kernel.accumulate(F, point, D, W)
        sums = with_statistics(kernel, [(F, kernel.row_weights(D, W))], sums, point)
        point = rectified_update(kernel, sums, point)
    return least
