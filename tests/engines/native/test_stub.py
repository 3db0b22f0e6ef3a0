"""The stub of the compiled core is up to date (`make stub`), and its constants equal those in
Python.
"""

import ast
from pathlib import Path

import pytest

import rekmeans

pytest.importorskip("rekmeans.engines.native._core")
stubgen = pytest.importorskip("nanobind.stubgen")

from rekmeans.engines.native import _core, core_module  # noqa: E402

STUB = Path(rekmeans.__file__).parent / "engines" / "native" / "_core.pyi"


def signatures(text):
    """Return functions, classes and methods, each with the names of its arguments."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            found += [
                (node.name, item.name, *names(item))
                for item in node.body
                if isinstance(item, ast.FunctionDef)
            ]
        elif isinstance(node, ast.AnnAssign):
            found.append((ast.unparse(node.target),))
    found += [(n.name, *names(n)) for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    return sorted(found)


def names(function):
    return [a.arg for a in function.args.posonlyargs + function.args.args]


def test_the_stub_matches_the_module():
    fresh = stubgen.StubGen(_core)
    fresh.put(_core)
    assert signatures(STUB.read_text()) == signatures(fresh.get())


@pytest.mark.parametrize("name", core_module.EXPECTED)
def test_a_core_with_a_different_constant_raises_an_error(name):
    other = type("Core", (), dict(core_module.EXPECTED))()
    core_module.check_constants(other)
    setattr(other, name, 2 * core_module.EXPECTED[name])
    with pytest.raises(ImportError, match=rf"different values of {name}\. Reinstall rekmeans"):
        core_module.check_constants(other)
