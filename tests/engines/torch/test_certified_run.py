"""Certified passes in Triton's interpreter give the bits of the reference engine in every pass."""

import gc
import os
import weakref

import numpy as np
import pytest
from numpy.testing import assert_array_equal

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("TRITON_INTERPRET=1 is not set: run make test-gpu-logic", allow_module_level=True)

from rekmeans import lloyd  # noqa: E402
from rekmeans.assignment import Hard  # noqa: E402
from rekmeans.centroids import mean, rectified  # noqa: E402
from rekmeans.engines.reference import ReferenceRows  # noqa: E402
from rekmeans.engines.torch import certified_run, mapped_rows, rows  # noqa: E402
from rekmeans.engines.torch.mapped_rows import PackedRows  # noqa: E402
from rekmeans.engines.torch.passes import (  # noqa: E402
    SmallPass,
    make_grouped_pass,
    make_plain_pass,
)
from rekmeans.model import Model, Stop  # noqa: E402
from support.blocks import example  # noqa: E402

PASSES = {
    "bounds": make_plain_pass,
    "plain": lambda *key: make_plain_pass(*key, use_bounds=False),
    "groups": lambda *key: make_grouped_pass(*key, group=16),
    "small": lambda store, w, k, is_rectified: SmallPass(store, k, is_rectified),
}
RULES = {"mean": mean, "rectified": rectified}
TABLES = {"plain": 4, "weights": 5, "weights and gaps": 5, "small alpha": 40, "many columns": 20}
CASES = [
    ("plain", "mean", "bounds"),
    ("plain", "rectified", "small"),
    ("plain", "mean", "small"),
    ("weights", "mean", "bounds"),
    ("weights and gaps", "rectified", "bounds"),
    ("weights and gaps", "mean", "plain"),
    ("small alpha", "mean", "bounds"),
    ("many columns", "rectified", "bounds"),
    ("many columns", "mean", "plain"),
    ("plain", "rectified", "groups"),
    ("weights and gaps", "mean", "groups"),
]


@pytest.fixture(autouse=True)
def packed(monkeypatch):
    """Pack rows on the CPU as on a GPU."""
    monkeypatch.setattr(mapped_rows, "choose_store", lambda *_: PackedRows)


def both_rows(name, n=120):
    kernel, table = example(name, n=n)
    return ReferenceRows(kernel, table), rows.TorchRows(kernel, table, torch.device("cpu"))


def assert_same_fits(places, model, C, stop):
    """Compare centroids, labels and the record of every pass."""
    one, two = (lloyd.run_to_end(place, model, C, stop) for place in places)
    records = [
        [(p.loss, p.n_changed, p.n_relocated) for p in ending.state.passes] for ending in (one, two)
    ]
    assert records[0] == records[1]
    assert one.state.centroids == two.state.centroids
    fits = [
        lloyd.make_fit(place, [ending]) for place, ending in zip(places, (one, two), strict=True)
    ]
    assert_array_equal(fits[0].labels, fits[1].labels)
    return one.state


@pytest.mark.parametrize(("table", "rule", "passes"), CASES)
def test_a_run(table, rule, passes, monkeypatch):
    monkeypatch.setattr(certified_run, "make_pass", lambda *key: PASSES[passes](*key[:4]))
    places = both_rows(table)
    k = TABLES[table] if passes != "groups" else 21
    C = places[0].rows_as_centroids(np.arange(k))
    state = assert_same_fits(places, Model(places[0].kernel, Hard(), RULES[rule]), C, Stop(6, 0.0))
    assert len(state.passes) > 1


def test_the_tolerance_and_the_last_pass(monkeypatch):
    places = both_rows("plain")
    C = places[0].rows_as_centroids(np.arange(4))
    model = Model(places[0].kernel, Hard(), mean)
    for stop in (Stop(30, 1e-2), Stop(2, 0.0), Stop(0, 0.0)):
        assert_same_fits(places, model, C, stop)


def test_equal_centroids_overflow_the_list_of_candidates(monkeypatch):
    """If all centroids are equal, all rows are doubtful for all centroids. Rows that do not fit
    into the list are scored for all centroids.
    """
    monkeypatch.setattr(
        certified_run, "make_pass", lambda *key: with_short_lists(make_plain_pass(*key[:4]))
    )

    def with_short_lists(passes):
        passes.buffers.max_pairs = 16
        return passes

    kernel, table = example("plain", n=60)
    places = ReferenceRows(kernel, table), rows.TorchRows(kernel, table, torch.device("cpu"))
    C = places[0].rows_as_centroids(np.zeros(3, int))
    assert_same_fits(places, Model(kernel, Hard(), mean), C, Stop(3, 0.0))


def test_the_objective_has_more_than_64_bits():
    """With large weights, the GPU adds w |g|^2 and its digits like Python integers."""
    kernel, table = example("weights", n=80)
    packed_rows = rows.TorchRows(kernel, table, torch.device("cpu"))
    f = packed_rows.mapped.store.grid(slice(None)).tolist()
    w = packed_rows.weights().tolist()
    centre = packed_rows.mapped.store.mean.tolist()
    squares = [sum((a - b) ** 2 for a, b in zip(row, centre, strict=True)) for row in f]
    total = sum(u * s for u, s in zip(w, squares, strict=True))
    assert total > 1 << 64
    assert packed_rows.mapped.store.total_square(packed_rows.mapped.w) == total


def test_packed_rows_can_be_unpacked_exactly():
    for name in ("plain", "weights and gaps", "small alpha"):
        one, two = both_rows(name)
        assert (two.mapped.store.hi.dtype, two.mapped.store.lo.dtype) == (
            torch.float16,
            torch.int16,
        )
        assert_array_equal(two.mapped.store.grid(slice(None)).numpy(), one.F)


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("passes", ["bounds", "groups", "small"])
def test_buffers_of_finished_runs_are_freed_with_their_rows(passes, monkeypatch, no_collector):
    monkeypatch.setattr(certified_run, "make_pass", lambda *key: PASSES[passes](*key[:4]))
    kernel, table = example("plain", n=60)
    place = rows.TorchRows(kernel, table, torch.device("cpu"))
    model = Model(kernel, Hard(), mean)
    C = place.rows_as_centroids(np.arange(3))
    labels = []
    for _ in range(2):
        run = place.start_run(model)
        run.assign(C)
        labels.append(weakref.ref(run.passes.labels))
        del run
    assert labels[0]() is labels[1]() is not None  # the second run reuses the buffers of the first
    del place
    assert labels[0]() is None


def test_grouped_scoring_has_no_buffers_for_single_centroids():
    kernel, table = example("plain", n=60)
    place = rows.TorchRows(kernel, table, torch.device("cpu"))
    one = make_plain_pass(place.mapped.store, None, 20, False)
    two = make_grouped_pass(place.mapped.store, None, 20, False, group=16)
    for name in ("Z", "new", "threshold"):
        assert hasattr(one.scoring, name)
        assert not hasattr(two.scoring, name)
