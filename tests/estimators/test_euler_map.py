"""EulerMap: cosine and sine of the scaled phase, and back."""

import gc
import tracemalloc

import numpy as np
import pytest
import zarr
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import EulerMap
from support.streams import (
    FORMS,
    NAMED,
    memmap,
    npy_path,
    stream_rows,
    stream_weights,
    weights_of,
)
from support.tables import with_missing_cells

# radians: two coordinates rounded to 2^-24 turn a point of the circle by at most 2^-23.5
ANGLE = 2.0**-23


# The map


@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("scale", ["range", "global"])
def test_the_map_is_invertible_if_alpha_is_at_most_one(alpha, scale):
    X = np.random.default_rng(0).normal(3, 5, (60, 4))
    euler = EulerMap(alpha=alpha, scale=scale)
    back = euler.inverse_transform(euler.fit_transform(X))
    unit = np.ptp(X, axis=0) if scale == "range" else np.ptp(X)
    assert (np.abs(back - X) <= unit * ANGLE / (alpha * np.pi) + 1e-12).all()


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.5])
def test_the_map_is_cosine_and_sine_of_the_scaled_phase(alpha):
    X = np.random.default_rng(0).normal(3, 5, (60, 4))
    phase = np.pi * alpha * (X - X.min(axis=0)) / np.ptp(X, axis=0)
    F = EulerMap(alpha=alpha, scale="range").fit_transform(X)
    assert_allclose(
        F, np.concatenate([np.cos(phase), np.sin(phase)], axis=1), atol=2.0**-24 + 1e-14
    )
    assert_array_equal(F * 2**23, np.rint(F * 2**23))


def test_a_missing_cell_maps_to_zero_and_back():
    X = with_missing_cells(np.random.default_rng(0).random((40, 3)))
    euler = EulerMap(scale="range").fit(X)
    F = euler.transform(X)
    missing = np.isnan(X)
    assert_array_equal(F[:, :3] ** 2 + F[:, 3:] ** 2 == 0, missing)
    assert_array_equal(np.isnan(euler.inverse_transform(F)), missing)


@pytest.mark.parametrize("alpha", [2.5, 3.0, 12.0])
@pytest.mark.parametrize("scale", ["range", None])
def test_the_inverse_lies_on_the_branch_nearest_the_middle_of_the_range(alpha, scale):
    X = np.random.default_rng(0).uniform(20, 24, (60, 2))
    euler = EulerMap(alpha=alpha, scale=scale)
    back = euler.inverse_transform(euler.fit_transform(X))
    unit = np.ptp(X, axis=0) if scale else np.ones(2)
    middle = (X.min(axis=0) + X.max(axis=0)) / 2
    turn = 2 * unit / alpha
    assert (np.abs(back - middle) <= turn / 2 * (1 + 1e-6)).all()
    turns = (back - X) / turn
    assert_allclose(turns, np.rint(turns), atol=1e-6)
    assert np.abs(turns).max() > 0.5


# Out-of-core tables


@pytest.mark.parametrize("w", [None, stream_weights()], ids=["equal", "weighted"])
@pytest.mark.parametrize("form", FORMS)
def test_out_of_core_rows_are_mapped_like_rows_in_memory(tmp_path, form, w):
    X = stream_rows()
    rows = form(tmp_path, X, w)
    in_memory = EulerMap().fit(X, sample_weight=w)
    in_blocks = EulerMap().fit(rows, sample_weight=weights_of(form, w))
    for name in ("low", "high", "shift", "unit"):
        assert_array_equal(
            getattr(in_blocks.kernel_.scale, name), getattr(in_memory.kernel_.scale, name)
        )
    assert_array_equal(in_blocks.middle_, in_memory.middle_)
    assert hasattr(in_blocks, "feature_names_in_") == (form in NAMED)
    mapped = in_blocks.transform(rows)
    assert type(mapped) is np.ndarray
    assert_array_equal(mapped, in_memory.transform(X))


def zarr_of_large_chunks(folder, X, w):
    array = zarr.create_array(
        folder / "X.zarr", shape=X.shape, chunks=(50_000, X.shape[1]), dtype=X.dtype
    )
    array[:] = X
    return array


@pytest.mark.parametrize("form", [zarr_of_large_chunks, memmap, npy_path, None])
def test_transform_keeps_its_result_and_a_few_blocks(tmp_path, form):
    """Transform keeps its result and a few blocks in memory.

    A table whose `form` is None is in memory. NumPy and zarr report their arrays to tracemalloc.
    Zarr decodes several chunks at once, about 60 MB in all for blocks of 8 MB.
    """
    X = np.random.default_rng(4).normal(size=(2_000_000, 8))
    n_bytes = X.nbytes
    model = EulerMap(scale="range").fit(X)
    expected = model.transform(X[-5:])
    X = X if form is None else form(tmp_path, X, None)
    assert measure_peak(lambda: EulerMap(scale="range").fit(X))[0] < 1.2 * n_bytes
    peak, mapped = measure_peak(lambda: model.transform(X))
    assert peak < mapped.nbytes + 0.6 * n_bytes
    assert_array_equal(mapped[-5:], expected)


def measure_peak(act):
    """Return the peak number of bytes that `act` allocates, and its result."""
    gc.collect()
    tracemalloc.start()
    try:
        found = act()
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()
