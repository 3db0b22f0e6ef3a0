"""Read and write the parts of model files, and provide wine with errors for fits."""

import json

import numpy as np
import pytest
from safetensors import numpy as numpy_tensors
from sklearn.datasets import load_wine

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
    """Write a model file from a header, which may be any text, and arrays."""
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(numpy_tensors.save(arrays, {"rekmeans": text}))
    return path
