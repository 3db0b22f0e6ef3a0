"""Model files with a valid digest and impossible values raise an error with the reason."""

import json

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
    load,
    save,
)
from support.assertions import raises_mentioning
from support.model_files import read_parts, write_parts

X = np.random.default_rng(0).normal(size=(40, 3))
SIMILARITY = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
SEED = {"random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore")

MODELS = {
    "gram": lambda: KernelKMeans(3, kernel="rbf", centroids="mean", **SEED).fit(X),
    "precomputed": lambda: KernelKMeans(3, kernel="precomputed", centroids="mean", **SEED).fit(
        SIMILARITY
    ),
    "fuzzy": lambda: FuzzyCMeans(3, **SEED).fit(X),
    "map": lambda: SelfOrganizingMap((1, 3), stages=3, **SEED).fit(X),
    "gas": lambda: NeuralGas(3, stages=3, **SEED).fit(X),
    "stack": lambda: MultipleKernelKMeans(3, kernels=(0.5, ("rbf", 1.0)), **SEED).fit(X),
    "shapes": lambda: MahalanobisFuzzyCMeans(3, **SEED).fit(X),
    "stream": lambda: RectifiedEulerKMeans(3, half_life=20, **SEED).partial_fit(X).partial_fit(X),
    "mean stream": lambda: EulerKMeans(3, **SEED).partial_fit(X),
    "rbf stream": lambda: KernelKMeans(3, kernel="rbf", **SEED).partial_fit(X),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the header of each model as text, because each case changes it, and its arrays."""
    folder = tmp_path_factory.mktemp("models")
    found = {}
    for name, fit in MODELS.items():
        save(fit(), folder / name)
        header, arrays = read_parts(folder / name)
        found[name] = (json.dumps(header), arrays)
    return found


def at(*path):
    """Return a function that changes one entry of the header."""

    def change(value):
        def put(header, arrays):
            container = header
            for key in path[:-1]:
                container = container[key]
            container[path[-1]] = value(container[path[-1]]) if callable(value) else value

        return put

    return change


def array(name, change):
    """Return a function that changes an array in place or replaces it."""

    def put(header, arrays):
        values = arrays[name].copy()
        changed = change(values)
        arrays[name] = values if changed is None else changed

    return put


def entry(name, value, index=0):
    """Return a function that changes one number of an array."""

    def put(values):
        values.flat[index] = value

    return array(name, put)


stream = ("attributes", "stream_", "fields")
CLOCK = (*stream, "clock", "fields")
CASES = {
    "a fitted row that is infinite": ("gram", entry("kernel.fitted", np.inf), "fitted must be fin"),
    "fitted rows of fewer columns": (
        "gram",
        array("kernel.fitted", lambda v: v[:, :2].copy()),
        "fitted must have 3 columns",
    ),
    "a row number out of range": ("gram", entry("kernel.counting", 40), "numbers of the 40 fitted"),
    "a negative row": ("gram", entry("kernel.counting", -1), "numbers of the 40 fitted"),
    "no rows to start from": (
        "gram",
        array("kernel.counting", lambda v: v[:0]),
        "numbers of the 40 fitted",
    ),
    "a width of zero": (
        "gram",
        at("kernel", "fields", "base", "fields", "gamma")(0.0),
        "gamma must be a finite number",
    ),
    "a width that is not learned": (
        "gram",
        at("kernel", "fields", "base", "fields", "gamma")("auto"),
        "gamma must be a finite number",
    ),
    "a base of another kind": (
        "gram",
        at("kernel", "fields", "base")(lambda base: base | {"record": "Laplace"}),
        "fitted with Gram(Laplace)",
    ),
    "a base without means": (
        "gram",
        at("kernel", "fields", "base")(
            lambda base: {"record": "Linear", "fields": {"scale": base["fields"]["scale"]}}
        ),
        "Linear has no means by kernel values",
    ),
    "fewer weights than rows": (
        "gram",
        array("centroids.weights", lambda v: v[:, :-1].copy()),
        "weights is float64 of shape (3, 39)",
    ),
    "a weight that is NaN": ("gram", entry("centroids.weights", np.nan), "weights is not finite"),
    "a negative length": (
        "precomputed",
        entry("kernel.fitted_lengths", -1.0),
        "fitted_lengths must not be negative",
    ),
    "memberships above 1": ("fuzzy", entry("memberships_", 1.5), "be between 0 and 1"),
    "memberships of other clusters": (
        "fuzzy",
        array("memberships_", lambda v: v[:, :2].copy()),
        "memberships_ must have shape (40, 3)",
    ),
    "fuzziness of 1": ("fuzzy", at("parameters", "fuzziness")(1.0), "fuzziness must be"),
    "another grid": (
        "map",
        at("parameters", "grid")({"tuple": [2, 3]}),
        "grid=(2, 3) must have one node per centroid (3)",
    ),
    "a giant grid": (
        "map",
        at("parameters", "grid")({"tuple": [10**9, 10**9]}),
        "must have one node per centroid",
    ),
    "many stages": ("map", at("parameters", "stages")(10**9), "stages must be at most 100000"),
    "an error above 1": (
        "map",
        at("attributes", "topographic_error_")(1.5),
        "topographic_error_ must be",
    ),
    "a graph of more nodes": (
        "gas",
        at("attributes", "graph_", "shape")([3, 4]),
        "graph_ must have shape (3, 3)",
    ),
    "a node outside the graph": ("gas", entry("graph_.indices", 7), "indices must be < 3"),
    "an edge that is NaN": ("gas", entry("graph_.data", np.nan), "graph_ must not contain NaN"),
    "a missing unit": ("stack", at("kernel", "fields", "units")({"tuple": [1.0]}), "one for each"),
    "a unit of zero": (
        "stack",
        at("kernel", "fields", "units")({"tuple": [1.0, 0.0]}),
        "units must be a finite number",
    ),
    "no kernels": ("stack", at("kernel", "fields", "parts")({"tuple": []}), "one for each"),
    "shared by kernels without circles": (
        "stack",
        at("kernel", "fields", "shared")(True),
        "shared must be false",
    ),
    "a negative weight of a kernel": (
        "stack",
        entry("centroids.weights", -0.5),
        "must lie between 0 and 1",
    ),
    "a kernel in itself": (
        "stack",
        lambda header, arrays: header["kernel"]["fields"]["parts"].update(
            tuple=[json.loads(json.dumps(header["kernel"]))] * 2
        ),
        "must consist of kernels between points",
    ),
    "no prior": ("shapes", at("kernel", "fields", "prior")(0.0), "prior must be a finite number"),
    "a shape of fewer columns": (
        "shapes",
        array("centroids.shape", lambda v: v[:, :2].copy()),
        "shape is float64 of shape (3, 2, 6)",
    ),
    # streams
    "no stream in a stream": ("stream", at("attributes", "stream_")(None), "no record"),
    "no sums": ("stream", at(*stream, "sums")(None), "no record"),
    "no blocks": ("stream", at(*stream, "n_blocks")(0), "n_blocks must be an integer"),
    "sums of another kernel": (
        "rbf stream",
        at(*stream, "sums")(lambda sums: sums | {"record": "CircleSums"}),
        "CircleSums has no field",
    ),
    "a mass that is negative": ("rbf stream", entry("stream_.sums.mass", -1.0), "mass must not be"),
    "a sum that is NaN": ("rbf stream", entry("stream_.sums.totals", np.nan), "is not finite"),
    "sums of fewer clusters": (
        "rbf stream",
        array("stream_.sums.mass", lambda v: v[:2]),
        "mass is float64 of shape (2,), not (3,)",
    ),
    "sums that are real numbers": (
        "stream",
        lambda header, arrays: (
            header["attributes"]["stream_"]["fields"]["sums"]["fields"].update(
                mass={"array": "stream_.sums.mass"}
            ),
            arrays.update({"stream_.sums.mass": np.ones(3)}),
        ),
        "mass is float64 of shape (3,)",
    ),
    "sums outside the circles": (
        "mean stream",
        entry("stream_.sums.totals", 2**30, -1),
        "outside the circles",
    ),
    "a clock after its half-life": ("stream", at(*CLOCK, "position")(2**60), "position must be be"),
    "a clock before its beginning": ("stream", at(*CLOCK, "position")(-1), "not be negative"),
    "a half-life between ticks": (
        "stream",
        at(*CLOCK, "half_life")(33),
        "a multiple of 32",
    ),
    "a half-life of text": (
        "stream",
        at(*CLOCK, "half_life")("1"),
        "half_life of Clock has the wrong type str",
    ),
    "weights of many bits": ("stream", at(*CLOCK, "weight_bits")(10**6), "weight_bits must be"),
    "many halvings": ("stream", at(*CLOCK, "n_halvings")(2**62), "n_halvings must be between 0"),
    "cells outside that were not observed": (
        "stream",
        entry("stream_.cells.outside", 99),
        "exceeds the number observed",
    ),
    "cells of fewer columns": (
        "stream",
        lambda header, arrays: arrays.update(
            {name: arrays[name][:2] for name in arrays if name.startswith("stream_.cells")}
        ),
        "cell counts must have 3 columns",
    ),
    "recent rows of fewer columns": (
        "stream",
        array("stream_.recent.X", lambda v: v[:, :2].copy()),
        "recent rows must have 3 columns",
    ),
    "recent rows that are infinite": (
        "stream",
        entry("stream_.recent.X", np.inf),
        "values of recent rows must be at most",
    ),
    "recent rows without weight": (
        "stream",
        entry("stream_.recent.weights", 0.0),
        "positive weights",
    ),
    "recent rows of a negative level": (
        "stream",
        entry("stream_.recent.levels", -1),
        "that are not negative",
    ),
    "a missing level": (
        "stream",
        array("stream_.recent.levels", lambda v: v[:-1]),
        "a weight, an epoch and a level each",
    ),
    "no cells of recent rows": (
        "stream",
        lambda header, arrays: (
            header["attributes"]["stream_"]["fields"]["recent"]["fields"].update(X=None),
            arrays.pop("stream_.recent.X"),
        ),
        "recent rows have no cells",
    ),
}


@pytest.mark.parametrize(("name", "change", "words"), CASES.values(), ids=CASES)
def test_a_forged_value_is_refused(name, change, words, files, tmp_path):
    text, arrays = files[name]
    header, arrays = json.loads(text), dict(arrays)
    write_parts(tmp_path / "model", header, arrays)
    load(tmp_path / "model")
    change(header, arrays)
    write_parts(tmp_path / "model", header, arrays)
    with raises_mentioning(ValueError, "contains no valid model", words):
        load(tmp_path / "model")
