"""Kernels: distances, sums and averages in a mapped space."""

from __future__ import annotations

from typing import Any

from .base import Kernel, Preparation
from .euler import Euler
from .gram import Gram
from .laplace import Laplace, LaplaceL2
from .points import RBF, Linear
from .precomputed import Precomputed

__all__ = ["KERNELS", "Kernel", "Preparation", "with_rule"]

KERNELS: dict[str, Any] = {
    kernel.name: kernel for kernel in (Euler, Linear, RBF, Laplace, LaplaceL2, Precomputed)
}


def with_rule(kernel: Any, rule: str) -> Any:
    """Return the kernel with this centroid rule, or None if it is not supported.

    If the means of a kernel are not points, `Gram` wraps it and represents them by kernel values.
    """
    if rule in kernel.centroid_rules or kernel.mean_is_point:
        return kernel
    return (
        Gram(kernel.scale, kernel.beyond, kernel)
        if rule == "mean" and hasattr(kernel, "similarity")
        else None
    )
