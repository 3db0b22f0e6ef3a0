"""An engine from outside the package needs one line to register."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans import (
    KernelKMeans,
    RectifiedEulerKMeans,
)
from rekmeans.engines import ENGINES, Engine
from rekmeans.engines.reference import ReferenceRows
from support.extension_rows import K, X

# an engine


class Toy(Engine):
    """The reference engine under another name, for tables of at most 1000 rows."""

    name = "toy"

    def missing(self):
        return ""

    def describe(self):
        return "a toy"

    def reported_name(self):
        return self.name

    def is_default_for(self, table):
        return table.n_rows <= 1000

    def reader(self, X):
        return None

    def unsupported(self, stages, table):
        return (
            ""
            if all(model.kernel.is_circular for model in stages)
            else "supports only rows on circles."
        )

    def compiled_functions(self):
        return {}

    def place(self, stages, table, n_threads, memory_limit):
        return ReferenceRows(stages[-1].kernel, table)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(ENGINES, "toy", Toy())


def test_a_new_engine_runs_the_fits_that_it_supports(toy):
    ours = RectifiedEulerKMeans(K, random_state=0).fit(X)
    assert ours.engine_ == "toy"
    reference = RectifiedEulerKMeans(K, random_state=0, engine="reference").fit(X)
    assert reference.engine_ == "reference"
    assert_array_equal(ours.labels_, reference.labels_)
    assert_array_equal(ours.centroids_, reference.centroids_)
    many = np.tile(X, (12, 1))
    assert RectifiedEulerKMeans(K, random_state=0).fit(many).engine_ == "native"
    assert KernelKMeans(K, random_state=0).fit(X).engine_ == "native"


def test_error_messages_name_a_new_engine_and_what_it_does_not_support(toy):
    with pytest.raises(
        ValueError, match="'auto', 'toy', 'torch', 'dask', 'native', 'reference'; got 'gpu'"
    ):
        RectifiedEulerKMeans(K, engine="gpu").fit(X)
    with pytest.raises(ValueError, match="engine='toy' supports only rows on circles"):
        KernelKMeans(K, engine="toy").fit(X)


def test_the_command_line_describes_a_new_engine(toy):
    from rekmeans.cli.machine import describe_engines

    assert describe_engines()["toy"] == "available: a toy"
    assert list(describe_engines()) == ["toy", "torch", "dask", "native", "reference"]


def test_an_unavailable_engine_raises_an_error_with_the_install_command(toy, monkeypatch):
    monkeypatch.setattr(Toy, "missing", lambda self: "a box of bricks: pip install bricks.")
    with pytest.raises(ImportError, match="engine='toy' needs a box of bricks: pip install bricks"):
        RectifiedEulerKMeans(K, engine="toy").fit(X)
    with pytest.warns(
        UserWarning, match="uses its slow engine 'native', because 'toy' needs a box of bricks"
    ):
        assert RectifiedEulerKMeans(K, random_state=0).fit(X).engine_ == "native"
