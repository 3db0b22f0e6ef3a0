"""Rows on a torch device have the bits of the reference engine, from the map to the last pass."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

torch = pytest.importorskip("torch")

from rekmeans.assignment import Hard  # noqa: E402
from rekmeans.centroids import mean, rectified  # noqa: E402
from rekmeans.engines.reference import ReferenceRows  # noqa: E402
from rekmeans.engines.torch.rows import TorchRows  # noqa: E402
from rekmeans.engines.torch.table import TorchTable  # noqa: E402
from rekmeans.kernels.euler import OnCircles  # noqa: E402
from rekmeans.lloyd import run  # noqa: E402
from rekmeans.model import Model, Stop  # noqa: E402
from rekmeans.seeding import STARTS  # noqa: E402
from rekmeans.seeding import _weighted_candidates as weighted_candidates  # noqa: E402
from support.assertions import assert_same_run  # noqa: E402
from support.blocks import example  # noqa: E402
from support.models import watch_passes  # noqa: E402

CPU = torch.device("cpu")
NAMES = [
    "plain",
    "weights",
    "gaps",
    "weights and gaps",
    "scaled weights and gaps",
    "small alpha",
    "many columns",
]
BLOCK_CELLS = {"one block": 1 << 21, "small blocks": 50}


def tensor_table(table):
    weights = None if table.weights is None else torch.from_numpy(table.weights)
    return TorchTable(torch.from_numpy(table.X), weights)


KINDS = {"host": lambda table: table, "tensor": tensor_table}
examples = pytest.mark.parametrize("name", NAMES)
kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(params=BLOCK_CELLS)
def block_cells(request, monkeypatch):
    """Process rows in one block, and in many."""
    monkeypatch.setattr("rekmeans.engines.torch.cells.HOST_CELLS", BLOCK_CELLS[request.param])


def both_rows(name, kind):
    kernel, table = example(name)
    return ReferenceRows(kernel, table), TorchRows(kernel, KINDS[kind](table), CPU)


@examples
@kinds
def test_mapped_rows_and_weights(name, kind, block_cells):
    reference, rows = both_rows(name, kind)
    assert_array_equal(rows.mapped.store.grid(slice(None)).numpy(), reference.F)
    assert_array_equal(
        rows.mapped.store.grid(torch.tensor([5, 2, 5])).numpy(), reference.F[[5, 2, 5]]
    )
    assert_array_equal(rows.weights(), reference.weights())
    assert (rows.weight_bits, rows.n_uninformative(), len(rows)) == (
        reference.weight_bits,
        reference.n_uninformative(),
        len(reference),
    )
    assert_array_equal(rows.map_blocks(lambda F: F.sum(axis=1)), reference.F.sum(axis=1))


@examples
@kinds
@pytest.mark.parametrize("rule", [mean, rectified])
def test_a_run(name, kind, rule, block_cells):
    places = both_rows(name, kind)
    start = places[0].kernel.from_points(
        np.tile(np.linspace(0, 2, 4)[:, None], places[0].F.shape[1] // 2)
    )
    model = Model(places[0].kernel, Hard(), rule)
    one, two = (run(rows, model, start, Stop(8, 0.0), watch_passes) for rows in places)
    assert one.n_iter > 1
    assert_same_run(one, two)


@examples
@kinds
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("k", [1, 6, 150])
def test_starts(name, kind, start, k):
    if k == 150 and name == "many columns":
        k = 130
    one, two = (STARTS[start](rows, k, np.random.PCG64(3)) for rows in both_rows(name, kind))
    assert one == two


@examples
@kinds
def test_the_farthest_row_and_mean_phases(name, kind, block_cells):
    reference, rows = both_rows(name, kind)
    labels = np.random.default_rng(0).integers(0, 3, len(reference)).astype(np.int32)
    assert_array_equal(rows.phase_sums(labels, 3), reference.phase_sums(labels, 3))
    assert_array_equal(rows.table.count_labels(labels, 4), reference.table.count_labels(labels, 4))
    one, two = (place.farthest(OnCircles(reference.F[:3])) for place in (reference, rows))
    assert (one.loss, one.number) == (two.loss, two.number)
    assert_array_equal(one.mapped, two.mapped)


@kinds
def test_the_first_of_equally_far_rows_is_chosen(kind, block_cells):
    kernel, table = example("plain", n=40)
    table.X[:] = 1.0
    table.X[[7, 19, 33]] = 2.0
    rows = TorchRows(kernel, KINDS[kind](table), CPU)
    assert rows.farthest(rows.rows_as_centroids(np.array([0]))).number == 7


@examples
@kinds
def test_samples_and_chosen_rows(name, kind):
    places = both_rows(name, kind)
    numbers, weights = np.array([4, 1, 9]), np.array([1.0, 2.5, 0.0])
    for one, two in (
        [rows.place(rows.table.sample(50, 3)) for rows in places],
        [rows.place(rows.table.sample(5000, 3)) for rows in places],
        [rows.place(rows.table.take(numbers, weights)) for rows in places],
    ):
        assert_array_equal(one.F, two.mapped.store.grid(slice(None)).numpy())
        assert_array_equal(one.weights(), two.weights())
        assert one.weight_bits == two.weight_bits


@kinds
def test_integer_weights_keep_all_their_digits(kind):
    places = both_rows("weights and gaps", kind)
    numbers = np.arange(5)
    weights = np.array([(1 << 40) - 1, (1 << 39) + (1 << 15), (1 << 31) + 1, 3, 0])
    one, two = (rows.place(rows.table.take(numbers, weights)) for rows in places)
    assert_array_equal(one.weights(), two.weights())
    assert one.weight_bits == two.weight_bits


@kinds
def test_oversampled_candidates_have_the_weights_of_the_reference(kind):
    """Check that integer masses of k-means|| candidates, which are longer than the 24 bits of a
    float32, are exact.
    """
    one, two = (
        weighted_candidates(rows, 6, np.random.PCG64(3))
        for rows in both_rows("weights and gaps", kind)
    )
    assert_array_equal(one.F, two.mapped.store.grid(slice(None)).numpy())
    assert_array_equal(one.weights(), two.weights())
