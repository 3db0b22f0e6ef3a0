"""How well points represent rows on the mapped data: 2 - J_rect/J_mean of a partition, between 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ._grid import GRID, Array, sampled
from .kernels.euler import Euler
from .kernels.gram import Gram
from .kernels.laplace import Laplace, LaplaceL2
from .kernels.linear import Linear
from .kernels.rbf import RBF

PAIRED = 4000  # rows of a cluster up to which every pair is looked at
SAMPLE = 2000  # rows of a larger one whose pairs are: the score then errs by about 0.01
BLOCK = 1 << 22  # kernel values held at a time
STEPS = 1000  # to a best point; more than any was seen to take
STILL = 1e-12  # a fall of the loss, relative, that is none


class Spread(NamedTuple):
    """Squared distances of a cluster's rows, summed: to their mean in the mapped space, to the best point on it."""

    to_mean: float
    to_point: float


def representation_score(model: Any, X: Any, sample_weight: ArrayLike | None = None) -> float:
    """How well a point of each cluster represents its rows on the mapped data, without true labels; 1 is best.

    It is 2 - J_rect/J_mean for the labels that the model gives to X. J_mean is the squared distance of the rows to the
    means of their clusters in the mapped space, the least that anything can have; J_rect that to the best points on the
    mapped data, which are looked for anew, whatever centroids the model has.

    - 1: the means lie on the mapped data. A point of the table's own space stands for the rows as well as anything can.
    - 0: the best points do no better than rows drawn at random. A row drawn from its own cluster is at the squared
      distance `sum_j sum_q |phi_j - phi_q|^2/n_c` from the n_c rows, on average over the draw, exactly 2 J_mean;
      the best point is at least as good as the best row, so the score is never negative.

    With mean resultant lengths R of cluster c and column l, Euler's is closed: J_mean = 1/2 sum n_c (1 - R^2) and
    J_rect = sum n_c (1 - R). For RBF and Laplace kernels J_mean needs the kernel values of pairs: of all pairs up to
    4000 rows in a cluster, beyond that of 2000 rows spread over it, with the unbiased correction for a row paired
    with itself. With the linear kernel it is 1: the mean of points is a point.

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
    The score says nothing of whether the clusters are the right ones or lie apart: a cluster cut in two scores
    higher, as a rule. It rises as the kernel flattens: towards 1 for Euler and RBF kernels, whose space is flat where
    it is looked at closely; Laplace kernels are rough at every scale and tend to `2 - 2 E|x - median|/E|x - x'|`,
    0.586 for normal columns. Compare partitions by one kernel, of one width and one number of clusters; or kernels, to
    see how much their means gain by leaving the mapped data. RBF and Laplace losses have several low points: the
    search starts at the average and at the best row of each cluster.
    Where cells are missing, pairs are compared over the columns both rows have, and the bounds hold for Euler only.

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
    kernel = model.kernel_.base if isinstance(model.kernel_, Gram) else model.kernel_
    if type(kernel) not in SPREADS:
        raise ValueError(
            f"representation_score needs a model of one kernel that knows points: {', '.join(map(_name, SPREADS))}; "
            f"got {type(model).__name__} with {'precomputed values' if kernel is None else _name(type(kernel))}."
        )
    labels, table = model.predict(X), model._read(X, sample_weight, fitting=False)
    X = table.X.toarray() if sparse.issparse(table.X) else table.X
    F, w = kernel.embed(X), np.ones(len(X)) if table.weights is None else table.weights
    heard = (w > 0) & ~kernel.silent(X)
    own = [np.flatnonzero(heard & (labels == c)) for c in np.unique(labels[heard])]
    spreads = [SPREADS[type(kernel)](kernel, F[at], w[at]) for at in own]
    to_mean, to_point = (sum(parts) for parts in zip(*spreads, strict=True)) if spreads else (0.0, 0.0)
    return float(2 - to_point / to_mean) if to_mean > 0 else 1.0


def _name(kind: type) -> str:
    return kind.__name__


def on_circles(kernel: Euler, F: Array, w: Array) -> Spread:
    """1/2 sum_l n_l (1 - R_l^2) and sum_l n_l (1 - R_l), n_l the weight of the rows that have column l."""
    cos, sin = np.split(F / GRID, 2, axis=1)
    n = w @ ((cos != 0) | (sin != 0))  # (d,)
    R = np.hypot(w @ cos, w @ sin) / np.where(n > 0, n, 1.0)
    return Spread(float((n * (1 - R * R)).sum() / 2), float((n * (1 - R)).sum()))


def flat(kernel: Linear, F: Array, w: Array) -> Spread:
    """The mean is a point: both are the weighted squares about it."""
    about = float(np.nansum(w[:, None] * (F - _average(F, w)) ** 2))
    return Spread(about, about)


def paired(kernel: RBF, F: Array, w: Array) -> Spread:
    """sum_j sum_q w_j w_q |phi_j - phi_q|^2/(2 s), s the sum of w, and the loss at the best point.

    That is looked for from the average and from the row of least loss.
    """
    some = sampled(np.ones(len(F)), PAIRED if len(F) <= PAIRED else SAMPLE)[0]
    f, v, s = F[some], w[some], float(w.sum())
    blocks = np.array_split(np.arange(len(f)), -(-len(f) * len(f) // BLOCK))
    losses = np.concatenate([kernel.loss(kernel.distance(f[at], f)) @ v for at in blocks])  # of each row to all, (m,)
    pairs, all_pairs = (float(u.sum() ** 2 - u @ u) for u in (v, w))
    to_mean = float(v @ losses) / 2 / s * (all_pairs / pairs if pairs > 0 else 0.0)
    average = _average(F, w)
    starts = average, kernel.whole(f[losses.argmin()], average)
    return Spread(to_mean, min(_least(kernel, F, w, start[None]) for start in starts))


def _average(F: Array, w: Array) -> Array:
    """Weighted mean of each column over the rows that have it; 0 where none has, (d,)."""
    seen = ~np.isnan(F)
    n = w @ seen
    return (w @ np.where(seen, F, 0.0)) / np.where(n > 0, n, 1.0)


def _least(kernel: RBF, F: Array, w: Array, point: Array) -> float:
    """The loss of the rows at the point (1, d), moved until it no longer falls."""
    loss = np.inf
    for _ in range(STEPS):
        sums = kernel.pull(F, point, kernel.distance(F, point), w[:, None])
        if not sums.loss < loss * (1 - STILL):
            return min(loss, sums.loss)
        loss, point = sums.loss, kernel.rectify(sums, point)
    return loss


SPREADS: dict[type, Callable[[Any, Array, Array], Spread]] = {
    Euler: on_circles,
    Linear: flat,
    RBF: paired,
    Laplace: paired,
    LaplaceL2: paired,
}
