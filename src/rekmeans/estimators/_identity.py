"""Identify a fit, to match it with a checkpoint, and seed its starts."""

from __future__ import annotations

import functools
import hashlib
import numbers
import types
from typing import Any, NamedTuple

import numpy as np

from ..checkpoint import FitLimits
from .placement import Placement

NOT_COMPARED = (
    "checkpoint",
    "verbose",
    "n_threads",
    "memory_limit",
    "half_life",
    "engine",
)  # `engine` itself is not compared, but the engine that it selects is
# characters
DIGEST_SHOWN = 16
LONGEST_VALUE = 100


class StartDraws(NamedTuple):
    """The random state of the starts, and how many starts an interrupted fit had begun."""

    random: np.random.RandomState | None  # the user's RandomState, for a callable init
    entropy: list[int]
    n_begun: int = 0

    def random_state(self) -> np.random.RandomState:
        """Return the user's RandomState, or one that a resumed fit can recreate."""
        if self.random is not None:
            return self.random
        return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(self.entropy)))


def fit_identity(estimator: Any, placed: Placement) -> dict[str, str]:
    """Return the properties that an interrupted and a resumed fit must share, as text."""
    parameters = {
        name: _value_text(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in NOT_COMPARED
    }
    if not isinstance(estimator.random_state, numbers.Integral):
        parameters["random_state"] = "not an integer"
    table = placed.table
    names = table.columns.get("feature_names_in_", ())
    return {
        "estimator": type(estimator).__name__,
        **parameters,
        "engine": placed.engine,
        "number of rows": str(table.n_rows),
        "number of columns": str(table.n_columns),
        "column names": _digest(*(str(name).encode() + b"\n" for name in names)),
        "digest of all rows and weights": f"{table.digest():016x}",
    }


def fit_limits(estimator: Any, placed: Placement) -> FitLimits:
    """Return the limits on the progress that a checkpoint of this fit may contain."""
    kernel = placed.rows.kernel
    if kernel.is_pairwise:  # pairwise kernels have no points
        one = placed.rows.rows_as_centroids(np.zeros(1, int))
    else:
        one = kernel.from_points(kernel.scale.middle[None])
    return FitLimits(
        n_starts=estimator._n_starts(),
        n_stages=len(placed.stages),
        max_iter=estimator.max_iter,
        n_rows=len(placed.rows),
        centroids=one.take(np.zeros(estimator._n_centroids(), int)),
        has_exact_loss=kernel.has_exact_arithmetic
        and all(stage.assignment.is_hard for stage in placed.stages),
    )


def _value_text(value: Any, within: tuple[Any, ...] = ()) -> str:
    """Return a parameter as text: the value of a number, a digest of an array or a function."""
    if callable(value):
        return (
            "itself"
            if any(value is one for one in within)
            else _callable_text(value, (*within, value))
        )
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)  # np.float32(0.9) is not 0.9
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return (
            f"{array.shape} "
            f"{_digest(str(array.dtype).encode(), np.ascontiguousarray(array).tobytes())}"
        )
    text = _items_text(value, within)
    return text if len(text) <= LONGEST_VALUE else _digest(text.encode())


def _items_text(value: Any, within: tuple[Any, ...]) -> str:
    """Return the items of a list, tuple or dict as text; otherwise the `repr`.

    The `repr` of a container would shorten long arrays in it.
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value_text(part, within) for part in value)}]"
    if isinstance(value, dict):
        items = (f"{name!r}: {_value_text(part, within)}" for name, part in value.items())
        return f"{{{', '.join(items)}}}"
    return repr(value)


def _callable_text(value: Any, within: tuple[Any, ...]) -> str:
    """Return the name of a function, and a digest of its code, defaults and closure."""
    name = str(getattr(value, "__qualname__", type(value).__qualname__))
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        outside = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *cells]
        texts = [_code_text(value.__code__)]
    elif isinstance(value, types.MethodType):
        outside = [value.__func__, *getattr(value.__self__, "__dict__", {}).values()]
        texts = []
    elif isinstance(value, functools.partial):
        outside = [value.func, *value.args, *value.keywords.values()]
        texts = [*value.keywords]
    else:  # a class or another callable object
        outside = [] if isinstance(value, type) else list(getattr(value, "__dict__", {}).values())
        texts = [str(getattr(value, "__module__", ""))]
    texts += [_value_text(part, within) for part in outside]
    return f"{name} {_digest(*(text.encode() for text in texts))}"


def _code_text(code: types.CodeType) -> str:
    """Return the code of a function as text, without its location."""
    return repr((code.co_code, code.co_names, [_constant_text(part) for part in code.co_consts]))


def _constant_text(value: Any) -> str:
    if isinstance(value, types.CodeType):
        return _code_text(value)
    # the iteration order of a set varies
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:DIGEST_SHOWN]
