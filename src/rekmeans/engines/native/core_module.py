"""The compiled module, once its numbers are known to be those of the definition."""

from __future__ import annotations

from ..._grid import GRID, TURN
from ...kernels.euler import NARROW
from ...kernels.laplace import AT_CENTROID
from ...scales import far_groups, record, robust, sorted_columns, tied
from ...threads import MOST_THREADS
from . import _core
from .options import MOST_ROWS

__all__ = ["_core"]

# places in a record follow from its length
PYTHON_ONLY = {"MOMENT_ROWS", "LOW", "HIGH", "SHIFT", "UNIT", "LEFT_OUT"}
NUMBERS = {"GRID": GRID, "TURN": TURN, "MOST_COLUMNS": NARROW, "AT_CENTROID": AT_CENTROID}
LIMITS = {"MOST_ROWS": MOST_ROWS, "MOST_THREADS": MOST_THREADS}
EXPECTED = (
    NUMBERS
    | LIMITS
    | {
        name: value
        for module in (far_groups, record, robust, sorted_columns, tied)
        for name, value in vars(module).items()
        if isinstance(value, int | float | tuple) and name.isupper() and name not in PYTHON_ONLY
    }
)


def check_constants(core: object) -> None:
    """Refuse a core whose numbers are not Python's."""
    different = [name for name, value in EXPECTED.items() if getattr(core, name, None) != value]
    if different:
        raise ImportError(
            f"the compiled core has another {', '.join(different)}: it is of another version, "
            f"build it anew."
        )


check_constants(_core)
