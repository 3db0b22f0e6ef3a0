"""The recipes of CONTRIBUTING.md work: their files can be imported, and their tests pass."""

import inspect
import re
import sys
from unittest import mock

import pytest

from rekmeans import engines, io, kernels, scales, table
from support.paths import ROOT
from support.recipes import PAGE, files_of_recipe, import_source

RECIPES = {
    "kernel": kernels,
    "scale": scales,
    "column kind": table,
    "file format": io,
    "engine": engines,
}


@pytest.fixture
def tables():
    """Restore the tables in which extensions register after the test."""
    pytest.importorskip("pyarrow")
    from rekmeans.io.scan import READERS
    from rekmeans.table.schema import KINDS

    with (
        mock.patch.dict(kernels.KERNELS),
        mock.patch.dict(engines.ENGINES),
        mock.patch.dict(scales.SCALES),
        mock.patch.dict(KINDS),
        mock.patch.dict(READERS),
        mock.patch.dict(sys.modules),
    ):
        yield


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_runs(recipe, tables, tmp_path):
    files = files_of_recipe(recipe)
    (test,) = (path for path in files if path.startswith("tests/"))
    import_source(recipe, RECIPES[recipe], tmp_path)
    namespace = {}
    exec(compile(files[test], test, "exec"), namespace)
    functions = [value for name, value in namespace.items() if name.startswith("test_")]
    assert functions
    for function in functions:
        parameters = inspect.signature(function).parameters
        function(**({"tmp_path": tmp_path} if parameters else {}))


def test_every_recipe_with_code_is_run():
    headings = re.findall(r"^### Add an? (.*)$", PAGE, flags=re.MULTILINE)
    assert [name for name in headings if files_of_recipe(name)] == list(RECIPES)


def test_every_file_in_the_text_exists():
    places = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert [place for place in places if not (ROOT / place).is_file()] == []
    named = set(re.findall(r"`([\w./-]+\.(?:py|cpp|hpp|j2|md|rst))`", PAGE))
    folders = (ROOT, *(ROOT / folder for folder in ("src/rekmeans", "src/rekmeans/engines/native")))
    absent = [name for name in named if not any((folder / name).is_file() for folder in folders)]
    assert absent == []
