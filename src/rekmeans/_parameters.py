"""The values of parameters: each as what it means, or refused in one sentence with the rule, what
came, the way out.
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

STEEPEST = 1e12  # half-turns per unit; steeper, and float64 phases carry no information
MOST_EVEN = 100  # exponent of shares; they are even long before, and their powers would vanish


def check_one_of(name: str, value: Any, valid: Collection[Any]) -> None:
    """Refuse a value that is not in the list."""
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
    """A finite number greater than `above`, at least `least` and at most `most`."""
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
    """An integer of at least `least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}{hint}; got {value!r}.")
    return int(value)


def check_bytes(name: str, value: Any) -> int | None:
    """Bytes from None, a number of bytes, or text such as "2GB"."""
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
    """Refuse what neither is None nor names a file."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be None or the path of a file; got {value!r}.")
    if value is not None and Path(value).is_dir():
        raise ValueError(
            f"{name} must be the path of a file, got the folder {str(value)!r}: name a file in it."
        )


def check_random_state(value: Any) -> np.random.RandomState:
    """scikit-learn's reading of random_state."""
    try:
        return utils.check_random_state(value)
    except ValueError:
        raise ValueError(
            f"random_state must be None, an integer or a RandomState; got {value!r}."
        ) from None


def refuse_random_state(value: Any) -> None:
    """Refuse what is no random_state; nothing is drawn, and no RandomState of an integer made,
    which takes time.
    """
    if not (isinstance(value, numbers.Integral) and 0 <= int(value) < 1 << 32):
        check_random_state(value)


class _KeptState(threading.local):
    """A RandomState of each thread, to be seeded anew: making one takes a tenth of a millisecond,
    that a hundredth.
    """

    def __init__(self) -> None:
        self.state = np.random.RandomState(0)

    def of(self, seed: int) -> np.random.RandomState:
        self.state.seed(seed)
        return self.state


_KEPT_STATE = _KeptState()


def fit_entropy(random_state: Any) -> list[int]:
    """What the seeds of a fit come from: four words of the RandomState, of which an integer is
    another name.
    """
    is_integer = isinstance(random_state, numbers.Integral)
    state = _KEPT_STATE.of(int(random_state)) if is_integer else check_random_state(random_state)
    return [int(word) for word in state.randint(0, 2**32, size=4, dtype=np.uint32)]


def check_starting_points(init: Any, k: int, d: int) -> Array:
    """An array of k finite starting points in the units of X."""
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
            "init must be finite; got an array with NaN, infinity or a value too large."
        )
    return points


def check_grid(name: str, value: Any) -> None:
    """The sides of a grid: two integers."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(
            f"{name} must be (rows, columns), two integers of at least 1; got {value!r}."
        )
    for side in value:
        check_int(name, side)


def kernel_pairs(kernels: Any, default: str) -> list[tuple[str, Any]]:
    """Kernels as pairs (name, width): a number alone is a width of the default kernel."""
    return [
        tuple(kernel) if isinstance(kernel, tuple | list) else (default, kernel)
        for kernel in kernels
    ]


def check_kernel_list(
    kernels: Any, known: Mapping[str, Any], default: str, shared: bool, rule: str
) -> None:
    """Refuse kernels that are not numbers (alpha) or pairs (name, width), or that lack what the
    parameters need.
    """
    if isinstance(kernels, str) or not hasattr(kernels, "__len__") or len(kernels) == 0:
        raise ValueError(
            f"kernels must be a list of numbers (alpha) or pairs (name, width); got {kernels!r}."
        )
    for kernel in kernels:
        if isinstance(kernel, str) or (isinstance(kernel, tuple | list) and len(kernel) != 2):
            raise ValueError(
                f"kernels must be numbers (alpha) or pairs (name, width); got {kernel!r}: say its "
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
            what = "shared=True takes Euler's only"
        elif rule == "mean" and "mean" not in kernel.centroid_rules:
            what = "centroids='mean' takes Euler's and linear only"
        else:
            continue
        raise ValueError(
            f"{what}; got {name!r}: use numbers (alpha), or separate rectified centroids."
        )
    if shared and rule == "mean":
        raise ValueError(
            "shared=True puts centroids on the mapped data; got centroids='mean': use 'rectified'."
        )


def refuse_points(kernel: str, init: Any) -> None:
    """A kernel of values between rows has no points."""
    if not isinstance(init, str):
        raise ValueError(
            f"kernel={kernel!r} has no points to start from: init must be 'k-means++' or 'random'."
        )


def refuse_rule(kernel: str, rule: str, rules: Collection[str]) -> None:
    """A kernel has no centroids of this rule."""
    way_out = " or ".join(f"centroids={known!r}" for known in rules)
    raise ValueError(f"kernel={kernel!r} has no points for centroids={rule!r}: use {way_out}.")


def refuse_unknown_lengths(method: str) -> None:
    """What measures a row needs its kernel value with itself."""
    raise ValueError(
        f"{method} needs k(x, x) of each row, which precomputed values lack: use predict."
    )


def refuse_periodic_columns(scale: Any, kernel: Any) -> None:
    """Only features on circles can go round."""
    if (scale.period > 0).any() and not kernel.supports_periods:
        column = int(np.flatnonzero(scale.period > 0)[0])
        raise ValueError(
            f"column {column} has a period, which only the Euler kernel can take: use "
            f"kernel='euler'."
        )
