"""Read and write the parts of model files, and provide wine with errors for fits."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors import numpy as numpy_tensors
from scipy import sparse
from sklearn.datasets import load_wine

from rekmeans.tensor_file import seal_header, write_tensor_file

each_map = pytest.mark.parametrize(
    ("scale", "beyond"),
    [
        ("robust", "ignore"),
        ("robust", "clip"),
        ("range", "wrap"),
        ("global", "clip"),
        (None, "wrap"),
    ],
)
IGNORED_ROWS = "ignore:.*no kept value"  # another test checks this warning


def dirty(X, seed=0):
    """Make a tenth of the cells missing, a twentieth gross errors, and some rows errors only."""
    random = np.random.default_rng(seed)
    D = X.copy()
    D[random.random(X.shape) < 0.05] = 1e6
    D[random.random(X.shape) < 0.1] = np.nan
    D[::29] = -1e5
    D[7::29, ::2] = np.nan
    D[np.isnan(D).all(axis=1)] = 0
    return D


WINE = load_wine().data
DIRTY = dirty(WINE)


def read_parts(path):
    """Return the header and the arrays of a model file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(
        json.loads(data[8 : 8 + size])["__metadata__"]["rekmeans"]
    ), numpy_tensors.load(data)


def write_parts(path, header, arrays):
    """Write a model file with a valid digest from arrays and a header, which may be any text."""
    text = header if isinstance(header, str) else json.dumps(header)
    write_tensor_file(path, {"rekmeans": text}, arrays)
    return path


def write_bytes(path, header, blob, length=None):
    """A file of a header, whose digest is made valid if it has one, and the bytes after it."""
    header = re.sub(rb'("sha256": ")[0-9a-f]{64}', rb"\g<1>" + b"0" * 64, header)
    header = seal_header(header, [blob])
    path.write_bytes((len(header) if length is None else length).to_bytes(8, "little"))
    with path.open("ab") as file:
        file.write(header + blob)


def write_without_digest(path, header, arrays):
    """A model file as the safetensors library writes it, like those of versions 1 and 2."""
    path.write_bytes(numpy_tensors.save(arrays, {"rekmeans": json.dumps(header)}))
    return path


def assert_same(one, two, name="model"):
    """Equal to the last bit and of the same types, through estimators, dataclasses, dicts and
    arrays.
    """
    assert type(one) is type(two), name
    if isinstance(one, np.ndarray):
        assert one.dtype == two.dtype, name
        assert_array_equal(one, two, err_msg=name)
    elif sparse.issparse(one):
        assert one.shape == two.shape, name
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(one, part), getattr(two, part), f"{name}.{part}")
    elif isinstance(one, dict):
        assert one.keys() == two.keys(), name
        for key in one:
            assert_same(one[key], two[key], f"{name}.{key}")
    elif isinstance(one, tuple | list):
        assert len(one) == len(two), name
        for number, (value, other) in enumerate(zip(one, two, strict=True)):
            assert_same(value, other, f"{name}.{number}")
    elif hasattr(one, "__dict__"):
        assert_same(vars(one), vars(two), name)
    else:
        assert one == two or (one != one and two != two), name
