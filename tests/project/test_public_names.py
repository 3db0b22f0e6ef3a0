"""`dir()`, `__all__`, the imports for type checkers and the API page list the same names."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rekmeans
import rekmeans_paper
from rekmeans import displays
from support.paths import ROOT

API = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
PACKAGES = pytest.mark.parametrize("package", [rekmeans, rekmeans_paper], ids=lambda p: p.__name__)


def public_names(package):
    return {name for name in dir(package) if not name.startswith("_")}


def typed_imports(package):
    """Return {name: module} of the imports for type checkers."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    guard = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    )
    return {alias.name: f".{node.module}" for node in guard.body for alias in node.names}


def names_of_page(package):
    """Return the names of a package on the API page."""
    module = None
    names = set()
    for line in API.splitlines():
        if directive := re.fullmatch(r"\.\. currentmodule:: (\w+)", line):
            module = directive[1]
        elif module == package.__name__ and (entry := re.fullmatch(r" {3}(\w+)", line)):
            names.add(entry[1])
    return names


@PACKAGES
def test_dir_and_all_and_the_imports_for_type_checkers_agree(package):
    assert public_names(package) == set(package.__all__)
    assert typed_imports(package) == package._MODULE_OF_NAME
    assert set(package.__all__) == set(package._MODULE_OF_NAME)


@PACKAGES
def test_every_public_name_is_defined_in_its_module(package):
    for name, module in package._MODULE_OF_NAME.items():
        assert getattr(package, name) is getattr(import_module(module, package.__name__), name)


@PACKAGES
def test_the_api_page_lists_the_public_names(package):
    aliases = {name for name in package.__all__ if getattr(package, name).__name__ != name}
    assert names_of_page(package) == set(package.__all__) - aliases
    assert [name for name in aliases if f"``{name}``" not in API] == []


def test_every_display_is_public():
    assert set(displays.__all__) <= set(rekmeans.__all__)


@PACKAGES
def test_an_unknown_name_raises_an_attribute_error(package):
    name = package.__name__
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018


def test_modules_are_available_as_attributes():
    code = "import rekmeans; print(rekmeans.analysis.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "rekmeans.analysis\n"
