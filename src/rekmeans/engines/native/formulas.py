"""The kernels and assignment rules of the compiled core, and its limit on rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._grid import Array
from ...assignment import Fuzzy, Hard, NeuralGas, SomNeighbourhood
from ...kernels.euler import CircleSums, Euler
from ...kernels.laplace import Laplace, LaplaceL2, MedianSums, WeiszfeldSums
from ...kernels.points import RBF, Linear, PointSums
from ...model import Sums

# rows of a table: 32 bits hold a row number, and 64 bits hold the sum of weights up to 2^31
MAX_ROWS = 1 << 31


class CompiledFormula(NamedTuple):
    """The compiled version of the formulas of a kernel."""

    measure: str  # its name in the core
    sums: type[Sums]  # the record that a pass returns
    is_on_grid: bool = False  # True if rows and centroids are grid integers on circles


# compiled kernels, by `Kernel.formula`
FORMULAS: dict[str, CompiledFormula] = {
    Euler.formula: CompiledFormula("square", CircleSums, is_on_grid=True),
    Linear.formula: CompiledFormula("square", PointSums),
    RBF.formula: CompiledFormula("rbf", PointSums),
    Laplace.formula: CompiledFormula("laplace", MedianSums),
    LaplaceL2.formula: CompiledFormula("laplace-l2", WeiszfeldSums),
}
# compiled assignment rules: the name, amount and h that the core expects
RULES: dict[type, Callable[[Any], tuple[str, float, Array | None]]] = {
    Hard: lambda rule: ("hard", 0.0, None),
    Fuzzy: lambda rule: ("fuzzy", rule.fuzziness, None),
    NeuralGas: lambda rule: ("neural_gas", rule.reach, None),
    SomNeighbourhood: lambda rule: (
        ("som", 0.0, np.require(rule.neighbourhood, np.float64, ["C", "A"]))
        if rule.reach > 0
        else ("hard", 0.0, None)
    ),
}
