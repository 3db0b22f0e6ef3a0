"""Constructors, docstrings and checks of the estimators agree with the parameter table."""

import inspect
import re
from pathlib import Path

import pytest

import rekmeans
from project import write_docstrings
from rekmeans.estimators._parameter_table import ARGUMENTS, ATTRIBUTES, PARAMETERS

ESTIMATORS = {
    name: kind
    for name in sorted(rekmeans.__all__)
    if name not in ("REK1", "REK2") and hasattr(kind := getattr(rekmeans, name), "_interface")
}
INVALID = object()  # for every parameter


@pytest.mark.parametrize("path", write_docstrings.modules(), ids=lambda path: path.stem)
def test_generated_code_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == write_docstrings.generate(path), (
        "run `make docstrings`"
    )


def test_an_edited_docstring_or_default_is_found(tmp_path):
    path = next(path for path in write_docstrings.modules() if path.stem == "fuzzy")
    source = path.read_text(encoding="utf-8")
    for text, other in [
        ("Number of clusters.", "Number of groups."),
        ("fuzziness: float = 1.2", "fuzziness: float = 2.0"),
        ("self.tol = tol", "self.tol = float(tol)"),
        ("each row sums to 1. NaN for rows", "each row sums to one. NaN for rows"),
    ]:
        assert source.count(text) == 1
        edited = Path(tmp_path / "fuzzy.py")
        edited.write_text(source.replace(text, other), encoding="utf-8")
        assert write_docstrings.generate(edited) == source


@pytest.mark.parametrize("name", ESTIMATORS)
def test_constructor_has_the_parameters_and_defaults_of_the_table(name):
    parameters = inspect.signature(ESTIMATORS[name]).parameters
    table = ESTIMATORS[name]._interface.parameters
    assert list(parameters) == list(table)
    assert {key: value.default for key, value in parameters.items()} == {
        key: value.default for key, value in table.items()
    }
    assert ESTIMATORS[name]().get_params().keys() == table.keys()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_docstring_states_the_defaults(name):
    documented = dict(
        re.findall(r"^    (\w+) : .*, default=(.*)$", ESTIMATORS[name].__doc__, flags=re.MULTILINE)
    )
    found = {key: eval(text) for key, text in documented.items()}
    assert found == ESTIMATORS[name]().get_params()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_accepts_its_default_and_rejects_an_invalid_value(name):
    interface = ESTIMATORS[name]._interface
    interface.check(ESTIMATORS[name]())
    for key, parameter in interface.parameters.items():
        if key == "init":  # any object may be an array; it is checked once n_features is known
            continue
        with pytest.raises(ValueError, match=rf"^{key} must "):
            parameter.check(key, INVALID)


def test_a_fitted_estimator_checks_the_parameters_that_it_still_uses():
    X = [[0.0], [1.0]]
    model = rekmeans.RectifiedEulerKMeans(2).fit(X).set_params(max_iter=0, tol=-1)
    with pytest.raises(ValueError, match="tol must be"):
        model.predict(X)
    model.set_params(tol=0.0).predict(X)
    with pytest.raises(ValueError, match="max_iter must be"):
        model.fit(X)


def test_no_entry_of_the_table_is_unused():
    interfaces = [kind._interface for kind in ESTIMATORS.values()]
    used = {
        (entry.type, entry.text)
        for interface in interfaces
        for entry in (*interface.parameters.values(), *interface.attributes.values())
    }
    entries = {**PARAMETERS, **ATTRIBUTES}
    assert [name for name, entry in entries.items() if (entry.type, entry.text) not in used] == []
    methods = {
        f"{argument}{'/' if method else ''}{method}"
        for kind in ESTIMATORS.values()
        for name, function in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
        for argument in inspect.signature(function).parameters
        for method in ("", name, f"{kind.__name__}.{name}")
    }
    assert set(ARGUMENTS) <= methods
