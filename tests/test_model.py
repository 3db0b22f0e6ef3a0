"""The records exchanged between engine and loop: centroids, sums, the farthest row."""

from dataclasses import fields
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import EulerKMeans, KernelKMeans, MahalanobisFuzzyCMeans, MultipleKernelKMeans
from rekmeans.assignment import Hard
from rekmeans.centroids import mean, rectified
from rekmeans.engines.native.exact import NativeRows
from rekmeans.engines.reference import ReferenceRows
from rekmeans.estimators.placement import fitted_centroids, place_for_fit
from rekmeans.kernels.laplace import Laplace
from rekmeans.lloyd import run
from rekmeans.model import FarthestRow, Model, Stop
from rekmeans.table import MemoryTable
from support.models import euler, scale_of

K = 4
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3)) + 3 * RANDOM.integers(0, 3, (60, 1))
MODELS = {
    "OnCircles": EulerKMeans(K),
    "Points": KernelKMeans(K),
    "Combination": KernelKMeans(K, centroids="mean"),
    "Stacked": MultipleKernelKMeans(K, kernels=(0.5, ("laplace", 1.0))),
    "Shaped": MahalanobisFuzzyCMeans(K),
}
records = pytest.mark.parametrize("name", MODELS)


def centroids_of(name):
    return fitted_centroids(MODELS[name].set_params(random_state=0).fit(X))


# centroids


@records
def test_centroids_can_be_taken_appended_and_replaced_like_rows(name):
    C = centroids_of(name)
    assert type(C).__name__ == name
    assert len(C) == K
    one = C.take([0])
    three = C.take([1, 2, 3])
    assert (len(one), len(three)) == (1, 3)
    assert one.append(three) == C
    assert C.take([]).append(C) == C
    order = [2, 0, 3, 1]
    assert C.take(order).take(np.argsort(order)) == C
    assert C.replace(2, C.take([2])) == C
    swapped = C.replace(0, C.take([3])).replace(3, C.take([0]))
    assert swapped == C.take([3, 1, 2, 0])
    assert swapped != C


@records
def test_distances_follow_the_order_of_the_centroids(name):
    model = MODELS[name].set_params(random_state=0)
    C = centroids_of(name)
    placed = place_for_fit(model, X)
    kernel = placed.model.kernel
    F = placed.rows.map_blocks(np.asarray)
    assert_allclose(
        kernel.distance(F, C.take([2, 0]))[:, 1], kernel.distance(F, C)[:, 0], rtol=1e-12
    )


@records
def test_centroids_survive_a_round_trip_through_the_public_attributes(name):
    model = MODELS[name].set_params(random_state=0).fit(X)
    C = fitted_centroids(model)
    assert model.kernel_.from_public(model.kernel_.to_public(C)) == C


# sums


@records
@pytest.mark.parametrize("cuts", [[0, 60], [0, 7, 60], [0, 1, 2, 30, 59, 60]])
def test_the_sums_of_blocks_add_up_to_the_sums_of_all_rows(name, cuts):
    placed = place_for_fit(MODELS[name], X)
    kernel = placed.model.kernel
    C = centroids_of(name)
    F = placed.rows.map_blocks(np.asarray)
    w = placed.rows.weights()
    all_rows = placed.model.assign_block(F, w, C)[1]
    parts = [placed.model.assign_block(F[a:b], w[a:b], C)[1] for a, b in pairwise(cuts)]
    added = reduce(add, parts)
    for field in fields(all_rows):
        one, two = getattr(added, field.name), getattr(all_rows, field.name)
        if kernel.has_exact_arithmetic:
            assert_array_equal(one, two, err_msg=field.name)
        elif isinstance(two, np.ndarray):
            assert_allclose(one, two, rtol=1e-12, atol=1e-12, err_msg=field.name)
    assert_allclose(added.mass.sum(), all_rows.mass.sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("rule", [mean, rectified])
def test_the_core_has_the_sums_and_the_updates_of_the_reference_engine(weighted, missing, rule):
    table = X.copy()
    if missing:
        table[RANDOM.uniform(size=X.shape) < 0.2] = np.nan
        table[np.isnan(table).all(axis=1)] = 1.0
    kernel = euler(0.7, scale_of("range", table), "ignore")
    cells = MemoryTable(table, RANDOM.uniform(0.1, 3, 60) if weighted else None)
    model = Model(kernel, Hard(), rule)
    C = kernel.from_points(X[:K])
    ours, theirs = (
        rows.start_run(model)
        for rows in (NativeRows(kernel, cells, threads=2), ReferenceRows(kernel, cells))
    )
    for _ in range(3):
        one, two = ours.assign(C), theirs.assign(C)
        assert one.n_changed == two.n_changed
        fetched = one.sums.fetch()
        for field in fields(fetched):
            assert_array_equal(
                getattr(fetched, field.name), getattr(two.sums, field.name), err_msg=field.name
            )
        after = ours.update(one.sums, C)
        assert after == theirs.update(two.sums, C)
        assert after == model.update(fetched, C)
        C = after


def test_fetching_overwritten_sums_raises():
    kernel = euler(0.7, scale_of("range", X))
    passes = NativeRows(kernel, MemoryTable(X)).start_run(Model(kernel, Hard(), rectified))
    C = kernel.from_points(X[:K])
    first = passes.assign(C)
    passes.assign(passes.update(first.sums, C))
    for late in (first.sums.fetch, lambda: passes.update(first.sums, C)):
        with pytest.raises(RuntimeError, match=r"Call fetch\(\) before the next pass"):
            late()


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("kernel", ["euler", "rbf"])
def test_a_fit_kept_by_a_callback_does_not_change_in_later_passes(engine, kernel):
    table = np.random.default_rng(2).normal(size=(500, 3))
    placed = place_for_fit(KernelKMeans(5, kernel=kernel, gamma=1.0, engine=engine), table)
    kept = []
    run(
        placed.rows,
        placed.model,
        placed.model.kernel.from_points(table[:5]),
        Stop(8, 0.0),
        lambda t, record: kept.append(record),
    )
    assert len(kept) > 3
    for record in kept:
        fit = record["fit"]()
        assert fit.inertia == record["inertia"]
        assert_array_equal(fit.labels, placed.rows.label(placed.model, fit.centroids))


# the farthest row


@given(losses=st.lists(st.integers(0, 3), min_size=1, max_size=12), data=st.data())
def test_the_farthest_row_does_not_depend_on_the_order_of_merging(losses, data):
    rows = [FarthestRow(loss, number, np.array([number])) for number, loss in enumerate(losses)]
    order = data.draw(st.permutations(rows))
    farthest = reduce(FarthestRow.merge, order)
    assert farthest.number == losses.index(max(losses))  # the lowest row number wins a tie


# missing cells of a start


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_missing_cells_of_a_starting_row_are_filled_from_the_overall_centroid(engine):
    table = X.copy()
    table[5, 1] = table[9, 0] = np.nan
    scale = scale_of("range", table)
    weights = np.random.default_rng(1).uniform(0.5, 2, 60)
    rows = place_for_fit(
        KernelKMeans(K, kernel="laplace", gamma=1.0, scale="range", engine=engine), table, weights
    ).rows
    assert isinstance(rows.kernel, Laplace)
    Z = scale.to_units(table, "ignore")
    w = weights[~np.isnan(Z[:, 1])]
    z = Z[~np.isnan(Z[:, 1]), 1]
    order = np.argsort(z)
    median = z[order][np.searchsorted(np.cumsum(w[order]), w.sum() / 2)]
    start = rows.rows_as_centroids(np.array([5])).x[0]
    assert_allclose(start, [Z[5, 0], median, Z[5, 2]], rtol=1e-12)
