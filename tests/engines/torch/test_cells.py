"""The map on a device is correctly rounded, with exact integers where float64 cannot decide."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

torch = pytest.importorskip("torch")

from rekmeans._grid import GRID, cospi_sinpi  # noqa: E402
from rekmeans.engines.torch.cells import grid_of_phases  # noqa: E402


def phases_at_ties(count=400):
    """Return phases whose cosine or sine is as near to half a grid step as float64 allows, in every
    quarter.
    """
    steps = np.random.default_rng(0).integers(int(0.71 * GRID), GRID - 2, count) + 0.5
    r = np.concatenate([np.arccos(steps / GRID), np.arcsin((steps - 0.5 * GRID) / GRID)]) / np.pi
    r = np.concatenate([np.nextafter(r, 0), r, np.nextafter(r, 1)])
    quarters = np.arange(-3, 4) / 2
    return np.concatenate([(r + quarter)[np.abs(r + quarter) < 2] for quarter in quarters])


def test_values_at_rounding_ties_are_rounded_correctly():
    t = phases_at_ties()
    t = np.concatenate([t, t[:50]])[:, None]  # with duplicates
    found = grid_of_phases(torch.from_numpy(t.copy())).numpy()
    assert_array_equal(found, np.concatenate(cospi_sinpi(t), axis=1))
    plain = np.rint(np.cos(np.pi * t) * GRID)
    # float64 alone rounds some of them incorrectly
    assert 0 < (plain != found[:, :1]).sum() < len(t)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6, 1e300])
def test_phases_of_any_size(scale):
    t = scale * np.random.default_rng(1).normal(size=(2000, 3))
    t[::7, 1] = np.nan
    t[:8, 0] = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5]
    missing = np.isnan(t)
    reduced = np.where(missing, 0.0, np.fmod(t, 2.0))
    cos, sin = cospi_sinpi(reduced)
    cos[missing] = 0
    assert_array_equal(
        grid_of_phases(torch.from_numpy(t)).numpy(), np.concatenate([cos, sin], axis=1)
    )
