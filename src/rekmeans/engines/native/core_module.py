"""The compiled module, once its numbers are known to be those of the definition."""

from __future__ import annotations

from ..._grid import GRID, TURN
from ...kernels.euler import NARROW
from ...kernels.laplace import AT_CENTROID
from . import _core

__all__ = ["_core"]

EXPECTED = {"GRID": GRID, "TURN": TURN, "MOST_COLUMNS": NARROW, "AT_CENTROID": AT_CENTROID}


def check_constants(core: object) -> None:
    """Refuse a core whose numbers are not Python's."""
    different = [name for name, value in EXPECTED.items() if getattr(core, name, None) != value]
    if different:
        raise ImportError(
            f"the compiled core has another {', '.join(different)}: it is of another version, build it anew."
        )


check_constants(_core)
