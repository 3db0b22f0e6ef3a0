"""Validation of parameters.

An error message states the rule, the value and, if it is not obvious, the fix.
"""

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
from .table.refusals import LARGEST_VALUE

STEEPEST = 1e12  # half-turns per unit: above this, float64 phases carry no information
# largest fuzziness or power: memberships are uniform long before, and their powers would underflow
MOST_EVEN = 100


def check_one_of(name: str, value: Any, valid: Collection[Any]) -> None:
    """Raise ValueError unless the value is in the list."""
    if not (value is None or isinstance(value, str)) or value not in valid:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, valid))}; got {value!r}.")


def check_real(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    most: float = math.inf,
) -> float:
    """Return the value as a finite number greater than `above` and between `least` and `most`."""
    rule = f"greater than {above:g}" if above > -math.inf else f"at least {least:g}"
    rule += f" and at most {most:g}" if most < math.inf else ""
    number = (
        float(value)
        if isinstance(value, numbers.Real) and not isinstance(value, bool)
        else math.nan
    )
    if not (math.isfinite(number) and above < number <= most and number >= least):
        raise ValueError(f"{name} must be a finite number {rule}; got {value!r}.")
    return number


def check_int(name: str, value: Any, least: int = 1, hint: str = "") -> int:
    """Return the value as an integer of at least `least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}{hint}; got {value!r}.")
    return int(value)


def check_bytes(name: str, value: Any) -> int | None:
    """Return the number of bytes given as a number or as text such as "2GB"; None stays None."""
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
    """Raise ValueError unless the value is None or the path of a file."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be None or the path of a file; got {value!r}.")
    if value is not None and Path(value).is_dir():
        raise ValueError(
            f"{name} must be the path of a file, got the folder {str(value)!r}: pass a file in it."
        )


def check_random_state(value: Any) -> np.random.RandomState:
    """Return the RandomState that scikit-learn makes from `random_state`."""
    try:
        return utils.check_random_state(value)
    except ValueError:
        raise ValueError(
            f"random_state must be None, an integer or a RandomState; got {value!r}."
        ) from None


def refuse_random_state(value: Any) -> None:
    """Raise ValueError unless the value is a valid `random_state`, without drawing from it.

    An integer is checked without making a RandomState, which takes time.
    """
    if not (isinstance(value, numbers.Integral) and 0 <= int(value) < 1 << 32):
        check_random_state(value)


class _ThreadState(threading.local):
    """A RandomState per thread that is seeded again for each fit.

    Seeding takes a hundredth of a millisecond, making a RandomState ten times as long.
    """

    def __init__(self) -> None:
        self.state = np.random.RandomState(0)

    def with_seed(self, seed: int) -> np.random.RandomState:
        self.state.seed(seed)
        return self.state


_THREAD_STATE = _ThreadState()


def fit_entropy(random_state: Any) -> list[int]:
    """Return the entropy of a fit: four 32-bit words drawn from the RandomState.

    An integer stands for the RandomState with this seed.
    """
    if isinstance(random_state, numbers.Integral):
        state = _THREAD_STATE.with_seed(int(random_state))
    else:
        state = check_random_state(random_state)
    return [int(word) for word in state.randint(0, 2**32, size=4, dtype=np.uint32)]


def check_starting_points(init: Any, k: int, d: int) -> Array:
    """Return the k starting points as a finite float64 array, (k, d), in the units of X."""
    try:
        points = np.asarray(init)
        if points.dtype.kind not in "fiubO":
            raise TypeError(f"an array of {points.dtype}")
        points = points.astype(np.float64)
    except (TypeError, ValueError) as error:
        what = f"{type(init).__name__} {init!r:.40} ({error})"
        raise ValueError(
            f"init must be a name, a callable or an array of numbers; got {what}."
        ) from None
    if points.shape != (k, d):
        raise ValueError(
            f"init must have shape (n_clusters, n_features) = {(k, d)}; got {points.shape}."
        )
    if not (np.abs(points) <= LARGEST_VALUE).all():
        raise ValueError(
            f"init must be finite and at most {LARGEST_VALUE:g} in size; got an array with NaN, "
            f"infinity or a larger value."
        )
    return points


def check_grid(name: str, value: Any) -> None:
    """Raise ValueError unless the value is a pair of positive integers, the sides of a grid."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(
            f"{name} must be (rows, columns), two integers of at least 1; got {value!r}."
        )
    for side in value:
        check_int(name, side)


def kernel_pairs(kernels: Any, default: str) -> list[tuple[str, Any]]:
    """Return kernels as pairs (name, width); a number alone is a width of the default kernel."""
    return [
        tuple(kernel) if isinstance(kernel, tuple | list) else (default, kernel)
        for kernel in kernels
    ]


def check_kernel_list(
    kernels: Any, known: Mapping[str, Any], default: str, shared: bool, rule: str
) -> None:
    """Raise ValueError unless the kernels are valid and support the other parameters.

    A kernel is a number (alpha) or a pair (name, width). `shared` and `rule` need kernels that
    support them.
    """
    if isinstance(kernels, str) or not hasattr(kernels, "__len__") or len(kernels) == 0:
        raise ValueError(
            f"kernels must be a list of numbers (alpha) or pairs (name, width); got {kernels!r}."
        )
    for kernel in kernels:
        if isinstance(kernel, str) or (isinstance(kernel, tuple | list) and len(kernel) != 2):
            raise ValueError(
                f"kernels must be numbers (alpha) or pairs (name, width); got {kernel!r}: add a "
                f"width."
            )
    for name, width in kernel_pairs(kernels, default):
        check_one_of(
            "kernels' name",
            name,
            [name for name, kernel in known.items() if not kernel.is_pairwise],
        )
        kernel = known[name]
        may_be_auto = kernel.has_width or not kernel.parameters
        if not (isinstance(width, str) and width == "auto" and may_be_auto):
            check_real(f"kernels' width of {name!r}", width, above=0, most=STEEPEST)
        if shared and not kernel.is_circular:
            what = "shared=True supports only the Euler kernel"
        elif rule == "mean" and "mean" not in kernel.centroid_rules:
            what = "centroids='mean' supports only the Euler and linear kernels"
        else:
            continue
        raise ValueError(
            f"{what}; got {name!r}: pass numbers (alpha), or shared=False, centroids='rectified'."
        )
    if shared and rule == "mean":
        raise ValueError(
            "shared=True needs centroids on the mapped data; got centroids='mean': use 'rectified'."
        )


def refuse_points(kernel: str, init: Any) -> None:
    """Raise ValueError for starting points, which kernels of values between rows do not support."""
    if not isinstance(init, str):
        raise ValueError(
            f"kernel={kernel!r} does not support starting points: init must be 'k-means++' or "
            f"'random'."
        )


def refuse_rule(kernel: str, rule: str, rules: Collection[str]) -> None:
    """Raise ValueError for a centroid rule that the kernel does not support."""
    supported = " or ".join(f"centroids={known!r}" for known in rules)
    raise ValueError(f"kernel={kernel!r} does not support centroids={rule!r}: use {supported}.")


def refuse_unknown_lengths(method: str) -> None:
    """Raise ValueError for a method that needs k(x, x), with precomputed kernel values."""
    raise ValueError(
        f"{method} needs k(x, x) of each row, which precomputed values do not contain: use predict."
    )


def refuse_periodic_columns(scale: Any, kernel: Any) -> None:
    """Raise ValueError if a column has a period and the kernel does not support periods."""
    if (scale.period > 0).any() and not kernel.supports_periods:
        column = int(np.flatnonzero(scale.period > 0)[0])
        raise ValueError(
            f"column {column} has a period, which only the Euler kernel supports: use "
            f"kernel='euler'."
        )
