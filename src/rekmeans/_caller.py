"""Where a warning points: the line of the user that called this package, however deep inside it is
given.
"""

from __future__ import annotations

import sys

PASSED_OVER = {"rekmeans", "sklearn"}  # packages between a user's line and a warning


def caller_stacklevel() -> int:
    """The `stacklevel` with which `warnings.warn`, in the function that asks, points at the first
    line outside.
    """
    frame = sys._getframe(1)
    level = 1
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").split(".")[0] in PASSED_OVER
    ):
        frame = frame.f_back
        level = level + 1
    return level
