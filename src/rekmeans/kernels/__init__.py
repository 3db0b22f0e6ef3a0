"""Kernels: what near means, how rows pull a centroid, and how their average is taken; one file
each.
"""

from __future__ import annotations

from typing import Any

from .base import Kernel, Preparation
from .euler import Euler
from .gram import Gram
from .laplace import Laplace, LaplaceL2
from .linear import Linear
from .precomputed import Precomputed
from .rbf import RBF

__all__ = ["KERNELS", "Kernel", "Preparation", "with_rule"]

KERNELS: dict[str, Any] = {
    kernel.name: kernel for kernel in (Euler, Linear, RBF, Laplace, LaplaceL2, Precomputed)
}


def with_rule(kernel: Any, rule: str) -> Any:
    """The kernel with centroids of that rule; where it has no points for its means, the one that
    holds them by values.

    None where it has neither.
    """
    if rule in kernel.centroid_rules or kernel.mean_is_point:
        return kernel
    return (
        Gram(kernel.scale, kernel.beyond, kernel)
        if rule == "mean" and hasattr(kernel, "similarity")
        else None
    )
