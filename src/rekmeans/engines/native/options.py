"""Kernels and rules that the compiled core has, and its settings from the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ...assignment import Fuzzy, Hard, NeuralGas, SomNeighbourhood
from ...kernels.euler import Euler
from ...kernels.laplace import Laplace, LaplaceL2, MedianSums, WeiszfeldSums
from ...kernels.linear import Linear
from ...kernels.points import PointSums
from ...kernels.rbf import RBF

# of a table: 32 bits hold row numbers, and 64 bits the sum of weights up to 2^31
MOST_ROWS = 1 << 31

# Kernels by the name of the core's measure; rules by the name and numbers it has for them.
MEASURES: dict[type, str] = {
    Euler: "square",
    Linear: "square",
    RBF: "rbf",
    Laplace: "laplace",
    LaplaceL2: "laplace-l2",
}
SUMS: dict[type, type] = {
    Linear: PointSums,
    RBF: PointSums,
    Laplace: MedianSums,
    LaplaceL2: WeiszfeldSums,
}
RULES: dict[type, Callable[[Any], tuple[str, float, Any]]] = {  # name, amount, neighbourhood
    Hard: lambda rule: ("hard", 0.0, None),
    Fuzzy: lambda rule: ("fuzzy", rule.fuzziness, None),
    NeuralGas: lambda rule: ("neural_gas", rule.reach, None),
    SomNeighbourhood: lambda rule: (
        ("som", 0.0, np.require(rule.neighbourhood, np.float64, ["C", "A"]))
        if rule.reach > 0
        else ("hard", 0.0, None)
    ),
}


def instruction_set() -> str:
    """Return the instruction set of REKMEANS_ISA; '' for the best of this machine."""
    return os.environ.get("REKMEANS_ISA", "")
