"""Metrics against the plain loops of the oracle."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import (
    EulerKMeans,
    EulerMap,
    RectifiedEulerKMeans,
    clustering_accuracy,
    deviation_degree,
    normalized_mutual_info,
    resultant_lengths,
)
from support import oracle

pairs = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 5), min_size=n, max_size=n) for _ in range(2)])
)


@given(labels=pairs)
def test_accuracy_is_the_best_of_all_matchings(labels):
    assert clustering_accuracy(*labels) == pytest.approx(oracle.accuracy(*labels), abs=1e-12)


@given(labels=pairs)
def test_nmi_is_twice_the_mutual_information_over_the_sum_of_entropies(labels):
    assert normalized_mutual_info(*labels) == pytest.approx(oracle.nmi(*labels), abs=1e-9)


@given(labels=pairs, names=st.permutations(range(6)))
def test_scores_do_not_depend_on_the_names_of_the_labels(labels, names):
    truth, found = labels
    renamed = [f"cluster {names[c]}" for c in found]
    assert clustering_accuracy(truth, renamed) == clustering_accuracy(truth, found)
    assert normalized_mutual_info(truth, renamed) == pytest.approx(
        normalized_mutual_info(truth, found), abs=1e-12
    )
    assert clustering_accuracy(truth, [names[r] for r in truth]) == 1.0


@pytest.mark.parametrize(
    ("truth", "found", "accuracy"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ([0, 0, 0, 1], [0, 1, 2, 3], 0.5),  # more clusters than classes: each class keeps one
        ([0, 1, 2, 3], [0, 0, 0, 0], 0.25),
        # The greedy match 0-0 would also give 2 + 2.
        ([0, 0, 0, 1, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 0, 0, 0, 0], 4 / 9),
        # A greedy match by size takes (1, 0), then (0, 1).
        ([0] * 5 + [1] * 5, [0] * 3 + [1] * 2 + [0] * 4 + [1], 6 / 10),
    ],
)
def test_accuracy_equals_hand_computed_values(truth, found, accuracy):
    assert clustering_accuracy(truth, found) == pytest.approx(accuracy, abs=1e-15)


centroids = st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99)).map(
    lambda case: (
        np.random.default_rng(case[2]).uniform(0, 1, case[:2])
        * np.exp(2j * np.pi * np.random.default_rng(case[2] + 100).random(case[:2]))
    )
)


@given(m=centroids)
def test_both_forms_of_the_deviation_degree_agree_with_the_oracle(m):
    assert_allclose(deviation_degree(m), oracle.deviation(m), atol=1e-12)
    assert_allclose(deviation_degree(m, form="root"), oracle.deviation(m), atol=1e-12)
    assert_allclose(deviation_degree(m, form="printed"), oracle.deviation_printed(m), atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 9])
def test_on_the_circle_the_root_form_is_zero_and_the_printed_form_is_not(d):
    m = np.exp(1j * np.arange(3 * d)).reshape(3, d)
    assert_allclose(deviation_degree(m), 0, atol=1e-12)
    assert_allclose(deviation_degree(m, form="printed"), 1 - math.sqrt(d), atol=1e-12)
    assert_array_equal(deviation_degree(0 * m), np.ones(3))


@given(n=st.integers(1, 20), d=st.integers(1, 4), k=st.integers(1, 4), seed=st.integers(0, 99))
def test_resultant_lengths_agree_with_plain_loops(n, d, k, seed):
    random = np.random.default_rng(seed)
    theta = random.uniform(0, 7, (n, d))
    labels = random.integers(0, k, n)
    labels[0] = k - 1
    observed = random.random((n, d)) < 0.8
    lengths = np.full((k, d), np.nan)
    for c in range(k):
        for column in range(d):
            angles = [theta[j, column] for j in range(n) if labels[j] == c and observed[j, column]]
            if angles:
                a, b = math.fsum(map(math.cos, angles)), math.fsum(map(math.sin, angles))
                lengths[c, column] = math.hypot(a, b) / len(angles)
    mapped = np.concatenate([np.cos(theta) * observed, np.sin(theta) * observed], axis=1)
    assert_allclose(resultant_lengths(mapped, labels), lengths, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_the_objectives_follow_from_the_resultant_lengths(alpha):
    X = np.random.default_rng(0).random((90, 4))
    R = {}
    for clusterer, share in (
        (EulerKMeans, lambda r: (1 - r**2) / 2),
        (RectifiedEulerKMeans, lambda r: 1 - r),
    ):
        model = clusterer(3, alpha=alpha, scale="range", random_state=0).fit(X)
        R[clusterer] = resultant_lengths(
            EulerMap(alpha=alpha, scale="range").fit_transform(X), model.labels_
        )
        counts = np.bincount(model.labels_)[:, None]
        assert_allclose(model.inertia_, (counts * share(R[clusterer])).sum(), rtol=1e-6)
    mean = EulerKMeans(3, alpha=alpha, scale="range", random_state=0).fit(X)
    assert_allclose(np.abs(mean.centroids_), R[EulerKMeans], atol=1e-6)
    assert_allclose(mean.deviation_, 1 - np.sqrt((R[EulerKMeans] ** 2).mean(axis=1)), atol=1e-6)
