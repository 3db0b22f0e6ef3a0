"""Certified passes in Triton's interpreter: the same bits as the reference engine, pass by pass."""

import os

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
from rekmeans.engines.torch import device_pass, rows, triton_run  # noqa: E402
from rekmeans.engines.torch.device_pass import DevicePass  # noqa: E402
from rekmeans.engines.torch.grouped_pass import GroupedPass, order_by_neighbourhood  # noqa: E402
from rekmeans.engines.torch.packed_rows import PackedRows  # noqa: E402
from rekmeans.engines.torch.small_pass import SmallPass  # noqa: E402
from rekmeans.engines.torch.triton_run import TritonRun  # noqa: E402
from rekmeans.model import Model, Stop  # noqa: E402
from support.blocks import example  # noqa: E402

PASSES = {
    "bounds": DevicePass,
    "plain": lambda *key: DevicePass(*key, use_bounds=False),
    "groups": lambda *key: GroupedPass(*key, group=16),
    "small": lambda store, w, k, is_rectified: SmallPass(store, k, is_rectified),
}
RULES = {"mean": mean, "rectified": rectified}
TABLES = {"plain": 4, "weights": 5, "weights and gaps": 5, "small alpha": 4, "many columns": 20}
CASES = [
    (table, rule, passes)
    for table in TABLES
    for rule in RULES
    for passes in ("bounds", "groups" if table != "many columns" else "plain")
]


@pytest.fixture(autouse=True)
def packed(monkeypatch):
    """Rows on the processor are packed as on a card."""
    monkeypatch.setattr(rows, "choose_store", lambda device, d: PackedRows)
    monkeypatch.setattr(rows, "choose_run", TritonRun)


def both_rows(name, n=150):
    kernel, table = example(name, n=n)
    return ReferenceRows(kernel, table), rows.TorchRows(kernel, table, torch.device("cpu"))


def assert_same_fits(places, model, C, stop):
    """Centroids, labels and the record of every pass."""
    one, two = (lloyd.run_to_end(place, model, C, stop) for place in places)
    records = [[(p.loss, p.n_changed, p.n_relocated) for p in ending.state.passes] for ending in (one, two)]
    assert records[0] == records[1]
    assert one.state.centroids == two.state.centroids
    fits = [lloyd.make_fit(place, [ending]) for place, ending in zip(places, (one, two), strict=True)]
    assert_array_equal(fits[0].labels, fits[1].labels)
    return one.state


@pytest.mark.parametrize(("table", "rule", "passes"), CASES)
def test_a_run(table, rule, passes, monkeypatch):
    monkeypatch.setattr(triton_run, "make_pass", lambda store, w, k, is_rectified, _: PASSES[passes](store, w, k, is_rectified))
    places = both_rows(table)
    k = TABLES[table] if passes != "groups" else 37
    C = places[0].rows_as_centroids(np.arange(k))
    state = assert_same_fits(places, Model(places[0].kernel, Hard(), RULES[rule]), C, Stop(6, 0.0))
    assert len(state.passes) > 1
