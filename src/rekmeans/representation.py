"""How well points represent rows on the mapped data: 2 - J_rect/J_mean of a partition, between 0
and 1.
"""

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

EXACT_PAIRS = 4000  # rows of a cluster up to which every pair is used
PAIR_SAMPLE = 2000  # rows of a larger one whose pairs are: the score then errs by about 0.01
PAIR_CELLS = 1 << 22  # kernel values held at a time
POINT_STEPS = 1000  # to a best point; more than any fit has taken
PAIR_SEED = 0  # of the rows of a larger one
STILL_LOSS = 1e-12  # a fall of the loss, relative, that is none


class Spread(NamedTuple):
    """Squared distances of a cluster's rows, summed: to their mean in the mapped space, to the best
    point on it.
    """

    to_mean: float
    to_point: float


def representation_score(model: Any, X: Any, sample_weight: ArrayLike | None = None) -> float:
    """How well a point of each cluster represents its rows on the mapped data, without true labels;
    1 is best.

    It is 2 - J_rect/J_mean for the labels that the model gives to X. J_mean is the squared distance
    of the rows to the means of their clusters in the mapped space, the least that anything can
    have; J_rect that to the best points on the mapped data, which are searched for again, whatever
    centroids the model has.

    - 1: the means lie on the mapped data. A point of the table's own space stands for the rows as
    well as anything can.
    - 0: the best points do no better than rows drawn at random. A row drawn from its own cluster is
    at the squared
      distance `sum_j sum_q |phi_j - phi_q|^2/n_c` from the n_c rows, on average over the draw,
      exactly 2 J_mean; the best point is at least as good as the best row, so the score is never
      negative.

    With mean resultant lengths R of cluster c and column l, Euler's is closed: J_mean = 1/2 sum n_c
    (1 - R^2) and J_rect = sum n_c (1 - R). For RBF and Laplace kernels J_mean needs the kernel
    values of pairs: of all pairs up to 4000 rows in a cluster, above that of 2000 rows spread over
    it, with the unbiased correction for a row paired with itself. With the linear kernel it is 1:
    the mean of points is a point.

    Parameters
    ----------
    model : fitted clusterer of rekmeans
        Of one kernel, with rectified or mean centroids.
    X : table of shape (n_samples, n_features)
    sample_weight : array of shape (n_samples,) or None
        Weight 2 is the row twice.

    Returns
    -------
    float
        1 also where every cluster is a single repeated row.

    Notes
    -----
    The score does not say whether the clusters are the right ones or lie apart: a cluster cut in
    two scores higher, as a rule. It rises as the kernel flattens: towards 1 for Euler and RBF
    kernels, whose space is flat at small distances; Laplace kernels are rough at every scale and
    tend to `2 - 2 E|x - median|/E|x - x'|`, 0.586 for normal columns. Compare partitions by one
    kernel, of one width and one number of clusters; or kernels, to see how much their means gain by
    leaving the mapped data. RBF and Laplace losses have several low points: the search starts at
    the average and at the best row of each cluster. Where cells are missing, pairs are compared
    over the columns both rows have, and the bounds hold for Euler only.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans import RectifiedEulerKMeans, representation_score
    >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> model = RectifiedEulerKMeans(2, random_state=0).fit(X)
    >>> round(representation_score(model, X), 3)
    0.998
    >>> one = RectifiedEulerKMeans(1, random_state=0).fit(X)
    >>> round(representation_score(one, X), 3)
    0.864
    """
    check_is_fitted(model)
    kernel = model.kernel_.point_kernel
    if kernel is None:
        names = ", ".join(name for name, known in KERNELS.items() if not known.is_pairwise)
        got = "precomputed values" if model.kernel_.is_pairwise else type(model.kernel_).__name__
        raise ValueError(
            f"representation_score needs a model of one kernel that has points: {names}; "
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
    """The loss at the mean, and at the best point, where the kernel can write its mean down; both
    in one step.
    """
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
    """sum_j sum_q w_j w_q |phi_j - phi_q|^2/(2 s), s the sum of w, and the loss at the best point.

    The search starts from the average and from the row of least loss.
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
    # to all, (m,)
    losses = np.concatenate([kernel.loss(kernel.distance(f[rows], at)) @ v for rows in blocks])
    pairs, all_pairs = (float(u.sum() ** 2 - u @ u) for u in (v, w))
    to_mean = float(v @ losses) / 2 / s * (all_pairs / pairs if pairs > 0 else 0.0)
    average = kernel.from_rows(_average(F, w)[None])
    starts = average, kernel.from_rows(f[[losses.argmin()]], average)
    return Spread(to_mean, min(_least_loss(kernel, F, w, start) for start in starts))


def _average(F: Array, w: Array) -> Array:
    """Weighted mean of each column over the rows that have it; 0 where none has, (d,)."""
    observed = ~np.isnan(F)
    n = w @ observed
    return (w @ np.where(observed, F, 0.0)) / np.where(n > 0, n, 1.0)


def _least_loss(kernel: Any, F: Array, w: Array, point: Any) -> float:
    """The loss of the rows at the point, moved until it no longer falls."""
    least = np.inf
    for _ in range(POINT_STEPS):
        D = kernel.distance(F, point)
        loss = weighted_total(w, kernel.loss(D)[:, 0])
        if not loss < least * (1 - STILL_LOSS):
            return min(least, loss)
        least = loss
        W = w[:, None]
        sums = kernel.accumulate(F, point, D, W)
        sums = with_statistics(kernel, [(F, kernel.row_weights(D, W))], sums, point)
        point = rectified_update(kernel, sums, point)
    return least
