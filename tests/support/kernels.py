"""The kernels that the package names, for tests over all of them: a new entry of KERNELS is in every such test."""

from rekmeans.engines.native.options import MEASURES
from rekmeans.kernels import KERNELS

TABLE_KERNELS = tuple(name for name, kernel in KERNELS.items() if not kernel.is_pairwise)  # X is a table of columns
WIDTH_KERNELS = tuple(name for name in TABLE_KERNELS if KERNELS[name].has_width)  # those with a gamma
NATIVE_KERNELS = tuple(name for name in TABLE_KERNELS if KERNELS[name] in MEASURES)  # those the compiled core has


def engines_of(kernel):
    """The engines that serve a kernel of this name."""
    return ("reference", "native") if kernel in NATIVE_KERNELS else ("reference",)
