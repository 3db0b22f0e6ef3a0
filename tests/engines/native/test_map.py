"""The map of the core is correctly rounded: compare a million cells with the reference, by rows and
by tiles.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rekmeans.engines.native.exact import NativeRows
from rekmeans.table import MemoryTable
from support.models import euler, scale_of
from support.native import SETS

# one column more than a multiple of the vector width, to test the tails
N = 1 << 15
D = 33
CELLS = np.random.default_rng(0).standard_normal((N, D))


@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize("beyond", ["ignore", "clip", "wrap"])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_all_cells_are_rounded_as_in_the_reference(instructions, beyond, layout, monkeypatch):
    monkeypatch.setenv("REKMEANS_ISA", instructions)
    X = np.array(CELLS, order=layout)
    X[::7, 3] = np.nan
    X[5::11, 32] = 1e6
    X[64:80, 0] = -1e6
    kernel = euler(0.9, scale_of("robust", CELLS), beyond)
    rows = NativeRows(kernel, MemoryTable(X))
    assert_array_equal(rows.core.grid(np.arange(N)), kernel.embed(X))
