"""The kernels of the package by their properties, so that tests cover every entry of KERNELS."""

from rekmeans.engines.native.formulas import FORMULAS
from rekmeans.kernels import KERNELS

# Kernels of rows and columns, as opposed to precomputed kernel values.
TABLE_KERNELS = tuple(name for name, kernel in KERNELS.items() if not kernel.is_pairwise)
# Kernels with a gamma.
WIDTH_KERNELS = tuple(name for name in TABLE_KERNELS if KERNELS[name].has_width)
# Kernels of the compiled core.
NATIVE_KERNELS = tuple(name for name in TABLE_KERNELS if KERNELS[name].formula in FORMULAS)


def engines_of(kernel):
    """Return the engines that support the kernel of this name."""
    return ("reference", "native") if kernel in NATIVE_KERNELS else ("reference",)
