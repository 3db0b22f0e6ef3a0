"""arctan2 of grid integers: against mpmath, on the axes, and with portable operations only."""

import ast
import inspect

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans import _arctan
from rekmeans._arctan import grid_arctan2
from rekmeans._grid import GRID

RANDOM = np.random.default_rng(0)


def exact(b, a):
    """Return the correctly rounded arctan2."""
    with mpmath.workprec(200):
        return np.array([float(mpmath.atan2(int(y), int(x))) for y, x in zip(b, a, strict=True)])


def grid_points(kind, n=3000):
    if kind == "circle":
        t = RANDOM.uniform(-np.pi, np.pi, n)
        return np.rint(GRID * np.sin(t)), np.rint(GRID * np.cos(t))
    if kind == "inside":
        return RANDOM.integers(-GRID, GRID + 1, (2, n)).astype(float)
    if kind == "near an axis":
        return RANDOM.permuted(
            [RANDOM.integers(-99, 100, n), RANDOM.integers(-GRID, GRID + 1, n)], axis=0
        ).astype(float)
    return RANDOM.integers(-9, 10, (2, n)).astype(float)


@pytest.mark.parametrize("kind", ["circle", "inside", "near an axis", "small"])
def test_almost_all_values_are_correctly_rounded(kind):
    b, a = grid_points(kind)
    found, expected = grid_arctan2(b, a), exact(b, a)
    differ = np.flatnonzero(found != expected)
    assert len(differ) <= 2
    assert_array_equal(
        np.abs(found[differ] - expected[differ]), np.spacing(np.abs(expected[differ]))
    )


def test_axes_and_diagonals_are_exact():
    b, a = (
        np.array(values, float)
        for values in zip(*[(y, x) for y in (-5, 0, 5) for x in (-5, 0, 5)], strict=True)
    )
    assert_array_equal(grid_arctan2(b, a), [np.arctan2(y, x) for y, x in zip(b, a, strict=True)])
    assert grid_arctan2(np.zeros((2, 3)), np.full((2, 3), -1.0)).tolist() == [[np.pi] * 3] * 2


def test_arctan_is_odd():
    b, a = grid_points("inside")
    assert_array_equal(grid_arctan2(-b, a), -grid_arctan2(b, a))


def test_only_operations_with_defined_bits_are_used():
    """Allow the NumPy functions that round correctly or not at all."""
    allowed = {
        "abs",
        "minimum",
        "maximum",
        "where",
        "rint",
        "zeros_like",
        "copysign",
        "array",
        "intp",
    }
    tree = ast.parse(inspect.getsource(_arctan))
    called = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np"
    }
    assert called == allowed
