"""Checks of parameter values; each raises ValueError with the rule and the value that breaks it."""

from __future__ import annotations

import math
import numbers
import os
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import utils

from ._grid import Array
from .table.validation import LARGEST_VALUE

# Limit of every kernel width. At larger values of alpha, float64 phases have no correct digit.
MAX_ALPHA = 1e12
# With larger exponents, all memberships or kernel weights are equal, or powers underflow.
MAX_EXPONENT = 100


def check_one_of(name: str, value: Any, valid: Collection[Any]) -> None:
    """Raise an error unless the value is one of these strings or None."""
    if not (value is None or isinstance(value, str)) or value not in valid:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, valid))}; got {value!r}.")


def check_real(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    minimum: float = -math.inf,
    maximum: float = math.inf,
) -> float:
    """Return a finite number that is greater than `above` and within the two limits."""
    rule = f"greater than {above:g}" if above > -math.inf else f"at least {minimum:g}"
    rule += f" and at most {maximum:g}" if maximum < math.inf else ""
    number = (
        float(value)
        if isinstance(value, numbers.Real) and not isinstance(value, bool)
        else math.nan
    )
    if not (math.isfinite(number) and above < number <= maximum and number >= minimum):
        raise ValueError(f"{name} must be a finite number {rule}; got {value!r}.")
    return number


def check_int(name: str, value: Any, minimum: int = 1, hint: str = "") -> int:
    """Return an integer that is at least `minimum`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}{hint}; got {value!r}.")
    return int(value)


def check_bool(name: str, value: Any) -> None:
    """Raise an error unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")


def check_bytes(name: str, value: Any) -> int | None:
    """Return a number of bytes from a number or from text such as "2GB"; None for None."""
    if value is None:
        return None
    text = str(value).strip().upper().removesuffix("B")
    unit = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}.get(text[-1:], 1)
    try:
        return check_int(name, int(float(text[:-1] if unit > 1 else text) * unit))
    except (ValueError, OverflowError):
        raise ValueError(
            f"{name} must be None, a number of bytes or text such as '2GB'; got {value!r}."
        ) from None


def check_path(name: str, value: Any) -> None:
    """Raise an error unless the value is None or the path of a file, which need not exist."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be None or the path of a file; got {value!r}.")
    if value is not None and Path(value).is_dir():
        raise ValueError(
            f"{name} must be the path of a file; got the directory {str(value)!r}. Add a file name."
        )


def make_random_state(value: Any) -> np.random.RandomState:
    """Return the RandomState of a random_state parameter, as scikit-learn does."""
    try:
        return utils.check_random_state(value)
    except ValueError:
        raise ValueError(
            f"random_state must be None, an integer or a RandomState; got {value!r}."
        ) from None


def check_random_state(name: str, value: Any) -> None:
    """Raise an error unless the value is a valid random_state.

    A valid integer is accepted without creating a RandomState, which is slow.
    """
    if not (isinstance(value, numbers.Integral) and 0 <= int(value) < 1 << 32):
        make_random_state(value)


class _ReusableState(threading.local):
    """A RandomState per thread, because seeding one is ten times faster than creating one."""

    def __init__(self) -> None:
        self.state = np.random.RandomState(0)


_REUSABLE_STATE = _ReusableState()


def fit_entropy(random_state: Any) -> list[int]:
    """Return four random 32-bit words, from which the seeds of a fit are derived.

    An integer gives the same words as the RandomState that it seeds.
    """
    if isinstance(random_state, numbers.Integral):
        state = _REUSABLE_STATE.state
        state.seed(int(random_state))
    else:
        state = make_random_state(random_state)
    return [int(word) for word in state.randint(0, 2**32, size=4, dtype=np.uint32)]


def check_starting_points(init: Any, k: int, d: int) -> Array:
    """Return `init` as an array of k finite points in the units of X."""
    try:
        points = np.asarray(init)
        if points.dtype.kind not in "fiubO":
            raise TypeError(f"an array of {points.dtype}")
        points = points.astype(np.float64)
    except (TypeError, ValueError) as error:
        found = f"{type(init).__name__} {init!r:.40} ({error})"
        raise ValueError(
            f"init must be a name, a callable or an array of numbers; got {found}."
        ) from None
    if points.shape != (k, d):
        raise ValueError(
            f"init must have shape (n_clusters, n_features) = {(k, d)}; got {points.shape}."
        )
    if not (np.abs(points) <= LARGEST_VALUE).all():
        raise ValueError(
            f"init must be finite; got an array with NaN, infinity or a magnitude above "
            f"{LARGEST_VALUE:g}."
        )
    return points


def check_grid(name: str, value: Any) -> None:
    """Raise an error unless the value is a pair of positive integers."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(
            f"{name} must be (rows, columns), two integers of at least 1; got {value!r}."
        )
    for side in value:
        check_int(name, side)


def kernel_pairs(kernels: Any, default: str) -> list[tuple[str, Any]]:
    """Return kernels as pairs (name, width); a bare number is a width of the default kernel."""
    return [
        tuple(kernel) if isinstance(kernel, tuple | list) else (default, kernel)
        for kernel in kernels
    ]


def check_kernels(name: str, kernels: Any, known: Mapping[str, Any], default: str) -> None:
    """Raise an error unless the value is a list of numbers (alpha) or pairs (name, width)."""
    if isinstance(kernels, str) or not hasattr(kernels, "__len__") or len(kernels) == 0:
        raise ValueError(
            f"{name} must be a list of numbers (alpha) or pairs (name, width); got {kernels!r}."
        )
    for kernel in kernels:
        if isinstance(kernel, str) or (isinstance(kernel, tuple | list) and len(kernel) != 2):
            raise ValueError(
                f"{name} must be numbers (alpha) or pairs (name, width); got {kernel!r}. "
                f"Add the width, for example ('rbf', 'auto')."
            )
    explicit = [kernel_name for kernel_name, kernel in known.items() if not kernel.is_pairwise]
    for i, (kernel_name, width) in enumerate(kernel_pairs(kernels, default)):
        is_pair = isinstance(kernels[i], tuple | list)
        check_one_of(f"{name}[{i}][0]", kernel_name, explicit)
        kernel = known[kernel_name]
        can_be_auto = kernel.has_width or not kernel.parameters
        if not (isinstance(width, str) and width == "auto" and can_be_auto):
            at = f"{name}[{i}][1]" if is_pair else f"{name}[{i}]"
            check_real(at, width, above=0, maximum=MAX_ALPHA)


def reject_periods(scale: Any) -> None:
    """Raise an error if a column has a period, for kernels that do not support periods."""
    if (scale.period > 0).any():
        column = int(np.flatnonzero(scale.period > 0)[0])
        raise ValueError(
            f"Column {column} has a period, which only the Euler kernel supports. "
            f"Use kernel='euler'."
        )
