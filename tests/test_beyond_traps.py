"""Where numbers of the methods beyond could be lost: far from zero, in other units, in a second fit."""

import numpy as np
from numpy.testing import assert_allclose

from rekmeans import MahalanobisFuzzyCMeans

PAIR = np.random.default_rng(0).normal(size=(80, 2)) * [0.3, 0.1] + np.repeat([[0.0, 0.0], [2.0, 1.0]], 40, axis=0)


def test_shapes_do_not_depend_on_where_zero_is():
    """To the rounding of the table itself, which keeps eight digits."""
    near, far = (
        MahalanobisFuzzyCMeans(2, kernel="linear", scale=None, tol=0.0, init=PAIR[[0, -1]] + zero).fit(PAIR + zero)
        for zero in (0.0, 1e7)
    )
    assert_allclose(far.shapes_, near.shapes_, rtol=1e-6)
    assert_allclose(far.inertia_, near.inertia_, rtol=1e-6)
