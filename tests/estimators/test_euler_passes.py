"""EulerK and REK compared pass by pass with plain loops over the paper's formulas (oracle.py)."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import REK1, REK2, EulerKMeans, RectifiedEulerKMeans
from support import oracle

PASSES = 301
ALPHAS = [1e-4, 0.01, 0.1, 0.5, 1, 1.9, 5]
METHODS = [
    (EulerKMeans, oracle.eulerk),
    (RectifiedEulerKMeans, oracle.rek1),
    (RectifiedEulerKMeans, oracle.rek2),
]
NAMES = ["eulerk", "rek1", "rek2"]
STEP = 2.0**-22  # bound on the error of a coordinate of f - m by grid rounding


def blobs(seed=0, n=400, d=8, k=4, gaps=0.0):
    """Return rows around k centers, the first k rows as a start, with a share of missing cells."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (k, d))[rng.integers(0, k, n)] + rng.normal(size=(n, d))
    start = X[:k].copy()
    X[rng.uniform(size=(n, d)) < gaps] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 1.0
    return X, start


def fit_from(method, X, start, alpha, weights=None, **parameters):
    model = method(len(start), alpha=alpha, scale=None, init=start, **parameters)
    return model.fit(X, sample_weight=weights)


def slack(D, d):
    """Return a bound on the error of D = 1/2 |f - m|^2: STEP |f - m|_1 + STEP^2 d."""
    return STEP * np.sqrt(2 * d * D) + STEP**2 * d


def clear(X, centroids, alpha):
    """Return whether the two nearest centroids of each row differ by more than rounding, (n,)."""
    if np.iscomplexobj(centroids):
        D = oracle.half_squared_distances(np.exp(1j * oracle.phases(X, alpha)), centroids)
    else:
        D = oracle.angle_distances(oracle.phases(X, alpha), centroids)
    first, second = np.sort(D, axis=1)[:, :2].T
    return second - first > 2 * slack(second, X.shape[1])


def assert_same_history(model, records, rtol):
    """Compare objectives and changed rows pass by pass.

    The oracle may have one more pass, without a decrease.
    """
    objective, moved = model.history_["inertia"], model.history_["n_changed"]
    ours = len(objective)
    assert len(records) - 1 <= ours <= len(records)
    assert_allclose(objective, [record.objective for record in records[:ours]], rtol=rtol)
    labels = [np.full(len(model.labels_), -1), *(record.labels for record in records[:ours])]
    assert_array_equal(moved, [(before != after).sum() for before, after in pairwise(labels)])


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("method", "paper"), METHODS, ids=NAMES)
@pytest.mark.parametrize("kind", ["plain", "weights", "gaps", "weights and gaps"])
def test_every_pass_has_the_objective_of_the_paper(method, paper, alpha, kind):
    X, start = blobs(gaps=0.2 if "gaps" in kind else 0.0)
    weights = np.random.default_rng(9).uniform(0.1, 3, len(X)) if "weights" in kind else None
    records = paper(X, start, alpha, PASSES, weights)
    assert_same_history(
        fit_from(method, X, start, alpha, weights), records, rtol=1e-6 if alpha >= 0.01 else 1e-3
    )


@pytest.mark.parametrize("name", ["wine", "seeds"])
@pytest.mark.parametrize(("method", "paper"), METHODS, ids=NAMES)
def test_every_pass_has_the_objective_of_the_paper_on_real_data(method, paper, name, shared_set):
    X, y = shared_set(name)
    start = X[[np.flatnonzero(y == c)[0] for c in np.unique(y)]]
    for alpha in (0.01, 0.1):
        assert_same_history(
            fit_from(method, X, start, alpha), paper(X, start, alpha, PASSES), rtol=1e-6
        )


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("method", "paper"), METHODS, ids=NAMES)
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_every_pass_has_the_labels_of_the_paper(method, paper, alpha, gaps):
    X, start = blobs(seed=1, gaps=gaps)
    for t, record in enumerate(paper(X, start, alpha, 12)[1:], 1):
        model = fit_from(method, X, start, alpha, max_iter=t)
        sure = clear(X, record.centroids, alpha)
        assert sure.mean() > 0.95
        assert_array_equal(model.labels_[sure], record.labels[sure])


@pytest.mark.parametrize("alpha", ALPHAS)
def test_rek1_and_rek2_are_the_same_method(alpha):
    X, start = blobs(seed=2, gaps=0.1)
    first, second = oracle.rek1(X, start, alpha, PASSES), oracle.rek2(X, start, alpha, PASSES)
    assert len(first) == len(second)
    for one, two in zip(first, second, strict=True):
        assert_array_equal(one.labels, two.labels)
    assert REK1 is REK2 is RectifiedEulerKMeans


@pytest.mark.parametrize("seed", range(5))
def test_rek2_as_printed_increases_the_objective(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (80, 3))
    printed = [record.objective for record in oracle.rek2_printed(X, X[:4], 0.9, 30)]
    assert max(np.diff(printed)) > 0.01 * printed[0]
    model = fit_from(RectifiedEulerKMeans, X, X[:4], 0.9)
    assert max(np.diff(model.history_["inertia"])) < 0
    assert model.inertia_ < min(printed)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_rectified_centroids_do_not_deviate_from_the_circle(alpha):
    model = fit_from(RectifiedEulerKMeans, *blobs(seed=3), alpha)
    assert_allclose(model.deviation_, 0, atol=1e-6)
    assert_allclose(np.abs(model.centroids_), 1, atol=1e-6)


@pytest.mark.parametrize("alpha", ALPHAS[1:])
def test_means_deviate_from_the_circle_as_in_the_paper(alpha):
    X, start = blobs(seed=3)
    deviation = fit_from(EulerKMeans, X, start, alpha).deviation_
    assert_allclose(
        deviation, oracle.deviation(oracle.eulerk(X, start, alpha, PASSES)[-1].centroids), atol=1e-6
    )
    assert deviation.min() > 1e-5


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1])
def test_rectifying_at_most_doubles_the_objective(alpha):
    X, start = blobs(seed=4)
    model = fit_from(RectifiedEulerKMeans, X, start, alpha)
    parts = [X[model.labels_ == c] for c in range(len(start))]
    mean, rectified = (
        sum(fit_from(method, part, part[:1], alpha).inertia_ for part in parts)
        for method in (EulerKMeans, RectifiedEulerKMeans)
    )
    assert mean <= rectified <= 2 * mean
    assert_allclose(rectified, model.inertia_, rtol=1e-6)
    R = [np.abs(np.exp(1j * oracle.phases(part, alpha)).mean(axis=0)) for part in parts]
    extra = sum(0.5 * len(part) * ((1 - r) ** 2).sum() for part, r in zip(parts, R, strict=True))
    assert_allclose(rectified - mean, extra, rtol=1e-6, atol=1e-6 * rectified)


@pytest.mark.parametrize("alpha", [1e-3, 1e-4])
@pytest.mark.parametrize("method", [EulerKMeans, RectifiedEulerKMeans])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_small_alpha_is_plain_k_means(method, alpha, gaps):
    X, start = blobs(seed=5, gaps=gaps)
    last = oracle.kmeans(X, start, PASSES)[-1]
    model = fit_from(method, X, start, alpha)
    assert_array_equal(model.labels_, last.labels)
    assert_allclose(model.cluster_centers_, last.centroids, atol=1e-3)
    assert_allclose(model.inertia_, (alpha * math.pi) ** 2 / 2 * last.objective, rtol=1e-3)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("scale", [None, "range"])
def test_distances_to_pre_images_are_those_of_the_paper(scale, gaps):
    alpha = 0.7
    (X, start) = blobs(seed=6, n=120, gaps=gaps)
    model = RectifiedEulerKMeans(4, alpha=alpha, scale=scale, beyond="wrap", init=start).fit(X)
    low, width = (
        (np.nanmin(X, axis=0), np.ptp(np.nan_to_num(X, nan=1.0), axis=0)) if scale else (0.0, 1.0)
    )
    Z = (X - low) / width
    U = (model.cluster_centers_ - low) / width
    D = np.array([[oracle.mapped_distance(z, u, alpha) for u in U] for z in Z])
    assert (np.abs(model.transform(X) ** 2 - D) <= slack(D, X.shape[1])).all()
    assert_array_equal(model.predict(X), D.argmin(axis=1))


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("method", [EulerKMeans, RectifiedEulerKMeans])
def test_score_samples_is_the_cosine_over_observed_cells(method, gaps):
    alpha = 0.4
    (X, start) = blobs(seed=7, n=120, gaps=gaps)
    model = fit_from(method, X, start, alpha)
    for x, c, got in zip(X, model.labels_, model.score_samples(X), strict=True):
        dot = length = weight = 0.0
        for value, m in zip(x, model.centroids_[c], strict=True):
            if not math.isnan(value):
                dot += (
                    math.cos(alpha * math.pi * value) * m.real
                    + math.sin(alpha * math.pi * value) * m.imag
                )
                length = length + 1
                weight = weight + abs(m) ** 2
        assert got == pytest.approx(dot / math.sqrt(length * weight), abs=1e-6)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_distances_to_means_are_those_of_the_paper(gaps):
    alpha = 0.7
    (X, start) = blobs(seed=8, n=120, gaps=gaps)
    model = fit_from(EulerKMeans, X, start, alpha)
    D = np.zeros((len(X), 4))
    for j, column in np.argwhere(~np.isnan(X)):
        for c, m in enumerate(model.centroids_[:, column]):
            D[j, c] += abs(np.exp(1j * alpha * math.pi * X[j, column]) - m) ** 2 / 2
    assert (np.abs(model.transform(X) ** 2 - D) <= slack(D, X.shape[1])).all()
