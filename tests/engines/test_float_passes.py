"""Float passes agree up to rounding for all engines and block sizes, and bit by bit for any number
of threads.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import (
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    SelfOrganizingMap,
)
from rekmeans.assignment import Fuzzy, Hard, SomNeighbourhood
from rekmeans.assignment import NeuralGas as Gas
from rekmeans.centroids import mean, rectified
from rekmeans.engines.native import exact
from rekmeans.engines.reference import ReferenceRows
from rekmeans.kernels import KERNELS
from rekmeans.lloyd import run
from rekmeans.model import Model, Stop
from support.assertions import assert_same_run
from support.blocks import CUTS, borders, example
from support.models import place_rows
from support.native import SETS

# models with real-valued pulls

ASSIGN = {
    "hard": Hard(),
    "fuzzy": Fuzzy(1.7),
    "gas": Gas(0.8),
    "gas without reach": Gas(0.0),
    "map": SomNeighbourhood((2, 2), 0.7),
    "map without reach": SomNeighbourhood((2, 2), 0.0),
}
POINTS = ("linear", "rbf", "laplace", "laplace-l2")
TRIPLES = [(kernel, assign, rectified) for kernel in POINTS for assign in ASSIGN]
TRIPLES += [
    ("euler", assign, rule) for assign in ASSIGN if assign != "hard" for rule in (mean, rectified)
]
triples = pytest.mark.parametrize(("kernel", "assign", "rule"), TRIPLES)
circles = pytest.mark.parametrize(
    ("kernel", "assign", "rule"), [triple for triple in TRIPLES if triple[0] == "euler"]
)
ON_TABLES = [name for name, kernel in KERNELS.items() if not kernel.is_pairwise]
# a different rounding of a sum moves a centroid by one grid step
ROUNDING = {"euler": 1e-6}
GAPS = ["plain", "weights and gaps", "scaled weights and gaps"]


def model_and_table(kernel, assign, rule, name, n=900):
    """Return (model, table) of an example."""
    euler, table = example(name, n)
    used = euler if kernel == "euler" else KERNELS[kernel](euler.scale, euler.beyond)
    if hasattr(used, "gamma"):
        # larger than the largest distance, so that no loss saturates
        used = type(used)(used.scale, used.beyond, 0.2)
    return Model(used, ASSIGN[assign], rule), table


def passes(rows, model, count=6):
    # not on one line, so that no row is equally far from two centroids
    start = np.random.default_rng(3).uniform(0, 2, (4, 3))
    return run(rows, model, model.kernel.from_points(start), Stop(count, 0.0))


def assert_alike(one, two, kernel):
    rtol = ROUNDING.get(kernel, 1e-9)
    assert_array_equal(one.labels, two.labels)
    if kernel == "euler":
        assert_allclose(one.centroids.f, two.centroids.f, rtol=rtol, atol=4)  # in grid steps
    else:
        assert_allclose(one.centroids.x, two.centroids.x, rtol=rtol, atol=rtol)
    assert_allclose(one.history["inertia"], two.history["inertia"], rtol=rtol)
    assert_array_equal(one.history["n_changed"], two.history["n_changed"])


@pytest.mark.parametrize("name", GAPS)
@triples
def test_real_weights_agree_for_all_engines_and_blocks(kernel, assign, rule, name):
    model, table = model_and_table(kernel, assign, rule, name)
    one_block = passes(ReferenceRows(model.kernel, table, borders(900, "one block")), model)
    assert len(one_block.history["n_changed"]) > 2
    for kind in CUTS:
        assert_alike(
            passes(ReferenceRows(model.kernel, table, borders(900, kind)), model), one_block, kernel
        )
    assert_alike(passes(place_rows("native", model, table, 2), model), one_block, kernel)


@pytest.mark.parametrize("isa", SETS)
@triples
def test_real_weights_agree_on_every_instruction_set(kernel, assign, rule, isa, monkeypatch):
    model, table = model_and_table(kernel, assign, rule, "weights and gaps", 300)
    one_block = passes(place_rows("reference", model, table), model)
    monkeypatch.setenv("REKMEANS_ISA", isa)
    assert_alike(passes(place_rows("native", model, table, 2), model), one_block, kernel)


@triples
def test_real_weights_give_the_same_bits_for_any_number_of_threads(kernel, assign, rule):
    model, table = model_and_table(kernel, assign, rule, "weights and gaps", 9000)
    one, *others = (
        passes(place_rows("native", model, table, threads), model, 2) for threads in (1, 2, 5)
    )
    for other in others:
        assert_same_run(one, other)


@pytest.mark.parametrize("name", GAPS)
@circles
def test_rows_that_are_not_kept_are_mapped_again_in_parts(kernel, assign, rule, name, monkeypatch):
    model, table = model_and_table(kernel, assign, rule, name)
    kept = passes(place_rows("native", model, table, 2), model)
    monkeypatch.setattr(exact, "PART_ROWS", 97)
    rows = place_rows("native", model, table, 2, memory_limit=1000)
    assert len(list(rows.float_parts())) == 10
    assert_alike(passes(rows, model), kept, kernel)


ESTIMATORS = [
    *(KernelKMeans(4, kernel=kernel, random_state=0) for kernel in ON_TABLES),
    *(FuzzyCMeans(4, kernel=kernel, random_state=0) for kernel in ON_TABLES),
    NeuralGas(4, random_state=0),
    SelfOrganizingMap((2, 2), kernel="rbf"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_an_estimator_agrees_on_every_engine(estimator):
    X = example("gaps", 300)[1].X
    one, two, auto = (
        type(estimator)(
            **estimator.get_params() | {"engine": engine, "tol": 0.0, "max_iter": 5}
        ).fit(X)
        for engine in ("reference", "native", "auto")
    )
    assert_array_equal(one.labels_, two.labels_)
    assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-5, atol=1e-5)
    assert_allclose(one.inertia_, two.inertia_, rtol=1e-6)
    assert_array_equal(two.cluster_centers_, auto.cluster_centers_)
    assert_array_equal(two.transform(X), auto.transform(X))


@pytest.mark.parametrize(
    "estimator",
    [MultipleKernelKMeans(2), MahalanobisFuzzyCMeans(2), KernelKMeans(2, centroids="mean")],
    ids=str,
)
def test_the_native_engine_rejects_unsupported_kernels(estimator):
    X = example("plain", 40)[1].X
    with pytest.raises(
        ValueError, match=r"engine='native' does not support the kernel.*engine='reference'"
    ):
        type(estimator)(**estimator.get_params() | {"engine": "native"}).fit(X)
    one, two = (
        type(estimator)(**estimator.get_params() | {"engine": engine, "random_state": 0}).fit(X)
        for engine in ("auto", "reference")
    )
    assert_array_equal(one.cluster_centers_, two.cluster_centers_)
