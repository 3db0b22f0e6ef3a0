"""The conformance suite on the engines of the host, on Dask, and on an engine from outside."""

import ast
from pathlib import Path

import numpy as np
import pytest

from engines.conformance import RowsConformance, memory_rows
from rekmeans import RectifiedEulerKMeans
from rekmeans.engines import ENGINES, read_input
from support import foreign_engine
from support.foreign_engine import ForeignEngine


def stream_rows(engine, model, X, weights):
    """Place a table that is read in four blocks."""
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


class TestForeign(RowsConformance):
    def place(self, model, X, weights):
        return memory_rows(ForeignEngine(), model, X, weights)


def test_the_foreign_engine_imports_base_classes_records_and_integers_only():
    tree = ast.parse(Path(foreign_engine.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules == {"rekmeans._grid", "rekmeans.engines.base", "rekmeans.model"}
