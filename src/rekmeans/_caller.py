"""The stack level of warnings, so that each one points at the user's line of code."""

from __future__ import annotations

import sys

SKIPPED_PACKAGES = {"rekmeans", "sklearn"}  # packages between a user's line and a warning


def caller_stacklevel() -> int:
    """Return the `stacklevel` at which `warnings.warn` points at the user's line.

    This is the first frame outside the skipped packages, counted from the calling function.
    """
    frame = sys._getframe(1)
    level = 1
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").split(".")[0] in SKIPPED_PACKAGES
    ):
        frame = frame.f_back
        level += 1
    return level
