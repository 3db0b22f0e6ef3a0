"""The kernels that the package names, for tests over all of them: a new entry of KERNELS is in
every such test.
"""

from rekmeans.engines.native.formulas import FORMULAS
from rekmeans.kernels import KERNELS

# X is a table of columns
TABLE_KERNELS = tuple(name for name, kernel in KERNELS.items() if not kernel.is_pairwise)
# those with a gamma
WIDTH_KERNELS = tuple(name for name in TABLE_KERNELS if KERNELS[name].has_width)
# those the compiled core has
NATIVE_KERNELS = tuple(name for name in TABLE_KERNELS if KERNELS[name].formula in FORMULAS)


def engines_of(kernel):
    """The engines that serve a kernel of this name."""
    return ("reference", "native") if kernel in NATIVE_KERNELS else ("reference",)
