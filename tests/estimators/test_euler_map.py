"""EulerMap: cosine and sine of the scaled phase, and back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import EulerMap
from support.tables import with_missing_cells

ANGLE = 2.0**-23  # radians: two coordinates rounded to 2^-24 turn a point of the circle by at most 2^-23.5


# the map


@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("scale", ["range", "global"])
def test_the_map_inverts_where_alpha_is_at_most_one(alpha, scale):
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
    assert_allclose(F, np.concatenate([np.cos(phase), np.sin(phase)], axis=1), atol=2.0**-24 + 1e-14)
    assert_array_equal(F * 2**23, np.rint(F * 2**23))


def test_a_missing_cell_maps_to_the_centre_of_the_circle_and_back():
    X = with_missing_cells(np.random.default_rng(0).random((40, 3)))
    euler = EulerMap(scale="range").fit(X)
    F, missing = euler.transform(X), np.isnan(X)
    assert_array_equal(F[:, :3] ** 2 + F[:, 3:] ** 2 == 0, missing)
    assert_array_equal(np.isnan(euler.inverse_transform(F)), missing)


@pytest.mark.parametrize("alpha", [2.5, 3.0, 12.0])
@pytest.mark.parametrize("scale", ["range", None])
def test_the_inverse_lies_on_the_branch_nearest_the_middle_of_the_range(alpha, scale):
    X = np.random.default_rng(0).uniform(20, 24, (60, 2))
    euler = EulerMap(alpha=alpha, scale=scale)
    back = euler.inverse_transform(euler.fit_transform(X))
    unit = np.ptp(X, axis=0) if scale else np.ones(2)
    middle, turn = (X.min(axis=0) + X.max(axis=0)) / 2, 2 * unit / alpha
    assert (np.abs(back - middle) <= turn / 2 * (1 + 1e-6)).all()
    turns = (back - X) / turn
    assert_allclose(turns, np.rint(turns), atol=1e-6)
    assert np.abs(turns).max() > 0.5
