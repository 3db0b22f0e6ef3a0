"""Parameters changed after a fit, the lines that warnings point to, and the output of the demo."""

import inspect
import runpy
import warnings

import numpy as np
import pytest

from rekmeans import (
    EulerKMeans,
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
)
from rekmeans.centroids import relocate_empty_clusters
from rekmeans.engines.native import engine
from rekmeans.model import Points
from support.paths import ROOT

X = np.random.default_rng(0).normal(size=(30, 2))
MODELS = {
    kind.__name__: kind
    for kind in (KernelKMeans, FuzzyCMeans, NeuralGas, MultipleKernelKMeans, MahalanobisFuzzyCMeans)
} | {"SelfOrganizingMap": lambda n_clusters: SelfOrganizingMap((1, n_clusters))}
BAD_VALUES = {
    "centroids": "bogus",
    "engine": "bogus",
    "n_threads": "many",
    "memory_limit": "much",
    "tol": "small",
    "n_clusters": "two",
    "fuzziness": "x",
    "reach": "x",
    "stages": "x",
    "grid": "x",
}


@pytest.mark.parametrize("method", ["predict", "transform", "score", "score_samples"])
@pytest.mark.parametrize("name", MODELS)
def test_an_invalid_parameter_set_after_a_fit_raises(name, method):
    """Only parameters that predictions use are checked."""
    model = MODELS[name](2).fit(X)
    for parameter in BAD_VALUES.keys() & model.get_params():
        good = getattr(model, parameter)
        with pytest.raises(ValueError, match=rf"^{parameter} must be .*; got .*\.$"):
            getattr(model.set_params(**{parameter: BAD_VALUES[parameter]}), method)(X)
        model.set_params(**{parameter: good})
    getattr(model, method)(X)


# Lines that warnings point to


def warned_line(call):
    """Return the file and line that the only warning of a call points to."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert len({(warning.filename, warning.lineno) for warning in caught}) == 1, [
        str(w.message) for w in caught
    ]
    return caught[0].filename, caught[0].lineno


CALLS = {
    "fit": lambda: EulerKMeans(2, random_state=0).fit(X),
    "fit_predict": lambda: RectifiedEulerKMeans(2, random_state=0).fit_predict(X),
    "fit_transform": lambda: RectifiedEulerKMeans(2, random_state=0).fit_transform(X),
    "several kernels": lambda: MultipleKernelKMeans(2, random_state=0).fit(X),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_warning_of_the_slow_engine_points_to_the_calling_line(name, monkeypatch):
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    if name == "several kernels":
        monkeypatch.setattr(engine.Native, "unsupported", lambda self, stages, table: "")
    assert warned_line(CALLS[name]) == (__file__, inspect.getsourcelines(CALLS[name])[1])


def test_the_warning_of_a_prediction_points_to_its_line(monkeypatch):
    model = RectifiedEulerKMeans(2, random_state=0).fit(X)
    monkeypatch.setattr(engine, "find_spec", lambda name: None)

    def call():
        model.predict(X)

    assert warned_line(call) == (__file__, inspect.getsourcelines(call)[1] + 1)


def test_the_warnings_of_a_fit_point_to_its_line():
    same = np.zeros((5, 1))

    def call():
        RectifiedEulerKMeans(3).fit(same)

    assert warned_line(call) == (__file__, inspect.getsourcelines(call)[1] + 1)


# Unnecessary work, and the demo


def test_the_farthest_row_is_not_searched_if_no_cluster_is_empty():
    C = Points(np.zeros((3, 1)))
    found = relocate_empty_clusters(None, None, C, np.ones(3))
    assert found[0] is C
    assert found[1] == 0


def test_the_demo_prints_a_table_without_warnings_in_it(tmp_path, monkeypatch, capsys, recwarn):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [len(line) for line in lines[:13]] == [len(lines[0])] * 13
    notes = [line for line in lines if line.startswith("note: ")]
    assert len(notes) == 2
    assert "of 300 rows have no kept value" in notes[0]
    assert not [warning for warning in recwarn if "Ignored" in str(warning.message)]
    assert (tmp_path / "demo" / "half-moons.png").is_file()
