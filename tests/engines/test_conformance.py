"""The conformance suite for the engines on the host, for Dask, and for a third-party engine."""

import ast
import sys

import numpy as np
import pytest

from engines.conformance import RowsConformance, memory_rows
from rekmeans import RectifiedEulerKMeans, engines
from rekmeans.engines import ENGINES, read_input
from support.recipes import files_of_recipe, import_source


def stream_rows(engine, model, X, weights):
    """Map a table that is read in four blocks."""
    table = read_input(
        RectifiedEulerKMeans(2), lambda: iter(np.array_split(X, 4)), weights, fitting=True
    )
    assert not table.is_in_memory
    return engine.place([model], table, 2, None)


class TestReference(RowsConformance):
    def place(self, model, X, weights):
        return memory_rows(ENGINES["reference"], model, X, weights)


class TestNative(RowsConformance):
    def place(self, model, X, weights):
        return memory_rows(ENGINES["native"], model, X, weights)


class TestReferenceBlocks(RowsConformance):
    float_kernels = ("linear", "rbf")  # medians need all rows at once

    def place(self, model, X, weights):
        return stream_rows(ENGINES["reference"], model, X, weights)


class TestNativeBlocks(RowsConformance):
    float_kernels = ("linear", "rbf")

    def place(self, model, X, weights):
        return stream_rows(ENGINES["native"], model, X, weights)


class TestDask(RowsConformance):
    float_kernels = ("linear", "rbf")

    def place(self, model, X, weights):
        array = pytest.importorskip("dask.array")
        collection = array.from_array(X, chunks=(70, -1))
        table = read_input(RectifiedEulerKMeans(2), collection, weights, fitting=True)
        return ENGINES["dask"].place([model], table, 2, None)


class TestRecipe(RowsConformance):
    """The engine from the recipe in CONTRIBUTING.md."""

    @pytest.fixture(autouse=True)
    def import_shards(self, tmp_path, monkeypatch):
        monkeypatch.delitem(sys.modules, "rekmeans.engines.shards", raising=False)
        self.engine = import_source("engine", engines, tmp_path).Shards()

    def place(self, model, X, weights):
        return memory_rows(self.engine, model, X, weights)


def test_the_recipe_imports_only_base_classes_records_and_exact_integers():
    (source,) = (text for path, text in files_of_recipe("engine").items() if "src" in path)
    modules = {node.module for node in ast.walk(ast.parse(source)) if getattr(node, "level", 0)}
    assert modules == {"_grid", "kernels.base", "model", "table", "base"}
