"""The docstring check of `make lint` finds violations of the numpydoc rules."""

import pytest

pytest.importorskip("numpydoc")

import rekmeans
from project import check_docstrings


def test_the_check_covers_methods_of_this_project_only():
    names = set(check_docstrings.public_objects(rekmeans))
    assert {"rekmeans.load", "rekmeans.NeuralGas", "rekmeans.NeuralGas.predict"} <= names
    assert not {"rekmeans.NeuralGas.get_params", "rekmeans.NeuralGas._rule"} & names


def test_a_parameter_that_is_not_documented_is_an_error(monkeypatch):
    monkeypatch.setattr(
        rekmeans.Surface.side, "__doc__", "Return the side of rows.\n\nReturns\n-------\nfloat\n"
    )
    (error, *others) = check_docstrings.find_errors()
    assert "rekmeans.Surface.side PR01 Parameters {'mapped'} not documented" in error
    assert [line for line in others if "rekmeans.Surface.side" not in line] == []
