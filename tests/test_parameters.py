"""An invalid parameter raises an error before X is read, which may be expensive."""

from functools import partial

import numpy as np
import pytest

from rekmeans import (
    EulerMap,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    SelfOrganizingMap,
)
from support.assertions import assert_message_states_fix
from support.clusterers import CLUSTERERS

ESTIMATORS = CLUSTERERS | {"EulerMap": EulerMap}
del ESTIMATORS["KernelKMeans-precomputed-rectified"]  # always raises
ACCESSORS = (
    "__array__",
    "__array_interface__",
    "__dataframe__",
    "__dlpack__",
    "__len__",
    "__iter__",
    "__getitem__",
)
WRONG = {  # for every estimator that has the parameter
    "n_clusters": [0, 2.5],
    "grid": [(0, 3), 9],
    "kernel": ["nope", None],
    "centroids": ["nope", None],
    "alpha": [-1, "x"],
    "gamma": [-1, "x"],
    "kernels": [("nope",), (-1,), (("nope", 1.0),), ()],
    "power": [1, -2.0],
    "fuzziness": [1.0, 0.5],
    "prior": [0, -0.1],
    "reach": [-1],
    "start_reach": [-1],
    "stages": [0],
    "scale": ["x", 1],
    "beyond": ["x", None],
    "init": ["nope", None],
    "n_init": [0, "many"],
    "max_iter": [0],
    "tol": [-1],
    "engine": ["gpu", None],
    "n_threads": [0],
    "memory_limit": ["x", -5],
    "checkpoint": [3, True],
    "random_state": ["abc", -1],
    "verbose": [-1],
}
CASES = [
    pytest.param(make, name, value, id=f"{estimator}-{name}={value!r}")
    for estimator, make in ESTIMATORS.items()
    for name, values in WRONG.items()
    if name in make().get_params()
    for value in values
]
INCOMPATIBLE = {  # every value is valid by itself; the word is part of the message
    "circle start for points": (partial(KernelKMeans, kernel="rbf", init="circle"), "'circle'"),
    "circle start for a map of points": (
        partial(SelfOrganizingMap, kernel="laplace", init="circle"),
        "'circle'",
    ),
    "circle start for the linear kernel": (
        partial(MahalanobisFuzzyCMeans, kernel="linear", init="circle"),
        "'circle'",
    ),
    "circle start for mixed kernels": (
        partial(MultipleKernelKMeans, kernels=(0.5, ("rbf", 1.0)), init="circle"),
        "'circle'",
    ),
    "plane start without a map": (partial(KernelKMeans, init="plane"), "'plane'"),
    "rectified centroids of a precomputed kernel": (
        partial(KernelKMeans, kernel="precomputed"),
        "'rectified'",
    ),
    "start points for a precomputed kernel": (
        partial(KernelKMeans, kernel="precomputed", centroids="mean", init=np.ones((8, 2))),
        "'precomputed'",
    ),
    "shared means": (partial(MultipleKernelKMeans, shared=True, centroids="mean"), "'mean'"),
    "shared points": (
        partial(MultipleKernelKMeans, kernels=(0.5, ("rbf", 1.0)), shared=True),
        "'rbf'",
    ),
    "means of mixed kernels": (
        partial(MultipleKernelKMeans, kernels=(0.5, ("rbf", 1.0)), centroids="mean"),
        "'rbf'",
    ),
    "shapes of rows with missing cells": (
        partial(MahalanobisFuzzyCMeans, beyond="ignore"),
        "'ignore'",
    ),
    "shapes of points": (partial(MahalanobisFuzzyCMeans, kernel="rbf"), "'rbf'"),
}


class RecordingTable:
    """A table that records every access."""

    def __init__(self):
        self.read = []


def recording_method(accessor):
    """Return a special method that records the access and raises."""

    def record_access(self, *args, **kwargs):
        self.read.append(accessor)
        raise AssertionError(f"X was read through {accessor} before the parameters were checked")

    return property(record_access) if accessor == "__array_interface__" else record_access


for accessor in ACCESSORS:
    setattr(RecordingTable, accessor, recording_method(accessor))


def parameter_error(estimator):
    """Return the error message of fit, and check that the table was not read."""
    X = RecordingTable()
    with pytest.raises(ValueError, match=r".") as caught:
        estimator.fit(X)
    assert X.read == []
    assert_message_states_fix(caught.value)
    return str(caught.value)


def innermost(value):
    """Return the invalid element of a nested tuple, which the message may name by itself."""
    return innermost(value[0]) if isinstance(value, tuple) and value else value


def test_valid_parameters_read_the_table():
    """Otherwise the tests below could not fail."""
    X = RecordingTable()
    with pytest.raises((AssertionError, ValueError)):
        ESTIMATORS["RectifiedEulerKMeans"]().fit(X)
    assert X.read


@pytest.mark.parametrize(("make", "name", "value"), CASES)
def test_a_wrong_value_raises_before_the_table_is_read(make, name, value):
    message = parameter_error(
        make(**{name: value})
        if name not in ("n_clusters", "grid")
        else make().set_params(**{name: value})
    )
    assert name in message
    assert any(
        f"{before}{came!r}" in message
        for before in ("got ", "=")
        for came in (value, innermost(value))
    ), message


@pytest.mark.parametrize("case", INCOMPATIBLE)
def test_incompatible_values_raise_before_the_table_is_read(case):
    make, word = INCOMPATIBLE[case]
    assert word in parameter_error(make())
