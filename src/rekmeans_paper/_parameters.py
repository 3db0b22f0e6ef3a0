"""Parameters of the study and of SpatialPyramid: refused in one sentence with the rule and what
came.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection
from typing import Any


def require_choice(name: str, value: Any, valid: Collection[Any]) -> None:
    """Refuse a value that is not in the list."""
    if not (value is None or isinstance(value, str)) or value not in valid:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, valid))}; got {value!r}.")


def require_integer(name: str, value: Any, least: int = 1, hint: str = "") -> None:
    """Refuse what is not an integer of at least `least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}{hint}; got {value!r}.")
