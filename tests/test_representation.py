"""The representation score: its oracle on all pairs, closed forms, its zero point, invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from rekmeans import (
    EulerKMeans,
    FuzzyCMeans,
    KernelKMeans,
    MultipleKernelKMeans,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
    representation,
    representation_score,
    resultant_lengths,
)
from support import kernel_oracle as oracle

RADIAL = ("rbf", "laplace", "laplace-l2")
WIDTHS = {"euler": 0.9, "rbf": 2.0, "laplace": 0.8, "laplace-l2": 1.5}


def rows(seed, n=60, d=3):
    random = np.random.default_rng(seed)
    return random.normal(np.repeat(random.integers(0, 3, (n, 1)), d, axis=1), 0.35)


def fit_kernel_kmeans(kernel, X, k=3, centroids="rectified", **more):
    """Fit a model without a scale, so that its kernel values are those of the oracle."""
    width = {"alpha" if kernel == "euler" else "gamma": WIDTHS[kernel]} if kernel in WIDTHS else {}
    settings = {"scale": None, "random_state": 0, "tol": 0.0} | width | more
    return KernelKMeans(k, kernel=kernel, centroids=centroids, **settings).fit(X)


def iterate_steps(own, v, start, kernel):
    """Iterate the step of the oracle until the point no longer moves."""
    V = start[None] + np.inf
    new = start[None]
    while np.abs(new - V).max() > 1e-13:
        V = new
        new = oracle.rectified_step(own, new, v[:, None], kernel, WIDTHS[kernel])
    return V[0]


def search_minimum(own, v, start, kernel):
    """Search without derivatives, because the step of the oracle cannot leave a row (Weiszfeld)."""

    def loss(u):
        radii = oracle.KERNELS[kernel].radii(own, u[None], WIDTHS[kernel])
        return v @ oracle.KERNELS[kernel].loss(radii, WIDTHS[kernel])[:, 0]

    return minimize(
        loss, start + 1e-3, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    ).x


def best_score(X, labels, kernel, w):
    """Return the oracle's score at the best points, searched from the means and best rows."""
    move = search_minimum if kernel == "laplace-l2" else iterate_steps
    scores = []
    for c in range(labels.max() + 1):
        own = X[labels == c]
        v = w[labels == c]
        one = np.zeros((labels == c).sum(), int)
        best_row = own[(oracle.MATRICES[kernel](own, own, WIDTHS[kernel]) @ v).argmax()]
        points = [move(own, v, start, kernel) for start in (v @ own / v.sum(), best_row)]
        found = [
            oracle.representation(own, point[None], one, kernel, WIDTHS[kernel], v)
            for point in points
        ]
        scores.append(min(found, key=lambda each: each.rectified))
    return 2 - sum(each.rectified for each in scores) / sum(each.mean for each in scores)


@pytest.mark.parametrize("kernel", ["euler", *RADIAL])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_agrees_with_the_oracle_on_all_pairs(kernel, weighted):
    X = rows(1)
    w = np.random.default_rng(2).integers(1, 4, len(X)) * 1.0 if weighted else np.ones(len(X))
    model = fit_kernel_kmeans(kernel, X)
    labels = model.predict(X)
    found = representation_score(model, X, w if weighted else None)
    # The tolerance covers the grid and the search.
    assert found == pytest.approx(best_score(X, labels, kernel, w), abs=1e-6)
    assert 0 < found < 0.999


@pytest.mark.parametrize("centroids", ["mean", "rectified"])
@pytest.mark.parametrize("kernel", ["euler", *RADIAL])
def test_the_score_depends_on_the_labels_and_not_on_the_centroids(kernel, centroids):
    # Two groups with only one plausible partition.
    X = np.concatenate([rows(3, 30) / 4, rows(4, 30) / 4 + 9.0])
    a, b = (
        fit_kernel_kmeans(kernel, X, 2, which, init=X[[0, -1]])
        for which in (centroids, "rectified")
    )
    assert len(set(zip(a.predict(X), b.predict(X), strict=True))) == 2
    assert representation_score(a, X) == pytest.approx(representation_score(b, X), abs=1e-9)


@pytest.mark.parametrize("clusterer", [EulerKMeans, RectifiedEulerKMeans])
def test_the_score_of_euler_follows_from_the_resultant_lengths(clusterer):
    X = rows(5, 90)
    X[::7, 1] = np.nan
    model = clusterer(3, scale=None, alpha=0.7, random_state=0).fit(X)
    labels = model.predict(X)
    F = np.concatenate([np.cos(0.7 * np.pi * X), np.sin(0.7 * np.pi * X)], axis=1)
    R = resultant_lengths(np.nan_to_num(F), labels)
    n = np.array([(~np.isnan(X[labels == c])).sum(axis=0) for c in range(3)])
    wanted = 2 - (n * (1 - R)).sum() / (n * (1 - R**2) / 2).sum()
    # The grid rounds to multiples of 2^-23.
    assert representation_score(model, X) == pytest.approx(wanted, abs=1e-6)


@given(angles=st.lists(st.floats(-0.9, 0.9), min_size=2, max_size=9))
def test_one_column_and_one_cluster_give_2r_over_1_plus_r(angles):
    X = np.array(angles)[:, None]
    R = abs(np.exp(1j * np.pi * X).mean())
    model = RectifiedEulerKMeans(1, scale=None, alpha=1.0).fit(X)
    if 1 - R > 1e-6:  # the rounding to the grid matters if R is closer to 1
        assert representation_score(model, X) == pytest.approx(2 * R / (1 + R), abs=1e-5)


@pytest.mark.parametrize("kernel", ["euler", *RADIAL])
def test_a_random_row_scores_zero_on_average(kernel):
    """The mean of J over all rows as points is 2 J_mean in every cluster."""
    X = rows(6)
    labels = fit_kernel_kmeans(kernel, X).predict(X)
    for c in range(3):
        own = X[labels == c]
        drawn = [
            oracle.representation(
                own, x[None], np.zeros(len(own), int), kernel, WIDTHS[kernel]
            ).score
            for x in own
        ]
        assert np.mean(drawn) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kernel", ["euler", *RADIAL])
@pytest.mark.parametrize("seed", range(4))
def test_the_score_is_between_zero_and_one(kernel, seed):
    X = np.random.default_rng(seed).uniform(-3, 3, (40, 2))
    for k in (1, 3):
        model = fit_kernel_kmeans(kernel, X, k, **({} if kernel == "euler" else {"gamma": 20.0}))
        assert 0 <= representation_score(model, X) <= 1


@pytest.mark.parametrize("kernel", ["euler", "rbf"])
def test_the_score_is_one_for_tight_clusters_and_falls_as_they_spread(kernel):
    random = np.random.default_rng(7)
    centres = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
    noise = random.standard_normal((100, 2))
    scores = []
    for spread in (1e-3, 0.1, 0.3, 1.0):
        X = centres + spread * noise
        scores.append(
            representation_score(fit_kernel_kmeans(kernel, X, 2, init=[[0.0, 0.0], [1.0, 1.0]]), X)
        )
    assert scores[0] == pytest.approx(1, abs=1e-4)
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < 0.8


@pytest.mark.parametrize("kernel", ["rbf", "euler"])
def test_the_score_tends_to_one_as_the_kernel_flattens(kernel):
    X = rows(8)
    name = "alpha" if kernel == "euler" else "gamma"
    scores = [
        representation_score(fit_kernel_kmeans(kernel, X, 2, **{name: width}), X)
        for width in (0.9, 0.1, 0.005)
    ]
    assert scores == sorted(scores)
    assert scores[-1] > 0.99


def test_flat_laplace_kernels_tend_to_the_ratio_of_absolute_distances():
    X = np.random.default_rng(8).normal(size=(800, 3))
    model = fit_kernel_kmeans("laplace", X, 1, gamma=1e-6)
    about = np.abs(X - np.median(X, axis=0)).sum(axis=1).mean()
    apart = oracle.city_distances(X, X).mean()
    found = representation_score(model, X)
    assert found == pytest.approx(2 - 2 * about / apart, abs=1e-4)
    # E|x - median| = sqrt(2/pi), E|x - x'| = 2/sqrt(pi)
    assert found == pytest.approx(2 - np.sqrt(2), abs=0.03)


def test_the_linear_kernel_and_repeated_rows_score_one():
    X = rows(9)
    assert representation_score(KernelKMeans(3, kernel="linear", random_state=0).fit(X), X) == 1.0
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
    for kernel in ("euler", *RADIAL):
        score = representation_score(fit_kernel_kmeans(kernel, X, 2), X)
        assert score == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kernel", ["euler", *RADIAL])
def test_the_score_does_not_depend_on_order_or_duplication(kernel):
    X = rows(10)
    model = fit_kernel_kmeans(kernel, X)
    found = representation_score(model, X)
    order = np.random.default_rng(0).permutation(len(X))
    assert representation_score(model, X[order]) == pytest.approx(found, abs=1e-9)
    assert representation_score(model, np.concatenate([X, X])) == pytest.approx(found, abs=1e-9)
    assert representation_score(model, X, np.full(len(X), 2.0)) == pytest.approx(found, abs=1e-9)
    turned = fit_kernel_kmeans(kernel, X[:, ::-1], init=model.cluster_centers_[:, ::-1])
    assert representation_score(turned, X[:, ::-1]) == pytest.approx(found, abs=1e-6)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    assert representation_score(model, X, w) == pytest.approx(
        representation_score(model, np.repeat(X, w, axis=0)), abs=1e-9
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_a_large_cluster_is_sampled_without_bias(monkeypatch, weighted):
    """The estimate of J_mean is unbiased over many samples, which may pair a row with itself."""
    random = np.random.default_rng(11)
    n = 400
    F = random.normal(size=(n, 2))
    w = random.integers(1, 4, n) * 1.0 if weighted else np.ones(n)
    kernel = fit_kernel_kmeans("rbf", F, 1).kernel_
    exact = representation.spread_of_pairs(kernel, F, w).to_mean
    monkeypatch.setattr(representation, "EXACT_PAIRS", 10)
    monkeypatch.setattr(representation, "PAIR_SAMPLE", 8)
    found = []
    for _ in range(400):
        order = random.permutation(n)
        found.append(representation.spread_of_pairs(kernel, F[order], w[order]).to_mean)
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - exact) < 4 * error
    assert 4 * error < 0.02 * exact  # without the correction, the error would be 1/8


def test_clusterers_with_one_kernel_have_a_score_and_others_raise():
    X = rows(12)
    for model in (
        FuzzyCMeans(3, kernel="rbf", random_state=0),
        SelfOrganizingMap((1, 3), random_state=0),
    ):
        assert 0 < representation_score(model.fit(X), X) < 1
    with pytest.raises(
        ValueError, match=r"single kernel that has points .*got MultipleKernelKMeans with Stack"
    ):
        representation_score(MultipleKernelKMeans(3, random_state=0).fit(X), X)
    K = oracle.rbf_matrix(X, X, 2.0)
    known = KernelKMeans(3, kernel="precomputed", centroids="mean", random_state=0).fit(K)
    with pytest.raises(ValueError, match="got KernelKMeans with precomputed values"):
        representation_score(known, K)


def test_rows_out_of_range_do_not_change_the_score():
    X = rows(13)
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    far = np.concatenate([X, np.full((1, 3), 1e6)])
    assert representation_score(model, far) == pytest.approx(
        representation_score(model, X), abs=1e-12
    )


def test_the_score_follows_from_the_inertias_of_both_methods():
    """J_mean and J_rect are the inertias of the two methods if their labels agree."""
    X = np.concatenate([rows(14, 30) / 4, rows(15, 30) / 4 + 0.9])
    mean, points = (
        m(2, scale=None, alpha=0.4, init=X[[0, -1]]).fit(X)
        for m in (EulerKMeans, RectifiedEulerKMeans)
    )
    assert len(set(zip(mean.labels_, points.labels_, strict=True))) == 2
    assert_allclose(representation_score(mean, X), 2 - points.inertia_ / mean.inertia_, atol=1e-6)


@pytest.mark.parametrize("kernel", RADIAL)
def test_the_score_keeps_its_precision_as_the_kernel_flattens(kernel):
    """The sums are of 1 - k, because k differs from 1 only in its last digits at this width."""
    X = rows(5)
    scores = [
        representation_score(KernelKMeans(1, kernel=kernel, gamma=gamma, init=X[:1]).fit(X), X)
        for gamma in (1e-7, 1e-14)
    ]
    assert_allclose(scores[1], scores[0], rtol=1e-5)
