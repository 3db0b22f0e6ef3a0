"""Without the compiled core, "auto" warns once and uses the reference engine; engine="native"
raises an error.
"""

import tomllib
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans import RectifiedEulerKMeans
from rekmeans.engines.native import engine
from support.paths import ROOT

X = np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture
def no_core(monkeypatch):
    monkeypatch.setattr(engine, "find_spec", lambda name: None)


def test_a_fit_without_the_core_is_the_same_and_warns(no_core):
    with pytest.warns(
        UserWarning,
        match=r"slow engine 'reference', because 'native' needs the compiled core.*C\+\+ compiler",
    ):
        slow = RectifiedEulerKMeans(3, random_state=0).fit(X)
    assert slow.engine_ == "reference"
    expected = RectifiedEulerKMeans(3, random_state=0, engine="reference").fit(X)
    assert_array_equal(slow.labels_, expected.labels_)
    assert_array_equal(slow.centroids_, expected.centroids_)


def test_the_warning_is_shown_once(no_core):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for seed in range(3):
            RectifiedEulerKMeans(3, random_state=seed).fit(X)
    assert len([w for w in caught if "compiled core" in str(w.message)]) == 1


def test_native_by_name_raises_an_error_without_the_core(no_core):
    with pytest.raises((ValueError, ImportError), match="compiled core"):
        RectifiedEulerKMeans(3, random_state=0, engine="native").fit(X)


def test_a_failed_build_falls_back_to_the_package_without_the_core():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    fallback = [
        override for override in settings["overrides"] if override["if"] == {"failed": True}
    ]
    assert [override["wheel"]["cmake"] for override in fallback] == [False]
